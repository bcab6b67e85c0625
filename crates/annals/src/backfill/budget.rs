//! Back-pressure by bytes between the reader of a source and the writer of a store.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A number of bytes that may be under way at once. One claim is always granted, however large.
pub(super) struct Budget {
    bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    claimed: u64,
    closed: bool,
}

impl Budget {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `bytes` may be claimed. False when the budget was closed meanwhile.
    pub(super) fn claim(&self, bytes: u64) -> bool {
        let full = |state: &mut State| !state.closed && state.claimed > 0 && state.claimed + bytes > self.bytes_max;
        let mut state = self.changed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.claimed += bytes;
        !state.closed
    }

    /// Gives a claim back.
    pub(super) fn release(&self, bytes: u64) {
        let mut state = self.lock();
        state.claimed = state.claimed.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Whether nobody waits for results any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Lets everybody who waits go.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_above_the_whole_budget_is_granted_alone_and_a_closed_budget_lets_go() {
        let budget = Budget::new(10);
        assert!(budget.claim(1000));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.claim(1));
            budget.release(1000);
            assert!(waiting.join().unwrap());
            let waiting = scope.spawn(|| budget.claim(10));
            budget.close();
            assert!(!waiting.join().unwrap());
        });
    }
}
