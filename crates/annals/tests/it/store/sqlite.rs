//! The suite on SQLite, and what only files can get wrong.

mod audit;
mod bad_input;
mod concurrency;
mod full_disk;
mod growth;
mod journal;

use std::sync::Arc;

use annals::store::{SqliteStore, Store};
use annals_core::Registry;
use tempfile::TempDir;

use super::fixtures::{StoreFixture, clock};
use super::suite::on_every_case;

/// A store in a folder of its own.
pub struct SqliteFixture {
    store: Option<SqliteStore>,
    dir: TempDir,
}

impl SqliteFixture {
    pub fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// A store on a file system in memory where there is one: for thousands of small commits, whose syncs would
    /// take the test's time.
    pub fn in_memory() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::in_folder(dir.unwrap())
    }

    /// The store's folder.
    pub fn path(&self) -> &std::path::Path {
        self.dir.path()
    }

    fn in_folder(dir: TempDir) -> Self {
        let store = Some(SqliteStore::create_or_open(dir.path(), clock()).unwrap());
        Self { store, dir }
    }
}

impl StoreFixture for SqliteFixture {
    fn store(&self) -> &dyn Store {
        self.store.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(SqliteStore::open_writer(self.dir.path(), clock()).unwrap());
    }

    fn reopen_with(&mut self, registry: Arc<Registry>) {
        self.reopen();
        self.store = self.store.take().map(|store| store.with_registry(registry));
    }
}

impl Drop for SqliteFixture {
    fn drop(&mut self) {
        self.store = None;
        let mut left: Vec<String> = self
            .dir
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        if !std::thread::panicking() {
            assert_eq!(left, ["annals.db", "annals.lock"], "the log is cleaned up when the writer closes");
        }
    }
}

fn fixture() -> Box<dyn StoreFixture> {
    Box::new(SqliteFixture::new())
}

on_every_case!(fixture);
