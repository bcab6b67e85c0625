//! `getEvents`.

use annals_core::wire::rfc3339;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::filter::Filters;
use crate::rpc::RpcOptions;
use crate::rpc::contents::{NodeEvent, OP_LAST, TX_LAST, id, toid};
use crate::rpc::error::RpcError;
use crate::rpc::ledger::NodeLedger;
use crate::rpc::params::{EventsParams, Pagination, check_format};
use crate::rpc::replica::{Ends, Replica};

/// A place in the order of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    toid: u64,
    index: u32,
}

impl Cursor {
    /// Reads a cursor, in any number of digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (toid, index) = text.split_once('-')?;
        let toid: i64 = toid.parse().ok()?;
        Some(Self { toid: u64::try_from(toid).ok()?, index: index.parse().ok()? })
    }

    fn ledger(self) -> u32 {
        u32::try_from(self.toid >> 32).expect("a 64-bit number shifted by 32 fits 32 bits")
    }

    /// The ledger of what follows. Behind the end of a window that is still its last ledger, and only what follows
    /// in that is empty.
    pub(super) fn begins_with(self) -> u32 {
        let at_end = self.toid == toid(self.ledger(), TX_LAST, OP_LAST);
        if at_end { self.ledger().saturating_add(1) } else { self.ledger() }
    }

    /// The place that a page behind this cursor begins with. The index wraps at the end of a window: nothing
    /// stands there.
    fn next(self) -> Self {
        Self { index: self.index.wrapping_add(1), ..self }
    }
}

/// Answers a page: at most so many events of a window of at most so many ledgers. Where the limit ends it, its cursor
/// is its last event; where the window does, the end of the window.
pub(super) fn page(params: &EventsParams, replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    let (start, filters) = checked(params, options)?;
    let ends = replica.ends()?;
    let limit = Pagination::limit_of(params.pagination.as_ref(), options.events_default) as usize;
    let from = start.ledger();
    let window = from.saturating_add(options.events_scan_ledgers).min(ends.latest.seq + 1);
    let to_exclusive = params.end_ledger.filter(|end| *end != 0).map_or(window, |end| end.min(window));
    if !(ends.oldest.seq..=ends.latest.seq).contains(&from) {
        return Err(RpcError::invalid_request(format!(
            "startLedger must be within the ledger range: {} - {}",
            ends.oldest.seq, ends.latest.seq
        )));
    }
    if to_exclusive.saturating_sub(from) > options.events_in_time_ledgers {
        return Err(RpcError::new(-32001, "request exceeded processing limit threshold"));
    }
    let mut found = Vec::new();
    for ledger in replica.served(from..=to_exclusive - 1) {
        let contents =
            ledger.contents().ok_or_else(|| RpcError::invalid_request("db read failed for requested parameter"))?;
        let behind = contents.events.partition_point(|event| (event.toid, event.index) < (start.toid, start.index));
        let wanted = contents.events[behind..].iter().filter(|event| filters.take(event));
        found.extend(wanted.take(limit - found.len()).map(|event| (event.id(), info(event, &ledger, options))));
        if found.len() == limit {
            break;
        }
    }
    let last = found.last().filter(|_| found.len() == limit).map(|(id, _)| id.clone());
    let cursor = last.unwrap_or_else(|| id(toid(to_exclusive - 1, TX_LAST, OP_LAST), u32::MAX));
    Ok(answer(found.into_iter().map(|(_, event)| event).collect(), &cursor, &ends))
}

/// The close times are strings here.
fn answer(events: Vec<Value>, cursor: &str, ends: &Ends) -> Value {
    json!({
        "events": events,
        "cursor": cursor,
        "latestLedger": ends.latest.seq,
        "oldestLedger": ends.oldest.seq,
        "latestLedgerCloseTime": ends.latest.close_time.to_string(),
        "oldestLedgerCloseTime": ends.oldest.close_time.to_string(),
    })
}

/// Where the page begins, and what it takes.
fn checked(params: &EventsParams, options: &RpcOptions) -> Result<(Cursor, Filters), RpcError> {
    let invalid = |error: &dyn std::error::Error| RpcError::invalid_params(error.to_string());
    check_format(params.xdr_format.as_deref()).map_err(|error| invalid(&error))?;
    let ledger_of = |bound: Option<u32>| bound.filter(|ledger| *ledger != 0);
    let (start, end) = (ledger_of(params.start_ledger), ledger_of(params.end_ledger));
    let cursor = params.pagination.as_ref().and_then(|pagination| pagination.cursor.as_deref());
    let start = match (cursor, start) {
        (Some(_), start) if start.or(end).is_some() => {
            return Err(RpcError::invalid_params("ledger ranges and cursor cannot both be set"));
        }
        (Some(cursor), _) => {
            Cursor::parse(cursor).ok_or_else(|| RpcError::invalid_params(format!("invalid event id {cursor}")))?.next()
        }
        (None, Some(start)) => Cursor { toid: toid(start, 0, 0), index: 0 },
        (None, None) => return Err(RpcError::invalid_params("startLedger must be positive")),
    };
    Pagination::check_limit(params.pagination.as_ref(), options.events_max).map_err(|error| invalid(&error))?;
    Ok((start, Filters::new(params.filters.as_deref().unwrap_or_default())?))
}

/// One event, as it is told.
pub(super) fn info(event: &NodeEvent, ledger: &NodeLedger, options: &RpcOptions) -> Value {
    let mut info = json!({
        "type": event.kind,
        "ledger": ledger.seq,
        "ledgerClosedAt": rfc3339(ledger.close_time.saturating_mul(1000)),
        "contractId": event.contract.map_or_else(String::new, |contract| contract.to_string()),
        "id": event.id(),
        "operationIndex": event.toid & u64::from(OP_LAST),
        "transactionIndex": event.toid >> 12 & u64::from(TX_LAST),
        "txHash": hex::encode(event.tx_hash),
        "value": STANDARD.encode(&event.data),
    });
    // An empty list is left out.
    if !event.topics.is_empty() {
        info["topic"] = event.topics.iter().map(|topic| STANDARD.encode(topic)).collect();
    }
    if options.in_successful_contract_call {
        info["inSuccessfulContractCall"] = json!(event.successful);
    }
    info
}
