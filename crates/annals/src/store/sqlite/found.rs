//! What was found of contracts while scanning: where they were created, and which are asset contracts.

use annals_core::{ContractId, LedgerSeq};
use rusqlite::{Connection, params};

use super::failure::damaged;
use super::state::ledger_seq;
use crate::store::{ContractKind, FeedPosition, StoreError};

/// The first ledger that a network's exporters give. An asset contract emits without ever being created, and so from
/// then on.
const NETWORK_FIRST: u32 = 2;

/// What was found of one contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) origin: LedgerSeq,
    pub(super) kind: ContractKind,
    /// That of the commit which found it.
    pub(super) feed_position: u64,
}

impl Found {
    /// A contract whose creation was scanned.
    pub(super) fn created(kind: ContractKind, seq: LedgerSeq, feed_position: u64) -> Self {
        match kind {
            ContractKind::Wasm => Self { origin: seq, kind, feed_position },
            ContractKind::Asset => Self::asset(feed_position),
        }
    }

    /// An asset's contract.
    pub(super) fn asset(feed_position: u64) -> Self {
        let origin = LedgerSeq::new(NETWORK_FIRST).expect("2 is a ledger's number");
        Self { origin, kind: ContractKind::Asset, feed_position }
    }
}

/// What was found of `id`, now or up to the feed position `as_of`.
pub(super) fn get(
    connection: &Connection,
    id: ContractId,
    as_of: Option<FeedPosition>,
) -> Result<Option<Found>, StoreError> {
    let sql = "/* found::get */ SELECT origin_seq, kind, feed_position FROM found_contracts \
               WHERE contract_id = ?1 AND (?2 IS NULL OR feed_position <= ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![id.0, as_of.map(|as_of| as_of.0)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let kind = ContractKind::from_name(&row.get::<_, String>(1)?);
    let kind = kind.ok_or_else(|| damaged("the kind of a contract that was found is unknown"))?;
    Ok(Some(Found { origin: ledger_seq(row.get(0)?)?, kind, feed_position: row.get(2)? }))
}

/// Whether anything was found of `id`.
pub(super) fn exists(connection: &Connection, id: ContractId) -> Result<bool, StoreError> {
    let sql = "/* found::exists */ SELECT 1 FROM found_contracts WHERE contract_id = ?1";
    Ok(connection.prepare_cached(sql)?.exists([id.0])?)
}

/// Records what was found of `id`, unless something was before. An operator who named another origin is believed, and
/// the contradiction is journalled. Tells whether anything was recorded.
pub(super) fn record(connection: &Connection, id: ContractId, found: Found, now_ms: u64) -> Result<bool, StoreError> {
    let sql = "/* found::record */ INSERT INTO found_contracts VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (contract_id) DO NOTHING";
    let values = params![id.0, found.origin.get(), found.kind.as_str(), found.feed_position];
    if connection.prepare_cached(sql)?.execute(values)? == 0 {
        return Ok(false);
    }
    let contradiction = "/* found::record */ INSERT INTO journal (recorded_at_ms, act, detail) \
                         SELECT ?1, 'origin_contradicted', json_object('contract', ?2, 'declared', origin_seq, \
                         'found', ?3) FROM contracts WHERE contract_id = ?4 AND origin_seq <> ?3";
    connection.prepare_cached(contradiction)?.execute(params![now_ms, id.to_string(), found.origin.get(), id.0])?;
    Ok(true)
}
