//! What a process knows of the follower that runs in it.

use std::sync::{Mutex, PoisonError};

use crate::store::{DISK_FULL, FollowStateName};

/// How a follower does, as the process that it runs in knows it: a full disk and a failure keep it from saying so in the
/// archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnState {
    /// As it says in the archive.
    #[default]
    AsItSays,
    /// It could store nothing for want of room, and has stored nothing since.
    DiskFull,
    /// It has failed with this code.
    Failed(&'static str),
}

/// The follower that runs in this process, and how it does.
#[derive(Debug, Default)]
pub struct OwnFollower(Mutex<OwnState>);

impl OwnFollower {
    /// How it does.
    #[must_use]
    pub fn state(&self) -> OwnState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what it does. A disk that was full is taken for full while it only tries again.
    pub fn does(&self, doing: FollowStateName, code: Option<&str>) {
        match (doing, code) {
            (FollowStateName::Waiting, Some(DISK_FULL)) => self.set(OwnState::DiskFull),
            (FollowStateName::CatchingUp, _) => {}
            _ => self.set(OwnState::AsItSays),
        }
    }

    /// Takes note that it has stored a ledger.
    pub fn has_stored(&self) {
        self.set(OwnState::AsItSays);
    }

    /// Takes note that it has failed.
    pub fn has_failed(&self, code: &'static str) {
        self.set(OwnState::Failed(code));
    }

    fn set(&self, state: OwnState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
