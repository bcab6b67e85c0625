//! `getTransactions` and `getTransaction`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rpc::RpcOptions;
use crate::rpc::contents::{NodeTransaction, toid};
use crate::rpc::error::RpcError;
use crate::rpc::ledger::NodeLedger;
use crate::rpc::params::{PageParams, Pagination, TransactionParams, check_format};
use crate::rpc::replica::{Ends, Replica};

/// Where a page begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    ledger: u32,
    /// Apply order.
    tx: u32,
}

/// Answers a page. Its cursor is the position of its last transaction, as `(ledger, transaction, 1)`; behind the last
/// transaction of the latest ledger it goes back to `(latest, 0, 1)`, and behind the latest ledger to 0, as the
/// cursors of stellar-rpc do.
pub(super) fn page(params: &PageParams, replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    let ends = replica.ends()?;
    let start = checked(params, &ends, options)?;
    let limit = Pagination::limit_of(params.pagination.as_ref(), options.transactions_default) as usize;
    let mut transactions = Vec::new();
    let mut cursor = 0;
    for seq in start.ledger..=ends.latest.seq {
        let ledger = replica
            .served(seq..=seq)
            .next()
            .ok_or_else(|| RpcError::invalid_params(format!("database does not contain metadata for ledger: {seq}")))?;
        let from = if seq == start.ledger { start.tx } else { 1 };
        cursor = toid(seq, 0, 1);
        for transaction in read(&ledger, replica)?.iter().filter(|transaction| transaction.order >= from) {
            cursor = toid(seq, transaction.order, 1);
            let mut info = details(transaction, &ledger);
            info["createdAt"] = json!(ledger.close_time);
            transactions.push(info);
            if transactions.len() == limit {
                return Ok(answer(transactions, cursor, &ends));
            }
        }
    }
    Ok(answer(transactions, cursor, &ends))
}

/// The close times have names of their own, and are numbers.
fn answer(transactions: Vec<Value>, cursor: u64, ends: &Ends) -> Value {
    json!({
        "transactions": transactions,
        "latestLedger": ends.latest.seq,
        "latestLedgerCloseTimestamp": ends.latest.close_time,
        "oldestLedger": ends.oldest.seq,
        "oldestLedgerCloseTimestamp": ends.oldest.close_time,
        "cursor": cursor.to_string(),
    })
}

fn checked(params: &PageParams, ends: &Ends, options: &RpcOptions) -> Result<Start, RpcError> {
    let pagination = params.pagination.as_ref();
    let cursor = Pagination::cursor_of(pagination);
    let start = params.start_ledger.unwrap_or(0);
    if cursor.is_some() && start != 0 {
        return Err(RpcError::invalid_request("startLedger and cursor cannot both be set"));
    }
    let (oldest, latest) = (ends.oldest.seq, ends.latest.seq);
    if cursor.is_none() && !(oldest..=latest).contains(&start) {
        return Err(RpcError::invalid_request(format!(
            "start ledger must be between the oldest ledger: {oldest} and the latest ledger: {latest} for this rpc \
             instance"
        )));
    }
    let invalid = |error: &dyn std::error::Error| RpcError::invalid_request(error.to_string());
    Pagination::check_limit(pagination, options.transactions_max).map_err(|error| invalid(&error))?;
    check_format(params.xdr_format.as_deref()).map_err(|error| invalid(&error))?;
    let Some(cursor) = cursor else { return Ok(Start { ledger: start, tx: 1 }) };
    let position: i64 = cursor
        .parse()
        .map_err(|_| RpcError::invalid_params(format!("strconv.ParseInt: parsing {cursor:?}: invalid syntax")))?;
    let position =
        u64::try_from(position).map_err(|_| RpcError::invalid_params("cursor ledger sequence cannot be negative"))?;
    let ledger = u32::try_from(position >> 32).expect("a 64-bit number shifted by 32 fits 32 bits");
    Ok(Start { ledger, tx: (position as u32 >> 12) + 1 })
}

/// Answers one transaction. Its close times are strings, `createdAt` too; of one that is not held everything about it
/// is zero, and only `status` says so.
pub(super) fn one(params: &TransactionParams, replica: &Replica<'_>) -> Result<Value, RpcError> {
    check_format(params.xdr_format.as_deref()).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let text = &params.hash;
    if text.len() / 2 != 32 {
        return Err(RpcError::invalid_params(format!("unexpected hash length ({})", text.len())));
    }
    let hash = hex::decode(text).map_err(|error| RpcError::invalid_params(format!("incorrect hash: {error}")))?;
    let ends = replica.ends()?;
    let holds = |ledger: &std::sync::Arc<NodeLedger>| {
        ledger.contents().is_some_and(|contents| contents.tx_hashes.iter().any(|held| *held == *hash))
    };
    let mut answer = match replica.served(ends.oldest.seq..=ends.latest.seq).rev().find(holds) {
        Some(ledger) => {
            let transactions = read(&ledger, replica)?;
            let found = transactions.iter().find(|transaction| transaction.hash == *hash);
            let mut info = details(found.expect("the ledger holds the hash"), &ledger);
            info["createdAt"] = json!(ledger.close_time.to_string());
            info
        }
        None => json!({
            "status": "NOT_FOUND", "txHash": text, "applicationOrder": 0, "feeBump": false, "events": {}, "ledger": 0,
            "createdAt": "0",
        }),
    };
    answer["latestLedger"] = json!(ends.latest.seq);
    answer["latestLedgerCloseTime"] = json!(ends.latest.close_time.to_string());
    answer["oldestLedger"] = json!(ends.oldest.seq);
    answer["oldestLedgerCloseTime"] = json!(ends.oldest.close_time.to_string());
    Ok(answer)
}

fn read(ledger: &NodeLedger, replica: &Replica<'_>) -> Result<Vec<NodeTransaction>, RpcError> {
    ledger.transactions(replica.network_id()).map_err(|error| RpcError::internal(error.to_string()))
}

/// What both methods say of a transaction; empty lists are left out.
fn details(transaction: &NodeTransaction, ledger: &NodeLedger) -> Value {
    let list = |items: &[Vec<u8>]| Value::from_iter(items.iter().map(|item| STANDARD.encode(item)));
    let mut events = json!({});
    if !transaction.tx_events.is_empty() {
        events["transactionEventsXdr"] = list(&transaction.tx_events);
    }
    if !transaction.op_events.is_empty() {
        events["contractEventsXdr"] = transaction.op_events.iter().map(|events| list(events)).collect();
    }
    let mut details = json!({
        "status": if transaction.successful { "SUCCESS" } else { "FAILED" },
        "txHash": hex::encode(transaction.hash),
        "applicationOrder": transaction.order,
        "feeBump": transaction.fee_bump,
        "envelopeXdr": STANDARD.encode(&transaction.envelope),
        "resultXdr": STANDARD.encode(&transaction.result),
        "resultMetaXdr": STANDARD.encode(&transaction.meta),
        "events": events,
        "ledger": ledger.seq,
    });
    if !transaction.diagnostics.is_empty() {
        details["diagnosticEventsXdr"] = list(&transaction.diagnostics);
    }
    details
}
