use std::collections::BTreeSet;

use annals_core::check::check_tx_set;
use annals_core::decode::decode;
use annals_core::{Census, ClassicEvents, EventKind, ProofClass, Stage, check_ledger};
use annals_sim::generate::{heavy_ledger, heavy_tx};
use annals_sim::{BuiltLedger, ChainBuilder, CloseTime, EventPlan, Format, LedgerPlan, TxPlan, value};

use super::{FORMS, chain, network, seq};

fn assert_checks(ledger: &BuiltLedger, protocol: u32) {
    let checked = check_ledger(&ledger.xdr, &network()).unwrap();
    assert_eq!(checked.events, ledger.events);
    assert_eq!(checked.classic_events, ledger.classic_events);
    assert_eq!((checked.seq, checked.hash, checked.protocol), (ledger.seq, ledger.hash, protocol));
    assert_eq!(checked.close_time_ms, ledger.close_time_ms);
    check_tx_set(&decode(&ledger.xdr).unwrap(), ledger.seq).unwrap();
}

#[test]
fn every_ledger_of_every_form_passes_extraction_and_verification() {
    for (format, protocol) in FORMS {
        for seed in 0..3 {
            for ledger in chain(format, protocol, seed, 40) {
                assert_checks(&ledger, protocol);
            }
        }
    }
}

#[test]
fn every_ledger_links_to_the_one_before() {
    for (format, protocol) in FORMS {
        for pair in chain(format, protocol, 1, 10).windows(2) {
            let later = check_ledger(&pair[1].xdr, &network()).unwrap();
            assert_eq!(later.previous_hash, pair[0].hash);
            assert!(pair[0].close_time_ms < pair[1].close_time_ms);
            assert_eq!(pair[0].seq.next(), Some(pair[1].seq));
        }
    }
}

#[test]
fn the_generator_makes_every_shape() {
    let mut shapes = BTreeSet::new();
    for (format, protocol) in FORMS {
        for ledger in chain(format, protocol, 5, 150) {
            let view = decode(&ledger.xdr).unwrap();
            let mut seen = |shape: &'static str, there: bool| there.then(|| shapes.insert(shape));
            seen("no transaction", view.transactions.is_empty());
            seen("empty set", view.header.empty_tx_set);
            seen("milliseconds", ledger.close_time_ms % 1000 != 0);
            seen("fee bump", view.tx_set.envelopes.iter().any(|envelope| envelope.kind == 5));
            seen("V0 envelope", view.tx_set.envelopes.iter().any(|envelope| envelope.is_v0()));
            seen("failed", view.transactions.iter().any(|tx| !tx.result.successful));
            seen(
                "no return value",
                view.transactions.iter().any(|tx| tx.has_soroban_meta && tx.return_value.is_none()),
            );
            let failed_call = |tx: &annals_core::decode::TransactionView<'_>| {
                let mut diagnostics = tx.diagnostics.iter();
                tx.result.successful && diagnostics.any(|diagnostic| !diagnostic.in_successful_contract_call)
            };
            seen("failed call", view.transactions.iter().any(failed_call));
            seen(
                "classic events absent",
                ledger.classic_events == ClassicEvents::Absent && format.has_classic_events(),
            );
            seen("classic events inconsistent", ledger.classic_events == ClassicEvents::Inconsistent);
            for event in &ledger.events {
                seen(event.position.stage().as_str(), true);
                seen(event.proof.as_str(), true);
                seen("system", event.kind == EventKind::System);
                seen("no contract", event.contract_id.is_none());
                let op = event.position.stage() == Stage::Op;
                seen("second operation", op && event.position.operation() == 1);
                let reconciled = protocol == 23 && op && event.proof == ProofClass::Uncommitted;
                seen("reconciliation", reconciled && event.position.operation() == 0);
            }
        }
    }
    assert_eq!(shapes.len(), 21, "{shapes:?}");
}

#[test]
fn twelve_thousand_events_of_one_transaction_pass() {
    let mut chain = ChainBuilder::new(&network(), seq(2), 1, Format::V2Meta4);
    let ledger = chain.push(&LedgerPlan::new(vec![heavy_tx(12_000)]));
    assert_checks(&ledger, 26);
    assert_eq!(Census::of(&ledger.events).committed, 12_000);
}

#[test]
fn fifty_thousand_events_of_one_ledger_pass() {
    let mut chain = ChainBuilder::new(&network(), seq(2), 1, Format::V2Meta4);
    let ledger = chain.push(&heavy_ledger(200, 250));
    assert_checks(&ledger, 26);
    assert_eq!(Census::of(&ledger.events).committed, 50_000);
}

#[test]
fn a_backfilled_mint_keeps_its_original_and_its_sibling_stays_committed() {
    let (admin, holder, asset) = (value::account(1), value::account(2), value::contract(3));
    let mint = EventPlan::mint_with_admin(asset, admin, holder, "SIM:G", 5);
    let transfer = EventPlan::transfer(asset, admin, holder, 6);
    let tx = TxPlan::invocation(asset, vec![mint, transfer]).with_diagnostics();
    let mut chain = ChainBuilder::new(&network(), seq(2), 1, Format::V1Meta4);
    let ledger = chain.push(&LedgerPlan::new(vec![tx]));
    assert_checks(&ledger, 22);
    let operation: Vec<_> = ledger.events.iter().filter(|event| event.position.stage() == Stage::Op).collect();
    assert_eq!(
        operation.iter().map(|event| event.proof).collect::<Vec<_>>(),
        [ProofClass::Rewritten, ProofClass::Committed]
    );
    let rewritten = operation[0].rewritten_xdr.as_ref().unwrap();
    assert_eq!(operation[0].xdr.len() - rewritten.len(), 44, "an address went");
}

#[test]
fn an_empty_transaction_set_hashes_to_zero_in_seconds_and_in_milliseconds() {
    for close_time in [CloseTime::Seconds, CloseTime::Milliseconds] {
        let plan = LedgerPlan { empty_tx_set: true, close_time, elapsed_ms: 1234, ..LedgerPlan::new(Vec::new()) };
        let mut chain = ChainBuilder::new(&network(), seq(2), 1, Format::V2Meta4);
        let ledger = chain.push(&plan.of_protocol(30));
        assert_checks(&ledger, 30);
        let view = decode(&ledger.xdr).unwrap();
        assert!(view.header.empty_tx_set);
        assert_eq!(view.header.tx_set_hash, [0; 32]);
        assert_eq!(ledger.close_time_ms % 1000, if close_time == CloseTime::Seconds { 0 } else { 234 });
    }
}
