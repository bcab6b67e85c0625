//! What a node says of itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rpc::RpcOptions;
use crate::rpc::error::RpcError;
use crate::rpc::replica::Replica;

/// `getHealth`; the close times are strings (since 27.1).
pub(super) fn health(replica: &Replica<'_>) -> Result<Value, RpcError> {
    let ends = replica.ends().map_err(|_| RpcError::internal("data stores are not initialized: DB is empty"))?;
    Ok(json!({
        "status": "healthy",
        "latestLedger": ends.latest.seq,
        "latestLedgerCloseTime": ends.latest.close_time.to_string(),
        "oldestLedger": ends.oldest.seq,
        "oldestLedgerCloseTime": ends.oldest.close_time.to_string(),
        "ledgerRetentionWindow": replica.retention(),
    }))
}

/// `getNetwork`.
pub(super) fn network(replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    let mut answer = json!({
        "passphrase": replica.passphrase(),
        "protocolVersion": replica.ends()?.latest.protocol,
    });
    if let Some(url) = &options.friendbot_url {
        answer["friendbotUrl"] = json!(url);
    }
    Ok(answer)
}

/// `getVersionInfo`.
pub(super) fn version_info(replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    Ok(json!({
        "version": options.version,
        "commitHash": "0000000000000000000000000000000000000000",
        "buildTimestamp": "2026-08-06T00:00:00",
        "captiveCoreVersion": "annals-sim",
        "protocolVersion": replica.ends()?.latest.protocol,
    }))
}

/// `getLatestLedger`: `headerXdr` is a bare `LedgerHeader` here, and no `LedgerHeaderHistoryEntry`.
pub(super) fn latest_ledger(replica: &Replica<'_>) -> Result<Value, RpcError> {
    let ends = replica.ends().map_err(|_| RpcError::internal("could not get latest ledger sequence"))?;
    let latest = &ends.latest;
    Ok(json!({
        "id": hex::encode(latest.hash),
        "protocolVersion": latest.protocol,
        "sequence": latest.seq,
        "closeTime": latest.close_time.to_string(),
        "headerXdr": STANDARD.encode(&latest.header_xdr),
        "metadataXdr": STANDARD.encode(&latest.xdr),
    }))
}
