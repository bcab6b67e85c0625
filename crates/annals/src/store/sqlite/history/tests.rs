//! That seals are there whole or not at all, made for what was stored before them, and read by index.

use std::sync::Arc;

use annals_core::{Batch, ClassicPolicy, Event, LedgerSeq, Network, ProofClass, RangeDigest, Scope};

use super::seals::Blocks;
use super::*;
use crate::clock::SystemClock;
use crate::store::sqlite::pages::tests::plan;
use crate::store::sqlite::tests::{event, fail_everywhere, network, rows, seq};
use crate::store::{Fence, Request, SqliteStore, Store};

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

/// Ledgers that nothing vouches for, with two events each of those named.
fn batch(network: Network, from: u32, to: u32, numbers: &[u32]) -> Batch {
    let of = |number: u32| [0, 1].map(|index| event(number, index, ProofClass::Unverified));
    let events: Vec<Event> = numbers.iter().flat_map(|number| of(*number)).collect();
    Batch::unverified(network, Scope::All, "a test", range(from, to), events).unwrap()
}

/// An archive of three blocks and parts of two, without the last ledger of the second block.
fn prepared(dir: &std::path::Path) -> (SqliteStore, Fence) {
    let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
    let fence = store.acquire().unwrap();
    let (scope, classic) = (Scope::All, ClassicPolicy::Keep);
    let asked = Request { network: network(), scope, classic, range: range(1, 400), pins: Vec::new() };
    store.request(&asked, fence).unwrap();
    store.commit(&batch(network(), 50, 190, &[50, 64, 65, 127, 130, 190]), fence).unwrap();
    store.commit(&batch(network(), 192, 270, &[192, 255, 270]), fence).unwrap();
    (store, fence)
}

fn query() -> DigestQuery {
    let contract = event(50, 0, ProofClass::Unverified).contract_id.unwrap();
    DigestQuery { contract, account: None, asked_from: Some(seq(40)), asked_to: Some(seq(300)) }
}

fn digested(store: &SqliteStore, rows_max: u64) -> Digested {
    store.read(|connection| read(connection, &query(), rows_max)).unwrap().digested
}

fn whole(store: &SqliteStore) -> RangeDigest {
    match digested(store, ROWS_TAKEN_MAX) {
        Digested::Range(found) => found,
        other => panic!("{other:?}"),
    }
}

/// Takes the archive back to what it was before there were seals.
fn unseal(store: &SqliteStore) {
    let migration = include_str!("../../../../migrations/sqlite/V0007__create_history_digests.sql");
    let fill = &migration[migration.find("INSERT INTO unsealed").unwrap()..];
    let sql = format!("/* tests::unseal */ DELETE FROM history_digests; DELETE FROM unsealed; {fill}");
    store.writer.as_ref().unwrap().lock().unwrap().execute_batch(&sql).unwrap();
}

#[test]
fn g1_a_failure_at_any_statement_of_a_commit_that_seals_leaves_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    assert_eq!(rows(&store, "history_digests").len(), 2, "blocks 1 and 3");
    unseal(&store);
    let failures = fail_everywhere(&store, || store.commit(&batch(network(), 191, 191, &[191]), fence).map(drop));
    assert!(failures > 100, "only {failures} failures");
    assert_eq!(rows(&store, "history_digests").len(), 3);
    assert_eq!(rows(&store, "unsealed").len(), 0, "the commit took what was left over");
}

#[test]
fn blocks_that_were_covered_before_there_were_seals_answer_alike_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let (before, sealed) = (whole(&store), rows(&store, "history_digests"));
    assert_eq!(before.events, 18);
    unseal(&store);
    assert_eq!(rows(&store, "unsealed").len(), 2);
    assert_eq!(whole(&store), before);
    let mut made = 0;
    loop {
        let blocks = store.seal(1, fence).unwrap().blocks;
        assert_eq!(whole(&store), before);
        made += blocks;
        if blocks == 0 {
            break;
        }
    }
    assert_eq!(made, 2);
    assert_eq!(rows(&store, "history_digests"), sealed);
}

#[test]
fn what_is_sealed_is_not_hashed_again_and_what_is_too_much_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    // Blocks 1 and 3 are sealed: beside them are the events of 50, 130, 190 and 270, two each.
    assert!(matches!(digested(&store, 10), Digested::Range(_)));
    for rows_max in 0..10 {
        assert_eq!(digested(&store, rows_max), Digested::TooWide, "{rows_max}");
    }
    unseal(&store);
    assert!(matches!(digested(&store, 18), Digested::Range(_)));
    assert_eq!(digested(&store, 17), Digested::TooWide);
    store.seal(2, fence).unwrap();
    assert!(matches!(digested(&store, 10), Digested::Range(_)));
}

#[test]
fn a_block_lies_in_a_range_where_all_of_its_ledgers_do() {
    let blocks = |from, to| {
        let blocks = Blocks::within(range(from, to))?.ledgers().unwrap();
        Some((blocks.from_inclusive().get(), blocks.to_inclusive().get()))
    };
    let last = LedgerSeq::MAX.get();
    for (from, to, expected) in [
        (1, 62, None),
        (1, 63, Some((1, 63))),
        (2, 127, Some((64, 127))),
        (64, 126, None),
        (64, 127, Some((64, 127))),
        (64, 128, Some((64, 127))),
        (65, 200, Some((128, 191))),
        (1, 1000, Some((1, 959))),
        (last - 63, last, Some((last - 63, last))),
        (last - 62, last, None),
        (1, last, Some((1, last))),
    ] {
        assert_eq!(blocks(from, to), expected, "{from} {to}");
    }
}

#[test]
fn the_migration_leaves_over_exactly_the_blocks_that_are_covered_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = prepared(dir.path());
    let last = LedgerSeq::MAX.get();
    for (from, to) in [(1, 62), (1, 63), (2, 127), (64, 126), (64, 127), (65, 200), (1, last), (last - 63, last)] {
        let sql = format!(
            "/* tests */ DELETE FROM ranges; /* tests */ INSERT INTO ranges VALUES ('*', {from}, {to}), ('verified', 1, 200)"
        );
        store.writer.as_ref().unwrap().lock().unwrap().execute_batch(&sql).unwrap();
        unseal(&store);
        let blocks = Blocks::within(range(from, to)).map(|blocks| blocks.ledgers().unwrap());
        let number = |seq: LedgerSeq| seq.get() / 64;
        let expected = blocks.map(|blocks| {
            format!("[\"'*'\",\"{}\",\"{}\"]", number(blocks.from_inclusive()), number(blocks.to_inclusive()))
        });
        assert_eq!(rows(&store, "unsealed"), Vec::from_iter(expected), "{from} {to}");
    }
}

#[test]
fn a_digest_searches_one_index_in_order_and_sorts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = prepared(dir.path());
    store
        .read(|connection| {
            let of_contract = "SEARCH events USING INDEX events_by_contract (contract_id=? AND toid>? AND toid<?)";
            assert_eq!(plan(connection, OF_CONTRACT), [of_contract]);
            let rows = "SEARCH attribution USING PRIMARY KEY (party_id=? AND toid>? AND toid<?)";
            let event = "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)";
            assert_eq!(plan(connection, OF_ACCOUNT), [rows, event]);
            let of_all = "SEARCH events USING INDEX events_by_position (toid>? AND toid<?)";
            assert_eq!(plan(connection, seals::OF_EVERY_CONTRACT), [of_all]);
            Ok(())
        })
        .unwrap();
}
