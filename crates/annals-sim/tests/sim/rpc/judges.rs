//! The simulated node read by others' clients, unmodified.

use std::path::{Path, PathBuf};
use std::process::Command;

use annals_core::decode::decode;
use annals_core::registry::Payload;
use annals_core::wire::ExportedEvent;
use annals_sim::{NetworkOptions, RpcServer, SimNetwork};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::independent::python;
use super::{seq, served_with};

/// The folder of modules that holds `@stellar/stellar-sdk`; none, said aloud, where there is none and this is not CI.
fn node_modules() -> Option<PathBuf> {
    let named = std::env::var_os("ANNALS_NODE_MODULES").map(PathBuf::from);
    if named.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "set ANNALS_NODE_MODULES to a folder that has @stellar/stellar-sdk 15.1: in CI this check is not skipped"
        );
        println!("skipped: ANNALS_NODE_MODULES names no folder with @stellar/stellar-sdk");
    }
    named
}

/// A network of a protocol that the clients know, with an upgrade in its middle.
fn network(protocol: u32) -> (SimNetwork, RpcServer) {
    let options = NetworkOptions {
        protocol,
        upgrades: vec![(seq(20), protocol + 1)],
        heavy_events: 500,
        ..NetworkOptions::of_seed(8)
    };
    served_with(options, 40)
}

/// What a client prints that pages through the node.
fn read(command: &mut Command, script: &str, server: &RpcServer, limit: u32) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let output = command.arg(script).arg(server.url()).arg(limit.to_string()).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the client failed: {complaints}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the network's own truth says that a client reads.
fn truth(network: &SimNetwork, protocol: u32, takes: impl Fn(&ExportedEvent) -> bool) -> Vec<Value> {
    let latest = network.latest().unwrap();
    let mut truth = vec![json!({
        "kind": "node", "status": "healthy", "oldest": 2, "passphrase": network.network().passphrase(),
        "version": annals_sim::RpcOptions::default().version, "latest": latest.seq.get(),
        "hash": latest.hash.to_string(), "protocol": protocol,
    })];
    truth.extend(network.kept().map(|ledger| {
        let hash = ledger.hash.to_string();
        let metadata = STANDARD.encode(&ledger.xdr);
        json!({
            "kind": "ledger", "sequence": ledger.seq.get(), "hash": hash, "headerHash": hash, "metadata": metadata,
        })
    }));
    let events = network
        .kept()
        .flat_map(|ledger| &ledger.events)
        .map(|event| ExportedEvent::new(event, &Payload::NotApplicable).unwrap());
    truth.extend(events.filter(takes).map(|event| {
        json!({
            "kind": "event", "id": event.id, "ledger": event.ledger_seq, "txHash": event.tx_hash, "type": event.kind,
            "contractId": event.contract_id.unwrap_or_default(), "topics": event.topics_xdr, "value": event.data_xdr,
        })
    }));
    for ledger in network.kept() {
        let view = decode(&ledger.xdr).unwrap();
        truth.extend((1..).zip(&view.transactions).map(|(order, transaction)| {
            json!({
                "kind": "transaction", "ledger": ledger.seq.get(), "order": order,
                "hash": transaction.result.tx_hash.to_string(),
                "status": if transaction.result.successful { "SUCCESS" } else { "FAILED" },
                "createdAt": ledger.close_time_ms / 1000,
            })
        }));
    }
    truth
}

/// Compares line by line what the truth speaks of.
fn assert_read(read: &[Value], truth: &[Value]) {
    assert_eq!(read.len(), truth.len());
    for (read, right) in read.iter().zip(truth) {
        for (name, value) in right.as_object().unwrap() {
            assert_eq!(&read[name], value, "{name} of {right}");
        }
    }
}

#[test]
fn the_python_sdk_pages_through_the_node() {
    let Some(python) = python() else { return };
    let (network, server) = network(28);
    let truth = truth(&network, 29, |event| !event.topics_xdr.is_empty());
    for limit in [7, 200] {
        assert_read(&read(&mut Command::new(&python), "python/read_pages.py", &server, limit), &truth);
    }
}

#[test]
fn the_javascript_sdk_pages_through_the_node() {
    let Some(modules) = node_modules() else { return };
    let (network, server) = network(26);
    let truth = truth(&network, 27, |_| true);
    for limit in [7, 200] {
        let mut node = Command::new("node");
        assert_read(&read(node.env("NODE_PATH", &modules), "javascript/read_pages.cjs", &server, limit), &truth);
    }
}
