//! What the two threads that write share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use annals_core::LedgerSeq;

use crate::store::Fence;

/// A commit of new ledgers is waited for no longer than this; the store keeps the two apart all the same.
const TURN_MAX: Duration = Duration::from_secs(5);

/// The fence, the boundary, and whose turn it is to commit.
pub(super) struct Shared {
    pub(super) fence: Fence,
    /// Gaps below are worked off; what is missing from here on is taken at the tip.
    boundary: AtomicU32,
    is_ended: AtomicBool,
    tip_commits: Mutex<bool>,
    committed: Condvar,
}

impl Shared {
    pub(super) fn new(fence: Fence) -> Self {
        Self {
            fence,
            boundary: AtomicU32::new(0),
            is_ended: AtomicBool::new(false),
            tip_commits: Mutex::default(),
            committed: Condvar::new(),
        }
    }

    pub(super) fn set_boundary(&self, boundary: LedgerSeq) {
        self.boundary.store(boundary.get(), Ordering::Release);
    }

    /// The last ledger below the boundary; none before there is one.
    pub(super) fn below_boundary(&self) -> Option<LedgerSeq> {
        LedgerSeq::new(self.boundary.load(Ordering::Acquire).checked_sub(1)?).ok()
    }

    /// Says that nothing more is to be committed.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Commits new ledgers: whoever fills gaps lets them go first.
    pub(super) fn at_the_tip<T>(&self, commit: impl FnOnce() -> T) -> T {
        self.set_turn(true);
        let committed = commit();
        self.set_turn(false);
        committed
    }

    /// Lets new ledgers go first.
    pub(super) fn after_the_tip(&self) {
        let turn = self.tip_commits.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.committed.wait_timeout_while(turn, TURN_MAX, |tip_commits| *tip_commits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn set_turn(&self, tip_commits: bool) {
        *self.tip_commits.lock().unwrap_or_else(PoisonError::into_inner) = tip_commits;
        self.committed.notify_all();
    }
}
