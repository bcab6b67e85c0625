//! What `verify` finds in an archive that somebody edited.

use crate::binary::{Ran, backfill, export, report};
use crate::cli::fixture::{Fixture, PASSPHRASE, RANGE};

/// The codes of what `verify` finds after a change by SQL, each once.
fn faults_after(change: &str) -> Vec<String> {
    let fixture = Fixture::archive();
    let archive = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    // Whoever edits an archive heeds no key.
    archive.pragma_update(None, "foreign_keys", false).unwrap();
    let changed = archive.execute(change, []).unwrap();
    assert!(changed > 0, "{change} changes something");
    drop(archive);
    let ran = report(&["verify"], &fixture.data_dir()).ends_with(3);
    let report = ran.json();
    let faults = report["faults"].as_array().unwrap();
    assert_eq!(report["faults_found"], faults.len());
    for fault in faults {
        let line = format!("fault: ledger {}", fault["ledger"]);
        assert!(ran.stderr.contains(&line), "{line}: {}", ran.stderr);
    }
    let mut codes: Vec<String> = faults.iter().map(|fault| fault["code"].as_str().unwrap().to_owned()).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// Picks one event of a proof class by SQL.
fn one(proof: u8) -> String {
    format!("feed_position = (SELECT max(feed_position) FROM events WHERE proof = {proof})")
}

const COMMITTED: u8 = 3;
const UNCOMMITTED: u8 = 1;
/// A ledger that others follow and that follows others.
const LEDGER: &str = "seq = 1010";

#[test]
fn an_archive_as_it_was_filled_holds() {
    let fixture = Fixture::archive();
    let verified = report(&["verify"], &fixture.data_dir()).ends_with(0).json();
    let status = report(&["status"], &fixture.data_dir()).json();
    assert_eq!(verified["ledgers"], 20);
    assert_eq!(verified["events"], status["events"]["total"]);
    assert_eq!(verified["committed"], status["events"]["committed"]);
    assert!(verified["committed"].as_u64() > Some(0) && verified["uncommitted"].as_u64() > Some(0), "{verified}");
    assert_eq!(verified["faults"], serde_json::json!([]));
    assert_eq!(verified["undigested"], 0);
}

#[test]
fn an_archive_of_some_contracts_and_one_without_classic_events_hold_too() {
    let whole = export(&Fixture::archive().data_dir());
    let events = whole.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let committed = events.into_iter().find(|event| event["proof"] == "committed").unwrap();
    let contract = committed["contract_id"].as_str().unwrap();
    for narrowed in [["--contract", contract], ["--classic", "drop"]] {
        let fixture = Fixture::lake();
        let mut command = backfill(&fixture.lake_path(), &fixture.data_dir(), PASSPHRASE, RANGE);
        Ran::of(command.args(narrowed)).ends_with(0);
        let verified = report(&["verify"], &fixture.data_dir()).ends_with(0).json();
        assert_eq!(verified["ledgers"], 20);
        let events = verified["events"].as_u64().unwrap() as usize;
        // Without classic events there is nothing that no hash covers.
        assert_eq!(verified["undigested"].as_u64() > Some(0), narrowed[0] == "--contract", "{verified}");
        assert!(0 < events && events < whole.stdout.lines().count(), "{narrowed:?}: {verified}");
        let archive = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
        archive.execute(&format!("DELETE FROM events WHERE {}", one(COMMITTED)), []).unwrap();
        drop(archive);
        let verified = report(&["verify"], &fixture.data_dir()).ends_with(3).json();
        let codes: Vec<_> = verified["faults"].as_array().unwrap().iter().map(|fault| &fault["code"]).collect();
        assert!(codes.contains(&&"MISSING_EVENT".into()), "{narrowed:?}: {codes:?}");
    }
}

#[test]
fn a_changed_byte_of_an_event_is_found() {
    // The last byte of the data, so that the bytes still decode.
    let swap = "substr(event_xdr, 1, length(event_xdr) - 1) || \
                iif(substr(event_xdr, -1) = x'2a', x'2b', x'2a')";
    let change = |proof| format!("UPDATE events SET event_xdr = CAST({swap} AS BLOB) WHERE {}", one(proof));
    assert_eq!(faults_after(&change(COMMITTED)), ["DIGEST", "OTHER_BYTES"]);
    assert_eq!(faults_after(&change(UNCOMMITTED)), ["DIGEST"]);
}

#[test]
fn a_dropped_event_is_found() {
    let codes = faults_after(&format!("DELETE FROM events WHERE {}", one(COMMITTED)));
    assert_eq!(codes, ["CENSUS", "DIGEST", "MISSING_EVENT"]);
    assert_eq!(faults_after(&format!("DELETE FROM events WHERE {}", one(UNCOMMITTED))), ["CENSUS", "DIGEST"]);
}

#[test]
fn an_event_that_claims_too_much_or_too_little_is_found() {
    let lifted = format!("UPDATE events SET proof = 3 WHERE {}", one(UNCOMMITTED));
    assert_eq!(faults_after(&lifted), ["CENSUS", "NOT_COMMITTED"]);
    let lowered = format!("UPDATE events SET proof = 1 WHERE {}", one(COMMITTED));
    assert_eq!(faults_after(&lowered), ["CENSUS", "CLASS_TOO_LOW"]);
    let rewritten = format!("UPDATE events SET proof = 2 WHERE {}", one(COMMITTED));
    assert_eq!(faults_after(&rewritten), ["CENSUS", "REWRITTEN_FORM"]);
}

#[test]
fn columns_that_contradict_what_is_hashed_are_found() {
    let set = |column: &str| format!("UPDATE events SET {column} WHERE {}", one(COMMITTED));
    assert_eq!(faults_after(&set("close_time_ms = close_time_ms + 1")), ["EVENT_CONTRADICTS_BYTES"]);
    assert_eq!(faults_after(&set("contract_id = zeroblob(32)")), ["EVENT_CONTRADICTS_BYTES"]);
    assert_eq!(faults_after(&set("kind = 1 - kind")), ["EVENT_CONTRADICTS_BYTES"]);
    assert_eq!(faults_after(&set("successful = 0")), ["EVENT_CONTRADICTS_BYTES"]);
    assert_eq!(faults_after(&set("tx_hash = zeroblob(32)")), ["OTHER_TRANSACTION"]);
    assert_eq!(faults_after(&set("tx_order = tx_order + 1000")), ["OTHER_TRANSACTION"]);
    for column in ["close_time_ms", "protocol"] {
        let codes = faults_after(&format!("UPDATE ledgers SET {column} = {column} + 1 WHERE {LEDGER}"));
        assert!(codes.contains(&"ROW_CONTRADICTS_HEADER".to_owned()), "{column}: {codes:?}");
    }
}

#[test]
fn a_header_that_was_exchanged_is_found() {
    let zero = |column: &str| format!("UPDATE ledgers SET {column} = zeroblob(32) WHERE {LEDGER}");
    let codes = faults_after(&zero("hash"));
    assert_eq!(codes, ["BROKEN_LINK", "HEADER_HASH"]);
    assert_eq!(faults_after(&zero("previous_hash")), ["BROKEN_LINK", "ROW_CONTRADICTS_HEADER"]);
    let cut = format!("UPDATE ledgers SET header_xdr = substr(header_xdr, 1, 100) WHERE {LEDGER}");
    assert_eq!(faults_after(&cut), ["HEADER_HASH", "HEADER_UNDECODABLE"]);
    assert_eq!(faults_after(&zero("digest")), ["DIGEST"]);
    let recounted = format!("UPDATE ledgers SET census_uncommitted = census_uncommitted + 1 WHERE {LEDGER}");
    assert_eq!(faults_after(&recounted), ["CENSUS"]);
}

#[test]
fn rows_and_coverage_that_do_not_go_together_are_found() {
    let codes = faults_after("DELETE FROM ranges WHERE scope_key = '*'");
    assert!(codes.contains(&"ROW_WITHOUT_COVERAGE".to_owned()), "{codes:?}");
    let last = "DELETE FROM ledgers WHERE seq = (SELECT max(seq) FROM ledgers l WHERE \
                NOT EXISTS (SELECT 1 FROM proofs p WHERE p.seq = l.seq))";
    assert_eq!(faults_after(last), ["MISSING_ROW"]);
    let unscanned = "UPDATE ranges SET to_seq = to_seq - 5";
    let codes = faults_after(unscanned);
    assert!(codes.contains(&"EVENTS_WITHOUT_COVERAGE".to_owned()), "{codes:?}");
}

#[test]
fn a_count_that_status_would_report_and_nobody_holds_is_found() {
    assert_eq!(faults_after("UPDATE indexer_state SET events_committed = events_committed + 1"), ["TOTALS"]);
}

#[test]
fn proof_material_that_is_gone_or_another_is_found() {
    let newest = "(SELECT max(seq) FROM proof_invocations)";
    let gone = format!("DELETE FROM proof_invocations WHERE seq = {newest}");
    let codes = faults_after(&gone);
    assert!(codes.contains(&"NOT_COMMITTED".to_owned()), "{codes:?}");
    let other = "(SELECT results_zstd FROM proofs ORDER BY seq LIMIT 1)";
    let exchanged = format!("UPDATE proofs SET results_zstd = {other} WHERE seq = {newest}");
    assert_eq!(faults_after(&exchanged), ["RESULTS_HASH"]);
    let envelope = "(SELECT envelope_zstd FROM proof_invocations ORDER BY seq LIMIT 1)";
    let exchanged = format!("UPDATE proof_invocations SET envelope_zstd = {envelope} WHERE seq = {newest}");
    assert_eq!(faults_after(&exchanged), ["ENVELOPE"]);
    let pre_image = "(SELECT pre_image_zstd FROM proof_invocations ORDER BY seq LIMIT 1)";
    let exchanged = format!("UPDATE proof_invocations SET pre_image_zstd = {pre_image} WHERE seq = {newest}");
    assert_eq!(faults_after(&exchanged), ["SUCCESS_HASH"]);
    let fixture = Fixture::archive();
    let archive = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    archive.execute("UPDATE proofs SET results_zstd = x'00' WHERE seq = (SELECT min(seq) FROM proofs)", []).unwrap();
    let first: u32 = archive.query_row("SELECT min(seq) FROM proofs", [], |row| row.get(0)).unwrap();
    drop(archive);
    let error = report(&["verify"], &fixture.data_dir()).ends_with(3).json();
    assert_eq!(error["error"]["code"], "DAMAGED");
    assert!(error["error"]["message"].as_str().unwrap().contains(&format!("ledger {first} ")), "{error}");
}
