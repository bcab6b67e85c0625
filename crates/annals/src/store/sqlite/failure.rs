//! From the database's errors to the store's.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        classify(&error, None).unwrap_or_else(|| Self::Database(Box::new(error)))
    }
}

/// The condition that a database error stands for; none where it is just a failed database. Without a `path` a
/// database that cannot be written stays unclassified, because the variant names it.
fn classify(error: &rusqlite::Error, path: Option<&Path>) -> Option<StoreError> {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return None };
    match failure.code {
        ErrorCode::DiskFull => Some(StoreError::Full),
        // The index of the write-ahead log could not be given its size.
        ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => Some(StoreError::Full),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(StoreError::WriterBusy),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            Some(StoreError::Damaged { what: "the database file is malformed".to_owned() })
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            path.map(|path| StoreError::ReadOnly { path: path.to_owned() })
        }
        _ => None,
    }
}

/// Names `path` in the error where the database could not be opened or written.
pub(super) fn at(path: &Path, error: StoreError) -> StoreError {
    let StoreError::Database(source) = error else { return error };
    let known = match (source.downcast_ref::<rusqlite::Error>(), source.downcast_ref::<refinery::Error>()) {
        (Some(error), _) => classify(error, Some(path)),
        (None, Some(error)) => match error.kind() {
            refinery::error::Kind::Connection(_, cause) => {
                cause.downcast_ref::<rusqlite::Error>().and_then(|error| classify(error, Some(path)))
            }
            _ => None,
        },
        (None, None) => None,
    };
    known.unwrap_or(StoreError::Database(source))
}

/// The error of a file operation on `path`.
pub(super) fn file(path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => StoreError::ReadOnly { path: path.to_owned() },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Database(Box::new(error)),
    }
}

/// The error of stored values that no commit can have written.
pub(super) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError::Damaged { what: what.into() }
}
