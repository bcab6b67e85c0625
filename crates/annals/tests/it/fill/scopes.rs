//! Several scope keys, and sources that know less than the archive.

use std::collections::BTreeSet;

use annals::backfill::{BackfillError, Job};
use annals::store::{Store as _, StoreError};
use annals_core::{ClassicEvents, ClassicPolicy, Network, Scope};
use annals_sim::{BuiltLedger, ChainBuilder, Format, LedgerPlan, value};

use super::bench::{Bench, Item, PASSPHRASE, ScriptedSource, busy, chain, job, seq};

fn of(numbers: &[u32], from: u32, to: u32) -> Job {
    let contracts: BTreeSet<_> = numbers.iter().copied().map(value::contract).collect();
    Job { scope: Scope::Contracts(contracts), ..job(from, to) }
}

#[test]
fn contracts_of_different_coverage_are_filled_to_the_same_end_and_counted_once() {
    let ledgers = chain(7, 100, 30, |_| true);
    let source = ScriptedSource::of(&ledgers);
    let bench = Bench::new();
    assert_eq!(bench.run(&of(&[1], 105, 114), &source).fetched, 10);
    assert_eq!(bench.run(&of(&[2], 110, 119), &source).fetched, 10);
    // Both are covered in 110–114 alone.
    let both = bench.run(&of(&[1, 2], 100, 129), &source);
    assert_eq!((both.fetched, both.events, both.gaps.len()), (25, 60, 0));
    let bad = ScriptedSource::new(ledgers.iter().map(|ledger| Item::Object(ledger.seq.get(), vec![0])));
    let third = bench.run(&of(&[1, 3], 100, 129), &bad);
    assert_eq!((third.fetched, third.failures.len()), (0, 30));
    assert_eq!(bench.run(&of(&[1], 100, 129), &bad).failures.len(), 0, "nothing of contract 1 is missing");
    assert_eq!(bench.run(&job(100, 129), &source).fetched, 30);
}

#[test]
fn another_chains_ledger_under_a_new_contract_is_an_incident_that_stops_the_run() {
    let bench = Bench::new();
    bench.run(&of(&[1], 100, 111), &ScriptedSource::of(&chain(7, 100, 12, |_| true)));
    let fork = ScriptedSource::of(&chain(8, 100, 12, |_| true));
    let error = bench.try_run(&of(&[2], 100, 111), &fork).unwrap_err();
    assert!(matches!(error, BackfillError::Store(StoreError::Incident { .. })), "{error:?}");
    let error = bench.try_run(&of(&[2], 100, 111), &fork).unwrap_err();
    assert!(matches!(error, BackfillError::Store(StoreError::IncidentOpen { .. })), "{error:?}");
    assert_eq!(bench.store.status().unwrap().verified.count(), 12);
}

#[test]
fn a_ledger_that_is_poorer_than_the_stored_one_is_not_counted_as_fetched() {
    let built = |classic_events| -> Vec<BuiltLedger> {
        let mut builder = ChainBuilder::new(&Network::new(PASSPHRASE), seq(100), 7, Format::V2Meta4);
        (0..12).map(|_| builder.push(&LedgerPlan { classic_events, ..busy() })).collect()
    };
    let bench = Bench::new();
    bench.run(&of(&[1], 103, 106), &ScriptedSource::of(&built(ClassicEvents::Present)));
    let summary = bench.run(&of(&[2], 100, 111), &ScriptedSource::of(&built(ClassicEvents::Absent)));
    assert_eq!(summary.fetched, 8);
    assert_eq!(summary.gaps.iter().map(|gap| (gap.from, gap.to)).collect::<Vec<_>>(), [(103, 106)]);
    assert!(!summary.contradicts_chain());
}

#[test]
fn an_archive_begun_without_classic_events_refuses_to_keep_them_later() {
    let source = ScriptedSource::of(&chain(7, 100, 12, |_| true));
    let bench = Bench::new();
    let dropping = Job { classic: ClassicPolicy::Drop, ..job(100, 105) };
    let summary = bench.run(&dropping, &source);
    assert_eq!((summary.fetched, summary.uncommitted, summary.committed), (6, 0, 12));
    let before = bench.store.status().unwrap();
    let error = bench.try_run(&job(100, 111), &source).unwrap_err();
    assert!(matches!(error, BackfillError::Store(StoreError::PolicyMismatch { stored: "drop" })), "{error:?}");
    assert_eq!(bench.store.status().unwrap(), before);
}

#[test]
fn ledgers_of_two_formats_are_one_history() {
    let network = Network::new(PASSPHRASE);
    let mut old = ChainBuilder::new(&network, seq(100), 7, Format::V1Meta3);
    let before: Vec<_> = (0..6).map(|_| old.push(&busy())).collect();
    let mut items: Vec<_> = before.iter().map(Item::of).collect();
    let mut new = old.upgraded(Format::V2Meta4);
    items.extend((0..6).map(|_| Item::of(&new.push(&busy()))));
    let summary = Bench::new().run(&job(100, 111), &ScriptedSource::new(items));
    assert_eq!((summary.fetched, summary.verified_through, summary.committed), (12, Some(111), 24));
}
