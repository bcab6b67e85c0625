//! Archives that an older Annals filled.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use annals::clock::SystemClock;
use annals::store::SqliteStore;
use rusqlite::Connection;

use crate::binary::report;
use crate::cli::fixture::{Fixture, write_lake};

/// Makes an archive of an earlier schema, with nothing in it.
fn older(data_dir: &Path, schema: u32) {
    fs::create_dir(data_dir).unwrap();
    let newest = tempfile::tempdir().unwrap();
    drop(SqliteStore::create_or_open(newest.path(), Arc::new(SystemClock::new())).unwrap());
    let archive = Connection::open(data_dir.join("annals.db")).unwrap();
    let mut migrations: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    migrations.sort();
    for migration in &migrations[..schema as usize] {
        archive.execute_batch(&fs::read_to_string(migration).unwrap()).unwrap();
    }
    let attach = format!("ATTACH '{}' AS newest", newest.path().join("annals.db").display());
    archive.execute_batch(&attach).unwrap();
    let history =
        "CREATE TABLE refinery_schema_history AS SELECT * FROM newest.refinery_schema_history WHERE version <= ";
    archive.execute_batch(&format!("{history}{schema}; PRAGMA application_id = {}", 0x414E_4C53)).unwrap();
}

#[test]
fn that_an_older_archive_is_being_migrated_is_told_while_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    older(&data_dir, 6);
    report(&["status"], &data_dir).ends_with(1);
    let ran = report(&["migrate"], &data_dir).ends_with(0);
    let now = ran.json()["schema"].as_u64().unwrap();
    assert_eq!(ran.json()["schema_before"], 6);
    for line in [format!("bringing the archive from schema 6 to {now}"), format!("the archive has schema {now} now")] {
        assert!(ran.stderr.contains(&line), "{line}: {ran:?}");
    }
    let again = report(&["migrate"], &data_dir).ends_with(0);
    assert_eq!(again.stderr, "", "nothing is done, and nothing is told");
}

#[test]
fn how_far_the_digests_of_an_older_archive_are_is_told() {
    let fixture = Fixture::lake();
    write_lake(&fixture.lake_path(), 300);
    fixture.backfill("1000:1299").ends_with(0);
    let archive = Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    // Ledgers 1024 to 1279.
    archive.execute_batch("DELETE FROM history_digests; INSERT INTO unsealed VALUES ('*', 16, 19)").unwrap();
    drop(archive);
    let ran = report(&["migrate"], &fixture.data_dir()).ends_with(0);
    assert_eq!(ran.json()["blocks_digested"], 4);
    assert!(ran.stderr.contains("digest: 256 of 256 ledgers to go"), "{ran:?}");
    let end = ran.stderr.lines().find(|line| line.contains("digest: 256/256 ledgers, ")).unwrap();
    assert!(!end.contains(" 0 events"), "{end}");
    report(&["verify"], &fixture.data_dir()).ends_with(0);
}
