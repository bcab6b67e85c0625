//! `queryEvents`: four scan statuses, an opaque cursor, and none where the query is answered.

use annals_core::ScopeKey;
use annals_sim::{BuiltLedger, Misbehaviour, RpcOptions, RpcServer, Script, When};
use serde_json::{Value, json};

use super::{chain, contract, covered, fill, holds_exactly, job_of_one, serve, stored};
use crate::fill::bench::{Bench, range, seq, told};
use crate::rpc::bench::{Client, on, requests_of};

/// A node without `getEvents`.
fn script() -> Script {
    on(When::method("getEvents"), Misbehaviour::no_such_method("getEvents"))
}

fn query_events() -> When {
    When::method("queryEvents")
}

fn query_node(ledgers: &[BuiltLedger]) -> RpcServer {
    let options = RpcOptions { query_events: true, events_scan_ledgers: 60, ..RpcOptions::default() };
    let node = serve(ledgers, options);
    node.play(script());
    node
}

fn ledgers() -> Vec<BuiltLedger> {
    chain(400, |seq| if seq == 150 { 1_500 } else { u32::from(seq % 20 == 0) * 3 })
}

#[test]
fn a8_where_there_is_no_get_events_query_events_gives_the_same() {
    let ledgers = ledgers();
    let node = query_node(&ledgers);
    let job = job_of_one(2, 400);
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    assert_eq!(requests_of(&node, "getEvents").len(), 1, "it is asked for once");
    let pages = requests_of(&node, "queryEvents");
    assert!(pages.len() >= 400 / 60);
    for page in &pages {
        assert_ne!(page.params.get("cursor").is_some(), page.params.get("minLedger").is_some(), "{page:?}");
        assert!(page.params["limit"].as_u64().unwrap() <= 1_000);
    }
    let behind = serve(&ledgers, RpcOptions::default());
    behind.play(script());
    let (bench, summary) = fill(&job, &[&behind]);
    assert!(stored(&bench).is_empty());
    assert_eq!(told(&summary), ["2-400 NOT_SERVED"], "it has neither");
    assert!(summary.failures[0].message.contains("getEvents: it answers with error -32601"), "{summary:?}");
}

#[test]
fn a8_nothing_but_the_scanned_ledger_moves_coverage() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    for edit in [
        (|result: &mut Value| _ = result["scannedLedger"].take()) as fn(&mut Value),
        |result| _ = result["scanStatus"].take(),
        |result| result["scanStatus"] = json!("DONE"),
        |result| result["scannedLedger"] = json!(1),
    ] {
        let node = query_node(&ledgers);
        node.play(script().on(query_events(), Misbehaviour::edit_result(edit)));
        let (bench, summary) = fill(&job, &[&node]);
        assert!(covered(&bench, ScopeKey::Contract(contract(1))).is_empty(), "{summary:?}");
        assert!(stored(&bench).is_empty());
        assert!(requests_of(&node, "queryEvents").len() <= 200);
    }
    let node = query_node(&ledgers);
    let at_most_100 = |result: &mut Value| {
        let scanned = result["scannedLedger"].as_u64().unwrap().min(100);
        result["scannedLedger"] = json!(scanned);
    };
    node.play(script().on(query_events(), Misbehaviour::edit_result(at_most_100)));
    let (bench, _) = fill(&job, &[&node]);
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(2, 100)]);
}

#[test]
fn a8_an_absent_cursor_goes_on_above_what_was_scanned_and_never_starts_again() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    let node = query_node(&ledgers);
    let no_cursor = |result: &mut Value| _ = result.as_object_mut().unwrap().remove("cursor");
    node.play(script().on(query_events().calls(1..=2), Misbehaviour::edit_result(no_cursor)));
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    let starts: Vec<u64> =
        requests_of(&node, "queryEvents").iter().filter_map(|page| page.params["minLedger"].as_u64()).collect();
    assert_eq!(starts, [2, 62, 122]);
    // A page that says it is complete below what was asked for is not.
    let node = query_node(&ledgers);
    let complete = |result: &mut Value| {
        result["scanStatus"] = json!("COMPLETE");
        _ = result.as_object_mut().unwrap().remove("cursor");
    };
    node.play(script().on(query_events().call(1), Misbehaviour::edit_result(complete)));
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
}

#[test]
fn a8_empty_pages_that_have_more_are_bounded() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    let node = query_node(&ledgers);
    let still = |result: &mut Value| {
        result["events"] = json!([]);
        result["scannedLedger"] = json!(61);
        result["scanStatus"] = json!("HAS_MORE");
    };
    node.play(script().on(query_events(), Misbehaviour::edit_result(still)));
    let client = Client::of(&[&node]);
    let bench = Bench::new();
    bench.try_events(&job, &client.source).unwrap();
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(2, 61)]);
    assert!(requests_of(&node, "queryEvents").len() <= 200);
    assert!(!client.clock.slept().is_empty());
}

#[test]
fn a8_waiting_for_ledgers_backs_off_and_covers_what_there_is() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    let node = query_node(&ledgers);
    node.play(script().on(query_events(), Misbehaviour::StuckAt(seq(300))));
    let client = Client::of(&[&node]);
    let bench = Bench::new();
    let summary = bench.try_events(&job, &client.source).unwrap();
    assert_eq!(told(&summary), ["301-400 ABOVE_TIP"]);
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(2, 300)]);
    assert!(!client.clock.slept().is_empty());
    node.play(script());
    bench.try_events(&job, &Client::of(&[&node]).source).unwrap();
    holds_exactly(&bench, &ledgers, &job);
}

#[test]
fn a8_a_cursor_that_is_refused_is_forgotten_and_the_ledger_asked_for_again() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    let node = query_node(&ledgers);
    node.play(script().on(query_events().calls(2..=3), Misbehaviour::error(-32602, "cursor_malformed")));
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
}

#[test]
fn a8_what_is_older_than_the_oldest_is_a_gap_however_it_is_said() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    let node = query_node(&ledgers);
    node.play(script().on(When::always(), Misbehaviour::OldestLedger(seq(100))));
    let (bench, summary) = fill(&job, &[&node]);
    assert_eq!(told(&summary), ["2-99 BELOW_RETENTION"], "what is there is whole");
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(100, 400)]);
    let node = query_node(&ledgers);
    node.play(
        script()
            .on(query_events(), Misbehaviour::OldestLedger(seq(100)))
            .on(When::method("getHealth").from_call(3..), Misbehaviour::OldestLedger(seq(100))),
    );
    let (_bench, summary) = fill(&job, &[&node]);
    assert_eq!(told(&summary), ["2-99 BELOW_RETENTION"], "ledger_out_of_range");
    let node = query_node(&ledgers);
    let reached = |result: &mut Value| {
        result["events"] = json!([]);
        result["scanStatus"] = json!("OLDEST_REACHED");
        result["scannedLedger"] = json!(1);
        result["oldestLedger"] = json!(100);
    };
    node.play(script().on(query_events().call(1), Misbehaviour::edit_result(reached)));
    let (bench, summary) = fill(&job, &[&node]);
    assert_eq!(told(&summary), ["2-99 BELOW_RETENTION"]);
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(100, 400)]);
}

#[test]
fn a8_another_provider_goes_on_from_the_last_whole_ledger() {
    let ledgers = ledgers();
    let job = job_of_one(2, 400);
    for page in 1..=9 {
        let (first, second) = (query_node(&ledgers), serve(&ledgers, RpcOptions::default()));
        first.play(script().on(query_events().from_call(page..), Misbehaviour::unavailable(None)));
        let (bench, _) = fill(&job, &[&first, &second]);
        holds_exactly(&bench, &ledgers, &job);
        assert!(requests_of(&second, "queryEvents").is_empty());
    }
}
