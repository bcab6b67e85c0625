//! Many bad objects, large objects, and a reader that is faster than the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use annals::store::Store as _;
use annals_sim::generate::heavy_ledger;
use annals_sim::{ChainBuilder, Format};

use super::bench::{Bench, Item, PASSPHRASE, ScriptedSource, chain, job, seq, told};

#[test]
fn five_thousand_bad_objects_are_counted_in_one_transaction_and_the_next_attempt_too() {
    let bad = ScriptedSource::new((100..5_100).map(|number| Item::Object(number, b"garbage".to_vec())));
    let bench = Bench::new();
    for attempts in 1..=2 {
        let summary = bench.run(&job(100, 5_099), &bad);
        assert_eq!(summary.fetched, 0);
        assert_eq!(summary.failures.len(), 1_000, "one by one up to a thousand, then as a range");
        assert_eq!(bench.store.failures_recorded.load(Ordering::SeqCst), attempts);
        let gaps = bench.store.status().unwrap().gaps;
        assert_eq!(gaps.len(), 1_000);
        assert!(gaps.iter().all(|gap| u64::from(gap.attempts) == attempts));
        assert!(gaps.iter().all(|gap| gap.last_code.as_deref() == Some("UNDECODABLE_OBJECT")), "{:?}", gaps[0]);
    }
}

#[test]
fn bad_objects_among_good_ones_are_each_listed() {
    let mut items: Vec<Item> = chain(7, 100, 600, |_| true).iter().map(Item::of).collect();
    for at in (0..600).step_by(2) {
        items[at] = Item::Object(100 + u32::try_from(at).unwrap(), Vec::new());
    }
    let bench = Bench::new();
    let summary = bench.run(&job(100, 699), &ScriptedSource::new(items));
    assert_eq!((summary.fetched, summary.failures.len(), summary.gaps.len()), (300, 300, 300));
    assert_eq!(bench.store.failures_recorded.load(Ordering::SeqCst), 1);
}

#[test]
fn a_range_far_beyond_the_source_at_both_ends_is_listed_as_missing() {
    let summary = Bench::new().run(&job(1, 2_147_483_647), &ScriptedSource::of(&chain(7, 100, 12, |_| true)));
    assert_eq!(summary.fetched, 12);
    assert_eq!(told(&summary), ["1-99 NOT_IN_SOURCE", "112-2147483647 NOT_IN_SOURCE"]);
    assert_eq!((summary.verified_through, summary.contradicts_chain()), (None, false));
}

#[test]
fn a_source_without_one_object_leaves_everything_missing() {
    let summary = Bench::new().run(&job(100, 111), &ScriptedSource::new([]));
    assert_eq!(told(&summary), ["100-111 NOT_IN_SOURCE"]);
}

#[test]
fn g5_a_reader_does_not_outrun_the_writer_without_bound_and_nothing_is_lost() {
    let ledgers = chain(7, 100, 3_000, |_| true);
    let source = ScriptedSource::of(&ledgers);
    let (handed_out, ahead_max) = (Arc::clone(&source.handed_out), Arc::new(AtomicU64::new(0)));
    let mut bench = Bench::new();
    let ahead = Arc::clone(&ahead_max);
    bench.store.before_commit = Box::new(move |_, store| {
        // The reader may still be on its way to where it must wait; what it has done by now counts.
        let stored = store.status().unwrap().verified.count();
        ahead.fetch_max(handed_out.load(Ordering::SeqCst) - stored, Ordering::SeqCst);
        Ok(())
    });
    assert_eq!(bench.run(&job(100, 3_099), &source).fetched, 3_000);
    let ahead = ahead_max.load(Ordering::SeqCst);
    assert!(ahead <= 512 + 64 + 8, "the reader was {ahead} objects ahead of the store");
}

#[test]
fn g5_one_large_ledger_among_small_ones_does_not_stop_a_backfill() {
    let mut builder = ChainBuilder::new(&annals_core::Network::new(PASSPHRASE), seq(100), 7, Format::V2Meta4);
    let plans = [super::bench::busy(), heavy_ledger(20, 1_000), super::bench::busy()];
    let ledgers: Vec<_> = plans.iter().map(|plan| builder.push(plan)).collect();
    let summary = Bench::new().run(&job(100, 102), &ScriptedSource::of(&ledgers));
    assert_eq!((summary.fetched, summary.committed), (3, 20_004));
}
