//! With which schema each contract's events are read, as of each feed position.

use std::collections::HashMap;

use annals_core::{ContractId, Position, Registry, SchemaChoice};
use rusqlite::{Connection, Row, params};

use super::failure::damaged;
use super::state;
use crate::store::{ContractKind, FeedPosition, StoreError};

/// The schema of contracts that were recognised as an asset's.
const ASSET: &str = "asset";
/// Stands for the digest of a schema that the registry does not know: no schema has it.
const UNKNOWN_DIGEST: [u8; 32] = [0; 32];

/// With which schema one contract's events are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    since: u64,
    pub(super) choice: SchemaChoice,
    digest: [u8; 32],
    /// The feed position from which on all stored events were read with it; none while some wait.
    attributed_at: Option<u64>,
    /// Up to where they were read while some wait.
    pub(super) pass: Option<Position>,
}

impl Reading {
    /// Whether every event that was stored at `as_of` was read with it by then.
    pub(super) fn is_done_at(&self, as_of: FeedPosition) -> bool {
        self.attributed_at.is_some_and(|at| at <= as_of.0)
    }

    /// Whether stored events wait to be read with it.
    pub(super) fn waits(&self) -> bool {
        self.attributed_at.is_none()
    }
}

const COLUMNS: &str = "since, schema, digest, attributed_at, pass_toid, pass_index";

/// With which schema `contract` is read now.
pub(super) fn present(connection: &Connection, contract: ContractId) -> Result<Option<Reading>, StoreError> {
    let sql = format!(
        "/* schemas::present */ SELECT {COLUMNS} FROM contract_schemas WHERE contract_id = ?1 AND until IS NULL \
         ORDER BY since DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([contract.0])?;
    rows.next()?.map(reading).transpose()
}

/// With which schema `contract` was read at the feed position `as_of`.
pub(super) fn at(
    connection: &Connection,
    contract: ContractId,
    as_of: FeedPosition,
) -> Result<Option<Reading>, StoreError> {
    let sql = format!(
        "/* schemas::at */ SELECT {COLUMNS} FROM contract_schemas WHERE contract_id = ?1 AND since <= ?2 \
         AND (until IS NULL OR until > ?2) ORDER BY since DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![contract.0, as_of.0])?;
    rows.next()?.map(reading).transpose()
}

fn reading(row: &Row<'_>) -> Result<Reading, StoreError> {
    let choice = row.get::<_, String>(1)?.parse().map_err(|_| damaged("a contract's schema has no name"))?;
    let pass = match (row.get(4)?, row.get(5)?) {
        (Some(toid), Some(index)) => {
            Some(Position::from_parts(toid, index).map_err(|_| damaged("a pass over events ends at no position"))?)
        }
        _ => None,
    };
    Ok(Reading { since: row.get(0)?, choice, digest: row.get(2)?, attributed_at: row.get(3)?, pass })
}

/// Which schema reads a contract of this kind for which nobody named one. Nothing is guessed of Wasm contracts.
pub(super) fn by_kind(kind: ContractKind) -> Option<SchemaChoice> {
    match kind {
        ContractKind::Asset => Some(ASSET.parse().expect("the name is one")),
        ContractKind::Wasm => None,
    }
}

/// Begins to read `contract` with the schema `choice`, or with none, from the feed position `since` on.
///
/// What is stored of it waits to be read again, unless nothing is (beside the event in the row `except`), or it was read
/// already with a schema that attributes alike.
pub(super) fn begin(
    connection: &Connection,
    registry: &Registry,
    contract: ContractId,
    choice: Option<&SchemaChoice>,
    since: u64,
    except: Option<u64>,
) -> Result<(), StoreError> {
    let before = present(connection, contract)?;
    let end = "/* schemas::begin */ UPDATE contract_schemas SET until = ?2 WHERE contract_id = ?1 AND until IS NULL";
    connection.prepare_cached(end)?.execute(params![contract.0, since])?;
    let Some(choice) = choice else { return Ok(()) };
    let digest = digest_of(registry, choice);
    let alike = before.is_some_and(|before| before.digest == digest && !before.waits());
    let done = digest != UNKNOWN_DIGEST && (alike || !has_events(connection, contract, except)?);
    let insert = "/* schemas::begin */ INSERT INTO contract_schemas (contract_id, since, schema, digest, \
                  attributed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![contract.0, since, choice.to_string(), digest, done.then_some(since)];
    connection.prepare_cached(insert)?.execute(values)?;
    Ok(())
}

/// Whether events of `contract` are stored, beside that in the row `except`.
fn has_events(connection: &Connection, contract: ContractId, except: Option<u64>) -> Result<bool, StoreError> {
    let sql = "/* schemas::has_events */ SELECT 1 FROM events INDEXED BY events_by_contract \
               WHERE contract_id = ?1 AND feed_position IS NOT ?2 LIMIT 1";
    Ok(connection.prepare_cached(sql)?.exists(params![contract.0, except])?)
}

/// Whether the registry attributes otherwise than the schema that `reading` names.
pub(super) fn is_outdated(registry: &Registry, reading: &Reading) -> bool {
    digest_of(registry, &reading.choice) != reading.digest
}

fn digest_of(registry: &Registry, choice: &SchemaChoice) -> [u8; 32] {
    registry.schema(choice).map_or(UNKNOWN_DIGEST, |schema| schema.digest())
}

/// Remembers that the events of `contract` up to `pass` were read with its present schema.
pub(super) fn pass(connection: &Connection, contract: ContractId, pass: Position) -> Result<(), StoreError> {
    let sql = "/* schemas::pass */ UPDATE contract_schemas SET pass_toid = ?2, pass_index = ?3 \
               WHERE contract_id = ?1 AND until IS NULL AND attributed_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![contract.0, pass.toid(), pass.index()])?;
    Ok(())
}

/// Says that from the feed position `at` on all stored events of `contract` are read with its present schema.
pub(super) fn finish(connection: &Connection, contract: ContractId, at: u64) -> Result<(), StoreError> {
    let sql = "/* schemas::finish */ UPDATE contract_schemas SET attributed_at = ?2, pass_toid = NULL, \
               pass_index = NULL WHERE contract_id = ?1 AND until IS NULL AND attributed_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![contract.0, at])?;
    Ok(())
}

/// The contracts some of whose events wait, by id.
pub(super) fn waiting(connection: &Connection) -> Result<Vec<ContractId>, StoreError> {
    let sql = "/* schemas::waiting */ SELECT contract_id FROM contract_schemas INDEXED BY contract_schemas_waiting \
               WHERE until IS NULL AND attributed_at IS NULL ORDER BY contract_id";
    let mut statement = connection.prepare_cached(sql)?;
    let ids = statement.query_map([], |row| row.get(0).map(ContractId))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Makes those contracts wait whose schema the registry gives another digest now.
pub(super) fn adopt(connection: &Connection, registry: &Registry) -> Result<(), StoreError> {
    let sql = format!(
        "/* schemas::adopt */ SELECT {COLUMNS}, contract_id FROM contract_schemas WHERE until IS NULL \
         ORDER BY contract_id"
    );
    let mut outdated = Vec::new();
    let mut digests = HashMap::new();
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let reading = reading(row)?;
        let choice = reading.choice.clone();
        let digest = digests.entry(choice).or_insert_with_key(|choice| digest_of(registry, choice));
        if *digest != reading.digest {
            outdated.push((ContractId(row.get(6)?), reading.choice));
        }
    }
    if outdated.is_empty() {
        return Ok(());
    }
    let since = state::act_position(connection)?;
    for (contract, choice) in outdated {
        begin(connection, registry, contract, Some(&choice), since, None)?;
    }
    Ok(())
}
