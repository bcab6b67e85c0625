//! When to ask for the next ledger: often while it is expected, seldom else.

use std::time::Duration;

/// How many requests in a row are close together, around the time at which a ledger is expected; after these each wait is
/// twice as long as the one before, up to the longest.
const CLOSE_POLLS_MAX: u32 = 32;
/// A new interval counts for so much of the mean: one part in …
const MEMORY: u32 = 8;
/// The next ledger is expected so many mean deviations around the mean.
const DEVIATIONS: u32 = 3;
/// The deviation is taken for at least one part in so many of the mean.
const STEADY: u32 = 64;
/// An interval counts for no more than so many times the mean, so that a halt of the network is soon forgotten.
const LONG: u32 = 4;
/// Before the cadence is known the waits are one part in so many of the longest.
const UNKNOWN_PART: u32 = 8;

/// Learns at what intervals ledgers come. All times are of one clock that never goes back.
#[derive(Debug)]
pub(super) struct Pace {
    poll_min: Duration,
    poll_max: Duration,
    /// When the last ledger came.
    last: Option<Duration>,
    /// The mean interval and the mean deviation from it.
    cadence: Option<(Duration, Duration)>,
    /// Requests since the next ledger has been expected.
    close_polls: u32,
}

impl Pace {
    pub(super) fn new(poll_min: Duration, poll_max: Duration) -> Self {
        Self { poll_min, poll_max: poll_max.max(poll_min), last: None, cadence: None, close_polls: 0 }
    }

    /// Takes note of so many ledgers that came at once.
    pub(super) fn served(&mut self, now: Duration, ledgers: u32) {
        self.close_polls = 0;
        let Some(last) = self.last.replace(now) else { return };
        let interval = now.saturating_sub(last) / ledgers.max(1);
        self.cadence = Some(match self.cadence {
            None => (interval, interval / 2),
            Some((mean, deviation)) => {
                let interval = interval.min(mean * LONG).max(self.poll_min);
                let off = interval.abs_diff(mean);
                (moved(mean, interval), moved(deviation, off))
            }
        });
    }

    /// Forgets when the last ledger came: those that follow were long closed.
    pub(super) fn interrupted(&mut self) {
        self.last = None;
    }

    /// How long to wait before the next request; takes note that it is made then.
    pub(super) fn wait(&mut self, now: Duration) -> Duration {
        let (Some(last), Some((mean, deviation))) = (self.last, self.cadence) else {
            return self.ever_longer(self.poll_max / UNKNOWN_PART);
        };
        let early = deviation.max(mean / STEADY) * DEVIATIONS;
        let expected = last.saturating_add(mean.saturating_sub(early));
        if now < expected {
            return (expected - now).clamp(self.poll_min, self.poll_max);
        }
        self.ever_longer(early * 2 / CLOSE_POLLS_MAX)
    }

    fn ever_longer(&mut self, wait: Duration) -> Duration {
        let beyond = self.close_polls.saturating_sub(CLOSE_POLLS_MAX).min(16);
        self.close_polls = self.close_polls.saturating_add(1);
        wait.max(self.poll_min).saturating_mul(1 << beyond).min(self.poll_max)
    }
}

fn moved(mean: Duration, value: Duration) -> Duration {
    (mean * (MEMORY - 1) + value) / MEMORY
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(10);
    const MAX: Duration = Duration::from_secs(2);

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Follows a chain that closes at these moments; gives the delay of each ledger and the number of requests.
    fn follow(closes: &[Duration]) -> Vec<(Duration, u32)> {
        let mut pace = Pace::new(MIN, MAX);
        let mut now = Duration::ZERO;
        let mut told = Vec::new();
        for close in closes {
            let mut requests = 0;
            while now < *close {
                now += pace.wait(now);
                requests += 1;
            }
            pace.served(now, 1);
            told.push((now - *close, requests));
        }
        told
    }

    #[test]
    fn a_steady_cadence_is_met_within_one_short_wait_and_few_requests() {
        for interval in [millis(250), millis(1000), millis(5000)] {
            let closes: Vec<Duration> = (1..200).map(|number| interval * number).collect();
            let told = follow(&closes);
            let settled = &told[50..];
            let latest = settled.iter().map(|(delay, _)| *delay).max().unwrap();
            let requests = settled.iter().map(|(_, requests)| *requests).max().unwrap();
            assert!(latest <= millis(20), "{interval:?}: {latest:?}");
            assert!(requests <= CLOSE_POLLS_MAX + 8, "{interval:?}: {requests}");
        }
    }

    #[test]
    fn an_unsteady_cadence_costs_a_bounded_number_of_requests_a_ledger() {
        let mut at = Duration::ZERO;
        let closes: Vec<Duration> = (0..400_u64)
            .map(|number| {
                at += millis(4000 + (number * 2_654_435_761) % 3000);
                at
            })
            .collect();
        let told = follow(&closes);
        let (delays, requests): (Vec<Duration>, Vec<u32>) = told[50..].iter().copied().unzip();
        assert!(delays.iter().sum::<Duration>() / u32::try_from(delays.len()).unwrap() <= millis(250), "{delays:?}");
        assert!(requests.iter().all(|requests| *requests <= 2 * CLOSE_POLLS_MAX), "{requests:?}");
    }

    #[test]
    fn a_network_that_halts_is_asked_ever_more_seldom_and_never_without_a_wait() {
        let mut pace = Pace::new(MIN, MAX);
        (1..50).for_each(|number| pace.served(millis(1000 * number), 1));
        let (mut now, mut waits) = (millis(49_000), Vec::new());
        while now < millis(3_649_000) {
            let wait = pace.wait(now);
            assert!(wait >= MIN && wait <= MAX, "{wait:?}");
            now += wait;
            waits.push(wait);
        }
        assert!(waits.len() < 1_900, "{} requests in an hour", waits.len());
        assert!(waits[100..].iter().all(|wait| *wait == MAX));
        let mut strange = Pace::new(MIN, MAX);
        let waits: Vec<Duration> = (0..100).map(|_| strange.wait(Duration::ZERO)).collect();
        assert!(waits[0] == MAX / UNKNOWN_PART && waits[40..].iter().all(|wait| *wait == MAX), "{waits:?}");
        pace.served(now, 1);
        let (mean, _) = pace.cadence.unwrap();
        assert!(mean < millis(1500), "an hour's halt is no cadence: {mean:?}");
    }
}
