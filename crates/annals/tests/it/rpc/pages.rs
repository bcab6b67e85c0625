//! Pages: their size, and what is wrong with them.

use std::time::Duration;

use annals_sim::{Misbehaviour, When, edit_header};
use serde_json::{Value, json};

use super::bench::{Client, fill, network, node, on, requests_of};
use crate::fill::bench::{range, seq, told};

fn get_ledgers() -> When {
    When::method("getLedgers")
}

fn all(from: u32, to: u32) -> (Vec<u32>, Vec<String>) {
    ((from..=to).collect(), Vec::new())
}

#[test]
fn every_ledger_of_a_range_comes_once_in_order_and_pages_grow() {
    let network = network(1, 300);
    let node = node(&network);
    let client = Client::of(&[&node]);
    assert_eq!(client.read(103, 397), all(103, 397));
    let limits: Vec<u64> = requests_of(&node, "getLedgers")
        .iter()
        .map(|page| page.params["pagination"]["limit"].as_u64().unwrap())
        .collect();
    assert_eq!(limits[..6], [4, 8, 16, 32, 64, 128]);
    assert_eq!(limits.iter().sum::<u64>(), 295, "no more is asked for than is wanted");
    assert!(client.clock.slept().is_empty());
}

#[test]
fn what_comes_over_rpc_is_the_chain_and_all_of_it_verifies() {
    let network = network(2, 60);
    let node = node(&network);
    let (bench, summary) = fill(&network, &Client::of(&[&node]), 100, 159);
    assert_eq!((summary.fetched, summary.verified_through, told(&summary)), (60, Some(159), Vec::new()));
    let rows = annals::store::Store::ledgers(&bench.store, seq(100), 60).unwrap();
    assert!(rows.iter().zip(network.kept()).all(|(row, built)| row.hash == built.hash));
    assert_eq!(summary.events, network.records().map(|record| record.events as u64).sum::<u64>());
}

#[test]
fn a1_a_page_over_the_nodes_time_limit_is_asked_for_smaller_and_nothing_counts_as_read() {
    let network = network(3, 80);
    let node = node(&network);
    let too_many = |limit: u64| {
        Misbehaviour::edit_result(move |result| {
            if result["ledgers"].as_array().map_or(0, Vec::len) as u64 > limit {
                *result = Value::Null;
            }
        })
    };
    node.play(on(get_ledgers(), too_many(5)));
    let client = Client::of(&[&node]);
    assert_eq!(client.read(100, 179), all(100, 179));
    node.play(on(get_ledgers().calls(1..=3), Misbehaviour::over_limit()));
    let client = Client::of(&[&node]);
    let before = requests_of(&node, "getLedgers").len();
    assert_eq!(client.read(100, 179), all(100, 179));
    let limits: Vec<Value> = requests_of(&node, "getLedgers")[before..]
        .iter()
        .map(|page| page.params["pagination"]["limit"].clone())
        .collect();
    assert_eq!(limits[..4], [json!(4), json!(2), json!(1), json!(1)]);
}

#[test]
fn a6_a_cursor_that_repeats_or_goes_back_leads_nowhere() {
    let network = network(4, 40);
    let node = node(&network);
    for cursor in ["100", "1", "103", "", "99999999999999999999", "0000000433791696895-4294967295"] {
        node.play(on(get_ledgers(), Misbehaviour::cursor(cursor)));
        assert_eq!(Client::of(&[&node]).read(100, 139), all(100, 139), "{cursor}");
    }
    for page in requests_of(&node, "getLedgers") {
        assert!(page.params["startLedger"].is_u64() && page.params["pagination"].get("cursor").is_none());
    }
}

#[test]
fn h1_only_a_page_counts_and_whatever_else_comes_in_its_place_is_asked_for_again() {
    let network = network(5, 12);
    let node = node(&network);
    for what in [
        Misbehaviour::null_result(),
        Misbehaviour::empty_result(),
        Misbehaviour::over_limit(),
        Misbehaviour::error(-32603, "internal error"),
        Misbehaviour::error(-32003, "internal error"),
        Misbehaviour::html(),
        Misbehaviour::Truncated { bytes: 3_000 },
        Misbehaviour::Truncated { bytes: 0 },
        Misbehaviour::Reset,
        Misbehaviour::OtherId,
        Misbehaviour::unavailable(None),
        Misbehaviour::too_many_requests(Some(1)),
        Misbehaviour::plain(502, None, "Bad Gateway"),
        Misbehaviour::edit_result(|result| result["ledgers"] = json!([])),
        Misbehaviour::edit_result(|result| result["ledgers"] = Value::Null),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["metadataXdr"] = Value::Null),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["metadataXdr"] = json!("no base64!")),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["sequence"] = json!(99)),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["sequence"] = json!(-1)),
        Misbehaviour::edit_result(|result| _ = result["ledgers"].as_array_mut().unwrap().remove(0)),
    ] {
        node.play(on(get_ledgers().call(1), what.clone()));
        let client = Client::of(&[&node]);
        assert_eq!(client.read(100, 111), all(100, 111), "{what:?}");
        assert_eq!(client.clock.slept().len(), 1, "{what:?}: it waits before it asks again");
    }
}

#[test]
fn h1_an_answer_that_hangs_is_given_up_and_asked_for_again() {
    let network = network(5, 12);
    let node = node(&network);
    node.play(on(get_ledgers().call(2), Misbehaviour::Hang));
    assert_eq!(Client::of(&[&node]).read(100, 111), all(100, 111));
}

#[test]
fn e1_numbers_may_be_texts_keys_may_be_more_and_what_is_not_needed_may_be_missing() {
    let network = network(6, 12);
    let node = node(&network);
    let odd = Misbehaviour::edit_result(|result| {
        for ledger in result["ledgers"].as_array_mut().unwrap() {
            ledger["sequence"] = json!(ledger["sequence"].to_string());
            let fields = ledger.as_object_mut().unwrap();
            fields.remove("hash");
            fields.remove("headerXdr");
            fields.remove("ledgerCloseTime");
            fields.insert("later".to_owned(), json!({"more": []}));
        }
        result["latestLedger"] = json!(result["latestLedger"].to_string());
        let fields = result.as_object_mut().unwrap();
        ["cursor", "oldestLedger", "latestLedgerCloseTime"].iter().for_each(|key| _ = fields.remove(*key));
    });
    node.play(on(get_ledgers(), odd));
    assert_eq!(Client::of(&[&node]).read(100, 111), all(100, 111));
}

#[test]
fn a_hole_in_the_pages_is_a_listed_gap_and_the_rest_comes() {
    let network = network(7, 60);
    let node = node(&network);
    node.play(on(get_ledgers(), Misbehaviour::OmitLedgers(range(120, 124))));
    let client = Client::of(&[&node]);
    let (ledgers, faults) = client.read(100, 159);
    assert_eq!(ledgers, (100..=119).chain(125..=159).collect::<Vec<_>>());
    assert_eq!(faults, ["120-124 NOT_IN_SOURCE"]);
    let (_bench, summary) = fill(&network, &Client::of(&[&node]), 100, 159);
    assert_eq!((summary.fetched, told(&summary)), (55, vec!["120-124 NOT_IN_SOURCE".to_owned()]));
    assert!(!summary.contradicts_chain());
}

#[test]
fn a_ledger_that_no_node_can_give_is_lost_alone_after_bounded_tries() {
    let network = network(8, 30);
    let node = node(&network);
    node.play(on(
        get_ledgers(),
        Misbehaviour::edit_result(|result| {
            for ledger in result["ledgers"].as_array_mut().unwrap() {
                if ledger["sequence"] == 110 {
                    ledger["metadataXdr"] = json!("?");
                }
            }
        }),
    ));
    let client = Client::of(&[&node]);
    let (ledgers, faults) = client.read(100, 129);
    assert_eq!(ledgers, (100..=109).chain(111..=129).collect::<Vec<_>>());
    assert_eq!(faults, ["110 NOT_SERVED"]);
    assert!(
        client.clock.slept().len() <= 8 && client.clock.slept().iter().sum::<Duration>() < Duration::from_secs(120)
    );
    assert!(client.first_fault(110, 110).to_string().starts_with("rpc:http://127.0.0.1:"));
}

#[test]
fn an_altered_ledger_is_a_bad_object_and_one_in_the_place_of_another_too() {
    let network = network(9, 30);
    let node = node(&network);
    let edit = |xdr: &mut Vec<u8>| *xdr = edit_header(xdr, |header| header.base_fee += 1);
    node.play(on(get_ledgers(), Misbehaviour::edit_ledger(seq(110), edit)));
    let (_bench, summary) = fill(&network, &Client::of(&[&node]), 100, 129);
    assert_eq!((summary.fetched, told(&summary)), (29, vec!["110 DOES_NOT_LINK".to_owned()]));
    assert!(summary.contradicts_chain());
    node.play(on(
        get_ledgers(),
        Misbehaviour::edit_result(|result| {
            let ledgers = result["ledgers"].as_array_mut().unwrap();
            let other = ledgers[0]["metadataXdr"].clone();
            ledgers
                .iter_mut()
                .filter(|ledger| ledger["sequence"] == 111)
                .for_each(|ledger| ledger["metadataXdr"] = other.clone());
        }),
    ));
    let (_bench, summary) = fill(&network, &Client::of(&[&node]), 100, 129);
    assert_eq!((summary.fetched, told(&summary)), (29, vec!["111 MISNAMED_OBJECT".to_owned()]));
}
