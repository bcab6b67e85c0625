//! Events alone, by `getEvents` and `queryEvents`.

mod commands;
mod cursors;
mod faults;
mod kill;
mod payloads;
mod query;
mod scans;
mod upgrade;

use annals::backfill::{Job, Summary};
use annals::store::{EventQuery, FeedPosition, Store as _};
use annals_core::{ContractId, Coverage, Event, LedgerSeq, Network, ProofClass, Scope, ScopeKey};
use annals_sim::{
    BuiltLedger, ChainBuilder, EventPlan, Format, HeldLedgers, LedgerPlan, RpcOptions, RpcServer, TxPlan, value,
};

use super::bench::Client;
use crate::fill::bench::{Bench, PASSPHRASE, job, quiet, seq};

/// The two contracts of a busy ledger.
fn contract(number: u32) -> ContractId {
    value::contract(number)
}

/// A chain from ledger 2 on, so that a node that keeps all of it has dropped nothing; so many events of contract 1 and
/// as many of contract 2 in each ledger, in one transaction.
fn chain(last: u32, events: impl Fn(u32) -> u32) -> Vec<BuiltLedger> {
    let mut builder = ChainBuilder::new(&Network::new(PASSPHRASE), seq(2), 1, Format::V2Meta4);
    let event =
        |at: u32, number| EventPlan::transfer(contract(number), value::account(1), value::account(2), i128::from(at));
    let plan = |count: u32| match count {
        0 => quiet(),
        count => {
            let both = (0..count).flat_map(|at| [event(at, 1), event(at, 2)]).collect();
            LedgerPlan::new(vec![TxPlan::invocation(contract(1), both)])
        }
    };
    (2..=last).map(|number| builder.push(&plan(events(number)))).collect()
}

fn serve(ledgers: &[BuiltLedger], options: RpcOptions) -> RpcServer {
    let raw = ledgers.iter().map(|ledger| ledger.xdr.clone());
    RpcServer::start(HeldLedgers::of(&Network::new(PASSPHRASE), raw).unwrap(), options).unwrap()
}

/// A job of contract 1.
fn job_of_one(from: u32, to: u32) -> Job {
    Job { scope: Scope::Contracts([contract(1)].into()), ..job(from, to) }
}

fn fill(job: &Job, nodes: &[&RpcServer]) -> (Bench, Summary) {
    let bench = Bench::new();
    let summary = bench.try_events(job, &Client::of(nodes).source).unwrap();
    check(job, &bench, &summary);
    (bench, summary)
}

/// What holds after each run: nothing is verified, and what is not covered is a listed gap, told once.
#[track_caller]
fn check(job: &Job, bench: &Bench, summary: &Summary) {
    let status = bench.store.status().unwrap();
    assert_eq!((summary.verified_through, status.verified.is_empty()), (None, true));
    assert_eq!(summary.events, summary.unverified);
    let missing: u64 = summary.gaps.iter().map(|gap| u64::from(gap.to - gap.from) + 1).sum();
    assert_eq!(summary.fetched + missing, summary.ledgers, "{summary:?}");
    assert_eq!(summary.failures.iter().map(|failure| failure.range.count()).sum::<u64>(), missing, "{summary:?}");
    for key in job.scope.keys() {
        let listed: Coverage = status.gaps.iter().filter(|gap| gap.key == key).map(|gap| gap.range).collect();
        assert_eq!(status.covered(key).missing(job.range), listed.within(job.range));
    }
}

/// Every stored event.
fn stored(bench: &Bench) -> Vec<Event> {
    let query =
        EventQuery { after: None, to_inclusive: LedgerSeq::MAX, as_of: FeedPosition(u64::MAX >> 1), limit: 1_000_000 };
    bench.store.events(&query).unwrap()
}

/// The chain's events of `scope` as a node tells them.
fn told_by_a_node(ledgers: &[BuiltLedger], scope: &Scope) -> Vec<Event> {
    let events = ledgers.iter().flat_map(|ledger| &ledger.events).filter(|event| scope.takes(event));
    events.map(|event| Event { proof: ProofClass::Unverified, rewritten_xdr: None, ..event.clone() }).collect()
}

#[track_caller]
fn holds_exactly(bench: &Bench, ledgers: &[BuiltLedger], job: &Job) {
    let expected = told_by_a_node(ledgers, &job.scope);
    let expected: Vec<Event> =
        expected.into_iter().filter(|event| job.range.contains(event.position.ledger())).collect();
    assert_eq!(stored(bench), expected);
    assert!(bench.store.status().unwrap().covered(job.scope.keys()[0]).covers(job.range));
}

/// How far a contract, or everything, is covered.
fn covered(bench: &Bench, key: ScopeKey) -> Coverage {
    bench.store.status().unwrap().covered(key)
}
