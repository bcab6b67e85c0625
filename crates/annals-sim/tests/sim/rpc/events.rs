use annals_core::registry::Payload;
use annals_core::wire::ExportedEvent;
use annals_core::{Event, Position};
use annals_sim::{BuiltLedger, NetworkOptions, RpcOptions, RpcServer, SimNetwork, value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use stellar_xdr::{Limits, ScVal, WriteXdr};

use super::client::{error, result};
use super::{seq, served, served_with};

/// The event as the node gives it.
fn expected(event: &Event, closed: &BuiltLedger) -> Value {
    let exported = ExportedEvent::new(event, &Payload::NotApplicable).unwrap();
    let mut expected = json!({
        "type": exported.kind,
        "ledger": exported.ledger_seq,
        "ledgerClosedAt": annals_core::wire::rfc3339(closed.close_time_ms / 1000 * 1000),
        "contractId": exported.contract_id.unwrap_or_default(),
        "id": exported.id,
        "operationIndex": exported.operation_index,
        "transactionIndex": exported.tx_application_order,
        "txHash": exported.tx_hash,
        "inSuccessfulContractCall": exported.successful,
        "value": exported.data_xdr,
    });
    if !exported.topics_xdr.is_empty() {
        expected["topic"] = json!(exported.topics_xdr);
    }
    expected
}

fn truth(network: &SimNetwork) -> Vec<Value> {
    network.kept().flat_map(|ledger| ledger.events.iter().map(|event| expected(event, ledger))).collect()
}

/// Every event from ledger `from` on, read page by page until a page says that it saw the latest ledger's end.
fn read_all(server: &RpcServer, from: u32, limit: u32) -> Vec<Value> {
    let mut params = json!({ "startLedger": from, "pagination": { "limit": limit } });
    let mut events = Vec::new();
    loop {
        let page = result(server, "getEvents", &params);
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        let cursor = Position::bound_from_text(page["cursor"].as_str().unwrap()).unwrap();
        let latest = u32::try_from(page["latestLedger"].as_u64().unwrap()).unwrap();
        if cursor == Position::last_of(seq(latest)) {
            return events;
        }
        params = json!({ "pagination": { "cursor": page["cursor"], "limit": limit } });
    }
}

#[test]
fn pages_of_events_of_any_length_make_the_truth() {
    let (network, server) = served_with(NetworkOptions { heavy_events: 1500, ..NetworkOptions::of_seed(2) }, 60);
    let truth = truth(&network);
    assert!(truth.len() > 1900, "{} events", truth.len());
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 12, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&(40_u32..=10_000, 2_u32..=61), |(limit, from)| {
            let right: Vec<_> = truth.iter().filter(|event| event["ledger"].as_u64().unwrap() >= from.into()).collect();
            assert!(read_all(&server, from, limit).iter().eq(right), "from {from}, pages of {limit}");
            Ok(())
        })
        .unwrap();
    assert!(read_all(&server, 40, 1).iter().eq(truth.iter().filter(|event| event["ledger"].as_u64() >= Some(40))));
}

#[test]
fn the_largest_transaction_takes_more_than_one_page() {
    let (network, server) = served_with(NetworkOptions::of_seed(2), 24);
    let page = result(&server, "getEvents", &json!({ "startLedger": 24, "pagination": { "limit": 10_000 } }));
    let events = page["events"].as_array().unwrap();
    assert_eq!(events.len(), 10_000);
    assert_eq!(page["cursor"], events[9_999]["id"], "the cursor is the last event's, in the middle of a transaction");
    assert!(read_all(&server, 2, 10_000) == truth(&network));
}

#[test]
fn a6_a_page_that_the_limit_does_not_end_has_the_windows_end_as_its_cursor() {
    let mut network = SimNetwork::with(NetworkOptions { heavy_ledgers: Vec::new(), ..NetworkOptions::of_seed(4) });
    network.close_many(60);
    let options = RpcOptions { events_scan_ledgers: 7, ..RpcOptions::default() };
    let server = RpcServer::start(network.ledgers(), options).unwrap();
    let nobody = value::contract(4_000_000).to_string();
    let filters = json!([{ "contractIds": [nobody] }]);
    let page = result(&server, "getEvents", &json!({ "startLedger": 2, "filters": filters }));
    assert_eq!((&page["events"], &page["cursor"]), (&json!([]), &json!(Position::last_of(seq(8)).to_string())));
    // A page behind it scans on, from the cursor's own ledger.
    let next = json!({ "filters": filters, "pagination": { "cursor": page["cursor"] } });
    let page = result(&server, "getEvents", &next);
    assert_eq!((&page["events"], &page["cursor"]), (&json!([]), &json!(Position::last_of(seq(14)).to_string())));
    let short = result(&server, "getEvents", &json!({ "startLedger": 10, "endLedger": 12, "filters": filters }));
    assert_eq!(short["cursor"], Position::last_of(seq(11)).to_string(), "the end is exclusive");
    let inverted = result(&server, "getEvents", &json!({ "startLedger": 10, "endLedger": 5 }));
    assert_eq!((&inverted["events"], &inverted["cursor"]), (&json!([]), &json!(Position::last_of(seq(4)).to_string())));
}

#[test]
fn exactly_the_limit_of_events_leaves_the_window_open() {
    let (network, server) = served(4, 40);
    let busy = network.kept().find(|ledger| ledger.events.len() > 3).unwrap();
    let (from, count) = (busy.seq.get(), busy.events.len());
    let page = |limit| {
        let params = json!({ "startLedger": from, "endLedger": from + 1, "pagination": { "limit": limit } });
        result(&server, "getEvents", &params)["cursor"].clone()
    };
    assert_eq!(page(count), busy.events[count - 1].position.to_string());
    assert_eq!(page(count + 1), Position::last_of(busy.seq).to_string());
}

#[test]
fn a_caught_up_poller_is_answered_until_it_asks_beyond_the_tip() {
    let (mut network, server) = served(4, 10);
    let range = "startLedger must be within the ledger range: 2 - 11".to_owned();
    assert_eq!(error(&server, "getEvents", &json!({ "startLedger": 12 })), (-32600, range.clone()));
    assert_eq!(error(&server, "getEvents", &json!({ "startLedger": 1 })), (-32600, range.clone()));
    let beyond = json!({ "pagination": { "cursor": Position::last_of(seq(12)).to_string() } });
    assert_eq!(error(&server, "getEvents", &beyond), (-32600, range));
    let caught_up = json!({ "pagination": { "cursor": Position::last_of(seq(11)).to_string() } });
    let page = result(&server, "getEvents", &caught_up);
    assert_eq!((&page["events"], &page["cursor"]), (&json!([]), &caught_up["pagination"]["cursor"]));
    let closed = network.close_next();
    let page = result(&server, "getEvents", &caught_up);
    assert_eq!(page["events"].as_array().unwrap().len(), closed.events.len());
}

#[test]
fn parameters_that_are_wrong_are_named_in_the_nodes_words() {
    let (_network, server) = served(4, 10);
    let symbol = topic("transfer");
    let five = [symbol.as_str(), "*", "*", "*", "*"];
    let filter = |filter: Value| json!({ "startLedger": 5, "filters": [filter] });
    let cursor = Position::first_of(seq(5)).to_string();
    for (params, text) in [
        (json!({}), "startLedger must be positive"),
        (json!({ "startLedger": 0 }), "startLedger must be positive"),
        (
            json!({ "startLedger": 5, "pagination": { "cursor": cursor } }),
            "ledger ranges and cursor cannot both be set",
        ),
        (json!({ "endLedger": 5, "pagination": { "cursor": cursor } }), "ledger ranges and cursor cannot both be set"),
        (json!({ "startLedger": 5, "pagination": { "limit": 10_001 } }), "limit must not exceed 10000"),
        (json!({ "startLedger": 5, "filters": [{}, {}, {}, {}, {}, {}] }), "maximum 5 filters per request"),
        (
            filter(json!({ "type": "contract,diagnostic" })),
            "filter 1 invalid: filter type invalid: if set, type must be either 'system' or 'contract'",
        ),
        (filter(json!({ "contractIds": ["C"] })), "filter 1 invalid: contract ID 1 invalid"),
        (
            filter(json!({ "contractIds": ["C", "C", "C", "C", "C", "C"] })),
            "filter 1 invalid: maximum 5 contract IDs per filter",
        ),
        (
            filter(json!({ "topics": [["*"], ["*"], ["*"], ["*"], ["*"], ["*"]] })),
            "filter 1 invalid: maximum 5 topics per filter",
        ),
        (filter(json!({ "topics": [[]] })), "filter 1 invalid: topic 1 invalid: topic must have at least 1 segment"),
        (
            filter(json!({ "topics": [five] })),
            "filter 1 invalid: topic 1 invalid: topic cannot have more than 4 segments",
        ),
        (
            filter(json!({ "topics": [["*"], [symbol, "**", "*"]] })),
            "filter 1 invalid: topic 2 invalid: segment 2 invalid: wildcard '**' is only allowed as the last segment",
        ),
    ] {
        assert_eq!(error(&server, "getEvents", &params), (-32602, text.to_owned()), "{params}");
    }
    for params in [json!([5]), json!({ "startLedger": "5" }), filter(json!({ "topics": [["transfer"]] }))] {
        assert_eq!(error(&server, "getEvents", &params).0, -32602, "{params}");
    }
    let four_and_more = filter(json!({ "topics": [[symbol, "*", "*", "*", "**"]] }));
    assert!(result(&server, "getEvents", &four_and_more)["events"].is_array());
}

#[test]
fn d1_filters_take_events_by_topic_count_unless_they_end_open() {
    use annals_sim::{ChainBuilder, EventPlan, Format, LedgerPlan, TxPlan};
    let contract = value::contract(1);
    let word = value::symbol;
    let topics =
        [vec![word("transfer")], vec![word("transfer"), word("a")], vec![word("transfer"), word("a"), word("b")]]
            .into_iter()
            .chain([vec![word("mint"), word("a")], vec![]]);
    let events = topics.map(|topics| EventPlan::new(contract, topics, ScVal::Void)).collect();
    let mut chain = ChainBuilder::new(&super::super::network(), seq(2), 1, Format::V2Meta4);
    let plan = TxPlan { charge: 0, refund: 0, ..TxPlan::invocation(contract, events) };
    let built = chain.push(&LedgerPlan::new(vec![plan]));
    let held = annals_sim::HeldLedgers::of(&super::super::network(), [built.xdr]).unwrap();
    let server = RpcServer::start(held, RpcOptions::default()).unwrap();
    let count = |filters: Value| {
        let page = result(&server, "getEvents", &json!({ "startLedger": 2, "filters": filters }));
        page["events"].as_array().unwrap().len()
    };
    let transfer = topic("transfer");
    let matching = |segments: Value| count(json!([{ "topics": [segments] }]));
    assert_eq!(matching(json!([transfer])), 1);
    assert_eq!(matching(json!([transfer, "*"])), 1);
    assert_eq!(matching(json!([transfer, "**"])), 3);
    assert_eq!(matching(json!(["**"])), 5);
    assert_eq!(matching(json!(["*", "**"])), 4);
    let id = contract.to_string();
    assert_eq!(count(json!([{ "contractIds": [id], "topics": [["*"]] }, { "topics": [["*", "*", "*"]] }])), 2);
    assert_eq!(count(json!([{ "type": "system" }])), 0);
    assert_eq!(count(json!([{ "type": "contract,system" }])), 5);
    assert_eq!(count(json!([{ "type": "", "contractIds": [], "topics": [] }])), 5);
}

fn topic(symbol: &str) -> String {
    STANDARD.encode(value::symbol(symbol).to_xdr(Limits::none()).unwrap())
}
