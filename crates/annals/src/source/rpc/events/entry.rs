//! One event as `getEvents` tells it, and its bytes built again.
//!
//! The method does not give an event's XDR but its parts: type, contract, topics and data, each as it was published. A
//! `ContractEvent` holds one thing more, its extension, of which there is one form so far (`ext` is 0 in the protocol's
//! `Stellar-ledger.x`); were there another, nothing here could tell, and the header's hash would.

use annals_core::decode::EventView;
use annals_core::wire::CLOSE_TIME_MS_MAX;
use annals_core::{ContractId, Event, EventKind, LedgerSeq, Position, ProofClass, Stage, TxHash};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::answer::Number;
use super::super::fault::RequestFaultKind;

/// An event, and what its entry leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) event: Event,
    /// Whether the entry says if the transaction succeeded.
    pub(super) is_success_told: bool,
}

/// What an entry of a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Event(Box<Given>),
    /// Diagnostic events are none of the ledger's: each repeats one, or is of a call that failed.
    Diagnostic(Position),
    /// Something that does not decode, of this ledger.
    Bad(LedgerSeq, Option<Position>, &'static str),
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// [`RequestFaultKind`] for one that says of no ledger that it is of it, and for one whose id is no position: those
    /// of stellar-rpc before version 23 counted diagnostic events too.
    pub(super) fn read(entry: &Value) -> Result<Self, RequestFaultKind> {
        let position = text(entry, "id").and_then(|id| id.parse::<Position>().ok());
        let told = number(entry, "ledger").and_then(Number::seq);
        let Some(ledger) = position.map(Position::ledger).or(told) else {
            return Err(RequestFaultKind::Page { wrong: "holds an event of no ledger" });
        };
        let Some(position) = position else { return Ok(Self::Bad(ledger, None, "the id of an event")) };
        let (Some(tx), Some(op)) = (number(entry, "transactionIndex"), number(entry, "operationIndex")) else {
            return Err(RequestFaultKind::OldIds);
        };
        if (tx.0, op.0) != (u64::from(position.tx()), u64::from(position.operation())) || told != Some(ledger) {
            return Ok(Self::Bad(ledger, Some(position), "an event's id and its numbers"));
        }
        if text(entry, "type") == Some("diagnostic") {
            return Ok(Self::Diagnostic(position));
        }
        Ok(match event(entry, position) {
            Ok(given) => Self::Event(Box::new(given)),
            Err(wrong) => Self::Bad(ledger, Some(position), wrong),
        })
    }
}

/// The event of an entry, or what of it does not decode.
fn event(entry: &Value, position: Position) -> Result<Given, &'static str> {
    let kind = text(entry, "type").and_then(EventKind::from_name).ok_or("the type of an event")?;
    let contract_id = match &entry["contractId"] {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.parse::<ContractId>().map_err(|_| "the contract of an event")?),
        _ => return Err("the contract of an event"),
    };
    let tx_hash = text(entry, "txHash").and_then(|text| text.parse::<TxHash>().ok());
    let close_time_ms = text(entry, "ledgerClosedAt").and_then(unix_ms).ok_or("the close time of an event")?;
    let success = match &entry["inSuccessfulContractCall"] {
        Value::Null => None,
        Value::Bool(success) => Some(*success),
        _ => return Err("whether an event's call succeeded"),
    };
    let topics = match &entry["topic"] {
        Value::Null => Vec::new(),
        Value::Array(topics) => topics.iter().map(bytes).collect::<Option<_>>().ok_or("the topics of an event")?,
        _ => return Err("the topics of an event"),
    };
    let data = bytes(&entry["value"]).ok_or("the value of an event")?;
    let xdr = EventView::assemble(contract_id, kind, &topics, &data).ok_or("the topics or the value of an event")?;
    let of_operation = position.stage() == Stage::Op;
    let event = Event {
        position,
        tx_hash: tx_hash.ok_or("the transaction of an event")?,
        tx_order: if matches!(position.stage(), Stage::Op | Stage::AfterTx) { position.tx() } else { 0 },
        // Since version 23 only successful transactions have events of operations.
        successful: success.unwrap_or(of_operation),
        close_time_ms,
        contract_id,
        kind,
        xdr,
        proof: ProofClass::Unverified,
        rewritten_xdr: None,
    };
    Ok(Given { event, is_success_told: success.is_some() || of_operation })
}

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry[key].as_str()
}

fn number(entry: &Value, key: &str) -> Option<Number> {
    serde::Deserialize::deserialize(&entry[key]).ok()
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.as_str()?).ok()
}

/// Reads RFC 3339 as Unix milliseconds.
fn unix_ms(text: &str) -> Option<u64> {
    let at: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().filter(|ms| *ms <= CLOSE_TIME_MS_MAX)
}

#[cfg(test)]
mod tests;
