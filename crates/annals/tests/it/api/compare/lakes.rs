//! Archives over lakes of which one was rewritten.

use annals_core::{ContractId, LedgerSeq, Network};
use annals_sim::{BuiltLedger, ChainBuilder, EventPlan, Format, LedgerPlan, TxPlan, value};
use serde_json::json;

use super::{both_ways, compare, url};
use crate::api::archive::{Archive, PASSPHRASE};
use crate::api::server::Served;

const FIRST: u32 = 100;
const LAST: u32 = 160;
/// The ledger that a rewritten lake has otherwise.
const REWRITTEN: u32 = 131;

fn watched() -> ContractId {
    value::contract(1)
}

fn builder(format: Format) -> ChainBuilder {
    ChainBuilder::new(&Network::new(PASSPHRASE), LedgerSeq::new(FIRST).unwrap(), 3, format)
}

fn transfer(contract: ContractId, amount: u32) -> EventPlan {
    EventPlan::transfer(contract, value::account(1), value::account(2), amount.into())
}

fn invoking(contract: ContractId, amount: u32) -> TxPlan {
    TxPlan::invocation(contract, vec![transfer(contract, amount)])
}

/// An archive of a chain, and its server.
fn served(chain: &[BuiltLedger]) -> (Archive, Served) {
    served_of(chain, &[&format!("{FIRST}:{LAST}")])
}

/// The same of some ledgers.
fn served_of(chain: &[BuiltLedger], ranges: &[&str]) -> (Archive, Served) {
    let archive = Archive::of_chain(chain);
    ranges.iter().for_each(|range| archive.fill(range, &[]));
    // No classic events are expected of a Wasm contract, so that ledgers without any are complete.
    archive.declare(watched(), &["--kind", "wasm"]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    (archive, served)
}

/// A chain of one payment and, where `invokes` says so, one invocation a ledger; in one ledger the payment's event,
/// which no hash covers, is another.
fn with_payments(rewritten: bool, invokes: bool) -> Vec<BuiltLedger> {
    let mut builder = builder(Format::V2Meta4);
    let plan = |number: u32| {
        let amount = if rewritten && number == REWRITTEN { 9999 } else { number };
        let payment = TxPlan::payments(vec![vec![transfer(watched(), amount)]]);
        let mut transactions = vec![payment];
        transactions.extend(invokes.then(|| invoking(watched(), number)));
        LedgerPlan::new(transactions)
    };
    (FIRST..=LAST).map(|number| builder.push(&plan(number))).collect()
}

#[test]
fn an_uncommitted_event_that_was_rewritten_can_be_proved_by_neither() {
    for invokes in [true, false] {
        let chains = [false, true].map(|rewritten| with_payments(rewritten, invokes));
        assert_eq!(chains[0].last().unwrap().hash, chains[1].last().unwrap().hash, "no hash covers it");
        let [a, b] = chains.each_ref().map(|chain| served(chain));
        let found = both_ways(&url(a.1.address), &url(b.1.address), watched(), &[], 3);
        assert_eq!((&found["ledger"], &found["difference"]), (&json!(REWRITTEN), &json!("other_bytes")), "{found}");
        assert_eq!(
            (&found["reason"]["code"], &found["reason"]["archive"]),
            (&json!("UNCOMMITTED_DIFFERS"), &json!(null))
        );
        assert_eq!(found["a"]["ledger_hash"], found["b"]["ledger_hash"]);
        let state = if invokes { "proved" } else { "absent" };
        assert_eq!((&found["a"]["proof"]["state"], &found["b"]["proof"]["state"]), (&json!(state), &json!(state)));
    }
}

/// A chain that from one ledger on holds other events of another contract, and one ledger later of the watched one.
fn forking(forked: bool) -> Vec<BuiltLedger> {
    let mut builder = builder(Format::V2Meta4);
    let plan = |number: u32| {
        let other = if forked && number >= REWRITTEN { 9999 } else { number };
        let own = if forked && number > REWRITTEN { 7777 } else { number };
        LedgerPlan::new(vec![invoking(value::contract(2), other), invoking(watched(), own)])
    };
    (FIRST..=LAST).map(|number| builder.push(&plan(number))).collect()
}

#[test]
fn a_forked_chain_is_told_with_the_first_header_that_differs() {
    let [a, b] = [false, true].map(|forked| served(&forking(forked)));
    let (first, second) = (url(a.1.address), url(b.1.address));
    let found = both_ways(&first, &second, watched(), &[], 3);
    assert_eq!((&found["ledger"], &found["reason"]["code"]), (&json!(REWRITTEN + 1), &json!("OTHER_CHAIN")), "{found}");
    let message = found["reason"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("ledger {REWRITTEN} has two hashes, the first that differs")), "{message}");
    for side in ["a", "b"] {
        assert_eq!((&found[side]["proof"]["state"], &found[side]["anchor"]), (&json!("proved"), &json!("source")));
    }
    assert_ne!(found["a"]["ledger_hash"], found["b"]["ledger_hash"]);
    // Below the fork they are one chain, and of the contract they are equal up to the fork's own ledger.
    let found = compare(&first, &second, watched(), &["--to", &REWRITTEN.to_string()]).ends_with(0).json();
    assert_eq!(found["verdict"], "equal");
    // Found by halving: no header is asked for twice, and few are.
    let proxy = super::Proxy::before(b.1.address, |_, _| None);
    compare(&first, &proxy.url(), watched(), &[]).ends_with(3);
    let headers = proxy.count("/v1/ledgers/") - proxy.count("/proof");
    assert!(headers <= 1 + 6, "{headers} headers of 61 ledgers");
}

#[test]
fn two_chains_are_told_where_one_of_them_has_a_gap_too() {
    let honest = served(&forking(false));
    let window = format!("{FIRST}:{LAST}");
    let more = ["--from", window.as_str()];
    // The ledger that differs first is in the gap, the fork below it, and in the second case in the gap as well.
    let below = format!("{FIRST}:{REWRITTEN}");
    for (ranges, sentence) in [
        ([below.as_str(), "140:160"], format!("ledger {REWRITTEN} has two hashes, the first that differs")),
        (["100:125", "140:160"], "ledger 143 has two hashes, ledger 125 one, and between".to_owned()),
    ] {
        let forked = served_of(&forking(true), &ranges);
        let found = both_ways(&url(honest.1.address), &url(forked.1.address), watched(), &more, 3);
        assert_eq!(found["reason"]["code"], "OTHER_CHAIN", "{found}");
        assert!(found["reason"]["message"].as_str().unwrap().contains(&sentence), "{found}");
        assert_eq!((&found["b"]["ledger_hash"], &found["b"]["incomplete_reason"]), (&json!(null), &json!("gap")));
        // Of one chain it is a gap.
        let lacking = served_of(&forking(false), &ranges);
        let found = both_ways(&url(honest.1.address), &url(lacking.1.address), watched(), &more, 3);
        assert_eq!(found["reason"]["code"], "GAP", "{found}");
        // Below the fork too, whatever comes above.
        let forked = served_of(&forking(true), &["100:110", "120:160"]);
        let found = both_ways(&url(honest.1.address), &url(forked.1.address), watched(), &["--from", "100:125"], 3);
        assert_eq!((&found["ledger"], &found["reason"]["code"]), (&json!(111), &json!("GAP")), "{found}");
    }
}

/// A chain of protocol 22 as it was first exported, or with the form that a backfilling exporter rewrites its asset
/// events into.
fn exported(format: Format) -> Vec<BuiltLedger> {
    let mut builder = builder(format);
    let plan = |number: u32| {
        let (admin, to) = (value::account(1), value::account(2));
        let mint = EventPlan::mint_with_admin(watched(), admin, to, "SIM:G", number.into());
        let invocation = TxPlan::invocation(watched(), vec![mint, transfer(watched(), number)]);
        LedgerPlan::new(vec![invocation.with_diagnostics()])
    };
    (FIRST..=LAST).map(|number| builder.push(&plan(number))).collect()
}

#[test]
fn the_form_that_an_exporter_rewrites_events_into_compares_equal() {
    let chains = [Format::V1Meta3, Format::V1Meta4].map(exported);
    assert_eq!(chains[0].last().unwrap().hash, chains[1].last().unwrap().hash);
    let [a, b] = chains.each_ref().map(|chain| served(chain));
    let page = |served: &Served| {
        let path = format!("/v1/tokens/{}/events?from_ledger={FIRST}&to_ledger={LAST}", watched());
        served.get(&path).answers()["events"][0]["proof"].clone()
    };
    assert_eq!((page(&a.1), page(&b.1)), (json!("committed"), json!("rewritten")));
    let found = both_ways(&url(a.1.address), &url(b.1.address), watched(), &[], 0);
    assert_eq!((&found["verdict"], &found["events"]), (&json!("equal"), &json!(2 * (LAST - FIRST + 1))), "{found}");
}
