//! Folders that hold something else, something newer, nothing, or another writer.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use annals::store::{SqliteStore, Store, StoreError};
use rusqlite::Connection;

use crate::store::fixtures::{begin, clock, full, snapshot};

type Open = fn(&Path) -> Result<SqliteStore, StoreError>;

const READER: Open = |dir| SqliteStore::open_reader(dir, clock());
const WRITER: Open = |dir| SqliteStore::open_writer(dir, clock());
const CREATOR: Open = |dir| SqliteStore::create_or_open(dir, clock());

/// Every file below `dir` with its bytes.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = dir.read_dir().unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| {
            let bytes = if entry.path().is_dir() { Vec::new() } else { fs::read(entry.path()).unwrap() };
            (entry.file_name().into_string().unwrap(), bytes)
        })
        .collect();
    files.sort();
    files
}

fn refusal(open: Open, dir: &Path) -> StoreError {
    open(dir).err().expect("it is refused")
}

/// An archive with a few ledgers.
fn archive(dir: &Path) {
    let store = CREATOR(dir).unwrap();
    let fence = begin(&store, 1, 9);
    store.commit(&full(1, 5), fence).unwrap();
}

fn history(dir: &Path, change: &str) {
    let connection = Connection::open(dir.join("annals.db")).unwrap();
    connection.execute(change, []).unwrap();
}

#[test]
fn another_programs_database_is_refused_and_not_touched() {
    let journals = ["DELETE", "WAL"];
    for journal in journals {
        let dir = tempfile::tempdir().unwrap();
        let other = Connection::open(dir.path().join("annals.db")).unwrap();
        other.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(())).unwrap();
        other.execute_batch("CREATE TABLE accounts (id INTEGER); INSERT INTO accounts VALUES (1)").unwrap();
        drop(other);
        let before = contents(dir.path());
        for open in [READER, WRITER, CREATOR] {
            let error = refusal(open, dir.path());
            assert!(matches!(&error, StoreError::ForeignDatabase { path } if path.ends_with("annals.db")), "{error:?}");
            assert_eq!(contents(dir.path()), before);
        }
    }
}

#[test]
fn what_is_no_database_is_refused_and_not_touched() {
    let garbage: [&[u8]; 3] = [b"abc", &[0x5A; 4096], b"SQLite format 3\0 and then no more"];
    for bytes in garbage {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("annals.db"), bytes).unwrap();
        for open in [READER, WRITER, CREATOR] {
            assert!(matches!(refusal(open, dir.path()), StoreError::ForeignDatabase { .. }));
            assert_eq!(contents(dir.path()), [("annals.db".to_owned(), bytes.to_vec())]);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("annals.db")).unwrap();
    for open in [READER, WRITER, CREATOR] {
        assert!(matches!(refusal(open, dir.path()), StoreError::ForeignDatabase { .. }));
    }
}

#[test]
fn without_an_archive_nothing_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("not/there");
    for open in [READER, WRITER] {
        for folder in [dir.path(), &missing] {
            let error = refusal(open, folder);
            assert!(matches!(&error, StoreError::NoArchive { path } if path == folder));
        }
        assert!(contents(dir.path()).is_empty());
    }
    CREATOR(&missing).unwrap();
    READER(&missing).unwrap();
}

#[test]
fn a_creation_that_was_interrupted_is_no_archive_and_the_next_one_finishes_it() {
    // Killed after the file was made, and after it was marked.
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("annals.db"), b"").unwrap();
    assert!(matches!(refusal(READER, dir.path()), StoreError::NoArchive { .. }));
    assert!(matches!(refusal(WRITER, dir.path()), StoreError::NoArchive { .. }));
    CREATOR(dir.path()).unwrap();

    let marked = tempfile::tempdir().unwrap();
    let connection = Connection::open(marked.path().join("annals.db")).unwrap();
    connection.pragma_update(None, "application_id", 0x414E_4C53).unwrap();
    drop(connection);
    assert!(matches!(refusal(READER, marked.path()), StoreError::NoArchive { .. }));
    archive(marked.path());
    assert_eq!(READER(marked.path()).unwrap().status().unwrap().verified.count(), 5);
}

#[test]
fn a_newer_schema_is_refused_before_any_write() {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path());
    history(
        dir.path(),
        "INSERT INTO refinery_schema_history SELECT 9999, 'from_the_future', applied_on, checksum \
                         FROM refinery_schema_history LIMIT 1",
    );
    let database = || fs::read(dir.path().join("annals.db")).unwrap();
    let before = database();
    for open in [READER, WRITER, CREATOR] {
        let error = refusal(open, dir.path());
        assert!(matches!(error, StoreError::NewerSchema { found: 9999, known } if known < 9999), "{error:?}");
        assert_eq!(database(), before);
    }
}

#[test]
fn a_reader_refuses_a_schema_that_waits_for_its_migration() {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path());
    history(
        dir.path(),
        "DELETE FROM refinery_schema_history WHERE version = \
                         (SELECT max(version) FROM refinery_schema_history)",
    );
    let error = refusal(READER, dir.path());
    assert!(matches!(error, StoreError::OlderSchema { found, known } if found + 1 == known), "{error:?}");
}

#[test]
fn a_second_writer_is_told_at_once_and_readers_run_beside_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first = CREATOR(dir.path()).unwrap();
    let fence = begin(&first, 1, 9);
    for open in [WRITER, CREATOR] {
        assert!(matches!(refusal(open, dir.path()), StoreError::WriterBusy));
    }
    let reader = READER(dir.path()).unwrap();
    first.commit(&full(1, 5), fence).unwrap();
    assert_eq!(snapshot(&reader), snapshot(&first));
    for refused in [reader.acquire().map(drop), reader.commit(&full(6, 6), fence).map(drop)] {
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    }
    drop((first, reader));
    WRITER(dir.path()).unwrap();
}

#[test]
fn opening_tells_what_was_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let made = CREATOR(dir.path()).unwrap().migrated().unwrap();
    assert_eq!(made.from, 0);
    let opened = WRITER(dir.path()).unwrap().migrated().unwrap();
    assert_eq!((opened.from, opened.to), (made.to, made.to));
    assert_eq!(READER(dir.path()).unwrap().migrated(), None);
}

/// Names the folder to a child that runs as somebody without rights in it.
const CHILD_DIR: &str = "ANNALS_TEST_READ_ONLY_DIR";

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_name() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        return refuse_read_only(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    archive(&dir.path().join("archive"));
    let before = contents(&dir.path().join("archive"));
    let mode = |path: &str, mode| fs::set_permissions(dir.path().join(path), PermissionsExt::from_mode(mode)).unwrap();
    let files = ["archive/annals.db", "archive/annals.lock"];
    let folders = ["empty", "archive", ""];
    files.iter().for_each(|file| mode(file, 0o444));
    folders.iter().for_each(|folder| mode(folder, 0o555));
    // Root may write whatever the modes say, so that it needs somebody else to try.
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let name = "store::sqlite::bad_input::a_folder_that_cannot_be_written_is_refused_by_name";
        let child = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD_DIR, dir.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success() && told.contains("1 passed"),
            "{told}{}",
            String::from_utf8_lossy(&child.stderr)
        );
    } else {
        refuse_read_only(dir.path());
    }
    folders.iter().for_each(|folder| mode(folder, 0o755));
    assert_eq!(contents(&dir.path().join("archive")), before);
}

fn refuse_read_only(dir: &Path) {
    for (folder, open) in [("empty", CREATOR), ("new", CREATOR), ("archive", CREATOR), ("archive", WRITER)] {
        let opened = open(&dir.join(folder)).and_then(|store| store.status());
        assert!(matches!(&opened, Err(StoreError::ReadOnly { path }) if path.starts_with(dir)), "{folder}: {opened:?}");
    }
    // SQLite cannot read beside a log that it may not make.
    let opened = READER(&dir.join("archive")).and_then(|store| store.status());
    assert!(matches!(&opened, Err(StoreError::Unreadable { path }) if path.starts_with(dir)), "{opened:?}");
}

#[test]
fn a_reader_that_cannot_open_what_it_needs_speaks_of_reading() {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path());
    let reader = READER(dir.path()).unwrap();
    let log = dir.path().join("annals.db-wal");
    let _ = fs::remove_file(&log);
    fs::create_dir(&log).unwrap();
    let error = reader.status().unwrap_err();
    assert!(matches!(&error, StoreError::Unreadable { path } if path.ends_with("annals.db")), "{error:?}");
}
