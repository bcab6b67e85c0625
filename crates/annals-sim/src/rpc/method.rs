//! The methods of the network's RPC, as stellar-rpc 28 answers them.

mod events;
mod filter;
mod ledgers;
mod node;
mod query;
mod transactions;

pub(super) use query::QueryFilter;

use annals_core::LedgerSeq;
use serde_json::Value;

use super::RpcOptions;
use super::error::RpcError;
use super::params;
use super::replica::Replica;

/// Answers one call.
///
/// # Errors
/// [`RpcError`], as it goes out.
pub(super) fn call(
    method: &str,
    params: &Value,
    replica: &Replica<'_>,
    options: &RpcOptions,
) -> Result<Value, RpcError> {
    match method {
        "getHealth" => node::health(replica),
        "getNetwork" => node::network(replica, options),
        "getVersionInfo" => node::version_info(replica, options),
        "getLatestLedger" => node::latest_ledger(replica),
        "getLedgers" => ledgers::page(&params::read(params)?, replica, options),
        "getEvents" => events::page(&params::read(params)?, replica, options),
        "queryEvents" if options.query_events => query::page(&params::read(params)?, replica, options),
        "getTransactions" => transactions::page(&params::read(params)?, replica, options),
        "getTransaction" => transactions::one(&params::read(params)?, replica),
        _ => Err(RpcError::method_not_found(method)),
    }
}

/// The ledger that a request begins with: its start, or what follows its cursor.
pub(super) fn begins_with(method: &str, params: &Value) -> Option<LedgerSeq> {
    let cursor = match method {
        "queryEvents" => &params["cursor"],
        _ => &params["pagination"]["cursor"],
    };
    let cursor = cursor.as_str().filter(|cursor| !cursor.is_empty());
    let seq = match (method, cursor) {
        ("queryEvents", None) => u32::try_from(params["minLedger"].as_u64()?).ok()?,
        ("queryEvents", Some(cursor)) => query::Query::parse(cursor)?.begins_with(),
        (_, None) => u32::try_from(params["startLedger"].as_u64()?).ok()?,
        ("getLedgers", Some(cursor)) => cursor.parse::<u32>().ok()?.checked_add(1)?,
        ("getTransactions", Some(cursor)) => u32::try_from(cursor.parse::<u64>().ok()? >> 32).ok()?,
        (_, Some(cursor)) => events::Cursor::parse(cursor)?.begins_with(),
    };
    LedgerSeq::new(seq).ok()
}
