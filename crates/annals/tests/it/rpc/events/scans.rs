//! What counts as scanned.

use annals_core::{Scope, ScopeKey};
use annals_sim::{Misbehaviour, RpcOptions, SeenRequest, When};

use super::{chain, contract, covered, fill, holds_exactly, job_of_one, serve, stored};
use crate::fill::bench::{Bench, job, range, seq, told};
use crate::rpc::bench::{Client, on, requests_of};

fn get_events() -> When {
    When::method("getEvents")
}

#[test]
fn a1_an_empty_page_is_a_scanned_window_and_the_event_behind_many_of_them_is_found() {
    let ledgers = chain(10_000, |seq| u32::from(seq == 6_005));
    let node = serve(&ledgers, RpcOptions { events_scan_ledgers: 1_000, ..RpcOptions::default() });
    let job = job_of_one(2, 10_000);
    let (bench, summary) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    assert_eq!((summary.fetched, summary.events, summary.ingested_through), (9_999, 1, Some(10_000)));
    assert_eq!(requests_of(&node, "getEvents").len(), 10, "a window each");
    assert!(node.requests().len() <= 13, "and the network and the tip");
}

#[test]
fn a1_only_what_was_scanned_is_covered_while_it_goes_on() {
    let ledgers = chain(1_000, |seq| u32::from(seq == 605));
    let node = serve(&ledgers, RpcOptions { events_scan_ledgers: 100, ..RpcOptions::default() });
    node.play(on(get_events().from_ledgers(range(702, 1_000)), Misbehaviour::over_limit()));
    let (bench, summary) = fill(&job_of_one(2, 1_000), &[&node]);
    // Windows shrink to what begins below and is served.
    let held = covered(&bench, ScopeKey::Contract(contract(1)));
    let [held] = held.ranges() else { panic!("{held:?}") };
    assert!(held.from_inclusive() == seq(2) && (701..1_000).contains(&held.to_inclusive().get()), "{held}");
    assert!(told(&summary).iter().all(|told| told.ends_with("NOT_SERVED")), "{summary:?}");
    assert!(!summary.contradicts_chain());
    assert_eq!(stored(&bench).len(), 1);
    node.play(annals_sim::Script::new());
    let again = bench.try_events(&job_of_one(2, 1_000), &Client::of(&[&node]).source).unwrap();
    assert_eq!((again.fetched, again.gaps.len()), (999 - held.count(), 0));
}

#[test]
fn a1_a_window_over_the_nodes_time_shrinks_and_the_failed_one_is_never_covered() {
    let ledgers = chain(4_000, |seq| u32::from(seq == 2_605));
    let node = serve(&ledgers, RpcOptions { events_in_time_ledgers: 200, ..RpcOptions::default() });
    let job = job_of_one(2, 4_000);
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    let window =
        |page: &SeenRequest| page.params["endLedger"].as_u64().unwrap() - page.params["startLedger"].as_u64().unwrap();
    let windows: Vec<u64> = requests_of(&node, "getEvents").iter().map(window).collect();
    assert_eq!(windows[..3], [3_999, 999, 249], "each that fails is a quarter of the one before");
    assert!(windows.iter().all(|ledgers| *ledgers > 0));
    assert!(windows.len() < 150, "{}", windows.len());

    let node = serve(&ledgers, RpcOptions::default());
    node.play(on(get_events(), Misbehaviour::over_limit()));
    let client = Client::of(&[&node]);
    let bench = Bench::new();
    let summary = bench.try_events(&job, &client.source).unwrap();
    assert_eq!((summary.fetched, stored(&bench).len()), (0, 0));
    assert!(covered(&bench, ScopeKey::Contract(contract(1))).is_empty());
    assert_eq!(requests_of(&node, "getEvents").len(), 3 * 8, "three ledgers, eight tries each, and it gives up");
    assert!(client.clock.slept().len() >= 3 * 7);
}

#[test]
fn a5_no_page_is_asked_for_above_the_latest_ledger_and_what_closes_later_is_not_skipped() {
    let ledgers = chain(501, |seq| u32::from(seq == 501));
    let node = serve(&ledgers, RpcOptions::default());
    node.play(
        on(When::method("getHealth").calls(1..=4), Misbehaviour::StuckAt(seq(500)))
            .on(get_events().call(1), Misbehaviour::StuckAt(seq(500))),
    );
    let job = job_of_one(490, 501);
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    let asked = requests_of(&node, "getEvents");
    let starts: Vec<u64> = asked.iter().map(|page| page.params["startLedger"].as_u64().unwrap()).collect();
    assert_eq!(starts, [490, 501], "501 was asked for once, and once it was there");
    let (bench, summary) = fill(&job_of_one(490, 510), &[&node]);
    assert_eq!((summary.ingested_through, told(&summary)), (Some(501), vec!["502-510 ABOVE_TIP".to_owned()]));
    assert_eq!(stored(&bench).len(), 1);
}

#[test]
fn h3_a_node_that_lags_behind_its_own_tip_covers_only_what_it_has() {
    let ledgers = chain(300, |_| 1);
    let node = serve(&ledgers, RpcOptions::default());
    // The tip is asked for at one replica, and the events at another.
    node.play(on(get_events().calls(1..=2), Misbehaviour::StuckAt(seq(120))));
    let job = job_of_one(100, 300);
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
}

#[test]
fn every_event_of_all_contracts_comes_with_its_bytes_order_and_kind() {
    let network = super::super::bench::network_from(seq(2), 3, 80);
    let node = super::super::bench::node(&network);
    let job = super::super::bench::whole_job(&network, 2, 81);
    let (bench, summary) = fill(&job, &[&node]);
    let ledgers: Vec<_> = network.kept().map(|ledger| (**ledger).clone()).collect();
    let expected = super::told_by_a_node(&ledgers, &Scope::All);
    let found = stored(&bench);
    assert_eq!((found.len(), summary.events), (expected.len(), expected.len() as u64));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.position, &found.xdr), (expected.position, &expected.xdr));
        assert_eq!(
            (found.tx_hash, found.contract_id, found.kind),
            (expected.tx_hash, expected.contract_id, expected.kind)
        );
        assert_eq!(found.successful, expected.successful);
        assert!(found.tx_order == expected.tx_order || found.tx_order == 0, "{found:?}");
        assert_eq!(found.close_time_ms, expected.close_time_ms / 1000 * 1000, "a node knows seconds");
    }
    for page in requests_of(&node, "getEvents") {
        assert_eq!(page.params["filters"], serde_json::json!([]), "all contracts are asked for without a filter");
    }
    assert!(requests_of(&node, "getTransaction").is_empty());
}

#[test]
fn whether_a_transaction_succeeded_is_asked_for_where_no_event_says_it() {
    let network = super::super::bench::network_from(seq(2), 4, 40);
    let options = RpcOptions { in_successful_contract_call: false, ..RpcOptions::default() };
    let node = annals_sim::RpcServer::start(network.ledgers(), options).unwrap();
    let job = super::super::bench::whole_job(&network, 2, 41);
    let (bench, _) = fill(&job, &[&node]);
    let ledgers: Vec<_> = network.kept().map(|ledger| (**ledger).clone()).collect();
    let expected = super::told_by_a_node(&ledgers, &Scope::All);
    let found = stored(&bench);
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(|(found, expected)| found.successful == expected.successful));
    assert!(found.iter().any(|event| !event.successful), "a failed transaction has its fee");
    let asked = requests_of(&node, "getTransaction");
    let mut hashes: Vec<&str> = asked.iter().map(|request| request.params["hash"].as_str().unwrap()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), asked.len(), "each is asked for once");
}

#[test]
fn many_contracts_are_asked_for_in_passes_over_the_same_ledgers() {
    let ledgers = chain(400, |seq| u32::from(seq % 7 == 0));
    let node = serve(&ledgers, RpcOptions { events_scan_ledgers: 150, ..RpcOptions::default() });
    let contracts = (1..=30).map(contract);
    let job = annals::backfill::Job { scope: Scope::Contracts(contracts.collect()), ..job(2, 400) };
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    let asked = requests_of(&node, "getEvents");
    assert_eq!(asked.len(), 2 * 3, "two passes of three windows");
    for page in asked {
        let filters = page.params["filters"].as_array().unwrap();
        assert!((1..=5).contains(&filters.len()));
        for filter in filters {
            assert!((1..=5).contains(&filter["contractIds"].as_array().unwrap().len()));
            assert_eq!(filter["type"], "contract,system");
        }
    }
}

#[test]
fn another_endpoint_takes_over_at_a_ledger_and_never_with_a_foreign_cursor() {
    let ledgers = chain(200, |seq| if seq % 3 == 0 { 25 } else { 0 });
    let options = || RpcOptions { events_max: 1_000, ..RpcOptions::default() };
    let (failing, serving) = (serve(&ledgers, options()), serve(&ledgers, options()));
    failing.play(on(get_events().from_call(2..), Misbehaviour::unavailable(None)));
    let job = job_of_one(2, 200);
    let (bench, _) = fill(&job, &[&failing, &serving]);
    holds_exactly(&bench, &ledgers, &job);
    let first = &requests_of(&serving, "getEvents")[0];
    assert!(first.params["pagination"].get("cursor").is_none(), "{first:?}");
    assert_eq!(first.params["startLedger"], 2, "what the other had not brought to its end begins again");
    assert_eq!(requests_of(&failing, "getEvents").len(), 2);
}
