//! The main job on real ledgers: a lake in, provable history out.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::binary::{Ran, annals, export, report};
use crate::shared;

fn backfill(source: [&str; 2], network: [&str; 2], range: &str, data_dir: &Path) -> Ran {
    let mut command = annals(["backfill", "--json", "--from", range]);
    command.args(network).args(source).arg("--data-dir").arg(data_dir);
    Ran::of(&mut command)
}

fn expected(path: &Path) -> Vec<Value> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes(base64: &Value) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

/// sha256 of the `ContractEvent` that an exported line's parts make up, put together by hand.
fn event_sha256(row: &Value, form: &Value) -> String {
    let mut xdr = vec![0; 4];
    match row["contract_id"].as_str() {
        None => xdr.extend([0; 4]),
        Some(text) => {
            let contract: annals_core::ContractId = text.parse().unwrap();
            xdr.extend([0, 0, 0, 1]);
            xdr.extend(contract.0);
        }
    }
    xdr.extend(if row["kind"] == "system" { [0, 0, 0, 0] } else { [0, 0, 0, 1] });
    xdr.extend([0; 4]);
    let topics = form["topics_xdr"].as_array().unwrap();
    xdr.extend(u32::try_from(topics.len()).unwrap().to_be_bytes());
    topics.iter().for_each(|topic| xdr.extend(bytes(topic)));
    xdr.extend(bytes(&form["data_xdr"]));
    hex::encode(Sha256::digest(xdr))
}

/// An exported row in the independent decoder's words (`ledgers/README.md`).
fn mapped(row: &Value) -> Value {
    let rewritten = !row["rewritten"].is_null();
    let form = if rewritten { &row["rewritten"] } else { row };
    json!({
        "id": row["id"], "ledger": row["ledger_seq"], "txHash": row["tx_hash"], "tx": row["tx_order"],
        "op": if row["stage"] == "op" { row["operation_index"].clone() } else { Value::Null },
        "stage": row["stage"], "type": row["kind"], "contractId": row["contract_id"],
        "topics": form["topics_xdr"], "value": form["data_xdr"], "eventXdrSha256": event_sha256(row, form),
        "commitment": if rewritten { json!("rewritten,original-in-diagnostics") } else { row["proof"].clone() },
        "txSuccessful": row["successful"],
    })
}

fn assert_export_equals(data_dir: &Path, path: &Path) -> Vec<Value> {
    let exported = export(data_dir).ends_with(0);
    let rows: Vec<Value> = exported.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = expected(path);
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(&mapped(row), expected);
    }
    rows
}

#[test]
fn ten_pubnet_ledgers_are_archived_and_exported_as_the_independent_decoder_has_them() {
    let Some(ledgers) = shared::ledgers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let lake = ledgers.join("pubnet-p26-lake");
    let mut command = annals(["backfill", "--network", "pubnet", "--from", "63092982", "--to", "63092991", "--json"]);
    let ran = Ran::of(command.arg("--lake").arg(&lake).arg("--data-dir").arg(&data_dir)).ends_with(0);
    let summary = json!({
        "ledgers": 10, "fetched": 10, "events": 6591, "committed": 99, "uncommitted": 6492, "rewritten": 0,
        "unverified": 0, "verified_through": 63_092_991, "ingested_through": 63_092_991, "gaps": [],
        "unverified_ranges": [], "unattributed": [], "envelopes_fetched": 0, "envelopes_lacking": 0,
        "anchor": "source",
    });
    assert_eq!(ran.json(), summary);
    let rows = assert_export_equals(&data_dir, &ledgers.join("expected/pubnet-p26-lake.events.jsonl.gz"));
    assert_eq!(rows[0]["closed_at"].as_str().map(|text| text.ends_with('Z')), Some(true));
    assert_eq!(report(&["verify"], &data_dir).ends_with(0).json()["faults"], json!([]));
    // Asking again fetches nothing and answers the same.
    let again = Ran::of(&mut command).ends_with(0).json();
    assert_eq!((again["fetched"].clone(), again["events"].clone()), (json!(0), json!(6591)));
}

#[test]
fn rewritten_events_are_archived_as_their_hashed_originals() {
    let Some(ledgers) = shared::ledgers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let lake = ledgers.join("pubnet-p22-rewritten-lake");
    let source = ["--lake", lake.to_str().unwrap()];
    let ran = backfill(source, ["--network", "pubnet"], "57500008:+1", folder.path()).ends_with(0);
    assert_eq!(ran.json()["rewritten"], 7);
    let rows = assert_export_equals(folder.path(), &ledgers.join("expected/pubnet-p22-rewritten-lake.events.jsonl.gz"));
    let rewritten: Vec<&Value> = rows.iter().filter(|row| row["proof"] == "rewritten").collect();
    assert_eq!(rewritten.len(), 7);
    for row in rewritten {
        assert_eq!(row["topics_xdr"].as_array().unwrap().len(), 4, "the original mint names its administrator");
    }
    report(&["verify"], folder.path()).ends_with(0);
}

#[test]
fn thirty_load_ledgers_verify_and_every_event_is_committed() {
    let Some(ledgers) = shared::ledgers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = ledgers.join("load/p25-30-ledgers.framed.xdr.zst");
    let network = ["--network-passphrase", "Standalone Network ; February 2017"];
    let source = ["--ledgers", file.to_str().unwrap()];
    let ran = backfill(source, network, "10048:10077", folder.path()).ends_with(0);
    assert_eq!(ran.json()["committed"], 37_200);
    assert_eq!(ran.json()["events"], 37_200);
    assert_eq!(ran.json()["verified_through"], 10_077);
    report(&["verify"], folder.path()).ends_with(0);
}

#[test]
fn a_merged_ledger_is_refused_for_its_results_and_stays_a_gap_with_the_absent_ones() {
    let Some(ledgers) = shared::ledgers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = ledgers.join("load/p23-merged-must-fail.framed.xdr.zst");
    let network = ["--network-passphrase", "load test network"];
    let source = ["--ledgers", file.to_str().unwrap()];
    let ran = backfill(source, network, "93:97", folder.path()).ends_with(3);
    let summary = ran.json();
    assert_eq!(summary["gaps"], json!([{"from": 95, "to": 97}]));
    assert_eq!((summary["fetched"].clone(), summary["verified_through"].clone()), (json!(2), json!(94)));
    let gaps = report(&["gaps"], folder.path()).stdout;
    assert!(gaps.contains("RESULTS_HASH_MISMATCH") && gaps.contains("NOT_IN_SOURCE"), "{gaps}");
}
