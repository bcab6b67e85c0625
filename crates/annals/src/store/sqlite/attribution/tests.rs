//! That what is attributed is there whole or not at all, and found without looking at all of it.

use std::path::Path;
use std::sync::Arc;

use annals_core::{
    Address, Batch, ClassicEvents, ClassicPolicy, ContractId, Creation, Event, Executable, LedgerRange, Position,
    ProofClass, Registry, Scope, ShapeFault,
};
use annals_sim::{EventPlan, value};
use stellar_xdr::ScVal;

use super::*;
use crate::clock::SystemClock;
use crate::store::sqlite::tests::{checked, event, fail_everywhere, ledger, network, rows, seq};
use crate::store::{Contract, Fence, Order, PageQuery, Request, SqliteStore, Store};

const SCHEMAS: &str = r#"
    [[schema.test.event]]
    name = "move"
    topics = ["from", "to"]
    data = ["void"]
    checkpoint = "from"
    [[schema.test.event]]
    name = "spend"
    topics = ["spender", "from", "to"]
    data = ["void"]
"#;

/// The same names with other parties, and one name more.
const OTHER_SCHEMAS: &str = r#"
    [[schema.test.event]]
    name = "move"
    topics = [{ value = "address" }, "mover"]
    data = ["void"]
    [[schema.test.event]]
    name = "spend"
    topics = ["spender", "from", "to"]
    data = ["void"]
    [[schema.test.event]]
    name = "odd"
    topics = ["who"]
    data = ["void"]
"#;

fn registry(toml: &str) -> Arc<Registry> {
    Arc::new(Registry::builtin().extended(toml).unwrap())
}

fn contract() -> ContractId {
    ContractId([1; 32])
}

fn account(number: u8) -> Address {
    Address::Account([number; 32])
}

fn xdr(name: &str, parties: &[u8]) -> Vec<u8> {
    let topics = parties.iter().map(|number| value::account_address([*number; 32]));
    EventPlan::new(contract(), [value::symbol(name)].into_iter().chain(topics).collect(), ScVal::Void).xdr()
}

fn said(number: u32, index: u32, class: ProofClass, xdr: Vec<u8>) -> Event {
    Event { xdr, ..event(number, index, class) }
}

fn declared(schema: &str) -> Contract {
    Contract { id: contract(), origin: None, kind: None, schema: Some(schema.parse().unwrap()) }
}

/// An archive with unverified events of ledger 12, one of which fits no shape.
fn prepared(dir: &Path) -> (SqliteStore, Fence) {
    let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
    let store = store.with_registry(registry(SCHEMAS));
    let fence = store.acquire().unwrap();
    let (scope, classic, range) = (Scope::All, ClassicPolicy::Keep, LedgerRange::new(seq(1), seq(30)).unwrap());
    store.request(&Request { network: network(), scope, classic, range, pins: Vec::new() }, fence).unwrap();
    store.declare(&declared("test"), fence).unwrap();
    let created = Contract { id: ContractId([7; 32]), origin: Some(seq(3)), kind: None, schema: None };
    store.declare(&created, fence).unwrap();
    let events = vec![
        said(12, 0, ProofClass::Unverified, xdr("move", &[1, 2])),
        said(12, 1, ProofClass::Unverified, xdr("odd", &[1])),
        said(12, 2, ProofClass::Unverified, xdr("move", &[3, 3])),
    ];
    let range = LedgerRange::single(seq(12));
    store.commit(&Batch::unverified(network(), Scope::All, "a test", range, events).unwrap(), fence).unwrap();
    (store, fence)
}

/// Ledgers that bring events, the originals of stored ones, a creation, and an asset contract.
fn offered() -> Batch {
    let rewritten = |index, original: &[u8], form: Vec<u8>| Event {
        rewritten_xdr: Some(form),
        ..said(12, index, ProofClass::Rewritten, original.to_vec())
    };
    let native = network().native_contract();
    let paid = EventPlan::transfer(native, [1; 32], [2; 32], 5).xdr();
    let mut ledgers = vec![
        ledger(10, ClassicEvents::Present, vec![said(10, 0, ProofClass::Committed, xdr("spend", &[1, 2, 3]))]),
        ledger(11, ClassicEvents::Present, vec![said(11, 0, ProofClass::Committed, xdr("what", &[1]))]),
        ledger(
            12,
            ClassicEvents::Present,
            vec![
                rewritten(0, &xdr("spend", &[4, 1, 5]), xdr("move", &[1, 2])),
                rewritten(1, &xdr("move", &[2, 1]), xdr("odd", &[1])),
                rewritten(2, &xdr("odder", &[3]), xdr("move", &[3, 3])),
            ],
        ),
        ledger(
            13,
            ClassicEvents::Present,
            vec![Event { contract_id: Some(native), ..said(13, 0, ProofClass::Uncommitted, paid) }],
        ),
    ];
    ledgers[3].creations = vec![Creation { contract: ContractId([7; 32]), executable: Executable::Wasm }];
    checked(ledgers)
}

/// One party of one event: position, address, role and mark.
type Row = (u64, u32, Address, String, Option<String>);

/// The stored attribution that holds now.
fn attributed(store: &SqliteStore) -> Vec<Row> {
    let sql = "SELECT toid, event_index, address, role, mark FROM attribution JOIN parties ON id = party_id \
               WHERE until IS NULL ORDER BY toid, event_index, place";
    let read = |connection: &Connection| {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let address = Address::from_bytes(&row.get::<_, [u8; 33]>(2)?).unwrap();
            Ok((row.get(0)?, row.get(1)?, address, row.get(3)?, row.get(4)?))
        })?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    };
    store.read(read).unwrap()
}

/// What the schemas say of the stored events, event by event; and what fits none.
fn expected(store: &SqliteStore, schemas: &Registry, events: &[Event]) -> (Vec<Row>, Vec<(Position, ShapeFault)>) {
    let (mut attributed, mut quarantined) = (Vec::new(), Vec::new());
    for event in events {
        let known = store.contract(event.contract_id.unwrap()).unwrap().contract.and_then(|known| known.schema);
        let Some(schema) = known.map(|choice| schemas.schema(&choice).unwrap()) else { continue };
        match schema.attribute(&event.xdr) {
            Ok(parties) => attributed.extend(parties.iter().map(|party| {
                let mark = party.mark.map(|mark| mark.as_str().to_owned());
                (event.position.toid(), event.position.index(), party.address, party.role.to_owned(), mark)
            })),
            Err(fault) => quarantined.push((event.position, fault)),
        }
    }
    (attributed, quarantined)
}

fn check(store: &SqliteStore, schemas: &str, events: &[Event]) {
    let (parties, faults) = expected(store, &registry(schemas), events);
    assert_eq!(attributed(store), parties);
    let open = store.read(|connection| {
        let table = table::Table::new(connection)?;
        events
            .iter()
            .map(|event| {
                Ok(table.fault(event.contract_id.unwrap(), event.position)?.map(|fault| (event.position, fault)))
            })
            .collect::<Result<Vec<_>, StoreError>>()
    });
    assert_eq!(open.unwrap().into_iter().flatten().collect::<Vec<_>>(), faults);
    assert_eq!(store.status().unwrap().quarantined, faults.len() as u64);
}

#[test]
fn g1_a_failure_at_any_statement_of_an_attributing_commit_leaves_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let batch = offered();
    let failures = fail_everywhere(&store, || store.commit(&batch, fence).map(drop));
    assert!(failures > 100, "only {failures} failures");
    let events: Vec<Event> = batch.events().cloned().collect();
    check(&store, SCHEMAS, &events);
    assert_eq!(rows(&store, "found_contracts").len(), 2);
    let contradicted = rows(&store, "journal").iter().filter(|row| row.contains("origin_contradicted")).count();
    assert_eq!(contradicted, 1);
    // The native contract emits before any creation, and nothing of it was stored before it was recognised.
    assert!(store.status().unwrap().unattributed.is_empty());
}

#[test]
fn g1_a_failure_at_any_statement_of_reading_events_again_leaves_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let batch = offered();
    store.commit(&batch, fence).unwrap();
    let events: Vec<Event> = batch.events().cloned().collect();
    let store = store.with_registry(registry(OTHER_SCHEMAS));
    assert!(fail_everywhere(&store, || store.adopt(fence).map(drop)) > 10);
    assert_eq!(store.status().unwrap().unattributed, [contract()]);
    let mut after = None;
    let mut failures = 0;
    loop {
        let mut next = None;
        failures += fail_everywhere(&store, || {
            next = store.reattribute(contract(), after, 2, fence)?.next;
            Ok(())
        });
        after = next;
        if store.status().unwrap().unattributed.is_empty() {
            break;
        }
    }
    assert!(failures > 100, "only {failures} failures");
    check(&store, OTHER_SCHEMAS, &events);
    assert!(fail_everywhere(&store, || store.declare(&declared("token"), fence)) > 20);
    assert_eq!(store.status().unwrap().unattributed, [contract()]);
}

#[test]
fn readings_in_steps_of_any_size_end_alike() {
    let ends: Vec<Vec<_>> = (1..8)
        .map(|limit| {
            let dir = tempfile::tempdir().unwrap();
            let (store, fence) = prepared(dir.path());
            let batch = offered();
            store.commit(&batch, fence).unwrap();
            let store = store.with_registry(registry(OTHER_SCHEMAS));
            assert_eq!(store.adopt(fence).unwrap(), [contract()]);
            let mut steps = 0;
            while store.reattribute(contract(), None, limit, fence).unwrap().next.is_some() {
                steps += 1;
            }
            assert_eq!(steps, 5 / limit);
            assert!(store.adopt(fence).unwrap().is_empty());
            check(&store, OTHER_SCHEMAS, &batch.events().cloned().collect::<Vec<_>>());
            attributed(&store)
        })
        .collect();
    assert!(ends.iter().all(|end| *end == ends[0]));
}

#[test]
fn an_archive_from_before_there_was_attribution_is_surveyed_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let batch = offered();
    store.commit(&batch, fence).unwrap();
    // What the migration of such an archive leaves.
    let forget = "DELETE FROM attribution; DELETE FROM parties; DELETE FROM contract_schemas; \
                  DELETE FROM found_contracts; DELETE FROM quarantine; UPDATE contracts SET schema = NULL; \
                  UPDATE attribution_state SET survey_pending = 1;";
    store.writer.as_ref().unwrap().lock().unwrap().execute_batch(forget).unwrap();
    let native = network().native_contract();
    assert_eq!(store.adopt(fence).unwrap(), [native]);
    let position = store.status().unwrap().feed_position;
    assert_eq!(store.adopt(fence).unwrap(), [native]);
    assert_eq!(store.status().unwrap().feed_position, position, "there is nothing left to look for");
    let done = store.reattribute(native, None, 10, fence).unwrap();
    assert_eq!((done.events, done.changed, done.next), (1, 1, None));
    assert!(store.adopt(fence).unwrap().is_empty());
    let known = store.contract(native).unwrap().contract.unwrap();
    assert_eq!((known.origin, known.schema.unwrap().to_string()), (Some(seq(2)), "asset".to_owned()));
}

#[test]
fn a_commit_that_changes_nothing_begins_no_schema_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    let created = || {
        let mut ledgers = vec![ledger(14, ClassicEvents::Present, Vec::new())];
        ledgers[0].creations = vec![Creation { contract: contract(), executable: Executable::Wasm }];
        checked(ledgers)
    };
    store.commit(&created(), fence).unwrap();
    // Whoever commits without having adopted its registry: twice, since a number that was not used up is given again.
    let before = rows(&store, "contract_schemas");
    let mut store = store;
    for schemas in [OTHER_SCHEMAS, SCHEMAS, OTHER_SCHEMAS] {
        store = store.with_registry(registry(schemas));
        store.commit(&created(), fence).unwrap();
        assert_eq!(rows(&store, "contract_schemas"), before);
    }
}

/// How the database goes about a statement.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing = vec![rusqlite::types::Value::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

#[test]
fn what_attributes_and_judges_searches_an_index_and_scans_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = prepared(dir.path());
    let expected = [
        (table::PARTY, "SEARCH parties USING COVERING INDEX sqlite_autoindex_parties_1 (contract_id=? AND address=?)"),
        (table::STORED, "SEARCH attribution USING PRIMARY KEY (party_id=? AND toid=? AND event_index=?)"),
        (table::END, "SEARCH attribution USING PRIMARY KEY (party_id=? AND toid=? AND event_index=? AND place=?)"),
        (table::QUARANTINED_NOW, "SEARCH quarantine USING INDEX quarantine_open (contract_id=? AND toid>? AND toid<?)"),
        (
            table::QUARANTINED_THEN,
            "SEARCH quarantine USING COVERING INDEX quarantine_ended (contract_id=? AND until>?)",
        ),
        (reread::NEXT_CONTRACT, "SEARCH events USING COVERING INDEX events_by_contract (contract_id>?)"),
    ];
    store
        .read(|connection| {
            for (sql, steps) in expected {
                assert_eq!(plan(connection, sql), [steps]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_page_shows_no_more_than_its_account_has() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = prepared(dir.path());
    store.commit(&offered(), fence).unwrap();
    let query = |number| PageQuery {
        contract: contract(),
        account: Some(account(number)),
        asked_from: Some(seq(10)),
        asked_to: Some(seq(13)),
        filter: crate::store::EventFilter::default(),
        order: Order::Ascending,
        above: None,
        behind: None,
        bound: None,
        limit: 10,
    };
    let shown = |number| {
        let page = store.page(&query(number)).unwrap();
        page.events.into_iter().map(|shown| (shown.event.position.ledger().get(), shown.roles)).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(1),
        [(10, vec!["spender".to_owned()]), (12, vec!["from".to_owned()]), (12, vec!["to".to_owned()])]
    );
    assert_eq!(shown(3), [(10, vec!["to".to_owned()])], "what it has no more is not there");
    assert!(shown(9).is_empty());
}
