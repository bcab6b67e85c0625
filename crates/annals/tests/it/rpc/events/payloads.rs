//! What events leave out, by `getTransaction`.

mod troubles;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use annals::backfill::{Job, Summary};
use annals::store::{Bound, Contract, Order, PageQuery, Request, Store as _, StoreError};
use annals::verify;
use annals_core::registry::Payload;
use annals_core::{ContractId, Event, Network, Position, Scope};
use annals_sim::{BuiltLedger, ChainBuilder, EnvelopeForm, Format, RpcOptions, RpcServer, TokenTraffic, TokenVersion};

use super::{serve, stored, told_by_a_node};
use crate::fill::bench::{Bench, PASSPHRASE, Silent, job, seq};
use crate::rpc::bench::{Client, requests_of};

const LAST: u32 = 41;

/// A confidential token's life from ledger 2 on, among other contracts' events; some of its transactions are fee bumps,
/// and some of its transfers go through another contract.
struct Life {
    token: ContractId,
    ledgers: Vec<BuiltLedger>,
    /// The payload of each event in an archive of whole ledgers.
    truth: Vec<(Position, Payload)>,
    /// The transactions with an event that leaves something out.
    leaving_out: usize,
}

fn life(seed: u64) -> Life {
    let network = Network::new(PASSPHRASE);
    let traffic = TokenTraffic::deployed(seed, &network, TokenVersion::July);
    let mut traffic = traffic.with_hidden_transfers().with_steps(12);
    let mut chain = ChainBuilder::new(&network, seq(2), seed, Format::V2Meta4);
    let mut ledgers = Vec::new();
    for _ in 2..=LAST {
        let mut plan = traffic.next_ledger().plan;
        let invocations = plan.transactions.iter_mut().filter(|transaction| transaction.body.is_soroban());
        invocations.step_by(3).for_each(|transaction| transaction.envelope = EnvelopeForm::FeeBump);
        ledgers.push(chain.push(&plan));
    }
    let token = traffic.model().contract();
    let whole = declared(token);
    whole.run(&job(2, LAST), &Client::of(&[&serve(&ledgers, RpcOptions::default())]).source);
    let (events, truth) = (stored(&whole), payloads(&whole));
    let left_out = events.iter().zip(&truth).filter(|(_, (_, payload))| *payload != Payload::NotApplicable);
    let leaving_out = left_out.map(|(event, _)| event.transaction()).collect::<BTreeSet<_>>().len();
    Life { token, ledgers, truth, leaving_out }
}

impl Life {
    fn node(&self) -> RpcServer {
        serve(&self.ledgers, RpcOptions::default())
    }
}

/// An archive that was asked for the whole life, and holds nothing yet.
fn asked() -> Bench {
    let bench = Bench::new();
    let fence = bench.store.acquire().unwrap();
    let Job { network, scope, classic, range, pins } = job(2, LAST);
    bench.store.request(&Request { network, scope, classic, range, pins }, fence).unwrap();
    bench
}

fn declare(bench: &Bench, token: ContractId) {
    let schema = Some("confidential-token".parse().unwrap());
    let contract = Contract { id: token, origin: None, kind: None, schema };
    bench.store.declare(&contract, bench.store.acquire().unwrap()).unwrap();
}

/// The same, which knows the token's schema.
fn declared(token: ContractId) -> Bench {
    let bench = asked();
    declare(&bench, token);
    bench
}

fn payloads(bench: &Bench) -> Vec<(Position, Payload)> {
    let events = stored(bench);
    let payloads = bench.store.payloads(&events).unwrap();
    events.iter().map(|event| event.position).zip(payloads).collect()
}

fn states(payloads: &[(Position, Payload)]) -> String {
    let states: BTreeSet<&str> = payloads.iter().map(|(_, payload)| payload.state()).collect();
    Vec::from_iter(states).join(" ")
}

fn events_alone(bench: &Bench, nodes: &[&RpcServer]) -> Summary {
    bench.try_events(&job(2, LAST), &Client::of(nodes).source).unwrap()
}

/// Nothing is lost whatever became of the payloads.
#[track_caller]
fn holds_every_event(life: &Life, bench: &Bench, summary: &Summary) {
    let bytes = |events: Vec<Event>| events.into_iter().map(|event| (event.position, event.xdr)).collect::<Vec<_>>();
    assert!(bytes(stored(bench)) == bytes(told_by_a_node(&life.ledgers, &Scope::All)));
    assert_eq!((summary.gaps.len(), summary.failures.len()), (0, 0), "{summary:?}");
    let of_run = summary.envelopes_fetched + summary.envelopes_lacking;
    assert_eq!(of_run, life.leaving_out as u64, "{summary:?}");
}

#[track_caller]
fn verifies(bench: &Bench) {
    let report = verify::run(&bench.store, &Silent, &mut |_| {}).unwrap();
    assert_eq!(report.faults, []);
}

/// One page of the token's events, or the same page again as it was begun.
fn page(life: &Life, bench: &Bench, bound: Option<Bound>) -> annals::store::Page {
    let query = PageQuery {
        contract: life.token,
        account: None,
        asked_from: Some(seq(2)),
        asked_to: Some(seq(LAST)),
        filter: annals::store::EventFilter::default(),
        order: Order::Ascending,
        above: None,
        behind: None,
        bound,
        limit: 5_000,
    };
    bench.store.page(&query).unwrap()
}

#[test]
fn payloads_are_those_of_an_archive_of_whole_ledgers() {
    let life = life(3);
    let (node, bench) = (life.node(), declared(life.token));
    let summary = events_alone(&bench, &[&node]);
    holds_every_event(&life, &bench, &summary);
    assert_eq!((summary.envelopes_lacking, summary.contradicts_chain()), (0, false));
    assert_eq!(states(&life.truth), "not_applicable present unavailable");
    assert!(payloads(&bench) == life.truth);
    let commits = bench.store.commits.load(Ordering::SeqCst);
    assert!(life.leaving_out > 64 && commits > 1, "{} {commits}: no commit waits for all", life.leaving_out);
    assert_eq!(requests_of(&node, "getTransaction").len(), life.leaving_out, "each is asked for once, and no other");
    verifies(&bench);
    let again = events_alone(&bench, &[&node]);
    assert_eq!((again.envelopes_fetched, again.envelopes_lacking), (0, 0));
    assert_eq!(requests_of(&node, "getTransaction").len(), life.leaving_out);

    let begun = page(&life, &bench, None);
    bench.try_run(&job(2, LAST), &Client::of(&[&node]).source).unwrap();
    assert!(payloads(&bench) == life.truth, "whole ledgers change nothing");
    verifies(&bench);
    let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
    assert_eq!(page(&life, &bench, bound).events, begun.events);
}

#[test]
fn inv_5_a_schema_that_is_declared_late_is_caught_up_with_and_changes_no_page_that_was_begun() {
    let life = life(4);
    let (node, bench) = (life.node(), asked());
    let summary = events_alone(&bench, &[&node]);
    assert_eq!((summary.envelopes_fetched, summary.envelopes_lacking), (0, 0));
    assert!(requests_of(&node, "getTransaction").is_empty(), "nobody knows what to ask for");
    declare(&bench, life.token);
    assert_eq!(states(&payloads(&bench)), "not_applicable pending");
    let begun = page(&life, &bench, None);
    let (events, coverage) = (stored(&bench), bench.store.status().unwrap().coverage);
    let scans = requests_of(&node, "getEvents").len();

    let summary = events_alone(&bench, &[&node]);
    holds_every_event(&life, &bench, &summary);
    assert_eq!((summary.fetched, summary.envelopes_lacking), (0, 0));
    assert!(payloads(&bench) == life.truth && stored(&bench) == events);
    assert_eq!(bench.store.status().unwrap().coverage, coverage);
    assert_eq!(requests_of(&node, "getEvents").len(), scans, "what is covered is not scanned again");
    let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
    assert_eq!(page(&life, &bench, bound).events, begun.events);
    assert!(page(&life, &bench, None).view.as_of > begun.view.as_of);
    assert_ne!(page(&life, &bench, None).events, begun.events);
    verifies(&bench);
}

#[test]
fn events_and_envelopes_come_in_one_commit_wherever_it_ends() {
    let life = life(5);
    let node = life.node();
    let mut stopped = 0;
    for fails in 0..4 {
        let mut bench = declared(life.token);
        bench.store.before_commit = Box::new(move |number, _| match number == fails {
            true => Err(StoreError::Database(Box::new(std::io::Error::other("the disk is gone")))),
            false => Ok(()),
        });
        let ended = bench.try_events(&job(2, LAST), &Client::of(&[&node]).source);
        stopped += u64::from(ended.is_err());
        let held = payloads(&bench);
        assert!(held == life.truth[..held.len()], "commit {fails}: no event without its envelope");
        bench.store.before_commit = Box::new(|_, _| Ok(()));
        events_alone(&bench, &[&node]);
        assert!(payloads(&bench) == life.truth, "commit {fails}");
        verifies(&bench);
    }
    assert!(stopped >= 2, "{stopped}");
}

#[test]
fn a_job_of_other_contracts_asks_for_nobodys_envelopes() {
    let life = life(6);
    let (node, bench) = (life.node(), declared(life.token));
    let other = |event: &&Event| event.contract_id.is_some_and(|id| id != life.token);
    let other = life.ledgers.iter().flat_map(|ledger| &ledger.events).find(other).unwrap().contract_id.unwrap();
    let job = Job { scope: Scope::Contracts([other].into()), ..job(2, LAST) };
    let summary = bench.try_events(&job, &Client::of(&[&node]).source).unwrap();
    assert_eq!((summary.envelopes_fetched, summary.envelopes_lacking), (0, 0));
    assert!(requests_of(&node, "getTransaction").is_empty());
    let own = Job { scope: Scope::Contracts([life.token].into()), ..job };
    let summary = bench.try_events(&own, &Client::of(&[&node]).source).unwrap();
    assert_eq!((summary.envelopes_fetched, summary.envelopes_lacking), (life.leaving_out as u64, 0));
    verifies(&bench);
}
