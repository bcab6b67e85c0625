//! `getLedgers`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rpc::RpcOptions;
use crate::rpc::error::RpcError;
use crate::rpc::ledger::NodeLedger;
use crate::rpc::params::{PageParams, Pagination, check_format};
use crate::rpc::replica::{Ends, Replica};

/// Answers a page. Its close times are numbers, and those of the ledgers strings; what follows the start is given
/// whether it is contiguous or not.
pub(super) fn page(params: &PageParams, replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    let ends = replica.ends()?;
    let pagination = params.pagination.as_ref();
    let cursor = Pagination::cursor_of(pagination);
    let start = match (cursor, params.start_ledger.unwrap_or(0)) {
        (Some(_), 0) => None,
        (Some(cursor), start) => {
            let text = format!("startLedger ({start}) and cursor ({cursor}) cannot both be set");
            return Err(RpcError::invalid_request(text));
        }
        (None, start) => Some(within(start, &ends).ok_or_else(|| outside(start, &ends))?),
    };
    Pagination::check_limit(pagination, options.ledgers_max)
        .map_err(|error| RpcError::invalid_request(error.to_string()))?;
    check_format(params.xdr_format.as_deref()).map_err(|error| RpcError::invalid_request(error.to_string()))?;
    let start = match (start, cursor) {
        (Some(start), _) => start,
        (None, cursor) => after(cursor.unwrap_or_default(), &ends)?,
    };
    let limit = Pagination::limit_of(pagination, options.ledgers_default);
    let ledgers: Vec<_> = replica.served(start..=start.saturating_add(limit - 1)).collect();
    let last = ledgers.last().map(|ledger| ledger.seq.to_string());
    let next = last.or(cursor.map(str::to_owned)).unwrap_or_else(|| (start - 1).to_string());
    Ok(json!({
        "ledgers": ledgers.iter().map(|ledger| info(ledger)).collect::<Vec<_>>(),
        "latestLedger": ends.latest.seq,
        "latestLedgerCloseTime": ends.latest.close_time,
        "oldestLedger": ends.oldest.seq,
        "oldestLedgerCloseTime": ends.oldest.close_time,
        "cursor": next,
    }))
}

fn info(ledger: &NodeLedger) -> Value {
    json!({
        "hash": hex::encode(ledger.hash),
        "sequence": ledger.seq,
        "ledgerCloseTime": ledger.close_time.to_string(),
        "headerXdr": STANDARD.encode(&ledger.entry_xdr),
        "metadataXdr": STANDARD.encode(&ledger.xdr),
    })
}

fn within(seq: u32, ends: &Ends) -> Option<u32> {
    (ends.oldest.seq..=ends.latest.seq).contains(&seq).then_some(seq)
}

fn outside(start: u32, ends: &Ends) -> RpcError {
    let (oldest, latest) = (ends.oldest.seq, ends.latest.seq);
    RpcError::invalid_request(format!(
        "start ledger ({start}) must be between the oldest ledger: {oldest} and the latest ledger: {latest} for this \
         rpc instance"
    ))
}

fn after(cursor: &str, ends: &Ends) -> Result<u32, RpcError> {
    let seq: u32 = cursor
        .parse()
        .map_err(|_| RpcError::invalid_params(format!("strconv.ParseUint: parsing {cursor:?}: invalid syntax")))?;
    within(seq.wrapping_add(1), ends).ok_or_else(|| {
        let (oldest, latest) = (ends.oldest.seq, ends.latest.seq);
        RpcError::invalid_params(format!(
            "cursor ('{cursor}') must be between the oldest ledger: {oldest} and the latest ledger: {latest} for this \
             rpc instance"
        ))
    })
}
