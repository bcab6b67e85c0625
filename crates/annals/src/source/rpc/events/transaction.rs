//! What an event's own entry leaves open of its transaction.
//!
//! Fee charges and refunds stand outside the transactions' own positions, so that their ids do not tell which was
//! applied when, and from some version on nobody says whether a transaction succeeded. An event of the same transaction
//! beside them tells; else `getTransaction` is asked for the success, which every event has, and tells the order too.
//! An order that nobody told stays 0.

use std::collections::HashMap;

use annals_core::{Stage, TxHash};
use serde_json::json;

use super::super::answer::Number;
use super::super::endpoint::{Endpoint, Verdict};
use super::super::fault::RequestFaultKind;
use super::entry::Given;

/// The most of an answer, bytes: a transaction and its meta.
pub(super) const BYTES_MAX: u64 = 64 << 20;
pub(super) const METHOD: &str = "getTransaction";

/// What is known of a transaction.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    order: Option<u32>,
    successful: Option<bool>,
}

/// `getTransaction`, as far as it is read.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status: String,
    application_order: Number,
    ledger: Number,
}

/// Fills in what the entries left open.
pub(super) fn fill_in(endpoint: &Endpoint, given: &mut [Given]) -> Result<(), Verdict> {
    let mut known: HashMap<TxHash, Facts> = HashMap::new();
    for Given { event, is_success_told } in given.iter() {
        let facts = known.entry(event.tx_hash).or_default();
        if matches!(event.position.stage(), Stage::Op | Stage::AfterTx) {
            facts.order = Some(event.tx_order);
        }
        if *is_success_told {
            facts.successful = Some(event.successful);
        }
    }
    for Given { event, is_success_told } in given.iter_mut() {
        let facts = known.entry(event.tx_hash).or_default();
        if !*is_success_told {
            if facts.successful.is_none() {
                *facts = ask(endpoint, event.tx_hash, event.position.ledger().get())?;
            }
            event.successful = facts.successful.unwrap_or(event.successful);
            *is_success_told = true;
        }
        if event.tx_order == 0 {
            event.tx_order = facts.order.unwrap_or(0);
        }
    }
    Ok(())
}

fn ask(endpoint: &Endpoint, hash: TxHash, ledger: u32) -> Result<Facts, Verdict> {
    let params = json!({"hash": hash.to_string(), "xdrFormat": "base64"});
    let answer = endpoint.caller.call(METHOD, &params, BYTES_MAX)?;
    let answer: Answer = endpoint.caller.result(METHOD, &answer)?;
    let order = u32::try_from(answer.application_order.0).ok().filter(|order| *order > 0);
    match answer.status.as_str() {
        "SUCCESS" | "FAILED" if answer.ledger.0 == u64::from(ledger) && order.is_some() => {
            Ok(Facts { order, successful: Some(answer.status == "SUCCESS") })
        }
        _ => Err(endpoint.caller.fault(METHOD, RequestFaultKind::NoTransaction { ledger }).into()),
    }
}
