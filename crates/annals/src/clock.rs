//! The only place that reads the time or sleeps.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Reads the time and waits for it.
pub trait Clock: Send + Sync {
    /// Wall-clock time, Unix milliseconds.
    fn now_unix_ms(&self) -> u64;

    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration);

    /// Whether whoever waits is asked to end; from then on [`Clock::sleep`] returns at once.
    fn is_stopped(&self) -> bool {
        false
    }
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

/// The wish that work ends. Clones share it; it is never taken back.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// A wish that nobody has spoken yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Speaks it, and wakes whoever waits.
    pub fn stop(&self) {
        let (stopped, changed) = &*self.0;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether it was spoken.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is spoken, and no longer than `at_most`; tells whether it was.
    pub fn wait(&self, at_most: Duration) -> bool {
        let (stopped, changed) = &*self.0;
        let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(stopped, at_most, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The machine's own clock, whose sleepers wake when they are to end.
#[derive(Debug)]
pub struct StoppableClock {
    clock: SystemClock,
    stop: Stop,
}

impl StoppableClock {
    /// A clock for whoever is to end with `stop`.
    #[must_use]
    pub fn new(stop: Stop) -> Self {
        Self { clock: SystemClock::new(), stop }
    }
}

impl Clock for StoppableClock {
    fn now_unix_ms(&self) -> u64 {
        self.clock.now_unix_ms()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep(&self, duration: Duration) {
        self.stop.wait(duration);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_stop_wakes_every_sleeper_and_nobody_sleeps_after_it() {
        let stop = Stop::new();
        let clock = StoppableClock::new(stop.clone());
        assert!(!stop.wait(Duration::from_millis(1)) && !clock.is_stopped());
        let began = clock.monotonic();
        std::thread::scope(|scope| {
            scope.spawn(|| clock.sleep(LONG));
            scope.spawn(|| assert!(stop.wait(LONG)));
            stop.stop();
        });
        clock.sleep(LONG);
        assert!(clock.is_stopped() && clock.monotonic() - began < LONG / 10);
    }
}
