//! The size of the write-ahead log.
//!
//! SQLite starts its log over when all of it was copied back and no reader is in it. Readers that overlap without a
//! pause are always in it, however short each is, so that past a size the writer holds new frames back until the
//! readers of the old ones have gone.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::open::BUSY_TIMEOUT;

/// Past this size the writer waits for readers; one commit may lie on top.
const LOG_BYTES_MAX: u64 = 32 << 20;
/// How long it waits. A reader that stays longer is no page of ours: an operator's shell, say.
const READERS_WAIT: Duration = Duration::from_secs(2);

/// The log's size at which the writer waits for readers next.
pub(super) struct LogLimit {
    path: PathBuf,
    bytes: u64,
}

impl LogLimit {
    pub(super) fn new(database: &Path) -> Self {
        let mut path = OsString::from(database);
        path.push("-wal");
        Self { path: path.into(), bytes: LOG_BYTES_MAX }
    }

    /// Cuts the log back if it has grown too long. What was committed is safe already, so that a failure is told and
    /// no more; the next attempt comes when the log has grown as much again.
    pub(super) fn keep(&mut self, writer: &Connection) {
        let size = || fs::metadata(&self.path).map(|file| file.len()).unwrap_or(0);
        if size() < self.bytes {
            return;
        }
        let outcome = truncate(writer);
        let left = size();
        self.bytes = left + LOG_BYTES_MAX;
        match outcome {
            Ok(true) => {}
            Ok(false) => tracing::warn!(bytes = left, "a reader holds the write-ahead log: it grows until that ends"),
            Err(error) => tracing::warn!(bytes = left, %error, "the write-ahead log could not be cut back"),
        }
    }
}

/// Copies the log back and empties it; tells whether no reader was in the way.
fn truncate(writer: &Connection) -> rusqlite::Result<bool> {
    writer.busy_timeout(READERS_WAIT)?;
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    writer.busy_timeout(BUSY_TIMEOUT)?;
    Ok(busy? == 0)
}
