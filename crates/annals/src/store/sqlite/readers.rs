//! The bounded pool of reading connections.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::open;
use crate::store::StoreError;

/// How many reading connections are open at most; more readers wait for one.
const READERS_MAX: usize = 4;

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// Connections that are open, in use or idle.
    open: usize,
}

/// The device of a file and its number there.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Reading connections to the file that stood at `path` at first, opened when needed and kept.
pub(super) struct ReaderPool {
    path: PathBuf,
    file: Option<FileId>,
    state: Mutex<State>,
    freed: Condvar,
}

impl ReaderPool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { file: file_id(&path), path, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Runs `read` on one snapshot.
    ///
    /// # Errors
    /// [`StoreError::Replaced`] where another file stands at the path: a connection that is kept would go on to read
    /// the old one, the next that is opened reads the other, and a reader would be answered now from this and now
    /// from that.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = self.take()?;
        // Looked at behind the connecting, so that none that is kept is of another file.
        if self.file.is_none() || file_id(&self.path) != self.file {
            lent.connection = None;
            return Err(StoreError::Replaced { path: self.path.clone() });
        }
        let connection = lent.connection.as_mut().expect("a lent connection is taken back only when dropped");
        let snapshot = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        read(&snapshot)
    }

    fn take(&self) -> Result<Lent<'_>, StoreError> {
        let mut state = self.lock();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(Lent { pool: self, connection: Some(connection) });
            }
            if state.open < READERS_MAX {
                state.open += 1;
                break;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        // Made first, so that a failure to connect gives the place back.
        let mut lent = Lent { pool: self, connection: None };
        lent.connection = Some(open::connect_reader(&self.path)?);
        Ok(lent)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole at every point where a thread could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use; goes back to the pool when dropped.
struct Lent<'a> {
    pool: &'a ReaderPool,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        match self.connection.take() {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        self.pool.freed.notify_one();
    }
}
