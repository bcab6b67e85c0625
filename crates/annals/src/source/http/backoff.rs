//! How long to leave a server alone that failed.

use std::time::Duration;

use jiff::fmt::rfc2822;

/// The first wait, before jitter.
const FIRST: Duration = Duration::from_millis(500);
/// No wait is longer …
const LONGEST: Duration = Duration::from_secs(30);
/// … unless the server asks for it, and then no longer than this.
pub(in crate::source) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

const _: () = assert!(FIRST.as_millis() > 0 && FIRST.as_millis() < LONGEST.as_millis());

/// Random numbers of a seed, so that clients that failed together do not come back together (splitmix64).
#[derive(Debug)]
pub(in crate::source) struct Jitter(u64);

impl Jitter {
    pub(in crate::source) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below 1024.
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from(mixed >> 54).expect("ten bits are left")
    }
}

/// How often in a row something failed.
#[derive(Debug, Default)]
pub(in crate::source) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Takes note of a failure and says how long to wait: twice as long each time up to a bound, of which the second
    /// half is random, and never less than the server asks for within [`RETRY_AFTER_MAX`].
    pub(in crate::source) fn failed(&mut self, asked: Option<Duration>, jitter: &mut Jitter) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        let half = doubled.min(LONGEST) / 2;
        let own = half + half * jitter.next() / 1024;
        asked.map_or(own, |asked| own.max(asked.min(RETRY_AFTER_MAX)))
    }

    /// Takes note of a success.
    pub(in crate::source) fn succeeded(&mut self) {
        self.failures = 0;
    }

    pub(in crate::source) fn has_failed(&self) -> bool {
        self.failures > 0
    }
}

/// Reads `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
pub(in crate::source) fn retry_after(text: &str, now_unix_ms: u64) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let until_unix_ms = u64::try_from(until.as_millisecond()).ok()?;
    Some(Duration::from_millis(until_unix_ms.saturating_sub(now_unix_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h4_waits_double_to_a_bound_are_never_zero_and_differ_between_seeds() {
        let waits = |seed| {
            let (mut backoff, mut jitter) = (Backoff::default(), Jitter::new(seed));
            (0..40).map(|_| backoff.failed(None, &mut jitter)).collect::<Vec<_>>()
        };
        for (number, wait) in (0..).zip(waits(1)) {
            let whole = FIRST.saturating_mul(1 << u32::min(number, 16)).min(LONGEST);
            assert!(whole / 2 <= wait && wait <= whole, "{number}: {wait:?}");
        }
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }

    #[test]
    fn h4_what_the_server_asks_for_is_waited_for_up_to_a_bound_and_a_success_begins_anew() {
        let (mut backoff, mut jitter) = (Backoff::default(), Jitter::new(1));
        assert_eq!(backoff.failed(Some(Duration::from_secs(2)), &mut jitter), Duration::from_secs(2));
        assert_eq!(backoff.failed(Some(Duration::from_secs(86_400)), &mut jitter), RETRY_AFTER_MAX);
        assert!(backoff.failed(Some(Duration::ZERO), &mut jitter) >= Duration::from_secs(1), "a 0 is no licence");
        backoff.succeeded();
        assert!(backoff.failed(None, &mut jitter) <= FIRST);
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now = 1_445_412_420_000;
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:26:00 GMT", now), Some(Duration::ZERO));
        for text in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
            assert_eq!(retry_after(text, now), None, "{text}");
        }
    }
}
