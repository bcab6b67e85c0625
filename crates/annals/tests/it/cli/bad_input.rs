//! Bad input: a clear error, the right code, nothing lost and nothing half-written.

use std::fs;
use std::sync::Arc;

use annals::clock::SystemClock;
use annals::store::SqliteStore;

use crate::binary::{Ran, annals, backfill, report};
use crate::cli::fixture::{Fixture, PASSPHRASE, RANGE, lasting, names, write_lake_of};

const CONTRACT: &str = "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA";
const READING_VERBS: [&[&str]; 13] = [
    &["serve", "--port", "0"],
    &["contracts", "list"],
    &["contracts", "add", CONTRACT],
    &["contracts", "declare", CONTRACT, "--kind", "wasm"],
    &["contracts", "declare", CONTRACT, "--schema", "token"],
    &["reattribute"],
    &["export"],
    &["verify"],
    &["status"],
    &["gaps"],
    &["incidents", "list"],
    &["incidents", "resolve", "1"],
    &["migrate"],
];

/// Requires a failure of one line that ends with `[code]`.
#[track_caller]
fn fails(ran: Ran, exit: i32, code: &str) -> Ran {
    let ran = ran.ends_with(exit);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: ") && last.ends_with(&format!("[{code}]")), "{ran:?}");
    ran
}

#[test]
fn without_an_archive_every_reading_verb_says_so_in_one_sentence_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for verb in READING_VERBS {
        for data_dir in [&folder.path().join("absent"), &empty] {
            let ran = fails(Ran::of(annals(verb).arg("--data-dir").arg(data_dir)), 1, "NO_ARCHIVE");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
            assert_eq!(ran.stdout, "");
            assert_eq!(names(folder.path()), ["empty"], "{verb:?}");
            assert_eq!(names(&empty), Vec::<String>::new(), "{verb:?}");
        }
    }
}

#[test]
fn another_programs_database_is_refused_and_stays_as_it_is() {
    let fixture = Fixture::lake();
    fs::create_dir(fixture.data_dir()).unwrap();
    let file = fixture.data_dir().join("annals.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('bread');").unwrap();
    drop(other);
    for bytes in [fs::read(&file).unwrap(), b"not a database at all".to_vec()] {
        fs::write(&file, &bytes).unwrap();
        for verb in READING_VERBS {
            fails(Ran::of(annals(verb).arg("--data-dir").arg(fixture.data_dir())), 1, "FOREIGN_DATABASE");
        }
        fails(fixture.backfill(RANGE), 1, "FOREIGN_DATABASE");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn an_archive_of_a_newer_version_is_refused() {
    let fixture = Fixture::archive();
    let archive = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    let newer = "INSERT INTO refinery_schema_history VALUES (9999, 'from_the_future', '2100-01-01T00:00:00Z', '1')";
    archive.execute_batch(newer).unwrap();
    drop(archive);
    for verb in READING_VERBS {
        fails(Ran::of(annals(verb).arg("--data-dir").arg(fixture.data_dir())), 1, "NEWER_SCHEMA");
    }
    fails(fixture.backfill(RANGE), 1, "NEWER_SCHEMA");
}

#[test]
fn another_network_is_refused_before_any_write() {
    let fixture = Fixture::lake();
    let mut other = backfill(&fixture.lake_path(), &fixture.data_dir(), "Another Network", RANGE);
    fails(Ran::of(&mut other), 3, "NETWORK_MISMATCH");
    assert!(!fixture.data_dir().exists(), "a manifest of another network leaves no trace");
    fixture.backfill(RANGE).ends_with(0);
    let before = lasting(report(&["status"], &fixture.data_dir()).json());
    fs::remove_file(fixture.lake_path().join(".config.json")).unwrap();
    fails(Ran::of(&mut other), 3, "NETWORK_MISMATCH");
    assert_eq!(lasting(report(&["status"], &fixture.data_dir()).json()), before);
}

#[test]
fn an_archive_that_has_a_network_needs_none_to_be_named() {
    let fixture = Fixture::archive();
    let mut command = annals(["backfill", "--json", "--from", RANGE, "--lake"]);
    command.arg(fixture.lake_path()).arg("--data-dir").arg(fixture.data_dir());
    let ran = Ran::of(&mut command).ends_with(0);
    assert_eq!(ran.json()["fetched"], 0);
}

#[test]
fn a_start_that_is_lowered_is_told() {
    let fixture = Fixture::lake();
    let told = |ran: Ran| ran.stderr.contains("the archive's start was lowered from ledger 1010 to 1002");
    assert!(!told(fixture.backfill("1010:1014").ends_with(0)));
    assert!(told(fixture.backfill("1002:1003").ends_with(0)));
    assert!(!told(fixture.backfill("1002:1014").ends_with(0)));
}

#[test]
fn a_lake_that_is_none_is_refused_and_nothing_is_made() {
    let fixture = Fixture::lake();
    let absent = fixture.path().join("nowhere");
    fails(Ran::of(&mut backfill(&absent, &fixture.data_dir(), PASSPHRASE, RANGE)), 1, "SOURCE_NOT_FOUND");
    let empty = fixture.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("notes.txt"), "no ledgers here").unwrap();
    fails(Ran::of(&mut backfill(&empty, &fixture.data_dir(), PASSPHRASE, RANGE)), 1, "NOT_A_SOURCE");
    assert!(!fixture.data_dir().exists());
}

#[test]
fn a_second_writer_is_told_at_once_and_readers_run_beside_the_first() {
    let fixture = Fixture::archive();
    let first = SqliteStore::open_writer(&fixture.data_dir(), Arc::new(SystemClock::new())).unwrap();
    fails(fixture.backfill(RANGE), 1, "WRITER_BUSY");
    let contract = "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA";
    let declare = ["contracts", "declare", contract, "--kind", "wasm"];
    for verb in [&declare[..], &["contracts", "add", contract], &["reattribute"], &["migrate"]] {
        let ran = fails(Ran::of(annals(verb).arg("--data-dir").arg(fixture.data_dir())), 1, "WRITER_BUSY");
        let what_to_do =
            "wait until it ends, or stop it; a server that follows is stopped before, and started again after";
        assert!(ran.stderr.contains(what_to_do), "{ran:?}");
    }
    for verb in [&["status"][..], &["verify"], &["gaps"], &["incidents", "list"]] {
        report(verb, &fixture.data_dir()).ends_with(0);
    }
    drop(first);
    fixture.backfill(RANGE).ends_with(0);
}

#[test]
fn an_incident_that_is_not_there_cannot_be_resolved() {
    let fixture = Fixture::archive();
    let ran = fails(report(&["incidents", "resolve", "7"], &fixture.data_dir()), 1, "UNKNOWN_INCIDENT");
    assert_eq!(ran.json()["error"]["code"], "UNKNOWN_INCIDENT");
    assert_eq!(report(&["incidents", "list"], &fixture.data_dir()).json()["incidents"], serde_json::json!([]));
}

#[test]
fn ledgers_that_the_lake_does_not_hold_are_a_listed_gap() {
    let fixture = Fixture::lake();
    let ran = fixture.backfill("1000:1029").ends_with(1);
    assert_eq!(ran.json()["gaps"], serde_json::json!([{ "from": 1020, "to": 1029 }]));
    let gaps = report(&["gaps"], &fixture.data_dir()).ends_with(1).json();
    let gap = &gaps["gaps"][0];
    assert_eq!((&gap["from"], &gap["to"], &gap["attempts"]), (&1020.into(), &1029.into(), &1.into()));
    assert_eq!((&gap["last_code"], &gap["asked_for"]), (&"NOT_IN_SOURCE".into(), &true.into()));
    let status = report(&["status"], &fixture.data_dir()).ends_with(0).json();
    assert_eq!(status["ingested_through"], 1019);
    assert_eq!(status["latest_ledger"], 1019);
}

#[test]
fn while_an_incident_is_open_nothing_is_written_and_reads_go_on_until_it_is_resolved() {
    let fixture = Fixture::archive();
    let archive = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    let incident = "INSERT INTO incidents VALUES (1, 'ledger_hash', 1005, NULL, NULL, 'lake:other', \
                    x'00', x'01', NULL, NULL, 1700000000000, NULL, NULL, NULL)";
    archive.execute_batch(incident).unwrap();
    drop(archive);
    fails(fixture.backfill("1000:1029"), 3, "INCIDENT_OPEN");
    let listed = report(&["incidents", "list"], &fixture.data_dir()).ends_with(0).json();
    let open = &listed["incidents"][0];
    assert_eq!((&open["id"], &open["ledger"], &open["source"]), (&1.into(), &1005.into(), &"lake:other".into()));
    assert_eq!((&open["resolved_at"], &open["offered_xdr"]), (&serde_json::Value::Null, &"AQ==".into()));
    assert_eq!(report(&["status"], &fixture.data_dir()).ends_with(0).json()["open_incidents"], 1);
    let exported = Ran::of(annals(["export", "--data-dir"]).arg(fixture.data_dir())).ends_with(0);
    assert!(exported.stderr.contains("1 incidents wait for an operator"), "{}", exported.stderr);
    let resolve = ["incidents", "resolve", "1", "--note", "a fork"];
    let resolved = report(&resolve, &fixture.data_dir()).ends_with(0).json();
    assert_eq!(resolved["note"], "a fork");
    assert!(resolved["resolved_at"].is_string(), "{resolved}");
    fails(report(&resolve, &fixture.data_dir()), 1, "UNKNOWN_INCIDENT");
    fixture.backfill("1000:1029").ends_with(1);
}

#[test]
fn another_chain_over_stored_ledgers_is_an_incident_that_says_what_to_do() {
    let fixture = Fixture::lake();
    let other = fixture.path().join("other");
    write_lake_of(&other, 20, 8);
    let contracts = [[1; 32], [2; 32]].map(|id| annals_core::ContractId(id).to_string());
    let [first, second] = [(fixture.lake_path(), &contracts[0]), (other, &contracts[1])].map(|(lake, contract)| {
        let mut command = backfill(&lake, &fixture.data_dir(), PASSPHRASE, RANGE);
        command.args(["--contract", contract]);
        Ran::of(&mut command)
    });
    first.ends_with(0);
    let told = fails(second, 3, "INCIDENT").stderr;
    assert!(told.contains("`annals incidents list`, then `annals incidents resolve 1`"), "{told}");
    let listed = report(&["incidents", "list"], &fixture.data_dir()).ends_with(0).json();
    assert_eq!(
        (&listed["incidents"][0]["kind"], &listed["incidents"][0]["ledger"]),
        (&"ledger_hash".into(), &1000.into())
    );
    assert_eq!(report(&["status"], &fixture.data_dir()).json()["events"]["total"], 0, "nothing of the other was kept");
}

#[test]
fn a_pin_that_the_chain_contradicts_is_refused_before_anything_is_made() {
    let fixture = Fixture::lake();
    let mut command = backfill(&fixture.lake_path(), &fixture.data_dir(), PASSPHRASE, RANGE);
    let pin = format!("1010:{}", "ab".repeat(32));
    fails(Ran::of(command.arg("--pin").arg(pin)), 3, "PIN_CONTRADICTED");
    assert!(!fixture.data_dir().exists());
}
