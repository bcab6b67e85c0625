//! A folder with a generated lake, and an archive of it where one is asked for.

use std::path::{Path, PathBuf};

use annals_core::{LedgerSeq, Network};
use annals_sim::{Ending, Format, LakeLayout, LakeWriter, Mix, random_chain};
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Ran, backfill};

pub const PASSPHRASE: &str = "Annals Command Line Network";
pub const FIRST: u32 = 1000;
pub const LAST: u32 = 1019;
pub const RANGE: &str = "1000:1019";

/// Everything lies in one temporary folder.
pub struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// A lake of twenty ledgers and no archive.
    pub fn lake() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        write_lake(&fixture.lake_path(), LAST - FIRST + 1);
        fixture
    }

    /// The lake and an archive that holds all of it.
    pub fn archive() -> Self {
        let fixture = Self::lake();
        fixture.backfill(RANGE).ends_with(0);
        fixture
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn lake_path(&self) -> PathBuf {
        self.path().join("lake")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.path().join("archive")
    }

    pub fn backfill(&self, range: &str) -> Ran {
        Ran::of(&mut backfill(&self.lake_path(), &self.data_dir(), PASSPHRASE, range))
    }
}

/// Writes a lake of so many ledgers from [`FIRST`] on.
pub fn write_lake(folder: &Path, ledgers: u32) {
    write_lake_of(folder, ledgers, 7);
}

/// The same of another chain for each seed.
pub fn write_lake_of(folder: &Path, ledgers: u32, seed: u64) {
    let network = Network::new(PASSPHRASE);
    let layout = LakeLayout { ledgers_per_object: 1, objects_per_partition: 64_000, ending: Ending::Zst };
    let mut writer = LakeWriter::new(folder, layout);
    let first = LedgerSeq::new(FIRST).unwrap();
    for ledger in random_chain(&network, first, seed, ledgers, Mix::new(Format::V2Meta4)) {
        writer.push(&ledger).unwrap();
    }
    writer.finish().unwrap();
    layout.write_manifest(folder, &network).unwrap();
}

/// What lies in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A report of `annals status` without what changes with time and the machine.
pub fn lasting(mut status: Value) -> Value {
    for field in ["lag_seconds", "storage"] {
        assert!(status.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    status
}
