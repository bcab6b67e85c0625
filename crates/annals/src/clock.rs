//! The only place that reads the time or sleeps.

use std::time::Duration;

/// Reads the time and waits for it.
pub trait Clock: Send + Sync {
    /// Wall-clock time, Unix milliseconds.
    fn now_unix_ms(&self) -> u64;

    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The machine's own clock.
#[derive(Debug)]
pub struct SystemClock {
    started: std::time::Instant,
}

impl SystemClock {
    /// Takes the present moment as the zero of [`Clock::monotonic`].
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn new() -> Self {
        Self { started: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_unix_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}
