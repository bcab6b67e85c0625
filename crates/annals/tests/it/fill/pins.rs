//! What ties ledgers to the network: transactions, stored neighbours, pins.

use annals::backfill::{BackfillError, Job};
use annals::store::{Pin, Store as _, StoreError};

use super::bench::{Bench, Item, ScriptedSource, chain, job, pin, told};

#[test]
fn five_thousand_ledgers_without_a_transaction_are_stored_in_one_run_once_one_is_proven() {
    let ledgers = chain(7, 100, 5_001, |number| number == 5_100);
    let summary = Bench::new().run(&job(100, 5_100), &ScriptedSource::of(&ledgers));
    assert_eq!((summary.fetched, told(&summary)), (5_001, Vec::new()));
}

#[test]
fn a_range_without_a_transaction_is_refused_until_a_pin_ties_it_to_the_network() {
    let ledgers = chain(7, 100, 30, |_| false);
    let source = ScriptedSource::of(&ledgers);
    let bench = Bench::new();
    let summary = bench.run(&job(100, 129), &source);
    assert_eq!(told(&summary), ["100-129 NETWORK_UNPROVEN"]);
    assert!(!summary.contradicts_chain());
    for at in [0, 15, 29] {
        let pinned = Job { pins: vec![pin(&ledgers[at])], ..job(100, 129) };
        assert_eq!(Bench::new().run(&pinned, &source).fetched, 30, "pin {at}");
    }
    // A pin just below ties the first ledger to the network; one far below or above ties nothing.
    let below = Job { pins: vec![pin(&ledgers[0])], ..job(101, 129) };
    assert_eq!(Bench::new().run(&below, &source).fetched, 29);
    let far = Job { pins: vec![pin(&ledgers[0]), pin(&ledgers[29])], ..job(102, 127) };
    assert_eq!(Bench::new().run(&far, &source).fetched, 0);
    let later = Job { pins: vec![pin(&ledgers[3])], ..job(100, 129) };
    assert_eq!(bench.run(&later, &source).fetched, 30, "a pin given later is as good");
}

#[test]
fn a_gap_without_a_transaction_between_stored_neighbours_is_filled() {
    let ledgers = chain(7, 100, 30, |number| !(105..125).contains(&number));
    for (held, fetched) in [([0..5, 25..30], 20), ([0..5, 0..0], 25), ([0..0, 25..30], 25)] {
        let bench = Bench::new();
        let held = held.into_iter().flat_map(|range| ledgers[range].iter());
        bench.run(&job(100, 129), &ScriptedSource::new(held.map(Item::of)));
        assert_eq!(bench.run(&job(100, 129), &ScriptedSource::of(&ledgers)).fetched, fetched);
    }
}

#[test]
fn a_pin_that_the_source_contradicts_refuses_before_anything_is_asked_for() {
    let (ledgers, fork) = (chain(7, 100, 12, |_| true), chain(8, 100, 12, |_| true));
    let source = ScriptedSource::of(&fork[1..]);
    // In range, just below it, and in range without an object of its own.
    for (at, from) in [(5, 101), (0, 101), (0, 100)] {
        let bench = Bench::new();
        let refused = Job { pins: vec![pin(&ledgers[at])], ..job(from, 111) };
        let error = bench.try_run(&refused, &source).unwrap_err();
        assert!(matches!(error, BackfillError::PinContradicted { .. }), "{error:?}");
        assert_eq!(bench.store.status().unwrap().passphrase, None, "nothing is written");
    }
}

#[test]
fn a_pin_of_an_earlier_run_holds_for_a_later_one() {
    let (ledgers, fork) = (chain(7, 100, 12, |_| true), chain(8, 100, 12, |_| true));
    for at in [5, 8] {
        let bench = Bench::new();
        let pinned = Job { pins: vec![pin(&ledgers[at])], ..job(100, 101) };
        bench.run(&pinned, &ScriptedSource::new([]));
        let error = bench.try_run(&job(106, 111), &ScriptedSource::of(&fork)).unwrap_err();
        assert!(matches!(error, BackfillError::PinContradicted { .. }), "{error:?}");
        assert_eq!(bench.run(&job(106, 111), &ScriptedSource::of(&ledgers)).fetched, 6);
    }
}

#[test]
fn a_pin_that_the_archive_contradicts_is_refused_and_writes_nothing() {
    let (ledgers, fork) = (chain(7, 100, 12, |_| true), chain(8, 100, 12, |_| true));
    let bench = Bench::new();
    bench.run(&job(101, 105), &ScriptedSource::of(&ledgers));
    let before = bench.store.status().unwrap();
    // Stored itself, and known to the stored ledger above it.
    for at in [3, 0] {
        let refused = Job { pins: vec![pin(&fork[at])], ..job(106, 111) };
        let error = bench.try_run(&refused, &ScriptedSource::of(&ledgers)).unwrap_err();
        assert!(matches!(error, BackfillError::Store(StoreError::PinContradicted { .. })), "{error:?}");
        assert_eq!(bench.store.status().unwrap(), before);
    }
    let above = Pin { seq: ledgers[11].seq, hash: fork[11].hash };
    let summary = bench.run(&Job { pins: vec![above], ..job(106, 110) }, &ScriptedSource::of(&ledgers));
    assert_eq!(summary.fetched, 5, "a pin above the range is kept for later");
    assert!(bench.try_run(&job(106, 111), &ScriptedSource::of(&ledgers)).is_err());
}
