//! What is not scanned, or does not decode, is a listed gap with its reason.

use annals_core::ScopeKey;
use annals_sim::{Misbehaviour, RpcOptions, When};
use serde_json::{Value, json};

use super::{chain, contract, covered, fill, holds_exactly, job_of_one, serve, stored};
use crate::fill::bench::{range, seq, told};
use crate::rpc::bench::{on, requests_of};

#[test]
fn b1_what_is_dropped_or_about_to_be_is_a_listed_gap_and_the_rest_comes() {
    let ledgers = chain(400, |_| 1);
    let node = serve(&ledgers, RpcOptions::default());
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(100))));
    let (bench, summary) = fill(&job_of_one(2, 400), &[&node]);
    assert_eq!(told(&summary), ["2-99 BELOW_RETENTION", "100-163 BELOW_RETENTION"], "and 64 that may go meanwhile");
    assert!(!summary.contradicts_chain());
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(164, 400)]);
    let message = &summary.failures[1].message;
    assert!(
        message.ends_with("events below ledger 164 are dropped there, or about to be: fill it from a lake"),
        "{message}"
    );
}

#[test]
fn b1_a_floor_that_moves_while_it_is_scanned_costs_what_it_passed_and_no_more() {
    let ledgers = chain(400, |_| 1);
    let node = serve(&ledgers, RpcOptions { events_scan_ledgers: 50, ..RpcOptions::default() });
    node.play(
        on(When::method("getEvents").from_call(3..), Misbehaviour::OldestLedger(seq(200)))
            .on(When::method("getHealth").from_call(3..), Misbehaviour::OldestLedger(seq(200))),
    );
    let (bench, summary) = fill(&job_of_one(2, 400), &[&node]);
    assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(2, 101), range(264, 400)]);
    assert!(told(&summary).iter().all(|told| told.ends_with("BELOW_RETENTION")), "{summary:?}");
}

#[test]
fn h1_an_event_that_does_not_decode_makes_its_ledger_a_gap_and_is_not_left_out() {
    let ledgers = chain(200, |_| 2);
    for (key, value) in
        [("value", json!("?")), ("topic", json!(["AAAA"])), ("txHash", Value::Null), ("type", json!("x"))]
    {
        let node = serve(&ledgers, RpcOptions::default());
        let edit = move |result: &mut Value| {
            let events = result["events"].as_array_mut().unwrap().iter_mut();
            events.filter(|event| event["ledger"] == 120).skip(1).for_each(|event| event[key] = value.clone());
        };
        node.play(on(When::method("getEvents"), Misbehaviour::edit_result(edit)));
        let (bench, summary) = fill(&job_of_one(2, 200), &[&node]);
        assert_eq!(told(&summary), ["120 UNDECODABLE_EVENT"], "{key}");
        assert!(summary.contradicts_chain(), "a bad object");
        assert_eq!(covered(&bench, ScopeKey::Contract(contract(1))).ranges(), [range(2, 119), range(121, 200)]);
        assert!(stored(&bench).iter().all(|event| event.position.ledger() != seq(120)), "not one event of it");
        assert_eq!(requests_of(&node, "getEvents").len(), 1);
        node.play(annals_sim::Script::new());
        let job = job_of_one(2, 200);
        bench.try_events(&job, &crate::rpc::bench::Client::of(&[&node]).source).unwrap();
        holds_exactly(&bench, &ledgers, &job);
    }
}

#[test]
fn h1_only_a_page_counts_and_whatever_else_comes_in_its_place_is_asked_for_again() {
    let ledgers = chain(60, |_| 2);
    let job = job_of_one(2, 60);
    let node = serve(&ledgers, RpcOptions::default());
    for what in [
        Misbehaviour::error(-32603, "internal error"),
        Misbehaviour::error(-32003, "internal error"),
        Misbehaviour::html(),
        Misbehaviour::Truncated { bytes: 3_000 },
        Misbehaviour::Reset,
        Misbehaviour::OtherId,
        Misbehaviour::unavailable(None),
        Misbehaviour::too_many_requests(Some(1)),
        Misbehaviour::edit_result(|result| result["latestLedger"] = json!(-1)),
        Misbehaviour::edit_result(|result| result["latestLedger"] = json!(1)),
    ] {
        node.play(on(When::method("getEvents").call(1), what.clone()));
        let (bench, _) = fill(&job, &[&node]);
        holds_exactly(&bench, &ledgers, &job);
    }
}

#[test]
fn ids_that_old_versions_counted_otherwise_are_refused() {
    let ledgers = chain(60, |_| 2);
    let node = serve(&ledgers, RpcOptions::default());
    let old = |result: &mut Value| {
        for event in result["events"].as_array_mut().unwrap() {
            ["operationIndex", "transactionIndex"]
                .iter()
                .for_each(|key| _ = event.as_object_mut().unwrap().remove(*key));
        }
    };
    node.play(on(When::method("getEvents"), Misbehaviour::edit_result(old)));
    let (bench, summary) = fill(&job_of_one(2, 60), &[&node]);
    assert!(stored(&bench).is_empty());
    assert_eq!(told(&summary), ["2-60 NOT_SERVED"]);
    assert!(summary.failures[0].message.contains("before version 23"), "{summary:?}");
    assert_eq!(requests_of(&node, "getEvents").len(), 1);
}

#[test]
fn diagnostic_events_never_count() {
    let ledgers = chain(60, |_| 2);
    let node = serve(&ledgers, RpcOptions::default());
    let diagnostic = |result: &mut Value| {
        let events = result["events"].as_array_mut().unwrap();
        for event in events.iter_mut().filter(|event| event["ledger"] == 30) {
            event["type"] = json!("diagnostic");
        }
    };
    node.play(on(When::method("getEvents"), Misbehaviour::edit_result(diagnostic)));
    let (bench, summary) = fill(&job_of_one(2, 60), &[&node]);
    assert_eq!((summary.gaps.len(), stored(&bench).len()), (0, 58 * 2));
}
