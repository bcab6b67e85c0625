use annals_sim::HeldLedgers;
use annals_sim::{Format, RpcOptions, RpcServer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stellar_xdr::{Limits, ReadXdr, TransactionEnvelope};

use super::super::{chain, network, seq};
use super::client::{error, result};
use super::served;

fn rows(page: &Value) -> Vec<Value> {
    page["transactions"].as_array().unwrap().clone()
}

#[test]
fn pages_of_transactions_of_any_length_make_the_chain_in_apply_order() {
    let (network, server) = served(3, 60);
    let right: Vec<_> = network
        .kept()
        .flat_map(|ledger| {
            let view = annals_core::decode::decode(&ledger.xdr).unwrap();
            let hashes = view.transactions.iter().map(|tx| tx.result.tx_hash.to_string()).collect::<Vec<_>>();
            (1..).zip(hashes).map(|(order, hash)| (ledger.seq.get(), order, hash)).collect::<Vec<(u32, u32, String)>>()
        })
        .collect();
    assert!(right.len() > 150, "{} transactions", right.len());
    for limit in [1, 7, 50, 200] {
        let mut read = Vec::new();
        let mut params = json!({ "startLedger": 2, "pagination": { "limit": limit } });
        loop {
            let page = result(&server, "getTransactions", &params);
            let page_rows = rows(&page);
            read.extend(page_rows.iter().map(|tx| {
                let number = |name: &str| u32::try_from(tx[name].as_u64().unwrap()).unwrap();
                (number("ledger"), number("applicationOrder"), tx["txHash"].as_str().unwrap().to_owned())
            }));
            if page_rows.len() < limit {
                break;
            }
            params = json!({ "pagination": { "cursor": page["cursor"], "limit": limit } });
        }
        assert_eq!(read, right, "pages of {limit}");
    }
}

#[test]
fn a_transaction_is_the_same_in_both_methods_but_for_the_type_of_its_time() {
    let (_network, server) = served(3, 60);
    for mut listed in rows(&result(&server, "getTransactions", &json!({ "startLedger": 2 }))) {
        let mut single = result(&server, "getTransaction", &json!({ "hash": listed["txHash"] }));
        let time = listed["createdAt"].take().as_u64().unwrap();
        assert_eq!(single["createdAt"].take(), time.to_string());
        for (name, value) in listed.as_object().unwrap() {
            assert_eq!(&single[name], value, "{name}");
        }
        let envelope = STANDARD.decode(listed["envelopeXdr"].as_str().unwrap()).unwrap();
        let envelope = TransactionEnvelope::from_xdr(envelope, Limits::none()).unwrap();
        let hash = envelope.hash(super::super::Network::new("Annals Simulated Network").id().0).unwrap();
        assert_eq!(listed["txHash"], hex::encode(hash));
        assert_eq!(listed["feeBump"], matches!(envelope, TransactionEnvelope::TxFeeBump(_)));
    }
}

#[test]
fn an_unknown_transaction_is_not_found_and_a_hash_that_is_none_is_refused() {
    let (_network, server) = served(3, 10);
    let hash = "00".repeat(32);
    let answer = result(&server, "getTransaction", &json!({ "hash": hash }));
    assert_eq!(
        (&answer["status"], &answer["txHash"], &answer["createdAt"]),
        (&json!("NOT_FOUND"), &json!(hash), &json!("0"))
    );
    assert!(answer.get("envelopeXdr").is_none());
    assert_eq!(
        error(&server, "getTransaction", &json!({ "hash": "00" })),
        (-32602, "unexpected hash length (2)".to_owned())
    );
    assert_eq!(error(&server, "getTransaction", &json!({ "hash": "zz".repeat(32) })).0, -32602);
}

#[test]
fn ranges_and_cursors_of_transactions_are_those_of_the_node() {
    let (_network, server) = served(3, 20);
    let text = "start ledger must be between the oldest ledger: 2 and the latest ledger: 21 for this rpc instance";
    for start in [0, 1, 22] {
        assert_eq!(error(&server, "getTransactions", &json!({ "startLedger": start })), (-32600, text.to_owned()));
    }
    let both = json!({ "startLedger": 2, "pagination": { "cursor": "1" } });
    assert_eq!(error(&server, "getTransactions", &both).0, -32600);
    assert_eq!(
        error(&server, "getTransactions", &json!({ "startLedger": 2, "pagination": { "limit": 201 } })).0,
        -32600
    );
    let trimmed = json!({ "pagination": { "cursor": ((1_u64 << 32) + 1).to_string() } });
    let text = "database does not contain metadata for ledger: 1";
    assert_eq!(error(&server, "getTransactions", &trimmed), (-32602, text.to_owned()));
    // Behind the last transaction the cursor goes back, and beyond the latest ledger it is lost.
    let last = (21_u64 << 32) + (4095 << 12) + 1;
    let page = result(&server, "getTransactions", &json!({ "pagination": { "cursor": last.to_string() } }));
    assert_eq!((&page["transactions"], &page["cursor"]), (&json!([]), &json!(((21_u64 << 32) + 1).to_string())));
    let beyond = ((22_u64 << 32) + 1).to_string();
    let page = result(&server, "getTransactions", &json!({ "pagination": { "cursor": beyond } }));
    assert_eq!((&page["transactions"], &page["cursor"]), (&json!([]), &json!("0")));
}

#[test]
fn ledgers_of_every_form_have_transactions_and_events() {
    for (format, protocol) in
        [(Format::V0Meta2, 19), (Format::V1Meta3, 22), (Format::V1Meta4, 22), (Format::V2Meta4, 23)]
    {
        let ledgers = chain(format, protocol, 5, 20);
        let held = HeldLedgers::of(&network(), ledgers.iter().map(|ledger| ledger.xdr.clone())).unwrap();
        let server = RpcServer::start(held, RpcOptions::default()).unwrap();
        let page = result(&server, "getTransactions", &json!({ "startLedger": 100 }));
        assert!(rows(&page).len() > 10, "{format:?}");
        let params = json!({ "startLedger": 100, "pagination": { "limit": 10_000 } });
        let events = result(&server, "getEvents", &params);
        let ids: Vec<_> = events["events"].as_array().unwrap().iter().map(|event| event["id"].clone()).collect();
        let right: Vec<_> = ledgers.iter().flat_map(|ledger| &ledger.events).collect();
        let right: Vec<_> = right.iter().map(|event| json!(event.position.to_string())).collect();
        assert_eq!(ids, right, "{format:?}");
        assert_eq!(seq(119).get(), page["latestLedger"].as_u64().unwrap() as u32);
    }
}
