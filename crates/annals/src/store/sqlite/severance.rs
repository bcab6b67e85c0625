//! Stored ledgers on the two sides of a gap that are not of one chain.

use annals_core::chain::Severance;
use rusqlite::Connection;

use super::incidents::{self, Contradiction};
use super::{ledgers, state};
use crate::store::{IncidentKind, StoreError};

/// Records the incident, and gives it as the error that tells of it; none where there is nothing to tell.
pub(super) fn record(
    connection: &Connection,
    found: &Severance,
    source: &str,
    now_ms: u64,
) -> Result<Option<StoreError>, StoreError> {
    state::check_incidents(connection)?;
    let neighbours = ledgers::neighbours(connection, found.between)?;
    let Some(below) = found.between.from_inclusive().previous() else { return Ok(None) };
    if neighbours.after != Some(found.last) || neighbours.before == Some(found.below) {
        return Ok(None);
    }
    let Some(stored) = ledgers::get(connection, below)? else {
        let pin = ledgers::pins(connection)?.into_iter().find(|pin| pin.seq == below && pin.hash != found.below);
        return match pin {
            Some(pin) => {
                let (pinned, found) = (pin.hash.to_string(), found.below.to_string());
                Err(StoreError::PinContradicted { seq: below, pinned, found })
            }
            None => Ok(None),
        };
    };
    let contradiction = Contradiction {
        kind: IncidentKind::LedgerHash,
        ledger: below,
        position: None,
        stored_xdr: stored.header_xdr,
        offered_xdr: found.header_xdr.clone(),
        stored_tx_hash: None,
        offered_tx_hash: None,
    };
    if incidents::is_resolved(connection, &contradiction)? {
        return Ok(None);
    }
    let id = incidents::record(connection, &contradiction, source, now_ms)?;
    Ok(Some(contradiction.into_error(id)))
}
