//! Runs that end before their end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use annals::backfill::{BackfillError, Job};
use annals::store::{Store as _, StoreError};

use super::bench::{Bench, Item, ScriptedSource, chain, job, told};

#[test]
fn a_store_that_fails_midway_ends_the_run_keeps_what_was_committed_and_the_next_run_completes_it() {
    let source = ScriptedSource::of(&chain(7, 100, 2_000, |_| true));
    let failures: [fn() -> StoreError; 3] =
        [|| StoreError::Full, || StoreError::IncidentOpen { id: 1 }, || StoreError::StaleFence];
    for failure in failures {
        let mut bench = Bench::new();
        bench.store.before_commit = Box::new(move |number, _| if number == 5 { Err(failure()) } else { Ok(()) });
        let error = bench.try_run(&job(100, 2_099), &source).unwrap_err();
        assert!(matches!(error, BackfillError::Store(_)), "{error:?}");
        assert_eq!(bench.store.status().unwrap().verified.count(), 5 * 64);
        assert_eq!(bench.run(&job(100, 2_099), &source).fetched, 2_000 - 5 * 64);
    }
}

#[test]
fn inv_7_a_backfill_whose_lease_was_taken_over_commits_nothing_more() {
    let mut bench = Bench::new();
    bench.store.before_commit = Box::new(|number, store| if number == 3 { store.acquire().map(drop) } else { Ok(()) });
    let error = bench.try_run(&job(100, 1_099), &ScriptedSource::of(&chain(7, 100, 1_000, |_| true))).unwrap_err();
    assert!(matches!(error, BackfillError::Store(StoreError::StaleFence)), "{error:?}");
    assert_eq!(bench.store.status().unwrap().verified.count(), 3 * 64);
}

#[test]
fn a_reader_that_panics_is_no_end_of_the_source() {
    let mut items: Vec<Item> = chain(7, 100, 200, |_| true).iter().map(Item::of).collect();
    items.insert(150, Item::Panic);
    let bench = Bench::new();
    let source = ScriptedSource::new(items);
    assert!(catch_unwind(AssertUnwindSafe(|| bench.try_run(&job(100, 299), &source))).is_err());
    assert!(bench.store.status().unwrap().gaps.iter().all(|gap| gap.attempts == 0), "nothing counts as tried");
}

#[test]
fn inv_2_nothing_is_covered_before_its_successor_has_come_and_linked() {
    let ledgers = chain(7, 100, 130, |_| true);
    let mut items: Vec<Item> = ledgers.iter().map(Item::of).collect();
    // The last ledger of a full batch is re-hashed: only its successor can tell.
    items[63] = Item::Object(163, super::bench::rehashed(&ledgers[63]));
    let bench = Bench::new();
    let summary = bench.run(&job(100, 229), &ScriptedSource::new(items));
    assert_eq!((summary.fetched, told(&summary)), (129, vec!["163 DOES_NOT_LINK".to_owned()]));
}

#[test]
fn an_object_that_cannot_be_read_is_named_with_its_cause_and_the_rest_goes_on() {
    let mut items: Vec<Item> = chain(7, 100, 12, |_| true).iter().map(Item::of).collect();
    items[5] = Item::Unreadable(105);
    let summary = Bench::new().run(&job(100, 111), &ScriptedSource::new(items));
    assert_eq!((summary.fetched, told(&summary)), (11, vec!["105 UNREADABLE_OBJECT".to_owned()]));
    assert!(!summary.contradicts_chain());
    let message = &summary.failures[0].message;
    assert_eq!(message, "item 5: it could not be read: the medium is gone");
}

#[test]
fn g5_a_store_that_fails_while_the_reader_waits_for_room_lets_the_reader_go() {
    let mut items: Vec<Item> = chain(7, 100, 80, |_| true).iter().map(Item::of).collect();
    // Beside the ledgers that the commit holds up, three of these may be under way; the fourth waits.
    items.extend((180..190).map(|number| Item::Zeros(number, 64 << 20)));
    let source = ScriptedSource::new(items);
    let handed_out = Arc::clone(&source.handed_out);
    let mut bench = Bench::new();
    bench.store.before_commit = Box::new(move |_, _| {
        while handed_out.load(Ordering::SeqCst) < 80 + 4 {
            std::thread::yield_now();
        }
        Err(StoreError::Full)
    });
    let (ended, end) = channel();
    std::thread::spawn(move || ended.send(bench.try_run(&job(100, 189), &source).is_err()));
    assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(true), "the run never ended");
}

#[test]
fn a_gap_whose_last_ledger_is_missing_from_the_source_is_filled_below_it() {
    let ledgers = chain(7, 100, 30, |_| true);
    let bench = Bench::new();
    bench.run(&job(120, 129), &ScriptedSource::of(&ledgers));
    let filled = bench.run(&job(100, 129), &ScriptedSource::of(&ledgers[..19]));
    assert_eq!((filled.fetched, filled.gaps.len()), (19, 1));
}

#[test]
fn a_request_of_a_mistyped_network_that_stored_nothing_binds_nobody() {
    let bench = Bench::new();
    let ledgers = ScriptedSource::of(&chain(7, 100, 5, |_| true));
    let typo = Job { network: annals_core::Network::new("Annals Fill Netwrok"), ..job(100, 104) };
    assert_eq!(bench.run(&typo, &ledgers).fetched, 0);
    assert_eq!(bench.run(&job(100, 104), &ledgers).fetched, 5);
    let error = bench.try_run(&typo, &ledgers).unwrap_err();
    assert!(matches!(error, BackfillError::Store(StoreError::NetworkMismatch { .. })), "{error:?}");
}
