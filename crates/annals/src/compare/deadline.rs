//! When a comparison has to have ended, however slowly archives answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;

/// A moment after which nothing is asked any more. Clones are the same moment.
#[derive(Clone)]
pub struct Deadline {
    clock: Arc<dyn Clock>,
    ends_at: Duration,
}

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(allowed: Duration, clock: Arc<dyn Clock>) -> Self {
        let ends_at = clock.monotonic().saturating_add(allowed);
        Self { clock, ends_at }
    }

    /// What is left; none once it is over.
    pub(super) fn left(&self) -> Option<Duration> {
        self.ends_at.checked_sub(self.clock.monotonic()).filter(|left| !left.is_zero())
    }

    /// Waits, where something is left after that; tells whether it did.
    pub(super) fn wait(&self, wait: Duration) -> bool {
        let has_time = self.left().is_some_and(|left| wait < left);
        if has_time {
            self.clock.sleep(wait);
        }
        has_time
    }

    pub(super) fn now_unix_ms(&self) -> u64 {
        self.clock.now_unix_ms()
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("ends_at", &self.ends_at).finish_non_exhaustive()
    }
}
