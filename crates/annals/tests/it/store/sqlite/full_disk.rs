//! A disk without room, as a small file system in memory.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use annals::store::{SqliteStore, Store, StoreError};
use annals_core::{Batch, ClassicEvents, Event, Position, ProofClass, Scope};
use tempfile::TempDir;

use crate::store::fixtures::*;

/// A mounted file system; unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts one of two MiB; none where mounting is not permitted, which the test must not pass over in CI.
    #[allow(clippy::print_stdout, reason = "a skipped test says so")]
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        if mount(dir.path(), "size=2m") {
            return Some(Self(dir));
        }
        assert!(std::env::var_os("CI").is_none(), "CI must be able to mount a tmpfs");
        eprintln!("skipped: mounting a tmpfs is not permitted");
        None
    }

    fn grow(&self) {
        assert!(mount(self.0.path(), "remount,size=32m"));
    }
}

fn mount(path: &Path, options: &str) -> bool {
    let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path).output();
    done.is_ok_and(|done| done.status.success())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(self.0.path()).status();
        if !std::thread::panicking() {
            assert!(done.unwrap().success());
        }
    }
}

/// A ledger with 200 KB of events.
fn bulky(number: u32) -> Batch {
    let at = |index| Position::op(seq(number), 1, 0, index).unwrap();
    let large = |index| Event {
        xdr: vec![u8::try_from(index).unwrap(); 10_000],
        ..event(at(index), 1, Some(contract(1)), ProofClass::Committed)
    };
    batch_of(Scope::All, vec![ledger_with(number, ClassicEvents::Present, (0..20).map(large).collect())])
}

#[test]
fn a_commit_on_a_full_disk_leaves_nothing_and_goes_through_once_there_is_room() {
    let Some(disk) = SmallDisk::mount() else { return };
    let dir = disk.0.path().join("data");
    let store = SqliteStore::create_or_open(&dir, clock()).unwrap();
    let fence = begin(&store, 1, 50);
    let mut before = snapshot(&store);
    let mut number = 1;
    let error = loop {
        assert!(number <= 50, "two MiB are never full");
        match store.commit(&bulky(number), fence) {
            Ok(_) => before = snapshot(&store),
            Err(error) => break error,
        }
        number += 1;
    };
    assert!(number > 1, "the first commit has room");
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert_eq!(snapshot(&store), before);
    let again = store.commit(&bulky(number), fence).unwrap_err();
    assert!(matches!(again, StoreError::Full), "{again:?}");
    drop(store);
    disk.grow();
    let store = SqliteStore::open_writer(&dir, clock()).unwrap();
    assert_eq!(snapshot(&store), before);
    let fence = store.acquire().unwrap();
    store.commit(&bulky(number), fence).unwrap();
    assert_eq!(store.status().unwrap().verified, coverage(&[(1, number)]));
}

/// Fills the disk with one file but for `spare` bytes.
fn fill(ballast: &Path, spare: u64) {
    let mut file = fs::File::create(ballast).unwrap();
    let mut written = 0;
    while let Ok(count @ 1..) = file.write(&[1; 4096]) {
        written += count as u64;
    }
    file.set_len(written - spare).unwrap();
}

#[test]
fn an_archive_that_finds_no_room_to_be_made_in_says_so_and_is_made_later() {
    let Some(disk) = SmallDisk::mount() else { return };
    let ballast = disk.0.path().join("ballast");
    // Every size of what is left, so that each step of the creation fails once.
    for kib in (0..240).step_by(12) {
        fill(&ballast, kib * 1024);
        let dir = disk.0.path().join(format!("data{kib}"));
        let outcome = SqliteStore::create_or_open(&dir, clock());
        assert!(kib > 0 || outcome.is_err());
        match outcome {
            Ok(store) => drop(store),
            Err(StoreError::Full) => {
                if dir.exists() {
                    let left = SqliteStore::open_reader(&dir, clock()).err();
                    assert!(matches!(left, Some(StoreError::NoArchive { .. } | StoreError::Full)), "{left:?}");
                }
            }
            Err(error) => panic!("{kib} KiB: {error:?}"),
        }
        fs::remove_file(&ballast).unwrap();
        let store = SqliteStore::create_or_open(&dir, clock()).unwrap();
        let fence = begin(&store, 1, 9);
        store.commit(&full(1, 5), fence).unwrap();
        drop(store);
        fs::remove_dir_all(&dir).unwrap();
    }
}
