//! What the two threads that write share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_core::{LedgerHash, LedgerSeq};

use crate::store::Fence;

/// A commit of new ledgers is waited for no longer than this; the store keeps the two apart all the same.
const TURN_MAX: Duration = Duration::from_secs(5);

/// Gaps below are worked off; what is missing from here on is taken at the tip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundary {
    pub(super) ledger: LedgerSeq,
    /// The hash that it gives for the ledger below it; none before it has come.
    pub(super) below: Option<LedgerHash>,
}

/// The fence, the boundary, and whose turn it is to commit.
pub(super) struct Shared {
    pub(super) fence: Fence,
    /// None before following has begun.
    boundary: Mutex<Option<Boundary>>,
    is_ended: AtomicBool,
    tip_commits: Mutex<bool>,
    committed: Condvar,
}

impl Shared {
    pub(super) fn new(fence: Fence) -> Self {
        Self {
            fence,
            boundary: Mutex::default(),
            is_ended: AtomicBool::new(false),
            tip_commits: Mutex::default(),
            committed: Condvar::new(),
        }
    }

    fn lock_boundary(&self) -> MutexGuard<'_, Option<Boundary>> {
        self.boundary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_boundary(&self, ledger: LedgerSeq) {
        *self.lock_boundary() = Some(Boundary { ledger, below: None });
    }

    pub(super) fn boundary(&self) -> Option<Boundary> {
        *self.lock_boundary()
    }

    /// Takes note of the lowest ledger of those that came at the tip, and of the hash that it names below it; tells whether
    /// that is the boundary's, and news.
    pub(super) fn has_come(&self, (lowest, below): (LedgerSeq, LedgerHash)) -> bool {
        let mut boundary = self.lock_boundary();
        let awaited = boundary.as_mut().filter(|boundary| boundary.ledger == lowest && boundary.below.is_none());
        awaited.map(|boundary| boundary.below = Some(below)).is_some()
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
