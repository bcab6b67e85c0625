use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::hash::sha256;

type Events = Vec<(Position, Vec<u8>)>;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

/// The construction once more, from the document alone: nothing of it but the hash is shared.
fn oracle(from: u32, to: u32, events: &Events) -> (u64, [u8; 32]) {
    let inside = events.iter().filter(|(position, _)| (from..=to).contains(&position.ledger().get()));
    if from == to {
        let bytes = inside.clone().flat_map(|(position, xdr)| {
            [&position.toid().to_be_bytes()[..], &position.index().to_be_bytes(), &sha256(&[xdr])].concat()
        });
        return (inside.count() as u64, sha256(&[&bytes.collect::<Vec<u8>>()]));
    }
    let mut size = 1_u64;
    while u64::from(to) / size - u64::from(from) / size >= 64 {
        size *= 64;
    }
    let mut hashed = b"annals history digest v1".to_vec();
    // Only parts with an event are looked at, so that the widest range takes no time.
    let parts: std::collections::BTreeSet<u64> =
        inside.map(|(position, _)| u64::from(position.ledger().get()) / size).collect();
    let mut total = 0;
    for part in parts {
        let first = u32::try_from(part * size).unwrap().max(from);
        let last = u32::try_from(part * size + size - 1).unwrap().min(to);
        let (count, digest) = oracle(first, last, events);
        hashed.extend([first.to_be_bytes(), last.to_be_bytes()].concat());
        hashed.extend(count.to_be_bytes());
        hashed.extend(digest);
        total += count;
    }
    (total, sha256(&[&hashed]))
}

fn digest(range: LedgerRange, events: &Events) -> RangeDigest {
    let mut digester = HistoryDigester::new(range);
    for (position, xdr) in events.iter().filter(|(position, _)| range.contains(position.ledger())) {
        digester.event(*position, xdr).unwrap();
    }
    digester.finish().unwrap()
}

/// Ledgers near each other and near the boundaries, and some anywhere.
fn ledger() -> impl Strategy<Value = u32> {
    let near = (1_u32..6, 0_u32..200).prop_map(|(level, off)| (1_u32 << (6 * level)).saturating_sub(100) + off.max(1));
    prop_oneof![1_u32..400, near, 1_u32..=LedgerSeq::MAX.get()]
}

fn ends() -> impl Strategy<Value = (u32, u32)> {
    (ledger(), ledger()).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

fn events() -> impl Strategy<Value = Events> {
    let event = (ledger(), 0_u32..3, 1_u32..3, prop::collection::vec(any::<u8>(), 0..3));
    prop::collection::vec(event, 0..60).prop_map(|drawn| {
        let placed =
            drawn.into_iter().map(|(ledger, index, tx, xdr)| (Position::op(seq(ledger), tx, 0, index).unwrap(), xdr));
        placed.collect::<BTreeMap<_, _>>().into_iter().collect()
    })
}

proptest! {
    #[test]
    fn a_digest_is_what_the_document_says((from, to) in ends(), events in events()) {
        let found = digest(range(from, to), &events);
        let (count, hash) = oracle(from, to, &events);
        prop_assert_eq!((found.events, found.digest), (count, HistoryDigest(hash)));
    }

    #[test]
    fn a_digest_follows_from_its_parts_and_each_part_is_the_digest_of_its_range((from, to) in ends(), events in events()) {
        let found = digest(range(from, to), &events);
        prop_assert_eq!(digest_of_parts(found.range, &found.parts), Some(found.digest));
        prop_assert_eq!(found.parts.iter().map(|part| part.events).sum::<u64>(), found.events);
        for part in &found.parts {
            let own = digest(part.range, &events);
            prop_assert_eq!((own.events, own.digest), (part.events, part.digest));
            prop_assert!(cut(found.range).any(|range| range == part.range));
        }
    }

    #[test]
    fn a_cut_is_the_whole_range_in_at_most_64_parts_and_ends_within_six_steps((from, to) in ends(), inside in any::<Index>()) {
        let mut range = range(from, to);
        for _ in 0..6 {
            let parts: Vec<LedgerRange> = cut(range).collect();
            prop_assert!(parts.len() <= PARTS_MAX);
            prop_assert_eq!(parts[0].from_inclusive(), range.from_inclusive());
            prop_assert_eq!(parts[parts.len() - 1].to_inclusive(), range.to_inclusive());
            for pair in parts.windows(2) {
                prop_assert_eq!(pair[0].to_inclusive().next(), Some(pair[1].from_inclusive()));
            }
            range = parts[inside.index(parts.len())];
        }
        prop_assert_eq!(range.count(), 1);
    }

    #[test]
    fn blocks_that_were_digested_before_give_the_same_digest((from, to) in ends(), events in events(), known in any::<u64>()) {
        let range = range(from, to);
        let mut digester = HistoryDigester::new(range);
        let mut rest = events.iter().filter(|(position, _)| range.contains(position.ledger())).peekable();
        while let Some((position, xdr)) = rest.next() {
            let block = block_of(position.ledger());
            let is_inside = range.intersection(block) == Some(block) && block != range;
            if !is_inside || known & (1 << (block.to_inclusive().get() / 64 % 64)) == 0 {
                digester.event(*position, xdr).unwrap();
                continue;
            }
            let RangeDigest { range, events, digest, .. } = digest(block, &events);
            digester.part(Part { range, events, digest }).unwrap();
            while rest.next_if(|(position, _)| block.contains(position.ledger())).is_some() {}
        }
        prop_assert_eq!(digester.finish().unwrap(), digest(range, &events));
    }

    #[test]
    fn every_change_of_an_event_changes_the_digest((from, to) in ends(), events in events(), place in any::<Index>()) {
        let range = range(from, to);
        let events: Events = events.into_iter().filter(|(position, _)| range.contains(position.ledger())).collect();
        prop_assume!(!events.is_empty());
        let place = place.index(events.len());
        let whole = digest(range, &events).digest;
        let mut changed = events.clone();
        changed[place].1.push(0);
        prop_assert_ne!(digest(range, &changed).digest, whole);
        let mut dropped = events.clone();
        let (position, xdr) = dropped.remove(place);
        prop_assert_ne!(digest(range, &dropped).digest, whole);
        let mut moved = dropped.clone();
        moved.push((Position::op(position.ledger(), 9, 0, 9).unwrap(), xdr));
        moved.sort();
        prop_assert_ne!(digest(range, &moved).digest, whole);
        if place + 1 < events.len() && events[place].1 != events[place + 1].1 {
            let mut swapped = events.clone();
            (swapped[place].1, swapped[place + 1].1) = (events[place + 1].1.clone(), events[place].1.clone());
            prop_assert_ne!(digest(range, &swapped).digest, whole);
        }
    }
}

fn at(ledger: u32, index: u32) -> Position {
    Position::op(seq(ledger), 1, 0, index).unwrap()
}

#[test]
fn what_is_not_in_order_or_lies_outside_is_refused() {
    let begun = |ledger: u32| {
        let mut digester = HistoryDigester::new(range(10, 10_000));
        digester.event(at(ledger, 1), &[]).unwrap();
        digester
    };
    assert_eq!(begun(700).event(at(700, 1), &[]), Err(OutOfOrder { at: seq(700) }), "twice");
    assert_eq!(begun(700).event(at(700, 0), &[]), Err(OutOfOrder { at: seq(700) }));
    assert_eq!(begun(700).event(at(12, 0), &[]), Err(OutOfOrder { at: seq(12) }));
    assert!(begun(9).finish().is_err(), "below the range");
    assert!(begun(10_001).finish().is_err(), "above the range");
    let part = |from, to, events| Part { range: range(from, to), events, digest: HistoryDigest([1; 32]) };
    assert!(begun(700).part(part(704, 767, 2)).is_ok());
    assert!(begun(704).part(part(704, 767, 2)).is_err(), "an event of the block came before");
    for wrong in [part(705, 767, 2), part(704, 768, 2), part(640, 703, 2), part(704, 767, 0), part(0x4000, 0x403f, 1)] {
        assert!(begun(702).part(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn parts_that_are_none_of_the_cut_give_no_digest() {
    let window = range(10, 10_000);
    let part = |from, to, events| Part { range: range(from, to), events, digest: HistoryDigest([1; 32]) };
    assert_eq!(cut(window).next(), Some(range(10, 4095)));
    assert!(digest_of_parts(window, &[]).is_some());
    assert!(digest_of_parts(window, &[part(10, 4095, 1), part(8192, 10_000, 1)]).is_some());
    for wrong in [
        vec![part(10, 4094, 1)],
        vec![part(8192, 10_001, 1)],
        vec![part(10, 4095, 0)],
        vec![part(10, 4095, 1), part(10, 4095, 1)],
        vec![part(4096, 8191, 1), part(10, 4095, 1)],
    ] {
        assert_eq!(digest_of_parts(window, &wrong), None, "{wrong:?}");
    }
    let one = part(7, 7, 3);
    assert_eq!(digest_of_parts(range(7, 7), &[one]), Some(one.digest));
}

#[test]
fn the_first_version_gives_the_digests_that_the_document_names() {
    let none = digest(range(1, 64), &Vec::new());
    assert_eq!(none.digest, HistoryDigest(sha256(&[b"annals history digest v1"])));
    assert_eq!(digest(range(5, 5), &Vec::new()).digest, HistoryDigest(sha256(&[])));
    assert_eq!(block_of(seq(1)), range(1, 63));
    assert_eq!(block_of(seq(64)), range(64, 127));
    assert_eq!(block_of(LedgerSeq::MAX), range(LedgerSeq::MAX.get() - 63, LedgerSeq::MAX.get()));
}
