//! How an event is written for others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::fmt::temporal::DateTimePrinter;
use serde::Serialize;

use crate::decode::{DecodeError, EventView};
use crate::event::Event;
use crate::registry::Payload;

/// Topics and data of the form that a source rewrote an event into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RewrittenForm {
    /// Base64 XDR of each topic's `ScVal`.
    pub topics_xdr: Vec<String>,
    /// Base64 XDR of the data's `ScVal`.
    pub data_xdr: String,
}

/// One event as a JSON object; the fields that an export's line holds, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedEvent {
    /// The position as text, `%019d-%010d`.
    pub id: String,
    /// The emitting contract's strkey; null for a host event without one.
    pub contract_id: Option<String>,
    /// `contract` or `system`.
    pub kind: &'static str,
    /// The ledger's sequence number.
    pub ledger_seq: u32,
    /// Close time of the ledger, Unix seconds.
    pub close_time: u64,
    /// Close time of the ledger, RFC 3339 with Z.
    pub closed_at: String,
    /// The transaction's hash, hexadecimal.
    pub tx_hash: String,
    /// The position's transaction number, sentinels included.
    pub tx_application_order: u32,
    /// The position's operation number, sentinels included.
    pub operation_index: u32,
    /// The position's index.
    pub event_index: u32,
    /// `before_all_txs`, `op`, `after_tx` or `after_all_txs`.
    pub stage: &'static str,
    /// The transaction's real apply order, 1-based; 0 where an unverified event's source does not say it.
    pub tx_order: u32,
    /// The symbol of topic 0; null where topic 0 is none.
    pub event_type: Option<String>,
    /// Base64 XDR of each topic's `ScVal`.
    pub topics_xdr: Vec<String>,
    /// Base64 XDR of the data's `ScVal`.
    pub data_xdr: String,
    /// Base64 of the content of the invocation's argument that the event leaves out; null unless `payload_state` is
    /// `present`.
    pub payload_xdr: Option<String>,
    /// `not_applicable`, `pending`, `unavailable` or `present`.
    pub payload_state: &'static str,
    /// Whether the transaction succeeded.
    pub successful: bool,
    /// `committed`, `rewritten`, `uncommitted` or `unverified`.
    pub proof: &'static str,
    /// The form that the source rewrote the event into; null unless `proof` is `rewritten`.
    pub rewritten: Option<RewrittenForm>,
}

impl ExportedEvent {
    /// Writes `event`, and what its invocation carries for it, for others.
    ///
    /// # Errors
    /// [`DecodeError`] when the event's bytes are no `ContractEvent`.
    pub fn new(event: &Event, payload: &Payload) -> Result<Self, DecodeError> {
        let view = EventView::parse(&event.xdr)?;
        let rewritten = event.rewritten_xdr.as_deref().map(EventView::parse).transpose()?;
        let (topics_xdr, data_xdr) = base64_form(&view);
        Ok(Self {
            id: event.position.to_string(),
            contract_id: event.contract_id.map(|contract| contract.to_string()),
            kind: event.kind.as_str(),
            ledger_seq: event.position.ledger().get(),
            close_time: event.close_time_ms / 1000,
            closed_at: rfc3339(event.close_time_ms),
            tx_hash: event.tx_hash.to_string(),
            tx_application_order: event.position.tx(),
            operation_index: event.position.operation(),
            event_index: event.position.index(),
            stage: event.position.stage().as_str(),
            tx_order: event.tx_order,
            event_type: view.event_type(),
            topics_xdr,
            data_xdr,
            payload_xdr: payload.content().map(|content| STANDARD.encode(content)),
            payload_state: payload.state(),
            successful: event.successful,
            proof: event.proof.as_str(),
            rewritten: rewritten.as_ref().map(|form| {
                let (topics_xdr, data_xdr) = base64_form(form);
                RewrittenForm { topics_xdr, data_xdr }
            }),
        })
    }
}

fn base64_form(view: &EventView<'_>) -> (Vec<String>, String) {
    (view.topics.iter().map(|topic| STANDARD.encode(topic)).collect(), STANDARD.encode(view.data))
}

/// The last close time that [`rfc3339`] can write, Unix milliseconds: 9999-12-30T22:00:00Z, which has a four-digit
/// year in every time zone. A ledger that closes later is a bad object.
pub const CLOSE_TIME_MS_MAX: u64 = 253_402_207_200_000;

/// Writes Unix milliseconds as RFC 3339 with Z; a fraction only where there is one. What lies beyond
/// [`CLOSE_TIME_MS_MAX`] is written as that.
#[must_use]
pub fn rfc3339(unix_ms: u64) -> String {
    let clamped = i64::try_from(unix_ms.min(CLOSE_TIME_MS_MAX)).expect("the bound fits an i64");
    let timestamp = jiff::Timestamp::from_millisecond(clamped).expect("the bound is the last timestamp's");
    // What the timestamp's own `Display` prints, without the formatter in between.
    DateTimePrinter::new().timestamp_to_string(&timestamp)
}

#[cfg(test)]
mod tests;
