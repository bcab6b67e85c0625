//! How long ledgers took to be seen, over the last ones.

use std::collections::VecDeque;

use super::Visible;
use crate::store::Latency;

/// How many ledgers are remembered.
const LEDGERS_MAX: usize = 512;

/// The times of the last ledgers that were followed.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// Milliseconds from the close, and from the source's answer.
    taken: VecDeque<(u64, u64)>,
}

impl Times {
    /// Takes note of a ledger whose close can be told.
    pub(super) fn add(&mut self, ledger: &Visible) {
        let Some(after_closed_ms) = ledger.after_closed_ms else { return };
        if self.taken.len() == LEDGERS_MAX {
            self.taken.pop_front();
        }
        self.taken.push_back((after_closed_ms, ledger.after_seen_ms));
    }

    /// What they come to; none before the first.
    pub(super) fn latency(&self) -> Option<Latency> {
        let sorted = |of: fn(&(u64, u64)) -> u64| {
            let mut times: Vec<u64> = self.taken.iter().map(of).collect();
            times.sort_unstable();
            times
        };
        let (closed, seen) = (sorted(|(closed, _)| *closed), sorted(|(_, seen)| *seen));
        Some(Latency {
            ledgers: u32::try_from(self.taken.len()).ok()?,
            close_to_visible_p50_ms: percentile(&closed, 50)?,
            close_to_visible_p99_ms: percentile(&closed, 99)?,
            seen_to_visible_p50_ms: percentile(&seen, 50)?,
            seen_to_visible_p99_ms: percentile(&seen, 99)?,
        })
    }
}

/// The smallest value that so many of a hundred do not exceed.
fn percentile(sorted: &[u64], of_hundred: usize) -> Option<u64> {
    let rank = (sorted.len() * of_hundred).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use annals_core::LedgerSeq;

    use super::*;

    fn visible(after_closed_ms: Option<u64>, after_seen_ms: u64) -> Visible {
        Visible { seq: LedgerSeq::FIRST_EXPORTED, closed_unix_ms: 0, after_seen_ms, after_closed_ms }
    }

    #[test]
    fn percentiles_are_of_the_last_ledgers_whose_close_can_be_told() {
        let mut times = Times::default();
        times.add(&visible(None, 3));
        assert_eq!(times.latency(), None);
        (0..1000).for_each(|_| times.add(&visible(Some(9_999), 9_999)));
        (1..=LEDGERS_MAX as u64).for_each(|number| times.add(&visible(Some(number), 2 * number)));
        let latency = times.latency().unwrap();
        assert_eq!(
            (latency.ledgers, latency.close_to_visible_p50_ms, latency.close_to_visible_p99_ms),
            (512, 256, 507)
        );
        assert_eq!((latency.seen_to_visible_p50_ms, latency.seen_to_visible_p99_ms), (512, 1014));
        let mut one = Times::default();
        one.add(&visible(Some(7), 1));
        assert_eq!(one.latency().unwrap().close_to_visible_p99_ms, 7);
    }
}
