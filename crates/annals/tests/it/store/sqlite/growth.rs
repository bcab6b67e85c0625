//! When the archive last grew, by a clock that moves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use annals::store::{SqliteStore, Store};

use crate::store::fixtures::*;

#[test]
fn the_archive_tells_when_it_last_grew_and_not_when_a_gap_was_filled() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(StandingClock::default());
    let store = SqliteStore::create_or_open(folder.path(), clock.clone()).unwrap();
    let fence = begin(&store, 1, 20);
    let grown_after = |now_ms: u64, from: u32, to: u32| {
        clock.0.store(now_ms, Ordering::Relaxed);
        store.commit(&full(from, to), fence).unwrap();
        store.status().unwrap().grown_ms
    };
    assert_eq!(store.status().unwrap().grown_ms, None);
    assert_eq!(grown_after(1_000, 8, 10), Some(1_000));
    assert_eq!(grown_after(2_000, 5, 7), Some(1_000), "a gap below was filled");
    assert_eq!(grown_after(3_000, 8, 10), Some(1_000), "it was stored already");
    assert_eq!(grown_after(4_000, 11, 11), Some(4_000));
}
