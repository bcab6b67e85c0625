//! The module, built and loaded as its users load it.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skipped"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use annals_core::bundle::{Above, LedgerMaterial, event_bundle, ledgers_bundle};
use annals_core::{LedgerHash, LedgerSeq, Network, check_ledger, check_proof};
use annals_sim::value::{account, contract};
use annals_sim::{ChainBuilder, EventPlan, Format, LedgerPlan, TxPlan};

const TARGET: &str = "wasm32-unknown-unknown";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether the compiler has the target's libraries and there is a node; CI may lack the target alone, which
/// `xtask wasm` adds where it can be had.
fn is_possible() -> bool {
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let has_target = libraries.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(has_node || std::env::var("CI").as_deref() != Ok("true"), "CI needs node: see scripts/setup --tests");
    if !has_target || !has_node {
        eprintln!("skipped: the wasm module needs {TARGET} and node");
    }
    has_target && has_node
}

/// The package's folder with the module in it.
fn package(folder: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--locked", "--package", "annals-wasm", "--lib", "--target", TARGET]);
    assert!(command.current_dir(root()).status().unwrap().success(), "the module builds");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    fs::copy(target.join(TARGET).join("debug/annals_proof.wasm"), folder.join("annals_proof.wasm")).unwrap();
    for file in ["package.json", "index.js", "example.js"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm").join(file);
        fs::copy(source, folder.join(file)).unwrap();
    }
}

/// What is no bundle, no anchor, or more than the memory holds is an error, and the module goes on.
const MISUSED: &str = r#"
import assert from "node:assert";
import { readFile } from "node:fs/promises";
import { load } from "./index.js";
const wasm = await readFile("annals_proof.wasm");
const check = await load(wasm);
const text = (await readFile("proof.json", "utf8")).trimEnd();
const bytes = new TextEncoder().encode(text);
for (const bundle of [text, bytes, Buffer.from(text)]) assert.equal(check(bundle).verdict, "proved");
for (const bundle of [undefined, bytes.buffer, new DataView(bytes.buffer), Uint16Array.from(bytes), [...bytes], {}])
  assert.throws(() => check(bundle), TypeError);
for (const anchor of [null, "", 0, false, {}, "1:00", { ledger: 1 }]) assert.throws(() => check(text, anchor), TypeError);
const { input, check: raw } = (await WebAssembly.instantiate(wasm, {})).instance.exports;
assert.equal(input(0xfffffff0), 0);
assert.equal(raw(0xfffffff0, 0), 0);
assert.notEqual(input(4), 0);
assert.notEqual(raw(4, 0), 0);
"#;

#[test]
fn a_module_that_is_misused_says_so_and_goes_on() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    package(folder.path());
    let network = Network::new("a network of wallets");
    let transfer = EventPlan::transfer(contract(1), account(1), account(2), 1);
    let plan = LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer])]);
    let built = ChainBuilder::new(&network, LedgerSeq::new(100).unwrap(), 1, Format::V2Meta4).push(&plan);
    let ledger = check_ledger(&built.xdr, &network).unwrap();
    let material = LedgerMaterial { seq: ledger.seq, header_xdr: ledger.header_xdr, material: Some(ledger.proof) };
    let bundle = ledgers_bundle(&network, contract(1), &[material], &Above::default()).unwrap();
    fs::write(folder.path().join("proof.json"), bundle).unwrap();
    fs::write(folder.path().join("misused.js"), MISUSED).unwrap();
    let output = Command::new("node").arg("misused.js").current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_module_in_node_says_what_the_library_says() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    package(folder.path());
    let network = Network::new("a network of wallets");
    let transfer = |amount| EventPlan::transfer(contract(1), account(1), account(2), amount);
    let plan = LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1), transfer(2)])]);
    let built = ChainBuilder::new(&network, LedgerSeq::new(100).unwrap(), 1, Format::V2Meta4).push(&plan);
    let ledger = check_ledger(&built.xdr, &network).unwrap();
    let (seq, header_xdr) = (ledger.seq, ledger.header_xdr.clone());
    let material = LedgerMaterial { seq, header_xdr, material: Some(ledger.proof.clone()) };
    let event = ledger.events.iter().find(|event| event.proof.is_proven()).unwrap();
    let of_event = event_bundle(&network, event, &material, &Above::default()).unwrap();
    let of_ledger = ledgers_bundle(&network, contract(1), &[material], &Above::default()).unwrap();
    let mut damaged = of_event.clone();
    damaged[of_event.len() / 2] ^= 1;
    let own = Some((seq, ledger.hash));
    let other = Some((seq, LedgerHash([1; 32])));
    let below = Some((LedgerSeq::new(99).unwrap(), LedgerHash([1; 32])));
    for (bundle, anchor, code) in [
        (&of_event, None, 0),
        (&of_ledger, None, 0),
        (&of_event, own, 0),
        (&of_ledger, other, 3),
        (&of_event, below, 1),
        (&damaged, None, 3),
        (&Vec::new(), None, 3),
    ] {
        let file = folder.path().join("proof.json");
        fs::write(&file, [bundle.as_slice(), b"\n"].concat()).unwrap();
        let mut command = Command::new("node");
        command.arg("example.js").arg(&file).current_dir(folder.path());
        if let Some((ledger, hash)) = anchor {
            command.args([ledger.to_string(), hash.to_string()]);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.trim_end(), check_proof(bundle, anchor).to_json());
    }
    let bad = Command::new("node").args(["example.js", "proof.json", "99", "ff"]).current_dir(folder.path()).output();
    assert!(String::from_utf8_lossy(&bad.unwrap().stderr).contains("TypeError"));
}
