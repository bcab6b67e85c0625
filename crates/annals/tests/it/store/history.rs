//! Digests of histories beside the exported events, after random commits: sealed blocks change no answer.

use std::collections::{BTreeMap, BTreeSet};

use annals::store::{DigestQuery, Digested, Fence, Store, StoreError};
use annals_core::hash::sha256;
use annals_core::history_digest::block_of;
use annals_core::{
    Batch, CheckedLedger, ClassicEvents, ContractId, Event, HistoryDigester, LedgerRange, ProofClass, RangeDigest,
    Scope, ScopeKey,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed};
use rusqlite::Connection;

use super::fixtures::*;
use super::sqlite::SqliteFixture;

const FIRST: u32 = 40;
const LAST: u32 = 330;

/// Commits some ledgers: of which scope, with which classic events, and whether they are proven.
#[derive(Debug, Clone)]
struct Step {
    from: u32,
    length: u32,
    scope: u8,
    classic: u8,
    proven: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (FIRST..LAST, 0_u32..90, 0_u8..4, 0_u8..3, prop::bool::weighted(0.7));
    let step = step.prop_map(|(from, length, scope, classic, proven)| Step { from, length, scope, classic, proven });
    prop::collection::vec(step, 1..14)
}

fn scope_of(choice: u8) -> Scope {
    match choice {
        0 => Scope::All,
        1 => contracts(&[1]),
        2 => contracts(&[2, 9]),
        _ => contracts(&[1, 2, 9]),
    }
}

/// Some events are those that a source rewrites; what proves nothing gives the rewritten form alone.
fn ledger_of(number: u32, classic: ClassicEvents) -> CheckedLedger {
    let mut ledger = ledger(number, classic);
    for event in ledger.events.iter_mut().filter(|event| event.proof.is_proven() && number.is_multiple_of(5)) {
        event.proof = ProofClass::Rewritten;
        event.rewritten_xdr = Some(sha256(&[b"rewritten", &event.xdr]).to_vec());
    }
    ledger_with(number, classic, ledger.events)
}

fn offered(step: &Step) -> Batch {
    let to = (step.from + step.length).min(LAST);
    let classic = [ClassicEvents::Absent, ClassicEvents::Inconsistent, ClassicEvents::Present];
    let ledgers = (step.from..=to).map(|number| ledger_of(number, classic[usize::from(step.classic)]));
    if step.proven {
        return batch_of(scope_of(step.scope), ledgers.collect());
    }
    let as_shown = |event: Event| Event { xdr: event.rewritten_xdr.clone().unwrap_or(event.xdr.clone()), ..event };
    let events = ledgers.flat_map(|ledger| ledger.events).map(as_shown).map(unproven).collect();
    Batch::unverified(network(), scope_of(step.scope), SOURCE, range(step.from, to), events).unwrap()
}

fn digest_of(store: &dyn Store, contract: ContractId, range: LedgerRange) -> RangeDigest {
    let (from, to) = (range.from_inclusive(), range.to_inclusive());
    let query = DigestQuery { contract, account: None, asked_from: Some(from), asked_to: Some(to) };
    match store.digest(&query).unwrap().digested {
        Digested::Range(found) => found,
        other => panic!("{other:?}"),
    }
}

fn exported(events: &[Event], contract: ContractId, range: LedgerRange) -> RangeDigest {
    let mut digester = HistoryDigester::new(range);
    let own = events.iter().filter(|event| event.contract_id == Some(contract));
    for event in own.filter(|event| range.contains(event.position.ledger())) {
        digester.event(event.position, &event.xdr).unwrap();
    }
    digester.finish().unwrap()
}

/// What must be sealed: the blocks that one key covers whole, of its contracts that have an event in them.
fn due(store: &dyn Store, events: &[Event]) -> BTreeMap<(ContractId, u32), [u8; 32]> {
    let mut due = BTreeMap::new();
    for (key, coverage) in store.status().unwrap().coverage {
        let takes = |event: &&Event| match key {
            ScopeKey::All => true,
            ScopeKey::Contract(contract) => event.contract_id == Some(contract),
        };
        for event in events.iter().filter(takes) {
            let (block, Some(contract)) = (block_of(event.position.ledger()), event.contract_id) else { continue };
            if coverage.covers(block) {
                let number = block.to_inclusive().get() / 64;
                due.entry((contract, number)).or_insert_with(|| exported(events, contract, block).digest.0);
            }
        }
    }
    due
}

fn sealed(fixture: &SqliteFixture) -> BTreeMap<(ContractId, u32), [u8; 32]> {
    let database = Connection::open(fixture.path().join("annals.db")).unwrap();
    let mut rows = database.prepare("SELECT contract_id, block, digest FROM history_digests").unwrap();
    let rows = rows.query_map([], |row| Ok(((ContractId(row.get(0)?), row.get(1)?), row.get(2)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn check(fixture: &SqliteFixture) {
    let store = fixture.store();
    let events = all_events(store, 1000);
    for contract in [1, 2, 9, 7].map(contract) {
        for (from, to) in
            [(1, 400), (FIRST, LAST), (64, 255), (63, 256), (100, 290), (128, 191), (128, 192), (200, 200)]
        {
            let window = range(from, to);
            assert_eq!(digest_of(store, contract, window), exported(&events, contract, window), "{contract} {window}");
        }
    }
    let sealed = sealed(fixture);
    assert_eq!(sealed, due(store, &events));
    let audited = store.audit_digests(None, 1000).unwrap();
    assert_eq!((audited.next, audited.wrong, audited.kept), (None, Vec::new(), Some(sealed.len() as u64)));
    assert_eq!(audited.compared, sealed.len() as u64);
}

fn commit(store: &dyn Store, step: &Step, fence: Fence) {
    match store.commit(&offered(step), fence) {
        Ok(_) | Err(StoreError::NetworkUnproven { .. }) => {}
        Err(StoreError::Incident { id, .. }) => store.resolve_incident(id, None, fence).unwrap(),
        Err(error) => panic!("{error:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(20_261_130),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_sealed_history_digests_as_its_export_does_whatever_was_committed(steps in steps()) {
        let fixture = SqliteFixture::in_memory();
        let fence = begin(fixture.store(), FIRST, LAST);
        for step in &steps {
            commit(fixture.store(), step, fence);
            check(&fixture);
        }
    }
}

#[test]
fn a_richer_source_of_one_contract_and_a_late_original_digest_sealed_blocks_anew() {
    let fixture = SqliteFixture::in_memory();
    let fence = begin(fixture.store(), FIRST, LAST);
    let whole = Step { from: 60, length: 80, scope: 0, classic: 0, proven: false };
    let mut seen = BTreeSet::new();
    for (scope, classic, proven) in [(0, 0, false), (0, 0, true), (1, 2, true), (3, 2, true), (0, 2, true)] {
        commit(fixture.store(), &Step { scope, classic, proven, ..whole.clone() }, fence);
        check(&fixture);
        seen.insert(sealed(&fixture).into_iter().collect::<Vec<_>>());
    }
    assert!(seen.len() >= 3, "unverified and rewritten, the originals, and the classic events: {}", seen.len());
}

#[test]
fn a_rewritten_event_digests_as_its_original_does() {
    let digests = [false, true].map(|rewritten| {
        let fixture = SqliteFixture::in_memory();
        let fence = begin(fixture.store(), 60, 140);
        let ledgers = (60..=140).map(|number| match rewritten {
            true => ledger_of(number, ClassicEvents::Present),
            false => ledger(number, ClassicEvents::Present),
        });
        fixture.store().commit(&batch_of(Scope::All, ledgers.collect()), fence).unwrap();
        let classes = fixture.store().status().unwrap().events;
        assert_eq!(classes.rewritten > 0, rewritten);
        digest_of(fixture.store(), contract(1), range(60, 140))
    });
    assert_eq!(digests[0], digests[1]);
    assert!(digests[0].events > 80);
}

#[test]
fn the_order_and_the_pieces_in_which_ledgers_came_show_in_no_digest() {
    let pieces: [&[(u32, u32)]; 4] =
        [&[(40, 330)], &[(200, 330), (40, 199)], &[(70, 71), (40, 69), (150, 330), (100, 149), (72, 99)], &[(10, 330)]];
    let digests = pieces.map(|pieces| {
        let fixture = SqliteFixture::in_memory();
        let fence = begin(fixture.store(), 10, LAST);
        for (from, to) in pieces {
            fixture.store().commit(&full(*from, *to), fence).unwrap();
        }
        [1, 2, 9].map(|number| digest_of(fixture.store(), contract(number), range(FIRST, LAST)))
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]));
}
