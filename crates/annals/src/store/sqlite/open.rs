//! Finding, making and opening the archive's files.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::failure;
use super::{ArchiveBytes, schema};
use crate::store::StoreError;

/// The database's name in the data folder.
const DATABASE_FILE: &str = "annals.db";
/// The file whose lock the writer holds.
const LOCK_FILE: &str = "annals.lock";
/// Marks a database as ours in its header: `ANLS`.
const APPLICATION_ID: u32 = 0x414E_4C53;
/// How long a connection waits for another one's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// What a write-ahead log is cut back to once it was checkpointed, and the size from which the writer waits for
/// readers to let it be.
const LOG_BYTES_MAX: u32 = 32 << 20;
/// How long the writer waits for readers when the log has grown too large.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(1);
/// The writer's page cache in KiB, as SQLite wants it: negative.
const WRITER_CACHE_KIB: i64 = -(32 << 10);
/// How many of the database's bytes a reader maps instead of copying them page by page; SQLite maps 2 GiB at most.
/// What lies behind them goes through the reader's page cache.
const READER_MAPPED_BYTES_MAX: i64 = 2 << 30;
/// A reader's page cache in KiB, as SQLite wants it: negative. Each commit of a writer empties it.
const READER_CACHE_KIB: i64 = -(8 << 10);

/// What stands at a database's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing, or an empty file.
    Nothing,
    /// An archive.
    Archive,
}

/// The path of the database in `dir`.
pub(super) fn database_path(dir: &Path) -> PathBuf {
    dir.join(DATABASE_FILE)
}

/// Tells what stands at `path` by the file's own first bytes, so that another program's database is never opened.
/// Our mark is in the file itself and never only in its log: it is set before the log is switched on.
fn inspect(path: &Path) -> Result<Found, StoreError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    const APPLICATION_ID_AT: usize = 68;
    let mut header = [0; 100];
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(failure::file(path, error)),
    };
    let foreign = || StoreError::ForeignDatabase { path: path.to_owned() };
    if !file.metadata().map_err(|error| failure::file(path, error))?.is_file() {
        return Err(foreign());
    }
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let bytes = file.metadata().map_err(|error| failure::file(path, error))?.len();
            return if bytes == 0 { Ok(Found::Nothing) } else { Err(foreign()) };
        }
        Err(error) => return Err(failure::file(path, error)),
    }
    let marked = header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4] == APPLICATION_ID.to_be_bytes();
    if header.starts_with(MAGIC) && marked { Ok(Found::Archive) } else { Err(foreign()) }
}

/// What a writer holds.
pub(super) struct Opened {
    /// The one connection that writes.
    pub(super) connection: Connection,
    /// Keeps other writers out.
    pub(super) lock: WriterLock,
    /// The schema's version before this program migrated it; 0 for a new archive.
    pub(super) schema_before: u32,
}

/// Opens the archive in `dir` for writing and migrates it; makes it first where there is none and `create` says so.
pub(super) fn open_writer(dir: &Path, create: bool) -> Result<Opened, StoreError> {
    let path = database_path(dir);
    if inspect(&path)? == Found::Nothing {
        if !create {
            return Err(StoreError::NoArchive { path: dir.to_owned() });
        }
        fs::create_dir_all(dir).map_err(|error| failure::file(dir, error))?;
    }
    let lock = take_lock(dir)?;
    // Another writer may have made the archive before the lock was ours.
    let found = inspect(&path)?;
    let (connection, schema_before) = connect_writer(&path, found).map_err(|error| failure::at(&path, error))?;
    Ok(Opened { connection, lock, schema_before })
}

/// The lock that keeps other writers out for as long as it lives.
pub(super) struct WriterLock(File);

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing alone would not do: a process that is just being forked holds the same open file until it is
        // another program. What cannot be unlocked goes with the last of its holders.
        if let Err(error) = self.0.unlock() {
            tracing::warn!("the archive's lock was not let go at once: {error}");
        }
    }
}

fn take_lock(dir: &Path) -> Result<WriterLock, StoreError> {
    let path = dir.join(LOCK_FILE);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| failure::file(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(WriterLock(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::WriterBusy),
        Err(TryLockError::Error(error)) => Err(failure::file(&path, error)),
    }
}

fn connect_writer(path: &Path, found: Found) -> Result<(Connection, u32), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    let before = schema::version(&connection)?;
    schema::refuse_newer(before)?;
    if found == Found::Nothing || before == 0 {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(128);
    schema::migrate(&mut connection, before)?;
    Ok((connection, before))
}

/// Opens a connection for one act beside the writer of an archive that has this schema.
pub(super) fn connect_beside(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Checks that an archive of this schema stands in `dir`, without writing or creating anything.
pub(super) fn check_reader(dir: &Path) -> Result<(), StoreError> {
    check_to_read(dir).map_err(while_reading)
}

/// Speaks of reading where a file could not be opened: the database does not tell for what.
pub(super) fn while_reading(error: StoreError) -> StoreError {
    match error {
        StoreError::ReadOnly { path } => StoreError::Unreadable { path },
        error => error,
    }
}

fn check_to_read(dir: &Path) -> Result<(), StoreError> {
    let path = database_path(dir);
    if inspect(&path)? == Found::Nothing {
        return Err(StoreError::NoArchive { path: dir.to_owned() });
    }
    let version = connect_reader(&path).and_then(|connection| schema::version(&connection));
    match version.map_err(|error| failure::at(&path, error))? {
        // A writer was stopped before it made the first table.
        0 => Err(StoreError::NoArchive { path: dir.to_owned() }),
        version => {
            schema::refuse_newer(version)?;
            schema::refuse_older(version)
        }
    }
}

/// Opens a connection that cannot write. It maps the database: no archive ever shrinks, so that no mapped page goes
/// away, and pages that a commit changed are read from the log until no snapshot needs the old ones any more.
pub(super) fn connect_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "mmap_size", READER_MAPPED_BYTES_MAX, |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// The path of the write-ahead log of the database at `path`.
fn log_path(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// How many bytes the database at `path` and its log have.
pub(super) fn bytes(path: &Path) -> Result<ArchiveBytes, StoreError> {
    let database = fs::metadata(path).map_err(|error| failure::file(path, error))?.len();
    let log = log_path(path);
    let log = match fs::metadata(&log) {
        Ok(log) => log.len(),
        // There is none while nobody writes.
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(failure::file(&log, error)),
    };
    Ok(ArchiveBytes { database, log })
}

/// Empties a log that has outgrown its bound. Ordinary checkpoints do not wait for readers, so that readers which
/// overlap without a pause could keep the log growing; this one waits, a little, and is tried after each commit.
pub(super) fn bound_log(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let large = fs::metadata(log_path(path)).is_ok_and(|log| log.len() > u64::from(LOG_BYTES_MAX));
    if !large {
        return Ok(());
    }
    connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
    // The answer tells whether readers were in the way; the next commit tries again.
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(emptied?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_let_go_although_a_process_that_is_being_forked_holds_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let lock = take_lock(folder.path()).unwrap();
        let forked = lock.0.try_clone().unwrap();
        assert!(matches!(take_lock(folder.path()), Err(StoreError::WriterBusy)));
        drop(lock);
        take_lock(folder.path()).unwrap();
        drop(forked);
    }
}
