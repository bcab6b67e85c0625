//! That an account's page costs what is on it, however much the account has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use annals_core::{ClassicPolicy, LedgerSeq, Network, Registry, Scope};
use rusqlite::StatementStatus;

use super::*;
use crate::clock::SystemClock;
use crate::store::sqlite::pages;
use crate::store::sqlite::pages::tests::plan;
use crate::store::{Contract, EventFilter, Request, SqliteStore, Store};

/// How many events the busy account has, and the quiet one.
const BUSY: u32 = 700_000;
const QUIET: u32 = 300;
const EVENTS_PER_LEDGER: u32 = 100;

fn contract() -> ContractId {
    ContractId([1; 32])
}

fn account(number: u8) -> Address {
    Address::Account([number; 32])
}

fn range() -> LedgerRange {
    let last = (BUSY + QUIET).div_ceil(EVENTS_PER_LEDGER) + 1;
    LedgerRange::new(LedgerSeq::new(2).unwrap(), LedgerSeq::new(last).unwrap()).unwrap()
}

fn archive(dir: &std::path::Path) -> SqliteStore {
    let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
    let fence = store.acquire().unwrap();
    let (network, scope, classic) = (Network::new("a network"), Scope::All, ClassicPolicy::Keep);
    store.request(&Request { network, scope, classic, range: range(), pins: Vec::new() }, fence).unwrap();
    let schema = Some("token".parse().unwrap());
    store.declare(&Contract { id: contract(), origin: None, kind: None, schema }, fence).unwrap();
    store
}

/// Stores one event of each number: of the quiet account in even distances, of the busy one else.
fn fill(store: &SqliteStore) {
    let every = (BUSY + QUIET) / QUIET;
    let party = |number: u8| account(number).to_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sql = format!(
        "/* tests::fill */ INSERT INTO parties VALUES (1, x'{id}', x'{busy}'), (2, x'{id}', x'{quiet}');
         /* tests::fill */ CREATE TEMP TABLE made AS WITH RECURSIVE made (number) AS
             (SELECT 0 UNION ALL SELECT number + 1 FROM made WHERE number + 1 < {count})
             SELECT number, ((number / {per} + 2) << 32) | (1 << 12) AS toid, number % {per} AS place,
             iif(number % {every} = 7, 2, 1) AS party FROM made;
         /* tests::fill */ INSERT INTO events (feed_position, toid, event_index, tx_hash, tx_order, successful,
             close_time_ms, contract_id, kind, proof, event_xdr)
             SELECT number + 10, toid, place, zeroblob(32), 1, 1, 5, x'{id}', 0, 1, x'00' FROM made;
         /* tests::fill */ INSERT INTO attribution (party_id, toid, event_index, place, since, role, mark,
             event_feed_position) SELECT party, toid, place, 0, number + 10, 'from',
             iif(number % 1000 = 7, 'checkpoint', NULL), number + 10 FROM made ORDER BY party, number;
         /* tests::fill */ INSERT INTO ranges VALUES ('*', {from}, {to});
         /* tests::fill */ UPDATE indexer_state SET feed_position = {count} + 10;",
        id = "01".repeat(32),
        busy = party(1),
        quiet = party(2),
        count = every * QUIET,
        per = EVENTS_PER_LEDGER,
        from = range().from_inclusive(),
        to = range().to_inclusive(),
    );
    store.writer.as_ref().unwrap().lock().unwrap().execute_batch(&format!("BEGIN; {sql} COMMIT;")).unwrap();
}

fn query(number: u8, order: Order, behind: Option<Position>) -> PageQuery {
    let window = range();
    PageQuery {
        contract: contract(),
        account: Some(account(number)),
        asked_from: Some(window.from_inclusive()),
        asked_to: Some(window.to_inclusive()),
        filter: EventFilter::default(),
        order,
        above: None,
        behind,
        bound: None,
        limit: 200,
    }
}

/// How many steps the database's machine takes for a page of 200, all statements together.
fn steps(connection: &Connection, query: &PageQuery) -> f64 {
    let registry = Registry::builtin();
    let count = || {
        let taken = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&taken);
        let handler = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            false
        };
        connection.progress_handler(1, Some(handler)).unwrap();
        let page = pages::read(connection, &registry, query).unwrap();
        connection.progress_handler(1, None::<fn() -> bool>).unwrap();
        assert_eq!(page.events.len(), 200);
        assert!(page.next.is_some());
        taken.load(Ordering::Relaxed)
    };
    // The first one prepares the statements, which takes steps too.
    count();
    f64::from(u32::try_from(count()).unwrap())
}

#[test]
fn a_page_of_a_busy_account_takes_as_many_steps_as_one_of_a_quiet_one() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = archive(dir.path());
    fill(&store);
    store
        .read(|connection| {
            let at = |ledger: u32| Position::op(LedgerSeq::new(ledger).unwrap(), 1, 0, 0).unwrap();
            let middle = at(range().to_inclusive().get() / 8);
            let expected = steps(connection, &query(2, Order::Ascending, None));
            for (order, behind) in [
                (Order::Ascending, None),
                (Order::Ascending, Some(middle)),
                (Order::Descending, None),
                (Order::Descending, Some(at(range().to_inclusive().get() - 500))),
            ] {
                for account in [1, 2] {
                    let taken = steps(connection, &query(account, order, behind));
                    let ratio = taken / expected;
                    assert!((0.9..=1.1).contains(&ratio), "{account} {order:?} {behind:?}: {taken} of {expected}");
                }
                let statement = connection.prepare_cached(&sql(order))?;
                assert_eq!(statement.get_status(StatementStatus::FullscanStep), 0);
                assert_eq!(statement.get_status(StatementStatus::Sort), 0);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_an_account_is_told_searches_one_index_in_order_and_sorts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = archive(dir.path());
    let rows = "SEARCH attribution USING PRIMARY KEY (party_id=? AND (toid,event_index)>(?,?) AND \
                (toid,event_index)<(?,?))";
    let marks = "SEARCH attribution USING INDEX attribution_marks (party_id=? AND mark=? AND \
                 (toid,event_index)<(?,?))";
    store
        .read(|connection| {
            for order in [Order::Ascending, Order::Descending] {
                let events = "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)";
                assert_eq!(plan(connection, &sql(order)), [rows, events], "{order:?}");
            }
            for which in [Marked::First, Marked::Last] {
                assert_eq!(plan(connection, &marked_sql(which)), [marks], "{which:?}");
            }
            Ok(())
        })
        .unwrap();
}
