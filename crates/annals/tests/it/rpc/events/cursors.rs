//! Cursors: places that are no events, and places inside ledgers.

use annals_core::ScopeKey;
use annals_sim::{Misbehaviour, RpcOptions, When};
use serde_json::{Value, json};

use super::{chain, contract, covered, fill, holds_exactly, job_of_one, serve, stored};
use crate::fill::bench::{Bench, range, told};
use crate::rpc::bench::{Client, on, requests_of};

/// The end of ledger 100, as a window that ends there has it.
const END_OF_100: &str = "0000000433791696895-4294967295";

#[test]
fn a6_the_end_of_a_window_is_no_event_and_a_request_names_a_range_or_a_cursor() {
    let ledgers = chain(300, |seq| if seq == 150 { 25 } else { 0 });
    let node = serve(&ledgers, RpcOptions { events_max: 10, events_scan_ledgers: 99, ..RpcOptions::default() });
    let job = job_of_one(2, 300);
    let (bench, _) = fill(&job, &[&node]);
    holds_exactly(&bench, &ledgers, &job);
    let ids: Vec<String> = stored(&bench).iter().map(|event| event.position.to_string()).collect();
    assert!(ids.len() == 25 && !ids.iter().any(|id| id == END_OF_100));
    let mut cursors = 0;
    for page in requests_of(&node, "getEvents") {
        let cursor = page.params["pagination"].get("cursor").and_then(Value::as_str);
        let has_range = page.params.get("startLedger").is_some() || page.params.get("endLedger").is_some();
        assert_ne!(cursor.is_some(), has_range, "{page:?}");
        assert!(cursor.is_none_or(|cursor| ids.iter().any(|id| id == cursor)), "{page:?}");
        cursors += u32::from(cursor.is_some());
    }
    assert!(cursors >= 2, "a ledger of 25 events takes more than a page of at most 10");
}

#[test]
fn a6_a_page_that_ends_with_its_limit_has_not_scanned_its_last_ledger() {
    let ledgers = chain(200, |seq| if seq == 150 { 25 } else { 0 });
    let node = serve(&ledgers, RpcOptions { events_max: 10, ..RpcOptions::default() });
    // Behind a cursor the node has nothing any more: what it said before ends inside ledger 150.
    let empty = |result: &mut Value| {
        result["events"] = json!([]);
    };
    node.play(on(When::method("getEvents").from_ledgers(range(150, 150)), Misbehaviour::edit_result(empty)));
    let (bench, summary) = fill(&job_of_one(2, 200), &[&node]);
    let held = covered(&bench, ScopeKey::Contract(contract(1)));
    assert!(!held.contains(crate::fill::bench::seq(150)), "{held:?} {summary:?}");
    assert!(stored(&bench).is_empty(), "not one of its events without all of them");
}

#[test]
fn a6_a_cursor_that_repeats_circles_or_leads_nowhere_is_the_endpoints_fault_and_bounded() {
    let ledgers = chain(300, |seq| if seq % 50 == 0 { 3 } else { 0 });
    for cursor in [
        END_OF_100,
        "0000000008589934591-4294967295",
        "0000000000000000000-0000000000",
        "0000000433791696895-0000000000",
        "0000000429496733696-0000000000",
        "4",
        "",
    ] {
        let node = serve(&ledgers, RpcOptions::default());
        node.play(on(When::method("getEvents"), Misbehaviour::cursor(cursor)));
        let client = Client::of(&[&node]);
        let bench = Bench::new();
        let summary = bench.try_events(&job_of_one(2, 300), &client.source).unwrap();
        let through = if cursor == END_OF_100 { vec![range(2, 100)] } else { Vec::new() };
        assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), through, "{cursor}");
        assert!(told(&summary).iter().all(|told| told.ends_with("NOT_SERVED")), "{cursor}: {summary:?}");
        assert!(requests_of(&node, "getEvents").len() <= 80, "{cursor}");
        assert!(stored(&bench).iter().all(|event| event.position.ledger().get() <= 100));
        let message = &summary.failures[0].message;
        assert!(message.contains("getEvents: its page of events "), "{message}");
    }
    let node = serve(&ledgers, RpcOptions::default());
    node.play(on(When::method("getEvents"), Misbehaviour::edit_result(|result| _ = result["cursor"].take())));
    let (bench, _) = fill(&job_of_one(2, 300), &[&node]);
    assert!(covered(&bench, ScopeKey::Contract(contract(1))).is_empty(), "no cursor says nothing of what was scanned");
}

#[test]
fn a6_a_page_in_another_order_or_with_an_event_twice_counts_for_nothing() {
    let ledgers = chain(100, |_| 2);
    for edit in [
        (|result: &mut Value| {
            let events = result["events"].as_array_mut().unwrap();
            let first = events[0].clone();
            events.push(first);
        }) as fn(&mut Value),
        |result| {
            let events = result["events"].as_array_mut().unwrap();
            let first = events[0].clone();
            events.insert(0, first);
        },
        |result| result["events"] = json!([{"id": null}]),
        |result| result["events"] = Value::Null,
        |result| *result = Value::Null,
        |result| *result = json!({}),
    ] {
        let node = serve(&ledgers, RpcOptions::default());
        node.play(on(When::method("getEvents").call(1), Misbehaviour::edit_result(edit)));
        let job = job_of_one(2, 100);
        let (bench, _) = fill(&job, &[&node]);
        holds_exactly(&bench, &ledgers, &job);
        node.play(on(When::method("getEvents"), Misbehaviour::edit_result(edit)));
        let (bench, _) = fill(&job, &[&node]);
        assert!(stored(&bench).is_empty() && covered(&bench, ScopeKey::Contract(contract(1))).is_empty());
    }
}
