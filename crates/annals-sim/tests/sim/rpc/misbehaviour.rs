use std::time::Duration;

use annals_core::{LedgerRange, check_ledger};
use annals_sim::{Misbehaviour, NetworkOptions, Script, SimNetwork, When, edit_header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::{error, post, result, send_within};
use super::{seq, served};

fn latest(server: &annals_sim::RpcServer) -> u64 {
    result(server, "getLatestLedger", &json!({}))["sequence"].as_u64().unwrap()
}

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

fn sequences(page: &Value) -> Vec<u64> {
    page["ledgers"].as_array().unwrap().iter().map(|ledger| ledger["sequence"].as_u64().unwrap()).collect()
}

#[test]
fn a_script_counts_the_calls_of_each_of_its_rules() {
    let (_network, server) = served(1, 20);
    server.play(
        Script::new()
            .on(When::method("getLedgers").calls(2..=3), Misbehaviour::over_limit())
            .on(When::method("getHealth").every(2, 1), Misbehaviour::error(-32603, "not now"))
            .on(When::method("getLedgers").from_ledgers(range(5, 6)).call(1), Misbehaviour::error(1, "ledger 5 or 6")),
    );
    let codes = |method: &str, params: &Value, count: usize| -> Vec<Option<i64>> {
        let code = || post(&server, method, params).unwrap().json()["error"]["code"].as_i64();
        (0..count).map(|_| code()).collect()
    };
    assert_eq!(codes("getLedgers", &json!({ "startLedger": 2 }), 4), [None, Some(-32001), Some(-32001), None]);
    assert_eq!(codes("getHealth", &json!({}), 4), [Some(-32603), None, Some(-32603), None]);
    assert_eq!(codes("getLedgers", &json!({ "pagination": { "cursor": "4" } }), 2), [Some(1), None]);
    assert_eq!(server.requests().iter().filter(|request| request.misbehaved).count(), 5);
    server.play(Script::new());
    assert_eq!(codes("getHealth", &json!({}), 2), [None, None]);
}

#[test]
fn answers_of_http_take_the_place_of_the_nodes() {
    let (_network, server) = served(1, 5);
    server.play(
        Script::new()
            .on(When::always().call(1), Misbehaviour::too_many_requests(Some(7)))
            .on(When::always().call(2), Misbehaviour::unavailable(None))
            .on(When::always().call(3), Misbehaviour::html()),
    );
    let [first, second, third] = [(); 3].map(|()| post(&server, "getHealth", &json!({})).unwrap());
    assert_eq!((first.status, first.header("retry-after")), (429, Some("7")));
    assert_eq!((second.status, second.header("retry-after")), (503, None));
    assert_eq!((third.status, third.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(third.body.starts_with(b"<!doctype html>"));
}

#[test]
fn a_body_is_cut_and_a_connection_reset_or_silent() {
    let (_network, server) = served(1, 5);
    server.play(
        Script::new()
            .on(When::always().call(1), Misbehaviour::Truncated { bytes: 30 })
            .on(When::always().call(2), Misbehaviour::Reset)
            .on(When::always().call(3), Misbehaviour::Hang),
    );
    let cut = post(&server, "getHealth", &json!({})).unwrap();
    assert_eq!((cut.status, cut.body.len(), cut.is_whole()), (200, 30, false));
    let reset = post(&server, "getHealth", &json!({})).unwrap_err();
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    let silent = send_within(&server, "POST", "application/json", call, Duration::from_millis(50)).unwrap_err();
    assert!(matches!(silent.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{silent}");
    assert!(post(&server, "getHealth", &json!({})).unwrap().is_whole(), "the node serves on");
}

#[test]
fn latency_delays_the_answer_and_not_the_node() {
    let (_network, server) = served(1, 5);
    server.play(Script::new().on(When::method("getHealth"), Misbehaviour::Latency(Duration::from_secs(3600))));
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    assert!(send_within(&server, "POST", "application/json", call, Duration::from_millis(50)).is_err());
    assert_eq!(latest(&server), 6);
    server.play(Script::new().on(When::always(), Misbehaviour::Latency(Duration::from_millis(30))));
    latest(&server);
}

#[test]
fn results_are_null_empty_or_of_another_request() {
    let (_network, server) = served(1, 5);
    server.play(
        Script::new()
            .on(When::always().call(1), Misbehaviour::null_result())
            .on(When::always().call(2), Misbehaviour::empty_result())
            .on(When::always().call(3), Misbehaviour::OtherId),
    );
    let [null, empty, other] = [(); 3].map(|()| post(&server, "getHealth", &json!({})).unwrap().json());
    assert_eq!(null, json!({ "jsonrpc": "2.0", "id": 7, "result": null }));
    assert_eq!(empty["result"], json!({}));
    assert_ne!(other["id"], json!(7));
}

#[test]
fn h3_a_replica_lags_by_turns() {
    let (_network, server) = served(1, 50);
    server.play(Script::new().on(When::always().every(2, 2), Misbehaviour::Behind(5)));
    assert_eq!([latest(&server), latest(&server), latest(&server), latest(&server)], [51, 46, 51, 46]);
    let page = || post(&server, "getLedgers", &json!({ "startLedger": 48 })).unwrap().json();
    assert_eq!(page()["result"]["latestLedger"], 51);
    assert!(page()["error"]["message"].as_str().unwrap().contains("the latest ledger: 46"));
    server.play(Script::new().on(When::always(), Misbehaviour::StuckAt(seq(30))));
    assert_eq!(latest(&server), 30);
}

#[test]
fn a_tip_is_announced_before_it_is_served() {
    let (_network, server) = served(1, 20);
    server.play(Script::new().on(When::always(), Misbehaviour::UnservedTip(2)));
    assert_eq!(latest(&server), 21);
    let page = result(&server, "getLedgers", &json!({ "startLedger": 18 }));
    assert_eq!((sequences(&page), &page["latestLedger"], &page["cursor"]), (vec![18, 19], &json!(21), &json!("19")));
    let page = result(&server, "getLedgers", &json!({ "pagination": { "cursor": "19" } }));
    assert_eq!((sequences(&page), &page["cursor"]), (vec![], &json!("19")));
    let events = result(&server, "getEvents", &json!({ "startLedger": 20 }));
    assert_eq!(events["events"], json!([]));
}

#[test]
fn b1_the_retention_floor_moves() {
    let (_network, server) = served(1, 20);
    server.play(Script::new().on(When::always().from_call(2..), Misbehaviour::OldestLedger(seq(15))));
    assert_eq!(result(&server, "getHealth", &json!({}))["oldestLedger"], 2);
    assert_eq!(result(&server, "getHealth", &json!({}))["oldestLedger"], 15);
    assert!(error(&server, "getLedgers", &json!({ "startLedger": 14 })).1.contains("oldest ledger: 15"));
    assert!(error(&server, "getEvents", &json!({ "startLedger": 14 })).1.contains("15 - 21"));
}

#[test]
fn ledgers_and_events_are_left_out() {
    let (network, server) = served(1, 40);
    let busy = network.kept().find(|ledger| ledger.events.len() > 3).unwrap();
    let number = busy.seq.get();
    server.play(Script::new().on(When::method("getLedgers"), Misbehaviour::OmitLedgers(range(5, 7))));
    let page = result(&server, "getLedgers", &json!({ "startLedger": 3, "pagination": { "limit": 7 } }));
    assert_eq!((sequences(&page), &page["cursor"]), (vec![3, 4, 8, 9], &json!("9")));
    server.play(
        Script::new()
            .on(When::always(), Misbehaviour::omit_event(busy.events[1].position))
            .on(When::always(), Misbehaviour::alter_event(busy.events[2].position)),
    );
    let page = result(&server, "getEvents", &json!({ "startLedger": number, "endLedger": number + 1 }));
    let events = page["events"].as_array().unwrap();
    assert_eq!(events.len(), busy.events.len() - 1);
    assert_eq!(events[1]["id"], busy.events[2].position.to_string());
    assert_eq!(events[1]["value"], "AAAAAQ==");
}

#[test]
fn an_edited_ledger_is_edited_in_every_answer() {
    let (network, server) = served(1, 40);
    let number = network.kept().find(|ledger| ledger.events.len() > 3).unwrap().seq;
    server.play(Script::new().on(
        When::always(),
        Misbehaviour::edit_ledger(number, |xdr| *xdr = edit_header(xdr, |header| header.total_coins += 1)),
    ));
    let page = result(&server, "getLedgers", &json!({ "startLedger": number.get(), "pagination": { "limit": 1 } }));
    let info = &page["ledgers"][0];
    let metadata = STANDARD.decode(info["metadataXdr"].as_str().unwrap()).unwrap();
    let checked = check_ledger(&metadata, network.network()).unwrap();
    assert_eq!(info["hash"], checked.hash.to_string());
    assert!(network.kept().all(|ledger| ledger.hash != checked.hash));
    server.play(Script::new().on(When::always(), Misbehaviour::edit_ledger(number, |xdr| xdr.truncate(500))));
    let page = result(&server, "getLedgers", &json!({ "startLedger": number.get(), "pagination": { "limit": 1 } }));
    assert_eq!(STANDARD.decode(page["ledgers"][0]["metadataXdr"].as_str().unwrap()).unwrap().len(), 500);
    assert_eq!(error(&server, "getEvents", &json!({ "startLedger": number.get() })).0, -32600);
}

#[test]
fn cursors_repeat_and_go_in_circles() {
    let (_network, server) = served(1, 40);
    server.play(Script::new().on(When::method("getLedgers").call(2), Misbehaviour::cursor("3")));
    let page =
        |cursor: &Value| result(&server, "getLedgers", &json!({ "pagination": { "cursor": cursor, "limit": 4 } }));
    let first = page(&json!("3"));
    let second = page(&first["cursor"]);
    assert_eq!((&first["cursor"], &second["cursor"]), (&json!("7"), &json!("3")));
    assert_eq!(sequences(&second), [8, 9, 10, 11]);
}

#[test]
fn another_chain_answers_under_the_same_passphrase() {
    let (network, server) = served(1, 40);
    let mut other = SimNetwork::with(NetworkOptions { heavy_ledgers: Vec::new(), ..NetworkOptions::of_seed(2) });
    other.close_many(10);
    let hash = || result(&server, "getLedgers", &json!({ "startLedger": 5 }))["ledgers"][0]["hash"].clone();
    let of = |network: &SimNetwork| json!(network.kept().nth(3).unwrap().hash.to_string());
    server.play(Script::new().on(When::always().call(2), Misbehaviour::OtherChain(other.ledgers())));
    assert_eq!([hash(), hash(), hash()], [of(&network), of(&other), of(&network)]);
    server.switch_to(other.ledgers());
    assert_eq!(hash(), of(&other));
    assert_eq!(latest(&server), 11);
    assert_eq!(result(&server, "getNetwork", &json!({}))["passphrase"], network.network().passphrase());
    server.play(Script::new().on(When::always(), Misbehaviour::Passphrase("another network".to_owned())));
    assert_eq!(result(&server, "getNetwork", &json!({}))["passphrase"], "another network");
}
