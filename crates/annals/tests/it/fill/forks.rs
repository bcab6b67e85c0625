//! Sources of another chain than the stored one.

use annals::backfill::BackfillError;
use annals::store::{Fence, Store as _, StoreError};
use annals_sim::BuiltLedger;

use super::bench::{Bench, Item, ScriptedSource, chain, job, range, seq, told};

#[test]
fn a_chain_that_contradicts_the_stored_ledger_above_is_refused_before_any_of_it_is_stored() {
    let (ledgers, fork) = (chain(7, 100, 30, |_| true), chain(8, 100, 30, |_| true));
    let bench = Bench::new();
    bench.run(&job(120, 129), &ScriptedSource::of(&ledgers));
    let refused = bench.run(&job(100, 129), &ScriptedSource::of(&fork));
    assert_eq!((refused.fetched, refused.verified_through), (0, None));
    let [failure] = refused.failures.as_slice() else { panic!("{:?}", refused.failures) };
    assert_eq!((failure.code.as_str(), failure.range), ("CONTRADICTS_STORED", range(100, 119)));
    assert!(failure.message.contains("120"), "{failure:?}");
    let filled = bench.run(&job(100, 129), &ScriptedSource::of(&ledgers));
    assert_eq!((filled.fetched, filled.verified_through), (20, Some(129)));
}

/// The same ledgers up to 114, and others from there on.
fn forked_at_115(ledgers: &[BuiltLedger]) -> Vec<BuiltLedger> {
    let count = u32::try_from(ledgers.len()).unwrap();
    let fork = chain(7, 100, count, |number| number != 115);
    assert_eq!((fork[14].hash, fork[15].hash == ledgers[15].hash), (ledgers[14].hash, false));
    fork
}

#[test]
fn a_fork_of_the_stored_ledger_below_is_refused_whole_where_the_ledger_above_is_another() {
    let ledgers = chain(7, 100, 300, |_| true);
    let bench = Bench::new();
    bench.run(&job(100, 109), &ScriptedSource::of(&ledgers));
    bench.run(&job(390, 399), &ScriptedSource::of(&ledgers));
    let refused = bench.run(&job(100, 399), &ScriptedSource::of(&forked_at_115(&ledgers)));
    assert_eq!((refused.fetched, told(&refused)), (0, vec!["110-389 CONTRADICTS_STORED".to_owned()]));
    assert!(bench.store.incidents().unwrap().is_empty(), "anybody can go on from a stored ledger");
    assert_eq!(bench.run(&job(100, 399), &ScriptedSource::of(&ledgers)).fetched, 280);
}

#[test]
fn a_chain_that_links_up_and_not_down_proves_that_the_stored_ones_are_two_and_is_an_incident_once() {
    let (ledgers, other) = (chain(7, 100, 300, |_| true), chain(8, 100, 300, |_| true));
    let bench = Bench::new();
    bench.run(&job(100, 109), &ScriptedSource::of(&ledgers));
    bench.run(&job(390, 399), &ScriptedSource::of(&other));
    let error = bench.try_run(&job(100, 399), &ScriptedSource::of(&other)).unwrap_err();
    let BackfillError::Store(StoreError::Incident { id, ledger, .. }) = error else { panic!("{error:?}") };
    assert_eq!(ledger, seq(109));
    let [incident] = bench.store.incidents().unwrap().try_into().unwrap();
    assert_eq!((incident.stored_xdr, incident.source.as_str()), (header(&ledgers[9]), "script"));
    assert_eq!(incident.offered_xdr, header(&other[10]));
    let fence = bench.store.acquire().unwrap();
    bench.store.resolve_incident(id, None, fence).unwrap();
    for source in [&other, &ledgers] {
        let summary = bench.run(&job(100, 399), &ScriptedSource::of(source));
        let codes = summary.failures.iter().all(|failure| failure.code == "CONTRADICTS_STORED");
        assert!(summary.fetched == 0 && codes, "{:?}", told(&summary));
    }
    assert_eq!(bench.store.incidents().unwrap().len(), 1);
}

fn header(ledger: &BuiltLedger) -> Vec<u8> {
    let network = annals_core::Network::new(super::bench::PASSPHRASE);
    annals_core::check_ledger(&ledger.xdr, &network).unwrap().header_xdr
}

#[test]
fn what_stands_above_a_gap_is_looked_at_again_before_each_commit() {
    let ledgers = chain(7, 100, 300, |_| true);
    let mut bench = Bench::new();
    bench.run(&job(100, 109), &ScriptedSource::of(&ledgers));
    // While the fork is read, somebody stores the ledger above the gap.
    let above = ledgers[290..].to_vec();
    bench.store.before_commit = Box::new(move |number, store| {
        if number == 2 {
            let checked = above.iter().map(|ledger| {
                annals_core::check_ledger(&ledger.xdr, &annals_core::Network::new(super::bench::PASSPHRASE)).unwrap()
            });
            let job = job(390, 399);
            let batch = annals_core::Batch::checked(job.network, job.scope, job.classic, "tip", checked.collect());
            // The second backfill's own.
            store.commit(&batch.unwrap(), Fence { number: 2, epoch: 0 })?;
        }
        Ok(())
    });
    let ended = bench.try_run(&job(100, 389), &ScriptedSource::of(&forked_at_115(&ledgers)));
    assert!(matches!(ended, Err(BackfillError::Stopped)), "{ended:?}");
    let verified = bench.store.status().unwrap().verified;
    assert_eq!(verified.within(range(110, 389)).count(), 128, "{verified:?}");
}

#[test]
fn the_ledgers_above_many_gaps_are_compared_in_one_reading_where_any_reads_everything() {
    let ledgers = chain(7, 100, 400, |_| true);
    for (whole, opened) in [(true, 2), (false, 101)] {
        let bench = Bench::new();
        let some = ledgers.iter().filter(|ledger| ledger.seq.get() % 4 > 1);
        bench.run(&job(100, 499), &ScriptedSource::new(some.map(Item::of)));
        let source = ScriptedSource { whole, ..ScriptedSource::of(&ledgers) };
        let summary = bench.run(&job(100, 499), &source);
        assert_eq!((summary.fetched, source.opened()), (200, opened));
    }
}
