//! What an archive of events alone answers about payloads: the same as one of whole ledgers.

use std::path::Path;

use annals_core::LedgerSeq;
use annals_sim::{BuiltLedger, ChainBuilder, Format, HeldLedgers, RpcOptions, RpcServer, TokenTraffic, TokenVersion};
use serde_json::{Value, json};

use super::archive::PASSPHRASE;
use super::server::Served;
use super::token::{network, path};
use crate::binary::{Ran, annals, export, report};

/// Backfills from the node in one of its modes.
fn backfill(node: &RpcServer, mode: &str, range: &str, data_dir: &Path) -> Value {
    let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", range]);
    command.args(["--rpc", &node.url(), "--rpc-mode", mode]).arg("--data-dir").arg(data_dir);
    Ran::of(&mut command).ends_with(0).json()
}

/// An archive of the node's first ledger, a declaration, and all the rest.
fn archive(node: &RpcServer, mode: &str, token: &str, data_dir: &Path) -> Value {
    backfill(node, mode, "2:2", data_dir);
    let mut declare = annals(["contracts", "declare", token, "--schema", "confidential-token", "--kind", "wasm"]);
    Ran::of(declare.arg("--data-dir").arg(data_dir)).ends_with(0);
    Ran::of(annals(["reattribute"]).arg("--data-dir").arg(data_dir)).ends_with(0);
    backfill(node, mode, "2:31", data_dir)
}

/// An answer's events, or its one event, by what says of their payloads.
fn told(answer: &Value) -> Vec<Value> {
    let of = |event: &Value| json!([event["id"], event["roles"], event["payload_state"], event["payload_xdr"]]);
    match answer["events"].as_array() {
        Some(events) => events.iter().map(of).collect(),
        None => ["event", "checkpoint", "t0"].iter().map(|key| of(&answer[*key])).collect(),
    }
}

#[test]
fn export_pages_checkpoints_and_accounts_show_the_payloads_of_events_alone() {
    let mut traffic = TokenTraffic::deployed(5, &network(), TokenVersion::July).with_hidden_transfers();
    let mut chain = ChainBuilder::new(&network(), LedgerSeq::FIRST_EXPORTED, 7, Format::V2Meta4);
    let ledgers: Vec<BuiltLedger> = (2..=31).map(|_| chain.push(&traffic.next_ledger().plan)).collect();
    let raw = ledgers.iter().map(|ledger| ledger.xdr.clone());
    let node = RpcServer::start(HeldLedgers::of(&network(), raw).unwrap(), RpcOptions::default()).unwrap();
    let (folder, token) = (tempfile::tempdir().unwrap(), traffic.model().contract());
    let (alone, whole) = (folder.path().join("alone"), folder.path().join("whole"));
    let summary = archive(&node, "events", &token.to_string(), &alone);
    assert_eq!((summary["envelopes_lacking"].as_u64(), &summary["verified_through"]), (Some(0), &Value::Null));
    assert!(summary["envelopes_fetched"].as_u64().unwrap() > 10, "{summary}");
    archive(&node, "ledgers", &token.to_string(), &whole);
    report(&["verify"], &alone).ends_with(0);

    let exported = |data_dir: &Path| {
        let lines = export(data_dir).ends_with(0).stdout;
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| json!([line["id"], line["payload_state"], line["payload_xdr"]])).collect::<Vec<_>>()
    };
    let lines = exported(&alone);
    assert_eq!(lines, exported(&whole));
    for state in ["not_applicable", "present", "unavailable"] {
        assert!(lines.iter().any(|line| line[1] == state), "{state}");
    }
    let (alone, whole) = (Served::over(&alone, &[]), Served::over(&whole, &[]));
    let mut paths = vec![format!("/v1/tokens/{token}/events?limit=200")];
    for account in traffic.model().accounts() {
        paths.extend(["events", "checkpoint", "replay-window"].map(|route| path(token, &account.address, route)));
    }
    let mut present = 0;
    for path in &paths {
        let told_alone = told(&alone.get(path).answers());
        assert_eq!(told_alone, told(&whole.get(path).answers()), "{path}");
        present += told_alone.iter().filter(|event| event[2] == "present").count();
    }
    assert!(present > 20, "{present}");
}
