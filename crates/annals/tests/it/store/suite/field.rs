//! What broke for others, as tests: the names begin with the report's.

use annals::store::StoreError;
use annals_core::{Batch, BatchError, ClassicEvents, Event, Position, ProofClass, Scope, ScopeKey};

use crate::store::fixtures::*;

use ClassicEvents::Present;

pub fn b3_ranges_tell_silent_ledgers_from_skipped_ones(fixture: &mut dyn StoreFixture) {
    let fence = begin(fixture.store(), 1, 30);
    // Ledgers 3, 6, 9 … are silent. 13 to 15 are skipped; a restart comes between.
    fixture.store().commit(&full(1, 6), fence).unwrap();
    fixture.store().commit(&full(7, 12), fence).unwrap();
    fixture.reopen();
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.commit(&full(16, 18), fence).unwrap();
    let covered = store.status().unwrap().covered(ScopeKey::All);
    assert_eq!(covered, coverage(&[(1, 12), (16, 18)]));
    assert!(covered.covers(range(1, 12)) && covered.covers(range(9, 9)));
    assert!(!covered.covers(range(12, 13)) && !covered.covers(range(12, 16)) && !covered.covers(range(15, 15)));
    assert_eq!(store.status().unwrap().gaps[0].range, range(13, 15));
}

pub fn c1_three_identical_events_of_one_transaction_are_three(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let transfers: Vec<Event> = (0..3)
        .map(|index| Event {
            xdr: b"transfer".to_vec(),
            ..event(Position::op(seq(4), 1, 0, index).unwrap(), 1, Some(contract(1)), ProofClass::Committed)
        })
        .collect();
    let offered = batch_of(Scope::All, vec![ledger_with(4, Present, transfers.clone())]);
    assert_eq!(store.commit(&offered, fence).unwrap().events_added, 3);
    assert_eq!(store.commit(&offered, fence).unwrap().events_added, 0);
    assert_eq!(all_events(store, 1), transfers);
}

/// All kinds of places in one ledger: charges, operations, after a transaction, refunds, sentinels included.
fn places(number: u32) -> Vec<Event> {
    let at = seq(number);
    let mut positions = vec![
        (Position::before_all_txs(at, 0), 1),
        (Position::before_all_txs(at, 1), 2),
        (Position::before_all_txs(at, 2), 3),
        (Position::after_tx(at, 2, 0).unwrap(), 2),
        (Position::after_tx(at, 1_048_574, u32::MAX).unwrap(), 1_048_574),
        (Position::after_all_txs(at, 0), 2),
        (Position::after_all_txs(at, u32::MAX), 3),
    ];
    for tx in 1..=3 {
        positions.push((Position::op(at, tx, 0, 0).unwrap(), tx));
        positions.push((Position::op(at, tx, 4094, 2).unwrap(), tx));
    }
    positions.into_iter().map(|(at, tx)| unproven(event(at, tx, Some(contract(1)), ProofClass::Committed))).collect()
}

pub fn c4_rows_inserted_in_any_order_page_alike(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 99, 101);
    let mut expected: Vec<Event> = (99..=101).flat_map(places).collect();
    // One event a commit, in an order that is a fixed shuffle: 7 shares no factor with their number.
    let count = expected.len();
    for step in 0..count {
        let event = expected[step * 7 % count].clone();
        let at = event.position.ledger();
        let window = annals_core::LedgerRange::single(at);
        let one = Batch::unverified(network(), Scope::All, SOURCE, window, vec![event]).unwrap();
        assert_eq!(store.commit(&one, fence).unwrap().events_added, 1);
    }
    expected.sort_by_key(|event| {
        let at = event.position;
        (at.ledger().get(), at.tx(), at.operation(), at.index())
    });
    for limit in [1, 2, 3, 7, 1_000] {
        assert_eq!(all_events(store, limit), expected, "pages of {limit}");
    }
    assert_eq!(expected.last().unwrap().position.toid() as u32, 0xFFFF_F000, "a refund is last");
}

pub fn c9_equal_bytes_at_two_positions_are_two_events_and_other_bytes_at_one_are_surfaced(
    fixture: &mut dyn StoreFixture,
) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let at = |index, xdr: &[u8]| Event {
        xdr: xdr.to_vec(),
        ..event(Position::op(seq(4), 1, 0, index).unwrap(), 1, Some(contract(1)), ProofClass::Committed)
    };
    let pair = vec![at(0, b"same"), at(1, b"same")];
    store.commit(&batch_of(Scope::All, vec![ledger_with(4, Present, pair.clone())]), fence).unwrap();
    assert_eq!(all_events(store, 10), pair);

    let other = vec![at(0, b"same"), at(1, b"else")];
    let error = store.commit(&batch_of(Scope::All, vec![ledger_with(4, Present, other)]), fence).unwrap_err();
    assert!(matches!(error, StoreError::Incident { position, .. } if position == Some(pair[1].position)));
    assert_eq!(all_events(store, 10), pair, "the first is kept");
    assert_eq!(store.status().unwrap().open_incidents, 1);
}

/// A ledger of `count` events over `transactions` transactions, one operation each.
fn busy(number: u32, count: u32, transactions: u32) -> annals_core::CheckedLedger {
    let each = count / transactions;
    let events = (1..=transactions).flat_map(|tx| {
        (0..each).map(move |index| {
            let at = Position::op(seq(number), tx, 0, index).unwrap();
            event(at, tx, Some(contract(1)), ProofClass::Committed)
        })
    });
    ledger_with(number, Present, events.collect())
}

pub fn f1_twelve_thousand_events_in_one_transaction_and_fifty_thousand_in_one_ledger(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let crowded = [busy(1, 12_000, 1), busy(2, 50_000, 200)];
    // All or nothing: the last event of the second ledger contradicts what is stored already.
    let mut wrong = crowded[1].events.last().unwrap().clone();
    wrong.xdr.push(0);
    let wrong = Batch::unverified(network(), Scope::All, SOURCE, range(2, 2), vec![unproven(wrong)]).unwrap();
    store.commit(&wrong, fence).unwrap();
    let error = store.commit(&batch_of(Scope::All, crowded.to_vec()), fence).unwrap_err();
    let StoreError::Incident { id, .. } = error else { panic!("{error:?}") };
    assert_eq!(store.status().unwrap().events.total(), 1);
    assert_eq!(store.status().unwrap().covered(ScopeKey::All), coverage(&[(2, 2)]));
    store.resolve_incident(id, None, fence).unwrap();

    let crowded = [busy(3, 12_000, 1), busy(4, 50_000, 200)];
    let before = store.status().unwrap().feed_position.0;
    let committed = store.commit(&batch_of(Scope::All, crowded.to_vec()), fence).unwrap();
    assert_eq!(committed.events_added, 62_000);
    assert_eq!(committed.feed_position.0, before + 62_000 + 1);
    assert_eq!(store.tally(&Scope::All, range(3, 3)).unwrap().committed, 12_000);
    assert_eq!(store.tally(&Scope::All, range(4, 4)).unwrap().committed, 50_000);
    let stored = all_events(store, 10_000);
    assert!(stored[1..].iter().eq(crowded.iter().flat_map(|ledger| &ledger.events)));
    let again = store.commit(&batch_of(Scope::All, crowded.to_vec()), fence).unwrap();
    assert_eq!((again.events_added, again.events_known), (0, 62_000));
}

pub fn f3_a_duplicate_inside_one_batch(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    let mut doubled = ledger(5, Present);
    let twice = doubled.events[2].clone();
    doubled.events.push(twice.clone());
    let committed = store.commit(&batch_of(Scope::All, vec![doubled.clone()]), fence).unwrap();
    assert_eq!((committed.events_added, committed.events_known), (doubled.events.len() as u64 - 1, 1));
    assert_eq!(all_events(store, 100), ledger(5, Present).events);

    doubled.events.last_mut().unwrap().xdr.push(1);
    let batch =
        Batch::checked(network(), Scope::All, annals_core::ClassicPolicy::Keep, SOURCE, vec![doubled]).unwrap_err();
    assert_eq!(batch, BatchError::ConflictingEvent { position: twice.position });
}
