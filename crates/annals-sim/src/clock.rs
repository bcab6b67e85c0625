//! The only place of the simulator that reads the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Measures the time since it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn started() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Wall-clock time, Unix milliseconds.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
