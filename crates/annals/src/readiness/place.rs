//! Where an archive lies, and what that place says.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Cadence, OwnFollower, Readiness, Surroundings};
use crate::disk;
use crate::store::{SqliteStore, Status, Store, StoreError};

/// Where an archive lies, and who follows its network.
#[derive(Debug, Clone)]
pub struct Place {
    /// The database's file; none where it is no file of this machine.
    pub database: Option<PathBuf>,
    /// The follower of this process; none where it is not this process that is to follow the network.
    pub own_follower: Option<Arc<OwnFollower>>,
    /// Below how many free bytes the disk is nearly full.
    pub reserve_bytes: u64,
}

impl Place {
    /// The place of an archive whose network this process does not follow.
    #[must_use]
    pub fn of(store: &SqliteStore) -> Self {
        Self { database: Some(store.database_path().to_owned()), ..Self::nowhere() }
    }

    /// No place of this machine.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { database: None, own_follower: None, reserve_bytes: disk::RESERVE_BYTES }
    }

    /// The bytes that are free there; none where nobody can tell.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        disk::free_bytes(self.database.as_ref()?).ok()
    }

    /// Looks around.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn look(&self, store: &dyn Store, status: &Status, now_ms: u64) -> Result<Surroundings, StoreError> {
        Ok(Surroundings {
            now_ms,
            own_follower: self.own_follower.as_ref().map(|follower| follower.state()),
            is_writable: self.database.as_deref().is_none_or(disk::may_write),
            free_bytes: self.free_bytes(),
            reserve_bytes: self.reserve_bytes,
            cadence: Cadence::observe(store, status)?,
        })
    }

    /// How the archive is that lies there.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be read, which [`Readiness::unreadable`] says.
    pub fn readiness(&self, store: &dyn Store, now_ms: u64) -> Result<Readiness, StoreError> {
        let status = store.status()?;
        Ok(Readiness::of(&status, &self.look(store, &status, now_ms)?))
    }
}
