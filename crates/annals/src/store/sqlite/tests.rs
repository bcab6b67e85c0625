//! Field report G1: a commit that fails anywhere leaves all or nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use annals_core::hash::sha256;
use annals_core::{
    Batch, BatchLedgers, CheckedLedger, ClassicEvents, ClassicPolicy, ContractId, EventKind, EventsDigest, Invocation,
    LedgerHash, Network, NetworkProof, Position, ProofClass, TxHash,
};

use super::*;
use crate::clock::SystemClock;

pub(super) fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

pub(super) fn event(number: u32, index: u32, proof: ProofClass) -> Event {
    Event {
        position: Position::op(seq(number), 1, 0, index).unwrap(),
        tx_hash: TxHash([2; 32]),
        tx_order: 1,
        successful: true,
        close_time_ms: 1_000,
        contract_id: Some(ContractId([1; 32])),
        kind: EventKind::Contract,
        xdr: vec![3; 40],
        proof,
        rewritten_xdr: None,
    }
}

pub(super) fn ledger(number: u32, classic: ClassicEvents, events: Vec<Event>) -> CheckedLedger {
    let hash = |number: u32| LedgerHash(sha256(&[&number.to_be_bytes()]));
    CheckedLedger {
        seq: seq(number),
        hash: hash(number),
        previous_hash: hash(number - 1),
        close_time_ms: 1_000,
        protocol: 23,
        header_xdr: number.to_be_bytes().to_vec(),
        network_proof: NetworkProof::Proven,
        classic_events: classic,
        census: Census::of(&events),
        digest: EventsDigest::of(&events),
        creations: Vec::new(),
        proof: ProofMaterial {
            results_xdr: vec![4; 40],
            invocations: vec![Invocation {
                tx_order: 1,
                tx_hash: TxHash([2; 32]),
                pre_image_xdr: vec![5; 40],
                uncommitted_prefix: 0,
                envelope_xdr: vec![6; 40],
            }],
        },
        events,
    }
}

pub(super) fn network() -> Network {
    Network::new("Made-up Network ; 2026")
}

pub(super) fn checked(ledgers: Vec<CheckedLedger>) -> Batch {
    Batch::checked(network(), Scope::All, ClassicPolicy::Keep, "a test", ledgers).unwrap()
}

/// A store in which every part of a commit has something to do: a row to replace, unverified events to upgrade,
/// a gap to split, ranges to merge.
fn prepared(dir: &Path) -> (SqliteStore, Fence) {
    let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
    let fence = store.acquire().unwrap();
    let range = LedgerRange::new(seq(1), seq(30)).unwrap();
    let (scope, classic) = (Scope::All, ClassicPolicy::Keep);
    store.request(&Request { network: network(), scope, classic, range, pins: Vec::new() }, fence).unwrap();
    store
        .commit(&checked(vec![ledger(10, ClassicEvents::Absent, vec![event(10, 0, ProofClass::Committed)])]), fence)
        .unwrap();
    store.commit(&checked(vec![ledger(14, ClassicEvents::Present, Vec::new())]), fence).unwrap();
    let events = vec![event(12, 0, ProofClass::Unverified)];
    let window = LedgerRange::single(seq(12));
    store.commit(&Batch::unverified(network(), Scope::All, "a test", window, events).unwrap(), fence).unwrap();
    (store, fence)
}

fn offered() -> Batch {
    let both = |number| vec![event(number, 0, ProofClass::Committed), event(number, 1, ProofClass::Uncommitted)];
    checked((10..=13).map(|number| ledger(number, ClassicEvents::Present, both(number))).collect())
}

type Seen = (Status, Vec<Event>, Vec<StoredLedger>, Vec<Option<ProofMaterial>>, Vec<Incident>);

/// The rows of a table, each as one line of JSON.
pub(super) fn rows(store: &SqliteStore, table: &str) -> Vec<String> {
    store
        .read(|reader| {
            let mut columns = reader.prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?;
            let columns: Vec<String> = columns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let quoted: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
            let sql = format!("SELECT json_array({}) FROM {table} ORDER BY 1", quoted.join(", "));
            let mut statement = reader.prepare(&sql)?;
            Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
        .unwrap()
}

fn seen(store: &SqliteStore) -> Seen {
    let as_of = FeedPosition(u64::MAX);
    let query = EventQuery { after: None, to_inclusive: LedgerSeq::MAX, as_of, limit: 1_000 };
    (
        store.status().unwrap(),
        store.events(&query).unwrap(),
        store.ledgers(LedgerSeq::MIN, 1_000).unwrap(),
        (10..=14).map(|number| store.proof(seq(number)).unwrap()).collect(),
        store.incidents().unwrap(),
    )
}

/// Lets the database fail at its `nth` chance from now on: after any number of its machine's steps, and so at the
/// end of every statement and inside each.
fn fail_at(store: &SqliteStore, nth: u64) {
    let chances = AtomicU64::new(0);
    let handler = move || chances.fetch_add(1, Ordering::Relaxed) + 1 == nth;
    let writer = store.writer.as_ref().unwrap().lock().unwrap();
    writer.progress_handler(1, Some(handler)).unwrap();
}

fn stop_failing(store: &SqliteStore) {
    let writer = store.writer.as_ref().unwrap().lock().unwrap();
    writer.progress_handler(1, None::<fn() -> bool>).unwrap();
}

/// Runs `write` with a failure at each chance until it goes through; before that nothing may have changed. A failure
/// after the commit itself is an answer that got lost: then all of it is there. Returns how many failures there were.
pub(super) fn fail_everywhere(store: &SqliteStore, mut write: impl FnMut() -> Result<(), StoreError>) -> u64 {
    const TABLES: [&str; 9] = [
        "contracts",
        "journal",
        "found_contracts",
        "contract_schemas",
        "parties",
        "attribution",
        "quarantine",
        "history_digests",
        "unsealed",
    ];
    let seen = |store| (seen(store), TABLES.map(|table| rows(store, table)));
    let before = seen(store);
    for nth in 1.. {
        fail_at(store, nth);
        let outcome = write();
        stop_failing(store);
        match outcome {
            Ok(()) => return nth - 1,
            Err(StoreError::Database(_)) if seen(store) == before => {}
            Err(StoreError::Database(_)) => return nth,
            Err(error) => panic!("failure {nth} came out as {error:?}"),
        }
    }
    unreachable!("a write has a bounded number of steps")
}

#[test]
fn g1_a_failure_at_any_statement_of_a_commit_leaves_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let batch = offered();
    let failures = fail_everywhere(&store, || store.commit(&batch, fence).map(drop));
    assert!(failures > 100, "only {failures} failures");

    let (status, events, ledgers, proofs, incidents) = seen(&store);
    let whole: Vec<Event> = batch.events().cloned().collect();
    assert_eq!(events, whole);
    assert_eq!(status.covered(ScopeKey::All).ranges(), [LedgerRange::new(seq(10), seq(14)).unwrap()]);
    assert_eq!((status.events.committed, status.events.uncommitted, status.events.unverified), (4, 4, 0));
    assert_eq!(status.gaps.len(), 2);
    assert!(ledgers.iter().all(|ledger| ledger.classic_events == ClassicEvents::Present) && ledgers.len() == 5);
    let BatchLedgers::Checked(offered) = batch.ledgers() else { panic!("a checked batch") };
    assert!(proofs.iter().zip(offered).all(|(stored, ledger)| stored.as_ref() == Some(&ledger.proof)));
    assert!(incidents.is_empty());
}

#[test]
fn a_failure_at_any_statement_of_a_request_leaves_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let contracts = Scope::Contracts([ContractId([1; 32])].into());
    let range = LedgerRange::new(seq(5), seq(60)).unwrap();
    let pins = vec![crate::store::Pin { seq: seq(90), hash: LedgerHash([9; 32]) }];
    let asked = Request { network: network(), scope: contracts, classic: ClassicPolicy::Keep, range, pins };
    assert!(fail_everywhere(&store, || store.request(&asked, fence).map(drop)) > 10);
    let status = store.status().unwrap();
    assert_eq!(status.pins, asked.pins);
    // What is scanned for all contracts (10, 12 and 14) is no gap of this one.
    let own = status.gaps.iter().filter(|gap| gap.key != ScopeKey::All).map(|gap| gap.range.count());
    assert_eq!(own.collect::<Vec<_>>(), [5, 1, 1, 46]);
    let failure = GapFailure { range, code: "CODE".to_owned(), message: "why".to_owned() };
    assert!(fail_everywhere(&store, || store.record_failure(&failure, fence)) > 5);
}

#[test]
fn an_incident_that_cannot_be_recorded_is_a_failure_and_not_forgotten_by_a_retry() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let mut other = event(10, 0, ProofClass::Committed);
    other.xdr[0] ^= 1;
    let batch = checked(vec![ledger(10, ClassicEvents::Present, vec![other])]);
    let recorded = || match store.commit(&batch, fence) {
        Err(StoreError::Incident { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(committed) => panic!("{committed:?}"),
    };
    fail_everywhere(&store, recorded);
    assert_eq!(store.incidents().unwrap().len(), 1);
}

#[test]
fn the_writer_syncs_each_commit_and_its_readers_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = prepared(dir.path());
    let writer = store.writer.as_ref().unwrap().lock().unwrap();
    let pragma = |name: &str| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    // 2 is FULL: INV-6 rests on it.
    assert_eq!(pragma("synchronous"), 2);
    assert_eq!((pragma("foreign_keys"), pragma("busy_timeout")), (1, 10_000));
    let journal: String = writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    let written = store.readers.read(|reader| Ok(reader.execute("DELETE FROM events", [])?));
    let refusal = failure::at(&store.path, written.unwrap_err());
    assert!(matches!(refusal, StoreError::ReadOnly { .. }), "{refusal:?}");
}

#[test]
fn every_table_is_strict() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = prepared(dir.path());
    let loose = store.read(|reader| {
        let sql = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 \
                   AND name NOT LIKE 'sqlite_%' AND name <> 'refinery_schema_history'";
        Ok(reader.query_row(sql, [], |row| row.get::<_, u32>(0))?)
    });
    assert_eq!(loose.unwrap(), 0);
}
