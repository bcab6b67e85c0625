//! Archives of some contracts, and of events alone.

use annals_core::{ContractId, Event, LedgerSeq, Network};
use annals_sim::{
    BuiltLedger, ChainBuilder, EventPlan, Format, HeldLedgers, LedgerPlan, RpcOptions, RpcServer, TxPlan, value,
};
use serde_json::json;

use super::proxy::{Proxy, edit_history};
use super::{all, both_ways, url};
use crate::api::archive::{Archive, FIRST, LAST, PASSPHRASE, events_of, token};
use crate::api::server::{Served, whole};
use crate::binary::{Ran, annals};

/// The first ledger with committed events of two contracts.
fn shared_ledger(a: ContractId, b: ContractId) -> u32 {
    let has = |contract, at| events_of(contract, at, at).iter().any(|event| event.proof.is_proven());
    (FIRST + 1..LAST).find(|at| has(a, *at) && has(b, *at)).unwrap()
}

/// It holds the ledger for another contract's sake, and can prove what it never scanned the ledger for.
#[test]
fn an_archive_whose_proof_lists_what_it_did_not_scan_for_has_a_gap_and_withholds_nothing() {
    let other = value::contract(2);
    let at = shared_ledger(token(), other);
    let archive = Archive::empty();
    archive.fill("1000:1039", &[other]);
    archive.fill(&format!("{FIRST}:{}", at - 1), &[token()]);
    archive.fill(&format!("{}:{LAST}", at + 1), &[token()]);
    let served = Served::over(&archive.data_dir(), &[]);
    let [from, to] = all();
    let found = both_ways(&url(whole().address), &url(served.address), token(), &[&from, &to], 3);
    assert_eq!((&found["ledger"], &found["reason"]["code"]), (&json!(at), &json!("GAP")), "{found}");
    assert_eq!((&found["reason"]["archive"], &found["b"]["proof"]["state"]), (&json!("B"), &json!("proved")));
    let message = found["reason"]["message"].as_str().unwrap();
    assert!(message.contains("its own proof of the ledger lists") && message.ends_with(": gap"), "{message}");
}

/// The last ledger of a chain that begins with the network's first, of which a node has dropped nothing.
const TIP: u32 = 20;
/// The ledger of which something is withheld.
const CHOSEN: u32 = 7;

/// A chain of one payment and one invocation a ledger, both with an event of the token.
fn whole_chain() -> Vec<BuiltLedger> {
    let mut builder = ChainBuilder::new(&Network::new(PASSPHRASE), LedgerSeq::new(2).unwrap(), 9, Format::V2Meta4);
    let transfer = |at: u32| EventPlan::transfer(token(), value::account(1), value::account(2), at.into());
    let plan = |at| {
        let payment = TxPlan::payments(vec![vec![transfer(at)]]);
        LedgerPlan::new(vec![payment, TxPlan::invocation(token(), vec![transfer(100 + at)])])
    };
    (2..=TIP).map(|at| builder.push(&plan(at))).collect()
}

/// An archive of whole ledgers, which is complete for the token.
fn of_ledgers(chain: &[BuiltLedger]) -> (Archive, Served) {
    let archive = Archive::of_chain(chain);
    archive.fill(&format!("2:{TIP}"), &[]);
    archive.declare(token(), &["--kind", "wasm"]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    (archive, served)
}

/// An archive of what an RPC endpoint tells by its events alone.
fn of_events(chain: &[BuiltLedger], declared: &[&str]) -> (Archive, Served) {
    let raw = chain.iter().map(|ledger| ledger.xdr.clone());
    let held = HeldLedgers::of(&Network::new(PASSPHRASE), raw).unwrap();
    let node = RpcServer::start(held, RpcOptions::default()).unwrap();
    let archive = Archive::of_chain(chain);
    let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", &format!("2:{TIP}")]);
    command.args(["--rpc", &node.url(), "--rpc-mode", "events", "--data-dir"]).arg(archive.data_dir());
    Ran::of(&mut command).ends_with(0);
    if !declared.is_empty() {
        archive.declare(token(), declared).ends_with(0);
    }
    let served = Served::over(&archive.data_dir(), &[]);
    (archive, served)
}

#[test]
fn an_archive_of_events_alone_says_the_same_and_is_equal_only_where_it_can_be_complete() {
    let chain = whole_chain();
    let (_ledgers, ledgers) = of_ledgers(&chain);
    let (_events, events) = of_events(&chain, &[]);
    let found = both_ways(&url(ledgers.address), &url(events.address), token(), &[], 1);
    assert_eq!((&found["verdict"], &found["events"]), (&json!("undecided"), &json!(2 * (TIP - 1))), "{found}");
    let said = (&found["a"]["complete"], &found["b"]["incomplete_reason"]);
    assert_eq!(said, (&json!(true), &json!("classic_events_absent")));
    let (_declared, declared) = of_events(&chain, &["--kind", "wasm"]);
    both_ways(&url(ledgers.address), &url(declared.address), token(), &[], 0);
}

#[test]
fn what_an_archive_of_events_alone_leaves_out_is_proved_by_the_other_and_not_excused() {
    let chain = whole_chain();
    let (_ledgers, ledgers) = of_ledgers(&chain);
    let (_events, events) = of_events(&chain, &[]);
    let of_chosen = chain.iter().find(|ledger| ledger.seq.get() == CHOSEN).unwrap();
    // An event that the header commits to, and one of the payment: of that nobody has a proof, and its word for why it
    // lacks it is all there is.
    for (is_proven, code) in [(true, "NOT_PROVABLE"), (false, "GAP")] {
        let is_meant = |event: &&Event| event.contract_id == Some(token()) && event.proof.is_proven() == is_proven;
        let withheld = of_chosen.events.iter().find(is_meant).unwrap().position.to_string();
        let proxy = Proxy::before(events.address, move |path, upstream| {
            edit_history(path, upstream, |events| events.retain(|event| event["id"] != withheld.as_str()))
        });
        let found = both_ways(&url(ledgers.address), &proxy.url(), token(), &[], 3);
        let reason = &found["reason"];
        assert_eq!((&found["ledger"], &reason["code"]), (&json!(CHOSEN), &json!(code)), "{found}");
        let said = (&reason["archive"], &found["b"]["incomplete_reason"]);
        assert_eq!(said, (&json!("B"), &json!("classic_events_absent")), "{found}");
        assert_eq!((&found["a"]["proof"]["state"], &found["b"]["ledger_hash"]), (&json!("proved"), &json!(null)));
    }
}
