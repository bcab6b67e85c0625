//! The durable list of what was asked for and is not there.

use annals::store::{Gap, GapFailure, Store};
use annals_core::{ClassicEvents, LedgerSeq, Scope, ScopeKey};

use crate::store::fixtures::*;

fn failure(from: u32, to: u32) -> GapFailure {
    GapFailure {
        range: range(from, to),
        code: "NOT_FOUND".to_owned(),
        message: format!("object {from}-{to} is not in the lake"),
    }
}

fn listed(store: &dyn Store) -> Vec<(u32, u32, u32)> {
    let row = |gap: &Gap| (gap.range.from_inclusive().get(), gap.range.to_inclusive().get(), gap.attempts);
    store.status().unwrap().gaps.iter().map(row).collect()
}

pub fn b5_a_fill_that_fails_stays_listed_with_its_attempts_and_nothing_is_dropped(fixture: &mut dyn StoreFixture) {
    let mut fence = begin(fixture.store(), 1, 50);
    // Five gaps, each of five ledgers; no queue holds them, the list does.
    for from in [1, 11, 21, 31, 41] {
        fixture.store().commit(&full(from, from + 4), fence).unwrap();
    }
    let gaps = [6, 16, 26, 36, 46].map(|from| (from, from + 4));
    assert_eq!(listed(fixture.store()), gaps.map(|(from, to)| (from, to, 0)));
    let (lost_from, lost_to) = gaps[2];
    for round in 0..4 {
        for (from, to) in gaps {
            if round < 2 || from == lost_from {
                fixture.store().record_failure(&failure(from, to), fence).unwrap();
            } else if round == 2 {
                fixture.store().commit(&full(from, to), fence).unwrap();
            }
        }
        fixture.reopen();
        fence = fixture.store().acquire().unwrap();
    }
    let status = fixture.store().status().unwrap();
    let [last] = status.gaps.as_slice() else { panic!("{:?}", status.gaps) };
    assert_eq!((last.range, last.attempts), (range(lost_from, lost_to), 4));
    assert_eq!(last.last_code.as_deref(), Some("NOT_FOUND"));
    assert_eq!(last.last_error.as_deref(), Some("object 26-30 is not in the lake"));
    let covered = status.covered(ScopeKey::All);
    assert_eq!(covered, coverage(&[(1, 25), (31, 50)]));
    assert_eq!(covered.watermark(seq(1)), Some(seq(25)), "the mark never passes the gap");
}

pub fn a_request_lists_only_what_is_not_covered_and_keeps_what_is_listed(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 10, 20);
    store.commit(&full(14, 15), fence).unwrap();
    store.record_failure(&failure(16, 18), fence).unwrap();
    assert_eq!(listed(store), [(10, 13, 0), (16, 18, 1), (19, 20, 0)]);
    let plan = store.request(&request(Scope::All, 12, 25), fence).unwrap();
    assert_eq!(plan.missing, coverage(&[(12, 13), (16, 25)]));
    assert_eq!(listed(store), [(10, 13, 0), (16, 18, 1), (19, 25, 0)]);
    // A failure may reach over covered ledgers and beyond what was asked for: it makes no gap.
    store.record_failure(&failure(13, 16), fence).unwrap();
    store.record_failure(&failure(24, 90), fence).unwrap();
    assert_eq!(listed(store), [(10, 12, 0), (13, 13, 1), (16, 16, 2), (17, 18, 1), (19, 23, 0), (24, 25, 1)]);
    store.commit(&full(17, 24), fence).unwrap();
    assert_eq!(listed(store), [(10, 12, 0), (13, 13, 1), (16, 16, 2), (25, 25, 1)]);
    let nothing = store.request(&request(Scope::All, 17, 24), fence).unwrap();
    assert!(nothing.missing.is_empty());
}

pub fn lowering_the_start_is_told_once(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let ask = |from| store.request(&request(Scope::All, from, 30), fence).unwrap().lowered_start_from;
    assert_eq!(ask(20), None);
    assert_eq!(ask(25), None);
    assert_eq!(ask(7), Some(seq(20)));
    assert_eq!(ask(7), None);
    assert_eq!(store.status().unwrap().start, Some(seq(7)));
}

pub fn coverage_of_all_contracts_fills_the_gaps_of_each(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1, 2]), 1, 10), fence).unwrap();
    assert_eq!(store.status().unwrap().gaps.len(), 2);
    store.commit(&batch(contracts(&[1]), 1, 4, ClassicEvents::Present), fence).unwrap();
    assert_eq!(store.request(&request(Scope::All, 1, 10), fence).unwrap().missing, coverage(&[(1, 10)]));
    store.commit(&full(3, 10), fence).unwrap();
    let gaps: Vec<(ScopeKey, u32, u32)> = store
        .status()
        .unwrap()
        .gaps
        .iter()
        .map(|gap| (gap.key, gap.range.from_inclusive().get(), gap.range.to_inclusive().get()))
        .collect();
    assert_eq!(gaps, [(ScopeKey::All, 1, 2), (ScopeKey::Contract(contract(2)), 1, 2)]);
    let plan = store.request(&request(contracts(&[1, 2, 3]), 3, 10), fence).unwrap();
    assert!(plan.missing.is_empty(), "what was scanned for all was scanned for each");
}

pub fn gaps_at_the_ends_of_the_sequence_numbers_neither_wrap_nor_panic(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let max = LedgerSeq::MAX.get();
    store.request(&request(Scope::All, 1, max), fence).unwrap();
    store.commit(&full(1, 2), fence).unwrap();
    store.commit(&full(max - 1, max), fence).unwrap();
    store.record_failure(&failure(1, max), fence).unwrap();
    assert_eq!(listed(store), [(3, max - 2, 1)]);
    assert_eq!(
        all_events(store, 7),
        full(1, 2).events().chain(full(max - 1, max).events()).cloned().collect::<Vec<_>>()
    );
    assert_eq!(store.neighbours(range(1, max)).unwrap(), annals_core::Neighbours::default());
}
