//! Several versions of one ledger: absent < inconsistent < present, and unverified events below all of them.

use annals::store::{IncidentKind, StoreError};
use annals_core::{
    Batch, CheckedLedger, ClassicEvents, ClassicPolicy, Event, EventsDigest, IncompleteReason, LedgerSeq, Position,
    ProofClass, Scope, ScopeKey,
};

use crate::store::fixtures::*;
use crate::store::reader::{first_page, judge};

use ClassicEvents::{Absent, Inconsistent, Present};

pub fn a_richer_source_replaces_the_ledger_row_and_brings_its_events(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    store.commit(&batch(Scope::All, 1, 10, Absent), fence).unwrap();
    for (classic, from, to) in [(Inconsistent, 1, 10), (Present, 4, 8), (Present, 1, 10)] {
        let offered = batch(Scope::All, from, to, classic);
        let before = store.status().unwrap();
        let committed = store.commit(&offered, fence).unwrap();
        assert!(committed.feed_position > before.feed_position);
        assert!(committed.events_added > 0 && committed.ledgers_written > 0);
        for row in store.ledgers(seq(from), to - from + 1).unwrap() {
            let expected = ledger(row.seq.get(), classic);
            assert_eq!(
                (row.classic_events, row.census, row.digest),
                (expected.classic_events, expected.census, expected.digest)
            );
        }
        assert_eq!(store.status().unwrap().coverage, before.coverage);
    }
    assert_eq!(all_events(store, 3), full(1, 10).events().cloned().collect::<Vec<_>>());
    assert!(store.incidents().unwrap().is_empty());
}

pub fn a_poorer_source_changes_nothing(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    store.commit(&full(1, 6), fence).unwrap();
    let before = snapshot(store);
    for classic in [Absent, Inconsistent] {
        let committed = store.commit(&batch(Scope::All, 1, 6, classic), fence).unwrap();
        assert_eq!((committed.events_added, committed.ledgers_written), (0, 0));
        assert_eq!(committed.feed_position, before.status.feed_position);
    }
    assert_eq!(snapshot(store), before);
    // Poorer is not exempt from agreeing.
    let mut other = ledger(5, Absent);
    other.events[0].xdr.push(0);
    assert!(matches!(store.commit(&batch_of(Scope::All, vec![other]), fence), Err(StoreError::Incident { .. })));
}

pub fn a_poorer_source_does_not_open_a_contract_whose_classic_events_it_lacks(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1]), 1, 5), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 1, 5, Present), fence).unwrap();
    store.request(&request(contracts(&[9]), 1, 8), fence).unwrap();
    store.commit(&batch(contracts(&[9]), 4, 8, Absent), fence).unwrap();

    let status = store.status().unwrap();
    let key = ScopeKey::Contract(contract(9));
    // Ledgers 6 to 8 had no row that says more than this source gives.
    assert_eq!(status.covered(key), coverage(&[(6, 8)]));
    let gaps: Vec<_> = status.gaps.iter().map(|gap| (gap.range, gap.attempts, gap.last_code.as_deref())).collect();
    assert_eq!(
        gaps,
        [
            (range(1, 3), 0, None),
            (range(4, 4), 1, Some("CLASSIC_EVENTS_ABSENT")),
            (range(5, 5), 1, Some("CLASSIC_EVENTS_ABSENT")),
        ]
    );
    assert!(status.gaps[1].last_error.as_ref().unwrap().contains(SOURCE));
    let row = &store.ledgers(seq(5), 1).unwrap()[0];
    assert_eq!(row.classic_events, Present, "contract 1 keeps what was brought for it");

    store.commit(&batch(contracts(&[9]), 1, 8, Present), fence).unwrap();
    assert_eq!(store.status().unwrap().covered(key), coverage(&[(1, 8)]));
    assert!(store.status().unwrap().gaps.is_empty());
    // Where all contracts were scanned, nothing is missing that a poorer source would have to bring.
    store.request(&request(Scope::All, 20, 24), fence).unwrap();
    store.commit(&full(20, 24), fence).unwrap();
    store.commit(&batch(contracts(&[9]), 20, 24, Absent), fence).unwrap();
    assert_eq!(store.status().unwrap().coverage.last().unwrap().1, coverage(&[(1, 8), (20, 24)]));
}

pub fn a_richer_source_of_one_contract_does_not_vouch_for_another(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1, 9]), 1, 5), fence).unwrap();
    store.commit(&batch(contracts(&[1, 9]), 1, 5, Absent), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 1, 5, Present), fence).unwrap();
    let says = |number| store.ledgers(seq(number), 1).unwrap()[0].classic_events;
    assert_eq!(says(5), Absent, "the fee events of contract 9 are not there");
    let of_1: Vec<Event> = batch(contracts(&[1]), 1, 5, Present).events().cloned().collect();
    let stored = all_events(store, 100);
    assert!(of_1.iter().all(|event| stored.contains(event)), "what was brought is kept");
    let before = snapshot(store);
    store.commit(&batch(contracts(&[1]), 1, 5, Present), fence).unwrap();
    assert_eq!(snapshot(store), before);
    store.commit(&batch(contracts(&[1, 9]), 1, 5, Present), fence).unwrap();
    assert_eq!(says(5), Present);
}

pub fn unverified_events_take_the_class_of_the_checked_ledger(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let given = unverified(Scope::All, 1, 10, Present);
    let committed = store.commit(&given, fence).unwrap();
    assert_eq!((committed.events_added, committed.ledgers_written), (given.events().count() as u64, 0));
    let status = store.status().unwrap();
    assert_eq!(status.covered(ScopeKey::All), coverage(&[(1, 10)]));
    assert!(status.verified.is_empty() && status.gaps.is_empty());
    assert_eq!(status.events.total(), status.events.unverified);
    assert!(store.ledgers(LedgerSeq::MIN, 10).unwrap().is_empty());

    let upgraded = store.commit(&full(1, 7), fence).unwrap();
    assert_eq!((upgraded.events_added, upgraded.ledgers_written), (0, 7));
    let expected: Vec<Event> =
        full(1, 7).events().cloned().chain(full(8, 10).events().cloned().map(unproven)).collect();
    assert_eq!(all_events(store, 100), expected);
    assert_eq!(store.status().unwrap().verified, coverage(&[(1, 7)]));
    assert!(store.proof(seq(5)).unwrap().is_some());
}

/// A ledger whose one event was recovered: the source published `rewritten`, the header commits to the original.
fn recovered(number: u32) -> (CheckedLedger, Event) {
    let at = Position::op(seq(number), 1, 0, 0).unwrap();
    let published = b"the later format".to_vec();
    let original =
        Event { rewritten_xdr: Some(published.clone()), ..event(at, 1, Some(contract(1)), ProofClass::Rewritten) };
    let as_published = Event { xdr: published, ..unproven(original.clone()) };
    (ledger_with(number, Present, vec![original]), as_published)
}

pub fn an_unverified_rewritten_form_becomes_the_form_beside_the_original(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let (checked, published) = recovered(4);
    let given = || Batch::unverified(network(), Scope::All, SOURCE, range(4, 4), vec![published.clone()]).unwrap();
    store.commit(&given(), fence).unwrap();
    store.commit(&batch_of(Scope::All, vec![checked.clone()]), fence).unwrap();
    assert_eq!(all_events(store, 10), checked.events);
    let before = snapshot(store);
    store.commit(&given(), fence).expect("the published form is known");
    assert_eq!(snapshot(store), before);
}

fn with_extra(number: u32, extra: Event) -> Batch {
    let mut events: Vec<Event> = ledger(number, Present).events.into_iter().map(unproven).collect();
    events.push(unproven(extra));
    Batch::unverified(network(), Scope::All, SOURCE, range(number, number), events).unwrap()
}

pub fn an_unverified_event_that_the_checked_ledger_lacks_is_an_incident(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    // In an invocation that the header commits to, and after all transactions: no present ledger lacks either.
    for (number, extra) in [
        (5, event(Position::op(seq(5), 1, 0, 9).unwrap(), 1, Some(contract(1)), ProofClass::Unverified)),
        (8, event(Position::after_all_txs(seq(8), 9), 1, Some(contract(9)), ProofClass::Unverified)),
    ] {
        store.commit(&with_extra(number, extra.clone()), fence).unwrap();
        let before = all_events(store, 100);
        let error = store.commit(&full(number, number), fence).unwrap_err();
        let StoreError::Incident { id, position, .. } = error else { panic!("{error:?}") };
        assert_eq!(position, Some(extra.position));
        let incident = store.incidents().unwrap().pop().unwrap();
        assert_eq!((incident.id, incident.kind), (id, IncidentKind::EventBytes));
        assert_eq!((incident.stored_xdr, incident.offered_xdr), (extra.xdr, Vec::new()));
        assert_eq!(all_events(store, 100), before);
        assert!(store.status().unwrap().verified.is_empty());
        store.resolve_incident(id, None, fence).unwrap();
    }
}

pub fn a_classic_event_that_a_ledger_without_any_lacks_stays_unverified(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&unverified(Scope::All, 5, 5, Present), fence).unwrap();
    store.commit(&batch(Scope::All, 5, 5, Absent), fence).unwrap();
    let classes = |store: &dyn annals::store::Store| {
        let count = store.status().unwrap().events;
        (count.unverified, count.uncommitted, count.committed)
    };
    let whole = ledger(5, Present).census;
    assert_eq!(classes(store), (whole.uncommitted, 0, whole.committed));
    store.commit(&full(5, 5), fence).unwrap();
    assert_eq!(classes(store), (0, whole.uncommitted, whole.committed));
    // An event of an invocation is no classic one, with or without them.
    let extra = event(Position::op(seq(8), 1, 0, 9).unwrap(), 1, Some(contract(1)), ProofClass::Unverified);
    store.commit(&with_extra(8, extra), fence).unwrap();
    assert!(matches!(store.commit(&batch(Scope::All, 8, 8, Absent), fence), Err(StoreError::Incident { .. })));
}

pub fn checked_events_are_only_confirmed_by_unverified_ones(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(1, 5), fence).unwrap();
    store.commit(&batch(Scope::All, 6, 10, Absent), fence).unwrap();
    let before = snapshot(store);
    let given = unverified(Scope::All, 1, 10, Present);
    let committed = store.commit(&given, fence).unwrap();
    assert_eq!(committed.events_added, 0);
    assert_eq!(committed.events_known, before.events.len() as u64);
    assert_eq!(snapshot(store), before);

    let mut wrong: Vec<Event> = unverified(Scope::All, 2, 2, Present).events().cloned().collect();
    wrong[0].xdr.push(1);
    let conflicting = Batch::unverified(network(), Scope::All, SOURCE, range(2, 2), wrong).unwrap();
    let error = store.commit(&conflicting, fence).unwrap_err();
    let StoreError::Incident { id, .. } = error else { panic!("{error:?}") };
    store.resolve_incident(id, None, fence).unwrap();
    // A whole ledger lacks nothing, so one event more contradicts it.
    let extra = event(Position::after_all_txs(seq(2), 9), 1, Some(contract(9)), ProofClass::Unverified);
    let error = store.commit(&with_extra(2, extra.clone()), fence).unwrap_err();
    assert!(matches!(error, StoreError::Incident { position, .. } if position == Some(extra.position)));
    let incident = store.incidents().unwrap().pop().unwrap();
    assert_eq!((incident.stored_xdr, incident.offered_xdr), (Vec::new(), extra.xdr));
    assert_eq!(all_events(store, 100), before.events);
}

pub fn another_digest_of_an_equally_rich_ledger_is_an_incident(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1]), 1, 9), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 5, 5, Present), fence).unwrap();
    let before = snapshot(store);
    let position_of = |error: StoreError| match error {
        StoreError::Incident { id, position, ledger: at, .. } if at == seq(5) => {
            store.resolve_incident(id, None, fence).unwrap();
            position
        }
        error => panic!("{error:?}"),
    };
    let changed = |change: &dyn Fn(&mut Vec<Event>)| {
        let mut other = ledger(5, Present);
        change(&mut other.events);
        other.digest = EventsDigest::of(&other.events);
        batch_of(contracts(&[1]), vec![other])
    };
    let of_1: Vec<Event> = full(5, 5).events().filter(|event| contracts(&[1]).takes(event)).cloned().collect();

    let lacking = changed(&|events| events.retain(|event| *event != of_1[0]));
    assert_eq!(position_of(store.commit(&lacking, fence).unwrap_err()), Some(of_1[0].position));
    let extra = event(Position::after_all_txs(seq(5), 8), 1, Some(contract(1)), ProofClass::Uncommitted);
    let adding = changed(&|events| events.push(extra.clone()));
    assert_eq!(position_of(store.commit(&adding, fence).unwrap_err()), Some(extra.position));
    let elsewhere = changed(&|events| events.retain(|event| event.contract_id != Some(contract(2))));
    assert_eq!(position_of(store.commit(&elsewhere, fence).unwrap_err()), None);
    let after = snapshot(store);
    assert_eq!((after.events, after.ledgers), (before.events, before.ledgers));
}

pub fn what_nobody_checked_is_never_vouched_for_by_another_contracts_ledger(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    let seen = |number: u32| {
        let query = first_page(contract(9), Some(seq(number)), Some(seq(number)), 50);
        let page = store.page(&query).unwrap();
        (judge(&page).reason, page.view.verified.contains(seq(number)), page.events.len())
    };
    // In both orders: a checked ledger of contract 1, and all events as a source gives them that lacks classic ones.
    store.commit(&batch(contracts(&[1]), 5, 5, Present), fence).unwrap();
    store.commit(&unverified(Scope::All, 5, 5, Absent), fence).unwrap();
    assert_eq!(seen(5), (Some(IncompleteReason::NotYetIngested), false, 0));
    let gap = store.status().unwrap().gaps.into_iter().find(|gap| gap.range == range(5, 5)).unwrap();
    assert_eq!((gap.attempts, gap.last_code.as_deref()), (1, Some("UNVERIFIED")));

    store.commit(&unverified(Scope::All, 8, 8, Absent), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 8, 8, Present), fence).unwrap();
    assert_eq!(seen(8), (Some(IncompleteReason::ClassicEventsAbsent), false, 0));
    assert_eq!(store.ledgers(seq(8), 1).unwrap().len(), 1);
    // Nor is it a contradiction when the same source has more to give.
    store.commit(&unverified(Scope::All, 8, 8, Present), fence).unwrap();
    assert_eq!(seen(8), (Some(IncompleteReason::ClassicEventsAbsent), false, 3));

    for number in [5, 8] {
        store.commit(&full(number, number), fence).unwrap();
        assert_eq!(seen(number), (None, true, 3));
    }
    assert!(store.incidents().unwrap().is_empty());
    assert_eq!(store.status().unwrap().events.unverified, 0);
}

pub fn without_classic_events_by_policy_no_source_is_too_poor(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let dropping = |scope| annals::store::Request { classic: ClassicPolicy::Drop, ..request(scope, 1, 9) };
    let batch = |scope: &Scope, from, to, classic| {
        let ledgers = (from..=to).map(|number| ledger(number, classic)).collect();
        Batch::checked(network(), scope.clone(), ClassicPolicy::Drop, SOURCE, ledgers).unwrap()
    };
    let (one, two) = (contracts(&[1]), contracts(&[2]));
    store.request(&dropping(one.clone()), fence).unwrap();
    store.commit(&batch(&one, 1, 9, Present), fence).unwrap();
    store.request(&dropping(two.clone()), fence).unwrap();
    store.commit(&batch(&two, 1, 9, Absent), fence).unwrap();
    let status = store.status().unwrap();
    assert_eq!(status.covered(ScopeKey::Contract(contract(2))), coverage(&[(1, 9)]));
    assert!(status.gaps.is_empty());
    assert_eq!((status.events.uncommitted, status.classic), (0, ClassicPolicy::Drop));
    let proven = full(1, 9).events().filter(|event| event.proof == ProofClass::Committed).cloned().collect::<Vec<_>>();
    assert_eq!(all_events(store, 100), proven);
    // Events that nothing classifies could be classic ones, so that such an archive takes none of them.
    let unclassified = unverified(Scope::All, 1, 2, Present);
    assert!(matches!(store.commit(&unclassified, fence), Err(StoreError::PolicyMismatch { stored: "drop" })));
}
