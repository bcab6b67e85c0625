use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stellar_xdr::{LedgerHeader, LedgerHeaderHistoryEntry, Limits, ReadXdr};

use super::client::{error, result};
use super::served;

fn metadata(page: &Value) -> Vec<Vec<u8>> {
    let ledgers = page["ledgers"].as_array().unwrap();
    ledgers.iter().map(|ledger| STANDARD.decode(ledger["metadataXdr"].as_str().unwrap()).unwrap()).collect()
}

#[test]
fn pages_of_ledgers_of_any_length_make_the_chain() {
    let (network, server) = served(1, 60);
    let right: Vec<_> = network.kept().map(|ledger| ledger.xdr.clone()).collect();
    for limit in [1, 2, 7, 59, 60, 61, 200] {
        let mut page = result(&server, "getLedgers", &json!({ "startLedger": 2, "pagination": { "limit": limit } }));
        let mut read = metadata(&page);
        while page["cursor"] != "61" {
            let pagination = json!({ "cursor": page["cursor"], "limit": limit });
            page = result(&server, "getLedgers", &json!({ "pagination": pagination }));
            read.extend(metadata(&page));
        }
        assert!(read == right, "pages of {limit}");
    }
    let page = result(&server, "getLedgers", &json!({ "startLedger": 2 }));
    assert_eq!(metadata(&page).len(), 50, "unless asked otherwise");
}

#[test]
fn a_ledger_says_of_itself_what_its_header_says() {
    let (network, server) = served(1, 45);
    let page = result(&server, "getLedgers", &json!({ "startLedger": 44, "pagination": { "limit": 3 } }));
    let built: Vec<_> = network.kept().skip(42).collect();
    for (ledger, built) in page["ledgers"].as_array().unwrap().iter().zip(&built) {
        assert_eq!(ledger["sequence"], built.seq.get());
        assert_eq!(ledger["hash"], built.hash.to_string());
        assert_eq!(ledger["ledgerCloseTime"], (built.close_time_ms / 1000).to_string());
        let entry = STANDARD.decode(ledger["headerXdr"].as_str().unwrap()).unwrap();
        assert_eq!(LedgerHeaderHistoryEntry::from_xdr(entry, Limits::none()).unwrap().hash.0, built.hash.0);
    }
    let latest = result(&server, "getLatestLedger", &json!({}));
    let bare = STANDARD.decode(latest["headerXdr"].as_str().unwrap()).unwrap();
    assert_eq!(annals_core::hash::sha256(&[&bare]), built[2].hash.0);
    assert_eq!(LedgerHeader::from_xdr(bare, Limits::none()).unwrap().ledger_seq, 46);
    assert_eq!((&latest["sequence"], &latest["protocolVersion"]), (&json!(46), &json!(30)));
    assert_eq!(latest["id"], built[2].hash.to_string());
}

#[test]
fn ledgers_outside_the_range_are_refused_in_the_nodes_words() {
    let (_network, server) = served(1, 60);
    let range = "must be between the oldest ledger: 2 and the latest ledger: 61 for this rpc instance";
    for (params, code, text) in [
        (json!({ "startLedger": 1 }), -32600, format!("start ledger (1) {range}")),
        (json!({ "startLedger": 62 }), -32600, format!("start ledger (62) {range}")),
        (json!({}), -32600, format!("start ledger (0) {range}")),
        (Value::Null, -32600, format!("start ledger (0) {range}")),
        (json!({ "pagination": { "cursor": "61" } }), -32602, format!("cursor ('61') {range}")),
        (json!({ "pagination": { "cursor": "0" } }), -32602, format!("cursor ('0') {range}")),
        (
            json!({ "startLedger": 5, "pagination": { "cursor": "7" } }),
            -32600,
            "startLedger (5) and cursor (7) cannot both be set".to_owned(),
        ),
        (json!({ "startLedger": 5, "pagination": { "limit": 201 } }), -32600, "limit must not exceed 200".to_owned()),
        (
            json!({ "startLedger": 5, "xdrFormat": "yaml" }),
            -32600,
            "got 'yaml': expected base64, json for optional 'xdrFormat'".to_owned(),
        ),
    ] {
        assert_eq!(error(&server, "getLedgers", &params), (code, text), "{params}");
    }
    for params in [json!([5]), json!({ "startLedger": "5" }), json!({ "startLedger": -1 })] {
        assert_eq!(error(&server, "getLedgers", &params).0, -32602, "{params}");
    }
    assert_eq!(error(&server, "getLedgers", &json!({ "pagination": { "cursor": "x" } })).0, -32602);
    assert_eq!(error(&server, "sendTransaction", &json!({})), (-32601, "no such method \"sendTransaction\"".into()));
}

#[test]
fn a_page_at_the_tip_ends_there_and_goes_on_when_a_ledger_closes() {
    let (mut network, server) = served(1, 10);
    let page = result(&server, "getLedgers", &json!({ "startLedger": 11, "pagination": { "limit": 5 } }));
    assert_eq!((metadata(&page).len(), &page["cursor"], &page["latestLedger"]), (1, &json!("11"), &json!(11)));
    let next = json!({ "pagination": { "cursor": page["cursor"], "limit": 5 } });
    assert_eq!(error(&server, "getLedgers", &next).0, -32602);
    let closed = network.close_next();
    assert_eq!(metadata(&result(&server, "getLedgers", &next)), std::slice::from_ref(&closed.xdr));
}
