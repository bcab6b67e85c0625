//! `kill -9` at any moment of a backfill loses nothing and repeats nothing.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, LazyLock};

use annals::clock::SystemClock;
use annals::store::{SqliteStore, Store as _};
use annals_core::{LedgerSeq, Network};
use annals_sim::{Format, LakeLayout, LakeWriter, Mix, Rng, random_chain};
use serde_json::json;
use tempfile::TempDir;

use crate::binary::{Ran, backfill, export, report};

const PASSPHRASE: &str = "Annals Kill Network";
const LEDGERS: u32 = 2_000;
const RANGE: &str = "1000:+2000";
/// Seeds of CI. `ANNALS_KILL_SEED` replays one of them, or any other.
const SEEDS: u64 = 20;
/// A kill that fell before the first or after the last commit does not count and is tried again, so often.
const TRIES_MAX: u32 = 50;

static LAKE: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mix = Mix { events_per_ledger: 4, ..Mix::new(Format::V2Meta4) };
    let mut writer = LakeWriter::new(folder.path(), LakeLayout::default());
    let network = Network::new(PASSPHRASE);
    for ledger in random_chain(&network, LedgerSeq::new(1000).unwrap(), 11, LEDGERS, mix) {
        writer.push(&ledger).unwrap();
    }
    writer.finish().unwrap();
    folder
});

/// How many ledgers the archive covers; none where there is no archive to read yet.
fn covered(data_dir: &Path) -> Option<u64> {
    let store = SqliteStore::open_reader(data_dir, Arc::new(SystemClock::new())).ok()?;
    let status = store.status().ok()?;
    Some(status.covered(annals_core::ScopeKey::All).count())
}

fn start(data_dir: &Path) -> Child {
    let mut command = backfill(LAKE.path(), data_dir, PASSPHRASE, RANGE);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a backfill once it has covered so many ledgers and a little more work was done; tells what it had covered.
fn killed_after(data_dir: &Path, at_least: u64, spins: u32) -> u64 {
    let mut child = start(data_dir);
    while covered(data_dir).is_none_or(|count| count < at_least) {
        if child.try_wait().unwrap().is_some() {
            return covered(data_dir).unwrap_or(0);
        }
    }
    // The moment inside a commit is left to the machine: so many reads of the archive later.
    for _ in 0..spins {
        covered(data_dir);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    covered(data_dir).unwrap_or(0)
}

fn survives(seed: u64, uninterrupted: &str) {
    let mut rng = Rng::new(seed);
    for _ in 0..TRIES_MAX {
        let data = tempfile::tempdir().unwrap();
        let before = killed_after(data.path(), 1 + u64::from(rng.below(LEDGERS - 100)), rng.below(4));
        if before == 0 || before == u64::from(LEDGERS) {
            continue;
        }
        report(&["verify"], data.path()).ends_with(0);
        let summary = Ran::of(&mut backfill(LAKE.path(), data.path(), PASSPHRASE, RANGE)).ends_with(0).json();
        let fetched = summary["fetched"].as_u64().unwrap();
        assert_eq!(fetched + before, u64::from(LEDGERS), "seed {seed}: {summary}");
        assert_eq!(summary["gaps"], json!([]), "seed {seed}");
        assert!(export(data.path()).ends_with(0).stdout == uninterrupted, "seed {seed}: the exports differ");
        return;
    }
    panic!("seed {seed}: no kill fell between the first and the last commit in {TRIES_MAX} tries");
}

#[test]
fn a_killed_backfill_loses_nothing_and_repeats_nothing() {
    let data = tempfile::tempdir().unwrap();
    Ran::of(&mut backfill(LAKE.path(), data.path(), PASSPHRASE, RANGE)).ends_with(0);
    let uninterrupted = export(data.path()).ends_with(0).stdout;
    let given = std::env::var("ANNALS_KILL_SEED").ok().map(|seed| seed.parse().unwrap());
    match given {
        Some(seed) => survives(seed, &uninterrupted),
        None => (0..SEEDS).for_each(|seed| survives(seed, &uninterrupted)),
    }
}
