//! What a node does wrong for a while, drawn from a seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use annals_core::LedgerRange;
use annals_sim::{Misbehaviour, Rng, Script, When};
use serde_json::{Value, json};
use stellar_xdr::{
    ContractEvent, ContractEventBody, LedgerCloseMeta, Limits, ReadXdr as _, ScVal, TransactionMeta, WriteXdr as _,
};

use crate::fill::bench::{range, seq};

/// A script of a few faults, for a node of a network whose next ledger is `next`. It is never so bad that nothing is ever
/// served, and what it makes of a ledger is always to be refused.
pub fn drawn(rng: &mut Rng, next: u32) -> Script {
    let rules = 1 + rng.below(3);
    (0..rules).fold(Script::new(), |script, _| {
        let step = u64::from(2 + rng.below(5));
        let first = 1 + u64::from(rng.below(4));
        let pages = When::method("getLedgers").every(step, first);
        let all = When::always().every(step, first);
        let (when, what) = match rng.below(4) {
            0 => (all, of_transport(rng)),
            1 => (all, of_replicas(rng, next)),
            2 => (pages, of_pages(rng)),
            _ => (When::always(), of_ledgers(rng, next)),
        };
        script.on(when, what)
    })
}

/// A script of a request that is never answered.
pub fn hanging() -> Script {
    Script::new().on(When::method("getLedgers").call(2), Misbehaviour::Hang)
}

fn of_transport(rng: &mut Rng) -> Misbehaviour {
    match rng.below(8) {
        0 | 1 => Misbehaviour::Latency(Duration::from_millis(1 + u64::from(rng.below(10)))),
        2 => Misbehaviour::Reset,
        3 => Misbehaviour::too_many_requests(Some(1 + rng.below(2))),
        4 => Misbehaviour::unavailable(None),
        5 => Misbehaviour::html(),
        6 => Misbehaviour::null_result(),
        _ => Misbehaviour::Truncated { bytes: rng.below(3_000) as usize },
    }
}

fn of_replicas(rng: &mut Rng, next: u32) -> Misbehaviour {
    match rng.below(4) {
        0 => Misbehaviour::Behind(1 + rng.below(6)),
        1 => Misbehaviour::UnservedTip(1 + rng.below(4)),
        2 => Misbehaviour::StuckAt(seq(next.saturating_sub(rng.below(8)).max(2))),
        _ => Misbehaviour::OldestLedger(seq(next.saturating_sub(rng.below(20)).max(2))),
    }
}

fn of_pages(rng: &mut Rng) -> Misbehaviour {
    match rng.below(7) {
        0 => Misbehaviour::over_limit(),
        1 => Misbehaviour::OtherId,
        2 => Misbehaviour::empty_result(),
        3 => Misbehaviour::edit_result(|result| result["ledgers"] = json!([])),
        4 => Misbehaviour::cursor("100"),
        5 => repeated(),
        _ => Misbehaviour::edit_result(|result| {
            // The first ledger twice, and the rest behind it.
            if let Some(ledgers) = result["ledgers"].as_array_mut().filter(|ledgers| !ledgers.is_empty()) {
                ledgers.insert(0, ledgers[0].clone());
            }
        }),
    }
}

/// Every second answer is the one before.
fn repeated() -> Misbehaviour {
    let last = Arc::<Mutex<Option<Value>>>::default();
    Misbehaviour::edit_result(move |result| {
        let mut last = last.lock().unwrap();
        match last.take() {
            Some(before) => *result = before,
            None => *last = Some(result.clone()),
        }
    })
}

fn of_ledgers(rng: &mut Rng, next: u32) -> Misbehaviour {
    let at = next + rng.below(10);
    match rng.below(4) {
        0 => Misbehaviour::OmitLedgers(ledgers(at, 1 + rng.below(3))),
        1 => Misbehaviour::edit_ledger(seq(at), |xdr| xdr.truncate(xdr.len() / 2)),
        2 => Misbehaviour::edit_ledger(seq(at), omit_event),
        _ => Misbehaviour::edit_ledger(seq(at), alter_event),
    }
}

fn ledgers(from: u32, count: u32) -> LedgerRange {
    range(from, from + count - 1)
}

/// Takes the first event out that the ledger's hash covers.
fn omit_event(xdr: &mut Vec<u8>) {
    with_committed(xdr, |events| _ = events.remove(0));
}

/// Gives the first event that the ledger's hash covers another value.
fn alter_event(xdr: &mut Vec<u8>) {
    with_committed(xdr, |events| {
        let ContractEventBody::V0(body) = &mut events[0].body;
        body.data = ScVal::Symbol("altered".try_into().unwrap());
    });
}

/// Changes the events of the first invocation that has some: its ledger's hash covers them. What another rule has made
/// undecodable stays as it is.
fn with_committed(xdr: &mut Vec<u8>, change: impl FnOnce(&mut Vec<ContractEvent>)) {
    if let Ok(LedgerCloseMeta::V2(mut ledger)) = LedgerCloseMeta::from_xdr(&*xdr, Limits::none()) {
        let operations = ledger.tx_processing.iter_mut().filter_map(|tx| match &mut tx.tx_apply_processing {
            TransactionMeta::V4(meta) if meta.soroban_meta.is_some() => meta.operations.iter_mut().next(),
            _ => None,
        });
        if let Some(operation) = operations.into_iter().find(|operation| !operation.events.is_empty()) {
            let mut events = operation.events.to_vec();
            change(&mut events);
            operation.events = events.try_into().unwrap();
        }
        *xdr = LedgerCloseMeta::V2(ledger).to_xdr(Limits::none()).unwrap();
    }
}
