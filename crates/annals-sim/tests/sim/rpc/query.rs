use annals_sim::{Misbehaviour, RpcOptions, RpcServer, Script, SimNetwork, When};
use serde_json::{Value, json};

use super::client::{error, post, result};
use super::{seq, served};

fn query_server(network: &SimNetwork) -> RpcServer {
    let options = RpcOptions { query_events: true, events_scan_ledgers: 7, ..RpcOptions::default() };
    RpcServer::start(network.ledgers(), options).unwrap()
}

/// Every page up to the one that is complete.
fn pages(server: &RpcServer, min: u32, max: u32, limit: u32) -> Vec<Value> {
    let mut params = json!({"minLedger": min, "maxLedger": max, "limit": limit});
    let mut pages = Vec::new();
    loop {
        let page = result(server, "queryEvents", &params);
        params = json!({"cursor": page["cursor"], "limit": limit});
        let is_complete = page["scanStatus"] == "COMPLETE";
        pages.push(page);
        if is_complete {
            return pages;
        }
    }
}

#[test]
fn a_query_gives_what_get_events_gives_and_says_what_it_scanned() {
    let (network, server) = served(5, 40);
    let query = query_server(&network);
    let whole = result(&server, "getEvents", &json!({"startLedger": 2, "pagination": {"limit": 10_000}}));
    for limit in [1, 3, 1_000] {
        let pages = pages(&query, 2, 41, limit);
        let events: Vec<Value> = pages.iter().flat_map(|page| page["events"].as_array().unwrap().clone()).collect();
        assert_eq!(Value::Array(events), whole["events"], "{limit}");
        let mut seen = Vec::new();
        for page in &pages {
            seen.extend(page["events"].as_array().unwrap().iter().map(|event| event["ledger"].as_u64().unwrap()));
            let scanned = page["scannedLedger"].as_u64().unwrap();
            let whole_ledgers =
                whole["events"].as_array().unwrap().iter().map(|event| event["ledger"].as_u64().unwrap());
            let due = whole_ledgers.filter(|ledger| *ledger <= scanned).count();
            assert_eq!(seen.iter().filter(|ledger| **ledger <= scanned).count(), due, "{limit}: {scanned}");
        }
        let last = pages.last().unwrap();
        assert_eq!((last["scannedLedger"].as_u64(), last.get("cursor")), (Some(41), None));
        assert!(pages[..pages.len() - 1].iter().all(|page| page["scanStatus"] == "HAS_MORE"));
    }
}

#[test]
fn a_query_above_the_latest_ledger_waits_with_an_unchanged_cursor() {
    let (mut network, _) = served(6, 5);
    let query = query_server(&network);
    let first = result(&query, "queryEvents", &json!({"minLedger": 6, "maxLedger": 9}));
    assert_eq!((&first["scanStatus"], &first["scannedLedger"]), (&json!("WAITING_FOR_LEDGERS"), &json!(6)));
    let again = result(&query, "queryEvents", &json!({"cursor": first["cursor"]}));
    assert_eq!((&again["cursor"], &again["events"]), (&first["cursor"], &json!([])));
    network.close_many(3);
    let rest = result(&query, "queryEvents", &json!({"cursor": first["cursor"]}));
    assert_eq!((&rest["scanStatus"], &rest["scannedLedger"]), (&json!("COMPLETE"), &json!(9)));
}

#[test]
fn a_query_that_cannot_be_answered_says_why() {
    let (network, without) = served(7, 20);
    let query = query_server(&network);
    let reason = |params: Value| {
        let error = post(&query, "queryEvents", &params).unwrap().json()["error"].take();
        assert_eq!(error["code"], -32602);
        error["data"]["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason(json!({"cursor": "gec1_?"})), "cursor_malformed");
    assert_eq!(reason(json!({"cursor": "0000000433791696895-4294967295"})), "cursor_malformed");
    assert_eq!(reason(json!({"minLedger": 23, "maxLedger": 30})), "ledger_out_of_range");
    for wrong in [
        json!({}),
        json!({"minLedger": 9, "maxLedger": 8}),
        json!({"minLedger": 2, "maxLedger": 8, "limit": 1_001}),
        json!({"minLedger": 2, "maxLedger": 8, "order": "desc"}),
        json!({"minLedger": 2, "maxLedger": 8, "filters": [{"type": "diagnostic"}]}),
        json!({"minLedger": 2, "maxLedger": 8, "filters": [{"contractId": "C"}]}),
    ] {
        assert_eq!(reason(wrong.clone()), "invalid_params", "{wrong}");
    }
    query.play(Script::new().on(When::always(), Misbehaviour::OldestLedger(seq(10))));
    let below = post(&query, "queryEvents", &json!({"minLedger": 2, "maxLedger": 8})).unwrap().json()["error"].take();
    assert_eq!((&below["data"]["missingLedger"], &below["data"]["oldestLedger"]), (&json!(2), &json!(10)));
    assert_eq!(error(&without, "queryEvents", &json!({"minLedger": 2, "maxLedger": 8})).0, -32601);
}
