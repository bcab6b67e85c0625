//! Objects that overlap, repeat or come out of order.

use std::sync::atomic::Ordering;

use annals::source::{FramedSource, LakeOptions, LakeSource};
use annals::store::Store as _;
use annals_sim::{BuiltLedger, Ending, FramedWriter, LakeLayout, lake::write_object};

use super::bench::{Bench, Item, ScriptedSource, chain, job, pin, rehashed, seq, told};

fn busy_chain() -> Vec<BuiltLedger> {
    chain(7, 100, 12, |_| true)
}

/// The chain in order, with `other` beside ledger 105, before or after it.
fn beside_105(other: Item, first: bool) -> ScriptedSource {
    let ledgers = busy_chain();
    let mut items: Vec<Item> = ledgers.iter().map(Item::of).collect();
    items.insert(if first { 5 } else { 6 }, other);
    ScriptedSource::new(items)
}

#[test]
fn h6_of_overlapping_objects_the_good_one_wins_whichever_comes_first() {
    let (ledgers, fork) = (busy_chain(), chain(8, 100, 12, |_| true));
    let others = [
        Item::Object(105, b"garbage".to_vec()),
        Item::Object(105, rehashed(&ledgers[5])),
        Item::Object(105, fork[5].xdr.clone()),
        Item::Object(105, ledgers[4].xdr.clone()),
        Item::Object(105, ledgers[5].xdr.clone()),
        Item::Unreadable(105),
    ];
    for (number, other) in others.into_iter().enumerate() {
        for first in [true, false] {
            let bench = Bench::new();
            let summary = bench.run(&job(100, 111), &beside_105(other.clone(), first));
            assert_eq!(told(&summary), [""; 0], "other {number}, first: {first}");
            assert_eq!(summary.verified_through, Some(111), "other {number}, first: {first}");
        }
    }
}

#[test]
fn h6_two_versions_that_nothing_tells_apart_are_both_refused_until_a_pin_decides() {
    let ledgers = busy_chain();
    for first in [true, false] {
        let mut items: Vec<Item> = ledgers.iter().map(Item::of).collect();
        items.insert(if first { 11 } else { 12 }, Item::Object(111, rehashed(&ledgers[11])));
        let source = ScriptedSource::new(items);
        let bench = Bench::new();
        let summary = bench.run(&job(100, 111), &source);
        assert_eq!(told(&summary), ["111 RIVAL_LEDGERS"]);
        assert!(summary.contradicts_chain());
        let pinned = annals::backfill::Job { pins: vec![pin(&ledgers[11])], ..job(100, 111) };
        let summary = bench.run(&pinned, &source);
        assert_eq!((summary.fetched, summary.gaps.len()), (1, 0), "first: {first}");
    }
}

#[test]
fn h6_a_whole_rival_chain_is_refused_where_nothing_ties_either_down_and_passed_over_where_the_archive_does() {
    let (ledgers, fork) = (busy_chain(), chain(8, 100, 12, |_| true));
    let both = |pair: (&BuiltLedger, &BuiltLedger)| [Item::of(pair.0), Item::of(pair.1)];
    let source = ScriptedSource::new(fork.iter().zip(&ledgers).flat_map(both));
    let bench = Bench::new();
    assert_eq!(bench.run(&job(100, 111), &source).fetched, 0);
    bench.run(&job(100, 100), &ScriptedSource::of(&ledgers));
    let summary = bench.run(&job(100, 111), &source);
    assert_eq!(summary.fetched, 11);
    assert_eq!(bench.store.status().unwrap().verified.count(), 12);
    let row = bench.store.ledgers(seq(111), 1).unwrap().remove(0);
    assert_eq!(row.hash, ledgers[11].hash);
}

#[test]
fn h6_two_damaged_copies_of_one_batch_make_a_whole_in_one_run() {
    let ledgers = chain(7, 128, 64, |_| true);
    let folder = tempfile::tempdir().unwrap();
    let write = |ending, damaged: u32, bytes: Vec<u8>| {
        let layout = LakeLayout { ledgers_per_object: 64, objects_per_partition: 1, ending };
        let mut metas: Vec<Vec<u8>> = ledgers.iter().map(|ledger| ledger.xdr.clone()).collect();
        metas[(damaged - 128) as usize] = bytes;
        write_object(&folder.path().join(layout.object_path(seq(128))), seq(128), seq(191), &metas).unwrap();
    };
    write(Ending::Zst, 150, rehashed(&ledgers[22]));
    write(Ending::Zstd, 160, rehashed(&ledgers[32]));
    let lake = LakeSource::open(folder.path(), LakeOptions::default()).unwrap();
    // Partly in range on either side.
    let bench = Bench::new();
    let summary = bench.run(&job(140, 170), &lake);
    assert_eq!((summary.fetched, told(&summary)), (31, Vec::new()));
    let summary = bench.run(&job(100, 200), &lake);
    assert_eq!(summary.fetched, 64 - 31);
    assert_eq!(told(&summary), ["100-127 NOT_IN_SOURCE", "192-200 NOT_IN_SOURCE"]);
    assert!(!summary.contradicts_chain());
}

#[test]
fn frames_out_of_order_and_repeated_are_all_stored() {
    let ledgers = chain(7, 100, 40, |_| true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let mut writer = FramedWriter::new(std::fs::File::create(&path).unwrap());
    // The middle first, then the end, then the beginning, and the middle again.
    for at in (10..20).chain(20..40).chain(0..20) {
        writer.push(&ledgers[at]).unwrap();
    }
    writer.finish().unwrap();
    let summary = Bench::new().run(&job(100, 139), &FramedSource::open(&path).unwrap());
    assert_eq!((summary.fetched, summary.verified_through), (40, Some(139)));
}

#[test]
fn ledgers_in_descending_order_are_listed_as_out_of_order_and_each_run_gets_further() {
    let ledgers = chain(7, 100, 40, |_| true);
    let mut source = ScriptedSource::new(ledgers.iter().rev().map(Item::of));
    source.whole = true;
    let bench = Bench::new();
    let summary = bench.run(&job(100, 139), &source);
    assert_eq!((summary.fetched, source.opened()), (16, 16), "a run reads so often and no more");
    assert_eq!(told(&summary), ["100-123 OUT_OF_ORDER"]);
    assert!(!summary.contradicts_chain());
    assert_eq!(bench.run(&job(100, 139), &source).fetched, 16);
    assert_eq!(told(&bench.run(&job(100, 139), &source)), [""; 0]);
}

#[test]
fn many_gaps_are_filled_from_one_reading() {
    let ledgers = chain(7, 100, 400, |_| true);
    for whole in [false, true] {
        let bench = Bench::new();
        let even = ledgers.iter().filter(|ledger| ledger.seq.get() % 2 == 0);
        bench.run(&job(100, 499), &ScriptedSource::new(even.map(Item::of)));
        let source = ScriptedSource { whole, ..ScriptedSource::of(&ledgers) };
        let summary = bench.run(&job(100, 499), &source);
        assert_eq!((summary.fetched, source.opened()), (200, 1));
    }
}

#[test]
fn far_apart_gaps_are_read_together_only_where_the_source_reads_everything_anyway() {
    let ledgers = chain(7, 100, 1_500, |_| true);
    for (whole, opened, handed_out) in [(false, 2, 2), (true, 1, 1_500)] {
        let bench = Bench::new();
        bench.run(&job(100, 1_599), &ScriptedSource::of(&ledgers[1..1_499]));
        let source = ScriptedSource { whole, ..ScriptedSource::of(&ledgers) };
        assert_eq!(bench.run(&job(100, 1_599), &source).fetched, 2);
        assert_eq!((source.opened(), source.handed_out.load(Ordering::SeqCst)), (opened, handed_out));
    }
}
