//! Pages of one contract, and what they say of their window.

use annals::store::{Bound, EventLookup, FeedPosition, Order, Page, PageQuery, StoreError};
use annals_core::{Batch, ClassicEvents, Event, IncompleteReason, Position, ProofClass, Scope, Window};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::store::fixtures::*;
use crate::store::oracle::Oracle;
use crate::store::reader::{ORDERS, Reader, events_of, first_page, judge, unasked};

use ClassicEvents::{Absent, Present};

/// A store and its oracle, which are told the same.
struct Both<'a> {
    store: &'a dyn annals::store::Store,
    oracle: Oracle,
    fence: annals::store::Fence,
}

impl<'a> Both<'a> {
    fn new(fixture: &'a mut dyn StoreFixture, from: u32, to: u32) -> Self {
        let store = fixture.store();
        let fence = begin(store, from, to);
        let mut oracle = Oracle::default();
        oracle.acquire();
        oracle.request(&request(Scope::All, from, to), fence).unwrap();
        Self { store, oracle, fence }
    }

    fn commit(&mut self, batch: &Batch) {
        self.store.commit(batch, self.fence).unwrap();
        self.oracle.commit(batch, self.fence).unwrap();
    }
}

/// A ledger with 25 events of contract 1: charges, operations, after transactions, refunds.
fn crowded(number: u32) -> annals_core::CheckedLedger {
    let at = seq(number);
    let operations =
        (0..12).map(|index| (Position::op(at, 1 + index / 4, index % 4, 0).unwrap(), ProofClass::Committed));
    let others = (0..13).map(|index| {
        let position = match index % 4 {
            0 => Position::before_all_txs(at, index),
            1 => Position::after_tx(at, 2, index).unwrap(),
            2 => Position::after_all_txs(at, index),
            _ => Position::op(at, 4, 0, index).unwrap(),
        };
        (position, ProofClass::Uncommitted)
    });
    let events = operations.chain(others).map(|(at, class)| event(at, at.tx().clamp(1, 4), Some(contract(1)), class));
    ledger_with(number, Present, events.collect())
}

pub fn inv_5_pages_equal_the_unpaged_read_for_every_size_in_both_directions(fixture: &mut dyn StoreFixture) {
    let mut both = Both::new(fixture, 1, 9);
    for size in 1..=30 {
        // Each size has ledgers of its own: without classic events, unverified, crowded, a gap, whole.
        let base = 40 * size;
        both.commit(&batch(Scope::All, base + 1, base + 6, Absent));
        both.commit(&unverified(Scope::All, base + 7, base + 10, Present));
        both.commit(&batch_of(Scope::All, vec![crowded(base + 11)]));
        both.commit(&full(base + 15, base + 18));
        let mut later = vec![
            full(base + 19, base + 21),
            full(base + 12, base + 14),
            full(base + 1, base + 3),
            full(base + 8, base + 9),
            full(base + 22, base + 30),
            full(base + 4, base + 7),
        ];
        let mut readers = Vec::new();
        for (of, order, to) in [1, 9]
            .into_iter()
            .flat_map(|of| ORDERS.map(|order| (of, order)))
            .flat_map(|(of, order)| [18, 30].map(|to| (of, order, to)))
        {
            let query = first_page(contract(of), Some(seq(base + 1)), Some(seq(base + to)), size);
            readers.push(Reader::new(&both.oracle, PageQuery { order, ..query }));
        }
        while readers.iter().any(|reader| !reader.is_done()) {
            for reader in readers.iter_mut().filter(|reader| !reader.is_done()) {
                reader.turn(both.store);
            }
            if let Some(batch) = later.pop() {
                both.commit(&batch);
            }
        }
        for batch in later {
            both.commit(&batch);
        }
    }
}

pub fn i1_a_ledger_of_twenty_five_events_is_paged_without_loss_in_any_size(fixture: &mut dyn StoreFixture) {
    let mut both = Both::new(fixture, 10, 80);
    both.commit(&batch_of(Scope::All, vec![crowded(10)]));
    assert_eq!(both.oracle.answer(contract(1), None, Some(seq(10))).events.len(), 25);
    for size in 1..=30 {
        for order in ORDERS {
            let query = first_page(contract(1), Some(seq(10)), None, size);
            let mut reader = Reader::new(&both.oracle, PageQuery { order, ..query });
            reader.turn(both.store);
            // Newer ledgers come in between the pages.
            if order == Order::Ascending {
                both.commit(&full(10 + size, 10 + size));
            }
            reader.finish(both.store);
        }
    }
}

pub fn i1_following_the_tail_neither_misses_nor_repeats(fixture: &mut dyn StoreFixture) {
    let mut both = Both::new(fixture, 1, 80);
    let mut seen: Vec<Event> = Vec::new();
    for number in 1..=40 {
        both.commit(&full(number, number));
        // As a client does that keeps the last id it saw, and nothing else.
        let above = seen.last().map(|event| event.position);
        let query = PageQuery { above, ..first_page(contract(1), Some(seq(1)), None, 1 + number % 3) };
        let page = both.store.page(&query).unwrap();
        seen.extend(events_of(&page));
    }
    loop {
        let above = seen.last().map(|event| event.position);
        let page = both.store.page(&PageQuery { above, ..first_page(contract(1), Some(seq(1)), None, 3) }).unwrap();
        if page.events.is_empty() {
            break;
        }
        seen.extend(events_of(&page));
    }
    assert_eq!(seen, both.oracle.answer(contract(1), Some(seq(1)), None).events);
    let above = Some(seen[seen.len() / 2].position);
    for order in ORDERS {
        let query = PageQuery { above, order, ..first_page(contract(1), Some(seq(1)), None, 4) };
        Reader::new(&both.oracle, query).finish(both.store);
    }
}

fn reason(page: &Page) -> Option<IncompleteReason> {
    judge(page).reason
}

pub fn inv_1_a_window_over_a_gap_or_past_the_end_or_inverted_is_never_complete(fixture: &mut dyn StoreFixture) {
    use IncompleteReason::{BeforeCoverage, Gap, InvertedWindow, NotYetIngested};
    let mut both = Both::new(fixture, 5, 40);
    let store = both.store;
    let read = |from, to| store.page(&first_page(contract(1), Some(seq(from)), Some(seq(to)), 3)).unwrap();
    assert_eq!(reason(&read(5, 6)), Some(NotYetIngested));
    both.commit(&full(10, 14));
    both.commit(&full(16, 20));
    let cases = [
        (10, 14, None),
        (12, 12, None),
        (16, 20, None),
        (10, 15, Some(Gap)),
        (15, 15, Some(Gap)),
        (10, 20, Some(Gap)),
        (9, 14, Some(BeforeCoverage)),
        (16, 21, Some(NotYetIngested)),
        (30, 40, Some(NotYetIngested)),
        (14, 10, Some(InvertedWindow)),
        (40, 1, Some(InvertedWindow)),
    ];
    let mut begun = Vec::new();
    for (from, to, expected) in cases {
        let page = read(from, to);
        assert_eq!(reason(&page), expected, "{from}-{to}");
        assert_eq!(page.window, Window { from_inclusive: Some(seq(from)), to_inclusive: Some(seq(to)) });
        if expected == Some(InvertedWindow) {
            assert_eq!((page.events.len(), page.next), (0, None));
        }
        let bound = Some(Bound { as_of: page.view.as_of, window: page.window });
        begun.push((PageQuery { bound, behind: page.next, ..first_page(contract(1), None, None, 3) }, expected));
    }
    // Everything is filled; who began before goes on to be told what he was told.
    both.commit(&full(1, 45));
    for (query, expected) in begun {
        assert_eq!(reason(&store.page(&query).unwrap()), expected, "{query:?}");
    }
    for (from, to, before) in cases {
        assert_eq!(reason(&read(from, to)), before.filter(|reason| *reason == InvertedWindow), "{from}-{to}, filled");
    }
}

pub fn i8_rows_and_coverage_are_of_one_snapshot(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 150);
    let writing = AtomicBool::new(true);
    thread::scope(|scope| {
        let pages = scope.spawn(|| {
            let mut ends = Vec::new();
            loop {
                let still = writing.load(Ordering::Acquire);
                let page = store.page(&first_page(contract(1), Some(seq(1)), None, 1_000)).unwrap();
                let expected: Option<Vec<Event>> = page.window.to_inclusive.map(|to| {
                    let whole = full(1, to.get());
                    whole.events().filter(|event| event.contract_id == Some(contract(1))).cloned().collect()
                });
                assert_eq!(
                    events_of(&page),
                    expected.unwrap_or_default(),
                    "all rows of the covered ledgers, no others"
                );
                assert_eq!(judge(&page).is_complete(), page.window.to_inclusive.is_some());
                assert_eq!(page.view.coverage.latest(), page.window.to_inclusive);
                ends.push(page.window.to_inclusive);
                if !still {
                    return ends;
                }
            }
        });
        let written = (1..=150).try_for_each(|number| store.commit(&full(number, number), fence).map(drop));
        writing.store(false, Ordering::Release);
        written.unwrap();
        let ends = pages.join().unwrap();
        assert_eq!(ends.last(), Some(&Some(seq(150))));
        assert!(ends.is_sorted());
    });
}

pub fn inv_5_a_resolved_incident_turns_no_page_that_was_begun_before_complete(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(1, 10), fence).unwrap();
    let window = first_page(contract(1), Some(seq(1)), Some(seq(10)), 2);
    let before = store.page(&window).unwrap();
    assert_eq!(reason(&before), None);
    store.commit(&batch_of(Scope::All, vec![forked(7)]), fence).unwrap_err();
    let during = store.page(&window).unwrap();
    assert_eq!(reason(&during), Some(IncompleteReason::Incident));
    assert_eq!(during.view.lowest_incident, Some(seq(7)));
    let below = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(6)), 2)).unwrap();
    assert_eq!(reason(&below), None, "what lies below the incident is not in doubt");

    let next_of = |page: &Page| PageQuery {
        bound: Some(Bound { as_of: page.view.as_of, window: page.window }),
        behind: page.next,
        ..window.clone()
    };
    store.resolve_incident(store.incidents().unwrap()[0].id, Some("looked at"), fence).unwrap();
    assert_eq!(reason(&store.page(&next_of(&during)).unwrap()), Some(IncompleteReason::Incident));
    let after = store.page(&window).unwrap();
    assert_eq!(reason(&after), None);
    assert_eq!(reason(&store.page(&next_of(&after)).unwrap()), None);
    assert_eq!(store.contract(contract(1)).unwrap().lowest_incident, None);
}

pub fn inv_5_a_richer_source_turns_no_page_that_was_begun_before_complete(fixture: &mut dyn StoreFixture) {
    let mut both = Both::new(fixture, 1, 30);
    both.commit(&batch(Scope::All, 1, 9, Absent));
    both.commit(&batch(Scope::All, 10, 14, ClassicEvents::Inconsistent));
    both.commit(&unverified(Scope::All, 15, 20, Present));
    let mut readers = Vec::new();
    for (from, to) in [(1, 9), (4, 4), (10, 14), (15, 20), (1, 20)] {
        for order in ORDERS {
            let query = first_page(contract(1), Some(seq(from)), Some(seq(to)), 1);
            readers.push(Reader::new(&both.oracle, PageQuery { order, ..query }));
        }
    }
    readers.iter_mut().for_each(|reader| reader.turn(both.store));
    both.commit(&full(1, 20));
    readers.iter_mut().for_each(|reader| reader.finish(both.store));
    for (from, to) in [(1, 9), (4, 4), (10, 14), (15, 20), (1, 20)] {
        let query = first_page(contract(1), Some(seq(from)), Some(seq(to)), 4);
        assert!(both.oracle.answer(contract(1), query.asked_from, query.asked_to).complete);
        Reader::new(&both.oracle, query).finish(both.store);
    }
}

pub fn a_window_without_a_beginning_starts_with_what_is_covered(fixture: &mut dyn StoreFixture) {
    let mut both = Both::new(fixture, 5, 40);
    let open = || first_page(contract(1), None, None, 2);
    let page = both.store.page(&open()).unwrap();
    assert_eq!((page.window, page.events.len()), (Window { from_inclusive: None, to_inclusive: None }, 0));
    both.commit(&full(8, 12));
    // The start is not covered, so that nothing is said of an end.
    Reader::new(&both.oracle, open()).finish(both.store);
    Reader::new(&both.oracle, first_page(contract(1), None, Some(seq(11)), 2)).finish(both.store);
    both.commit(&full(5, 6));
    let mut reader = Reader::new(&both.oracle, open());
    reader.turn(both.store);
    // Rows from below must not come into a window that was begun with ledger 5.
    both.commit(&full(2, 4));
    reader.finish(both.store);
    let page = both.store.page(&open()).unwrap();
    assert_eq!(page.window, Window { from_inclusive: None, to_inclusive: Some(seq(6)) });
    assert_eq!(reason(&page), Some(IncompleteReason::OriginUnknown));
    assert_eq!(page.events[0].event.position.ledger(), seq(2));
}

pub fn a_page_of_a_later_state_than_the_archives_own_is_refused(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    let held = store.commit(&full(1, 9), fence).unwrap().feed_position;
    let window = Window { from_inclusive: Some(seq(1)), to_inclusive: Some(seq(9)) };
    let read = |as_of| {
        store.page(&PageQuery { bound: Some(Bound { as_of, window }), ..first_page(contract(1), None, None, 9) })
    };
    read(held).unwrap();
    let error = read(FeedPosition(held.0 + 1)).unwrap_err();
    assert!(matches!(error, StoreError::BehindCursor { asked, held: h } if asked == held.0 + 1 && h == held.0));
    assert!(matches!(read(FeedPosition(u64::MAX)), Err(StoreError::BehindCursor { .. })));
}

pub fn the_event_at_a_position_is_found_or_its_absence_is_proven_or_not(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 30);
    store.commit(&full(1, 8), fence).unwrap();
    store.commit(&batch(Scope::All, 9, 12, Absent), fence).unwrap();
    store.commit(&unverified(Scope::All, 13, 14, Present), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 16, 18, Present), fence).unwrap();
    for event in all_events(store, 50) {
        assert_eq!(store.event(event.position).unwrap(), EventLookup::Found(Box::new(unasked(event))));
    }
    let absent = |number| store.event(Position::op(seq(number), 99, 7, 3).unwrap()).unwrap();
    for (number, covered) in [(3, true), (8, true), (9, false), (13, false), (15, false), (17, false), (25, false)] {
        assert_eq!(absent(number), EventLookup::Absent { covered }, "ledger {number}");
    }
}

pub fn the_key_for_cursors_is_the_archives_own_and_stays(fixture: &mut dyn StoreFixture) {
    let key = fixture.store().cursor_key().unwrap();
    assert_ne!(key, [0; 32]);
    begin(fixture.store(), 1, 9);
    fixture.reopen();
    assert_eq!(fixture.store().cursor_key().unwrap(), key);
}
