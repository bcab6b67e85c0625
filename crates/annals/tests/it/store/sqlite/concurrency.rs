//! Field report F6: readers beside the writer, and the log that they must not keep growing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use annals::store::{Bound, EventQuery, SqliteStore, Store};
use annals_core::{Batch, ClassicEvents, Event, LedgerSeq, Position, ProofClass, Scope};

use crate::store::fixtures::*;
use crate::store::reader::{first_page, judge};

/// A ledger with about 4 MB of events.
fn heavy(number: u32) -> Batch {
    let at = |index| Position::op(seq(number), 1, 0, index).unwrap();
    let large = |index| Event { xdr: vec![7; 4_000], ..event(at(index), 1, Some(contract(1)), ProofClass::Committed) };
    batch_of(Scope::All, vec![ledger_with(number, ClassicEvents::Present, (0..1_000).map(large).collect())])
}

/// Reads until told to stop; each answer must be of one moment.
fn read(store: &dyn Store, stop: &AtomicBool) {
    let mut last = 0;
    while !stop.load(Ordering::Relaxed) {
        let status = store.status().unwrap();
        assert!(status.feed_position.0 >= last, "a reader never goes back");
        last = status.feed_position.0;
        let mut counted = 0;
        let mut after = None;
        loop {
            let to_inclusive = LedgerSeq::MAX;
            let page =
                store.events(&EventQuery { after, to_inclusive, as_of: status.feed_position, limit: 700 }).unwrap();
            counted += page.len() as u64;
            match page.last() {
                Some(event) => after = Some(event.position),
                None => break,
            }
        }
        assert_eq!(counted, status.events.total(), "pages at a feed position are of that moment");
    }
}

#[test]
fn f6_readers_meet_no_lock_and_the_log_stays_bounded() {
    const LOG_BYTES_BOUND: u64 = 48 << 20;
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::create_or_open(dir.path(), clock()).unwrap();
    let fence = begin(&store, 1, 15);
    store.commit(&heavy(1), fence).unwrap();
    // As another process opens it; more threads than its pool has connections.
    let beside = SqliteStore::open_reader(dir.path(), clock()).unwrap();
    let stop = AtomicBool::new(false);
    let log = dir.path().join("annals.db-wal");
    let largest = thread::scope(|scope| {
        for reader in [&store, &beside, &beside, &beside, &beside, &beside, &beside] {
            scope.spawn(|| read(reader, &stop));
        }
        let mut largest = 0;
        for number in 2..=15 {
            // The readers are stopped by this flag alone; it must be set before any assertion can end the scope.
            let committed = store.commit(&heavy(number), fence);
            largest = largest.max(log.metadata().map_or(0, |log| log.len()));
            if committed.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            committed.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        largest
    });
    assert!(largest < LOG_BYTES_BOUND, "the log grew to {largest} bytes");
    assert_eq!(store.status().unwrap().events.committed, 15_000);
    drop((beside, store));
    assert!(!log.exists(), "the log is gone once everybody has closed");
}

/// Pages through contract 1 until told to stop; each window must be whole when it says so.
fn page_through(store: &dyn Store, limit: u32, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut query = first_page(contract(1), Some(seq(1)), None, limit);
        let mut counted = 0;
        loop {
            let page = store.page(&query).unwrap();
            counted += page.events.len();
            let to = page.window.to_inclusive.unwrap();
            query.bound = Some(Bound { as_of: page.view.as_of, window: page.window });
            query.behind = page.next;
            assert!(judge(&page).is_complete());
            if page.next.is_none() {
                assert_eq!(counted, 1_000 * to.get() as usize);
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn f6_slow_pages_and_one_that_is_always_open_neither_lock_nor_grow_the_log() {
    const LOG_BYTES_BOUND: u64 = 48 << 20;
    const LEDGERS: u32 = 30;
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::create_or_open(dir.path(), clock()).unwrap();
    let fence = begin(&store, 1, LEDGERS);
    store.commit(&heavy(1), fence).unwrap();
    let beside = SqliteStore::open_reader(dir.path(), clock()).unwrap();
    let stop = AtomicBool::new(false);
    let log = dir.path().join("annals.db-wal");
    let largest = thread::scope(|scope| {
        // One reads large pages without a pause, so that there is always a reader in the log.
        for (reader, limit) in [(&store, 1_000)].into_iter().chain([(&beside, 20); 8]) {
            let stop = &stop;
            scope.spawn(move || page_through(reader, limit, stop));
        }
        let mut largest = 0;
        let written = (2..=LEDGERS).try_for_each(|number| {
            let committed = store.commit(&heavy(number), fence).map(drop);
            largest = largest.max(log.metadata().map_or(0, |log| log.len()));
            committed
        });
        // The readers are stopped by this flag alone; it must be set before any assertion can end the scope.
        stop.store(true, Ordering::Relaxed);
        written.unwrap();
        largest
    });
    assert!(largest < LOG_BYTES_BOUND, "the log grew to {largest} bytes");
}
