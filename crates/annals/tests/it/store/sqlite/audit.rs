//! Attribution and digests that somebody changed behind the archive's back are found by `verify`.

use annals::backfill::Progress;
use annals::store::GapFailure;
use annals::verify;
use rusqlite::Connection;

use super::SqliteFixture;
use crate::store::fixtures::{StoreFixture as _, begin, full};
use crate::store::suite::payloads::{alone, checked, stored, traffic};

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn fault(&self, _: &GapFailure) {}
    fn end(&self) {}
}

/// The codes of what does not hold once `sql` was run on a sound archive.
fn faults_after(sql: &str) -> Vec<&'static str> {
    let fixture = SqliteFixture::in_memory();
    stored(fixture.store(), &checked(traffic(3, |_| {}).0));
    let archive = Connection::open(fixture.dir.path().join("annals.db")).unwrap();
    archive.execute_batch(sql).unwrap();
    drop(archive);
    let report = verify::run(fixture.store(), &Silent, &mut |_| {}).unwrap();
    report.faults.iter().map(|fault| fault.kind.code()).collect()
}

#[test]
fn a_party_too_few_or_too_many_is_found_by_verify() {
    assert_eq!(faults_after(""), [""; 0]);
    let first = "(party_id, toid, event_index) IN (SELECT party_id, toid, event_index FROM attribution LIMIT 1)";
    let cases = [
        (format!("DELETE FROM attribution WHERE {first}"), "ATTRIBUTION"),
        (format!("UPDATE attribution SET until = 1 WHERE {first}"), "ATTRIBUTION"),
        (format!("UPDATE attribution SET role = 'nobody' WHERE {first}"), "ATTRIBUTION"),
        (format!("UPDATE attribution SET mark = 'fold' WHERE {first}"), "ATTRIBUTION"),
        (
            "INSERT INTO quarantine SELECT contract_id, toid, event_index, 1, NULL, 'no_name' FROM events \
             JOIN contract_schemas USING (contract_id) LIMIT 1"
                .to_owned(),
            "ATTRIBUTION",
        ),
        // A party of an event that does not name it, which no event's own topics lead to.
        (
            format!(
                "INSERT INTO attribution SELECT (SELECT max(id) FROM parties), toid + 1, event_index, 0, since, NULL, \
                 role, NULL, event_feed_position FROM attribution WHERE {first} LIMIT 1"
            ),
            "ATTRIBUTION_TOTALS",
        ),
    ];
    for (sql, code) in cases {
        assert_eq!(faults_after(&sql), [code], "{sql}");
    }
}

/// The codes that are about digests of histories, once `sql` was run on an archive with one whole block.
fn digest_faults_after(sql: &str) -> Vec<&'static str> {
    let fixture = SqliteFixture::in_memory();
    let fence = begin(fixture.store(), 60, 140);
    fixture.store().commit(&full(60, 140), fence).unwrap();
    let archive = Connection::open(fixture.dir.path().join("annals.db")).unwrap();
    archive.execute_batch(sql).unwrap();
    drop(archive);
    // The made-up network's headers are none.
    let report = verify::run(fixture.store(), &Silent, &mut |_| {}).unwrap();
    let codes = report.faults.iter().map(|fault| fault.kind.code());
    codes.filter(|code| code.starts_with("HISTORY")).collect()
}

#[test]
fn a_kept_digest_that_is_not_that_of_the_events_is_found_by_verify() {
    assert_eq!(digest_faults_after(""), [""; 0]);
    let left_over = "DELETE FROM history_digests; INSERT INTO unsealed VALUES ('*', 1, 1)";
    assert_eq!(digest_faults_after(left_over), [""; 0]);
    let first = "contract_id = (SELECT min(contract_id) FROM history_digests)";
    let in_block = "toid >> 32 = 100 AND contract_id IS NOT NULL";
    for (sql, codes) in [
        (format!("UPDATE history_digests SET digest = zeroblob(32) WHERE {first}"), ["HISTORY_DIGEST"].as_slice()),
        (format!("UPDATE history_digests SET events = events + 1 WHERE {first}"), &["HISTORY_DIGEST"]),
        (format!("DELETE FROM history_digests WHERE {first}"), &["HISTORY_DIGEST"]),
        (format!("UPDATE history_digests SET block = 900 WHERE {first}"), &["HISTORY_DIGEST", "HISTORY_DIGESTS"]),
        (
            "INSERT INTO history_digests SELECT zeroblob(32), 1, events, digest FROM history_digests LIMIT 1".into(),
            &["HISTORY_DIGESTS"],
        ),
        (format!("UPDATE events SET event_xdr = x'00' WHERE {in_block}"), &["HISTORY_DIGEST"]),
        (format!("UPDATE events SET event_index = event_index + 70 WHERE {in_block}"), &["HISTORY_DIGEST"]),
    ] {
        let found = digest_faults_after(&sql);
        let found: std::collections::BTreeSet<&str> = found.into_iter().collect();
        assert_eq!(Vec::from_iter(found), codes, "{sql}");
    }
}

#[test]
fn an_envelope_that_is_not_its_transactions_is_found_by_verify() {
    let fixture = SqliteFixture::in_memory();
    let (batch, envelopes) = alone(&traffic(3, |_| {}).0);
    stored(fixture.store(), &batch);
    fixture.store().add_envelopes(&envelopes, fixture.store().acquire().unwrap()).unwrap();
    let faults = || {
        let report = verify::run(fixture.store(), &Silent, &mut |_| {}).unwrap();
        report.faults.iter().map(|fault| fault.kind.code()).collect::<Vec<_>>()
    };
    assert_eq!(faults(), [""; 0]);
    let archive = Connection::open(fixture.dir.path().join("annals.db")).unwrap();
    let first = "rowid = (SELECT min(rowid) FROM envelopes)";
    let sound: Vec<u8> =
        archive.query_row(&format!("SELECT envelope_zstd FROM envelopes WHERE {first}"), [], |row| row.get(0)).unwrap();
    let put = |bytes: &[u8]| {
        archive.execute(&format!("UPDATE envelopes SET envelope_zstd = ?1 WHERE {first}"), [bytes]).unwrap();
    };
    // The ends of the frame and every byte between them, but for its head, of which a bit means nothing.
    for at in (6..sound.len()).step_by(5).chain([0, 1, 2, 3, sound.len() - 1]) {
        let mut flipped = sound.clone();
        flipped[at] ^= 1;
        put(&flipped);
        assert_eq!(faults(), ["ENVELOPE"], "byte {at} of {}", sound.len());
    }
    put(&[]);
    assert_eq!(faults(), ["ENVELOPE"]);
    put(&sound);
    assert_eq!(faults(), [""; 0]);
    archive.execute_batch(&format!("UPDATE envelopes SET tx_hash = zeroblob(32) WHERE {first}")).unwrap();
    assert_eq!(faults(), ["ENVELOPE"]);
    archive.execute_batch(&format!("DELETE FROM envelopes WHERE {first}")).unwrap();
    assert_eq!(faults(), [""; 0]);
    archive.execute_batch(&format!("UPDATE envelopes SET ledger_seq = ledger_seq + 1000 WHERE {first}")).unwrap();
    assert_eq!(faults(), ["ENVELOPE"]);
}
