//! The simulated node beside answers of real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use annals_core::Network;
use annals_sim::{HeldLedgers, NetworkOptions, RpcOptions, RpcServer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::shared;
use super::client::result;
use super::served_with;

/// The types of a value's parts, by path; the items of a list count as one.
type Shape = BTreeMap<String, BTreeSet<&'static str>>;

fn note(shape: &mut Shape, path: &str, value: &Value) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    shape.entry(path.to_owned()).or_default().insert(kind);
    for item in value.as_array().into_iter().flatten() {
        note(shape, &format!("{path}[]"), item);
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        note(shape, &format!("{path}.{name}"), part);
    }
}

fn shape<'a>(values: impl IntoIterator<Item = &'a Value>) -> Shape {
    let mut shape = Shape::new();
    values.into_iter().for_each(|value| note(&mut shape, "", value));
    shape
}

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join("captures").join(name)).unwrap()).unwrap()
}

/// A node whose ledgers hold transactions of every kind.
fn node() -> (annals_sim::SimNetwork, RpcServer) {
    served_with(NetworkOptions { heavy_ledgers: Vec::new(), events_per_ledger: 30, ..NetworkOptions::of_seed(6) }, 60)
}

#[test]
fn pages_have_the_names_and_types_of_captured_ones() {
    let Some(folder) = shared::ledgers() else { return };
    let (_network, server) = node();
    let events = read(&folder, "openrpc-docs/Events.json");
    let local = read(&folder, "rs-stellar-rpc-client/events_response_p23.json");
    let captured = [&events["TwoNativeTransferEvents"]["value"], &events["AnyTwoEvents"]["value"], &local["result"]];
    let page = result(&server, "getEvents", &json!({ "startLedger": 2 }));
    assert_eq!(shape([&page]), shape(captured));
    let captured = read(&folder, "openrpc-docs/Ledgers.json");
    let page = result(&server, "getLedgers", &json!({ "startLedger": 2 }));
    assert_eq!(shape([&page]), shape([&captured["GetLedgersResult"]["value"]]));
    let captured = read(&folder, "openrpc-docs/Transactions.json");
    let page = result(&server, "getTransactions", &json!({ "startLedger": 2, "pagination": { "limit": 200 } }));
    assert_eq!(shape([&page]), shape([&captured["GetTransactionsResult"]["value"]]));
}

#[test]
fn a_transaction_has_the_names_and_types_of_captured_ones() {
    let Some(folder) = shared::ledgers() else { return };
    let (_network, server) = node();
    let docs = read(&folder, "openrpc-docs/Transactions.json");
    let local = read(&folder, "rs-stellar-rpc-client/transaction_response_failed_p23.json");
    let captured = ["SuccessTransactionResult", "FailedTransactionResult"].map(|name| &docs[name]["value"]);
    let page = result(&server, "getTransactions", &json!({ "startLedger": 2, "pagination": { "limit": 200 } }));
    let hashes = page["transactions"].as_array().unwrap().iter().map(|transaction| transaction["txHash"].clone());
    let answers: Vec<_> = hashes.map(|hash| result(&server, "getTransaction", &json!({ "hash": hash }))).collect();
    assert_eq!(shape(&answers), shape(captured.into_iter().chain([&local["result"]])));
    let unknown = result(&server, "getTransaction", &json!({ "hash": "00".repeat(32) }));
    let captured = shape([&docs["NotFoundTransactionResult"]["value"]]);
    let ours = shape([&unknown]);
    assert!(captured.iter().all(|(path, kinds)| ours.get(path) == Some(kinds)), "{ours:?}");
}

#[test]
fn two_real_ledgers_are_served_as_the_testnets_node_served_them() {
    let Some(folder) = shared::ledgers() else { return };
    let captured = read(&folder, "openrpc-docs/Ledgers.json");
    let captured = &captured["GetLedgersResult"]["value"];
    let ledgers = captured["ledgers"].as_array().unwrap();
    let bytes = ledgers.iter().map(|ledger| STANDARD.decode(ledger["metadataXdr"].as_str().unwrap()).unwrap());
    let held = HeldLedgers::of(&Network::preset("testnet").unwrap(), bytes).unwrap();
    let server = RpcServer::start(held, RpcOptions::default()).unwrap();
    let page = result(&server, "getLedgers", &json!({ "startLedger": 36233, "pagination": { "limit": 2 } }));
    assert_eq!((&page["ledgers"], &page["cursor"]), (&captured["ledgers"], &captured["cursor"]));
}

/// The ledgers of a lake of one ledger an object.
fn lake(folder: &Path) -> Vec<Vec<u8>> {
    let objects = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let partition = objects(folder.to_owned()).find(|path| path.is_dir()).unwrap();
    let batch = |path| zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    objects(partition).map(|path| batch(path).split_off(12)).collect()
}

/// The fields of an event that another decoder gives too.
const FIELDS: [(&str, &str); 6] = [
    ("id", "id"),
    ("ledger", "ledger"),
    ("txHash", "txHash"),
    ("type", "type"),
    ("value", "value"),
    ("inSuccessfulContractCall", "txSuccessful"),
];

#[test]
fn real_ledgers_have_the_events_that_another_decoder_finds() {
    let Some(folder) = shared::ledgers() else { return };
    for (name, first) in [("pubnet-p26-lake", 63_092_982), ("pubnet-p22-rewritten-lake", 57_500_008)] {
        let held = HeldLedgers::of(&Network::preset("pubnet").unwrap(), lake(&folder.join(name))).unwrap();
        let server = RpcServer::start(held, RpcOptions::default()).unwrap();
        let page = result(&server, "getEvents", &json!({ "startLedger": first, "pagination": { "limit": 10_000 } }));
        let mut text = String::new();
        let file = fs::File::open(folder.join("expected").join(format!("{name}.events.jsonl.gz"))).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let events = page["events"].as_array().unwrap();
        assert_eq!(events.len(), text.lines().count(), "{name}");
        for (event, line) in events.iter().zip(text.lines()) {
            let right: Value = serde_json::from_str(line).unwrap();
            for (ours, others) in FIELDS {
                assert_eq!(event[ours], right[others], "{ours} of {}", right["id"]);
            }
            assert_eq!(event.get("topic").unwrap_or(&json!([])), &right["topics"], "{}", right["id"]);
            assert_eq!(event["contractId"].as_str(), Some(right["contractId"].as_str().unwrap_or("")));
        }
    }
}
