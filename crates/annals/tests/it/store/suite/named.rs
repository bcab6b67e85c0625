//! Contracts by name: those added later, and what operators say of them.

use annals::store::{Bound, Contract, ContractKind, EventQuery, FeedPosition, PageQuery, Request, Store, StoreError};
use annals_core::{
    Batch, ClassicEvents, ClassicPolicy, Creation, Event, Executable, IncompleteReason, LedgerSeq, Scope, ScopeKey,
};

use crate::store::fixtures::*;
use crate::store::reader::{events_of, first_page, judge};

use ClassicEvents::{Absent, Present};

fn declared(number: u8, origin: Option<u32>, kind: Option<ContractKind>) -> Contract {
    Contract { id: contract(number), origin: origin.map(seq), kind, schema: None }
}

/// What the store showed at each feed position so far.
fn history(store: &dyn Store) -> Vec<Vec<Event>> {
    let at = |as_of| {
        let query = EventQuery { after: None, to_inclusive: LedgerSeq::MAX, as_of: FeedPosition(as_of), limit: 10_000 };
        store.events(&query).unwrap()
    };
    (0..=store.status().unwrap().feed_position.0).map(at).collect()
}

pub fn a_contract_added_later_opens_its_own_coverage_and_changes_nothing_else(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1]), 1, 12), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 1, 12, Present), fence).unwrap();
    let (before, shown) = (snapshot(store), history(store));
    let old_page = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(12)), 500)).unwrap();
    let new = |from, to| store.page(&first_page(contract(2), Some(seq(from)), Some(seq(to)), 500)).unwrap();
    assert!(!new(1, 12).view.in_scope);
    assert_eq!(judge(&new(1, 12)).reason, Some(IncompleteReason::NotYetIngested));

    // The refill brings what the new contract emitted in stored ledgers, from the same source.
    let plan = store.request(&request(contracts(&[2]), 4, 12), fence).unwrap();
    assert_eq!(plan.missing, coverage(&[(4, 12)]));
    let committed = store.commit(&batch(contracts(&[2]), 4, 12, Present), fence).unwrap();
    let page = new(4, 12);
    assert_eq!(page.view.coverage, coverage(&[(4, 12)]));
    assert_eq!((page.view.in_scope, judge(&page).reason), (true, None));
    assert_eq!(judge(&new(1, 12)).reason, Some(IncompleteReason::BeforeCoverage), "the past is never claimed");
    let of_2 = |event: &&Event| event.contract_id == Some(contract(2));
    assert_eq!(events_of(&page), full(4, 12).events().filter(of_2).cloned().collect::<Vec<_>>());
    assert_eq!(committed.events_added, page.events.len() as u64);

    let after = snapshot(store);
    assert_eq!(after.ledgers, before.ledgers);
    assert_eq!(after.status.covered(ScopeKey::Contract(contract(1))), coverage(&[(1, 12)]));
    assert_eq!(after.status.verified, before.status.verified);
    let others: Vec<Event> = after.events.into_iter().filter(|event| event.contract_id != Some(contract(2))).collect();
    assert_eq!(others, before.events);
    assert_eq!(history(store)[..shown.len()], shown, "no row got another feed position");
    let page = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(12)), 500)).unwrap();
    assert_eq!((page.events, page.view.coverage), (old_page.events, old_page.view.coverage));
}

pub fn a_declaration_says_more_and_takes_nothing_back(fixture: &mut dyn StoreFixture) {
    let fence = begin(fixture.store(), 1, 9);
    let store = fixture.store();
    store.request(&request(contracts(&[3]), 1, 9), fence).unwrap();
    assert_eq!(store.contracts().unwrap(), [declared(3, None, None)]);
    let steps = [
        (declared(1, None, None), declared(1, None, None)),
        (declared(1, Some(4), None), declared(1, Some(4), None)),
        (declared(1, None, Some(ContractKind::Asset)), declared(1, Some(4), Some(ContractKind::Asset))),
        (declared(1, Some(2), None), declared(1, Some(2), Some(ContractKind::Asset))),
        (declared(1, None, Some(ContractKind::Wasm)), declared(1, Some(2), Some(ContractKind::Wasm))),
        (declared(1, None, None), declared(1, Some(2), Some(ContractKind::Wasm))),
    ];
    let before = store.status().unwrap();
    for (said, known) in steps {
        store.declare(&said, fence).unwrap();
        assert_eq!(store.contracts().unwrap(), [known.clone(), declared(3, None, None)]);
        assert_eq!(store.contract(contract(1)).unwrap().contract, Some(known));
    }
    let after = store.status().unwrap();
    assert_eq!((after.coverage, after.gaps, after.start), (before.coverage, before.gaps, before.start));
    // Asking for it again names nothing anew.
    store.request(&request(contracts(&[1]), 1, 9), fence).unwrap();
    fixture.reopen();
    let known = declared(1, Some(2), Some(ContractKind::Wasm));
    assert_eq!(fixture.store().contracts().unwrap(), [known, declared(3, None, None)]);
}

pub fn a_declaration_needs_an_archive_and_the_lease(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    assert!(matches!(store.declare(&declared(1, Some(4), None), fence), Err(StoreError::NotRequested)));
    let newer = begin(store, 1, 9);
    assert!(matches!(store.declare(&declared(1, Some(4), None), fence), Err(StoreError::StaleFence)));
    assert!(store.contracts().unwrap().is_empty());
    store.declare(&declared(1, Some(4), None), newer).unwrap();
}

pub fn declaring_a_contract_turns_no_page_that_was_begun_before_complete(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    store.commit(&batch(Scope::All, 1, 9, Absent), fence).unwrap();
    let query = first_page(contract(1), Some(seq(1)), Some(seq(9)), 2);
    let first = store.page(&query).unwrap();
    let bound = Some(Bound { as_of: first.view.as_of, window: first.window });
    let later = PageQuery { bound, behind: first.next, ..query.clone() };
    let reason = |query: &PageQuery| judge(&store.page(query).unwrap()).reason;
    assert_eq!(reason(&query), Some(IncompleteReason::ClassicEventsAbsent));
    store.declare(&declared(1, None, Some(ContractKind::Wasm)), fence).unwrap();
    assert_eq!(reason(&later), Some(IncompleteReason::ClassicEventsAbsent));
    assert_eq!(reason(&query), None);
    // Nor does an origin move the window of a page that was begun without one.
    let open = store.page(&first_page(contract(1), None, Some(seq(9)), 2)).unwrap();
    store.declare(&declared(1, Some(3), None), fence).unwrap();
    let bound = Some(Bound { as_of: open.view.as_of, window: open.window });
    assert_eq!(reason(&PageQuery { bound, ..query.clone() }), Some(IncompleteReason::OriginUnknown));
    let fresh = store.page(&first_page(contract(1), None, None, 2)).unwrap();
    assert_eq!((fresh.window.from_inclusive, fresh.window.to_inclusive), (Some(seq(3)), Some(seq(9))));
    assert_eq!(judge(&fresh).reason, None);
}

pub fn a_contract_that_nobody_named_is_in_scope_where_everything_is(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let in_scope = |number| store.contract(contract(number)).unwrap().in_scope;
    assert!(!in_scope(1));
    store.request(&request(contracts(&[1]), 1, 9), fence).unwrap();
    assert_eq!((in_scope(1), in_scope(2)), (true, false));
    store.declare(&declared(2, None, None), fence).unwrap();
    assert_eq!((in_scope(2), in_scope(77)), (true, false));
    store.request(&request(Scope::All, 1, 9), fence).unwrap();
    assert!(in_scope(77), "everything was asked for");
    store.commit(&full(1, 9), fence).unwrap();
    assert!(in_scope(77), "everything is covered");
    let page = store.page(&first_page(contract(77), Some(seq(1)), Some(seq(9)), 5)).unwrap();
    assert_eq!((page.events.len(), page.next, judge(&page).reason), (0, None, None));
}

pub fn classic_events_are_missed_unless_the_contract_is_declared_to_have_none(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 30);
    store.commit(&full(1, 5), fence).unwrap();
    store.commit(&batch(Scope::All, 6, 8, Absent), fence).unwrap();
    store.commit(&batch(Scope::All, 9, 12, ClassicEvents::Inconsistent), fence).unwrap();
    store.commit(&unverified(Scope::All, 13, 15, Present), fence).unwrap();
    store.commit(&full(16, 20), fence).unwrap();
    let lacks = |from, to| {
        let page = store.page(&first_page(contract(1), Some(seq(from)), Some(seq(to)), 5)).unwrap();
        page.classic_events_absent
    };
    let cases = [(1, 5), (16, 20), (1, 6), (7, 7), (12, 12), (13, 13), (15, 16), (1, 20), (21, 30), (5, 1)];
    assert_eq!(
        cases.map(|(from, to)| lacks(from, to)),
        [false, false, true, true, true, true, true, true, false, false]
    );
    store.declare(&declared(1, None, Some(ContractKind::Asset)), fence).unwrap();
    assert!(lacks(1, 20));
    store.declare(&declared(1, None, Some(ContractKind::Wasm)), fence).unwrap();
    assert_eq!(cases.map(|(from, to)| lacks(from, to)), [false; 10]);
}

pub fn a_contract_that_was_found_to_be_an_assets_misses_classic_events_whatever_is_declared(
    fixture: &mut dyn StoreFixture,
) {
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    store.declare(&declared(2, None, Some(ContractKind::Wasm)), fence).unwrap();
    let mut ledgers: Vec<_> = (1..=9).map(|number| ledger(number, Absent)).collect();
    ledgers[2].creations =
        [1, 2].map(|number| Creation { contract: contract(number), executable: Executable::Asset }).to_vec();
    store.commit(&batch_of(Scope::All, ledgers), fence).unwrap();
    store.declare(&declared(1, None, Some(ContractKind::Wasm)), fence).unwrap();
    for number in [1, 2] {
        let page = store.page(&first_page(contract(number), Some(seq(1)), Some(seq(9)), 5)).unwrap();
        assert_eq!(judge(&page).reason, Some(IncompleteReason::ClassicEventsAbsent), "{number}");
        assert_eq!(page.view.contract.and_then(|known| known.kind), Some(ContractKind::Asset), "{number}");
    }
    let kinds: Vec<_> = store.contracts().unwrap().into_iter().map(|known| known.kind).collect();
    assert_eq!(kinds, [Some(ContractKind::Asset); 2]);
}

pub fn what_dropped_its_classic_events_is_complete_for_declared_contracts_alone(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let classic = ClassicPolicy::Drop;
    store.request(&Request { classic, ..request(Scope::All, 1, 9) }, fence).unwrap();
    let ledgers = (1..=9).map(|number| ledger(number, Present)).collect();
    store.commit(&Batch::checked(network(), Scope::All, classic, SOURCE, ledgers).unwrap(), fence).unwrap();
    let reason = |to| judge(&store.page(&first_page(contract(1), Some(seq(1)), Some(seq(to)), 5)).unwrap()).reason;
    assert_eq!(reason(9), Some(IncompleteReason::ClassicEventsAbsent));
    store.declare(&declared(1, None, Some(ContractKind::Wasm)), fence).unwrap();
    assert_eq!((reason(9), reason(10)), (None, Some(IncompleteReason::NotYetIngested)));
}
