//! The contracts that somebody named, and what was said of them.

use annals_core::{ContractId, LedgerSeq, Registry, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::damaged;
use super::found::{self, Found};
use super::schemas::{self, Reading};
use super::state::{self, ledger_seq};
use crate::store::{Contract, ContractKind, NO_SCHEMA, StoreError};

/// A named contract, and since when its kind is known.
pub(super) struct Named {
    pub(super) contract: Contract,
    pub(super) kind_feed_position: Option<u64>,
}

impl Named {
    /// Whether the contract was known at `as_of` to have no classic events.
    pub(super) fn was_wasm_at(&self, as_of: u64) -> bool {
        self.contract.kind == Some(ContractKind::Wasm) && self.kind_feed_position.is_some_and(|said| said <= as_of)
    }
}

const COLUMNS: &str = "contract_id, origin_seq, kind, kind_feed_position, schema";

/// What somebody said of `id`.
pub(super) fn get(connection: &Connection, id: ContractId) -> Result<Option<Named>, StoreError> {
    let sql = format!("/* contracts::get */ SELECT {COLUMNS} FROM contracts WHERE contract_id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([id.0])?;
    rows.next()?.map(named).transpose()
}

/// All named contracts, by id, with what was said of them alone.
pub(super) fn declared(connection: &Connection) -> Result<Vec<Contract>, StoreError> {
    let sql = format!("/* contracts::declared */ SELECT {COLUMNS} FROM contracts ORDER BY contract_id");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut contracts = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        contracts.push(named(row)?.contract);
    }
    Ok(contracts)
}

/// All named contracts, by id, with what was found of them where nobody said otherwise.
pub(super) fn all(connection: &Connection) -> Result<Vec<Contract>, StoreError> {
    let mut contracts = Vec::new();
    for said in declared(connection)? {
        let found = found::get(connection, said.id, None)?;
        let reading = schemas::present(connection, said.id)?;
        contracts.extend(known(said.id, Some(&said), found, reading.as_ref()));
    }
    Ok(contracts)
}

/// What is known of `id`: what somebody said, and else what was found; none where it is neither named nor found. What
/// was found to be an asset's contract is one, whatever was said: its id is derived from the asset (CAP-46-06).
pub(super) fn known(
    id: ContractId,
    said: Option<&Contract>,
    found: Option<Found>,
    reading: Option<&Reading>,
) -> Option<Contract> {
    if said.is_none() && found.is_none() {
        return None;
    }
    let proven = found.map(|found| found.kind).filter(|kind| *kind == ContractKind::Asset);
    Some(Contract {
        id,
        origin: said.and_then(|said| said.origin).or(found.map(|found| found.origin)),
        kind: proven.or(said.and_then(|said| said.kind)).or(found.map(|found| found.kind)),
        schema: reading.map(|reading| reading.choice.clone()),
    })
}

fn named(row: &Row<'_>) -> Result<Named, StoreError> {
    let unknown = || damaged("a contract's kind is unknown");
    let kind = row.get::<_, Option<String>>(2)?;
    let kind = kind.map(|word| ContractKind::from_name(&word).ok_or_else(unknown)).transpose()?;
    let origin = row.get::<_, Option<u32>>(1)?.map(ledger_seq).transpose()?;
    let schema = row.get::<_, Option<String>>(4)?.map(|choice| choice.parse()).transpose();
    let schema = schema.map_err(|_| damaged("a contract's schema has no name"))?;
    let contract = Contract { id: ContractId(row.get(0)?), origin, kind, schema };
    Ok(Named { contract, kind_feed_position: row.get(3)? })
}

/// Names the contracts of a scope.
pub(super) fn name(connection: &Connection, scope: &Scope, now_ms: u64) -> Result<(), StoreError> {
    let Scope::Contracts(contracts) = scope else { return Ok(()) };
    let sql = "/* contracts::name */ INSERT INTO contracts (contract_id, asked_at_ms) VALUES (?1, ?2) \
               ON CONFLICT (contract_id) DO NOTHING";
    let mut statement = connection.prepare_cached(sql)?;
    for contract in contracts {
        statement.execute(params![contract.0, now_ms])?;
    }
    Ok(())
}

/// Merges what an operator says of a contract with what is known; a declaration that changes nothing leaves no trace.
pub(super) fn declare(
    connection: &Connection,
    said: &Contract,
    registry: &Registry,
    now_ms: u64,
) -> Result<(), StoreError> {
    if state::meta(connection)?.passphrase.is_none() {
        return Err(StoreError::NotRequested);
    }
    let before = get(connection, said.id)?;
    let old = before.as_ref().map(|named| named.contract.clone());
    let schema = match &said.schema {
        None => old.as_ref().and_then(|old| old.schema.clone()),
        Some(choice) if choice.name() == NO_SCHEMA => None,
        Some(choice) => {
            registry.schema(choice).map_err(StoreError::UnknownSchema)?;
            Some(choice.clone())
        }
    };
    let new = Contract {
        id: said.id,
        origin: said.origin.or(old.as_ref().and_then(|old| old.origin)),
        kind: said.kind.or(old.as_ref().and_then(|old| old.kind)),
        schema,
    };
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    let found = found::get(connection, said.id, None)?;
    let old_kind = old.as_ref().and_then(|old| old.kind);
    let kind_feed_position = if old_kind == new.kind {
        before.and_then(|named| named.kind_feed_position)
    } else if let Some(found) = found.filter(|found| old_kind.is_none() && Some(found.kind) == new.kind) {
        // Who repeats what was found says nothing new.
        Some(found.feed_position)
    } else {
        Some(state::act_position(connection)?)
    };
    let sql = "/* contracts::declare */ INSERT INTO contracts (contract_id, asked_at_ms, origin_seq, kind, \
               kind_feed_position, schema) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
               ON CONFLICT (contract_id) DO UPDATE SET origin_seq = excluded.origin_seq, kind = excluded.kind, \
               kind_feed_position = excluded.kind_feed_position, schema = excluded.schema";
    let (origin, kind) = (new.origin.map(LedgerSeq::get), new.kind.map(ContractKind::as_str));
    let schema = new.schema.as_ref().map(ToString::to_string);
    connection.execute(sql, params![said.id.0, now_ms, origin, kind, kind_feed_position, schema])?;
    if old.as_ref().and_then(|old| old.schema.as_ref()) != new.schema.as_ref() {
        read_with(connection, registry, &new, found)?;
    }
    journal(connection, old.as_ref(), &new, now_ms)
}

/// Has the contract read with the schema that an operator named, and without one with what it was found to be.
fn read_with(
    connection: &Connection,
    registry: &Registry,
    contract: &Contract,
    found: Option<Found>,
) -> Result<(), StoreError> {
    let choice = contract.schema.clone().or_else(|| found.and_then(|found| schemas::by_kind(found.kind)));
    let present = schemas::present(connection, contract.id)?;
    if present.map(|reading| reading.choice) == choice {
        return Ok(());
    }
    let since = state::act_position(connection)?;
    schemas::begin(connection, registry, contract.id, choice.as_ref(), since, None)
}

fn journal(connection: &Connection, old: Option<&Contract>, new: &Contract, now_ms: u64) -> Result<(), StoreError> {
    let sql = "/* contracts::journal */ INSERT INTO journal (recorded_at_ms, act, detail) \
               VALUES (?1, 'declare_contract', json_object('contract', ?2, 'origin_from', ?3, 'origin_to', ?4, \
               'kind_from', ?5, 'kind_to', ?6, 'schema_from', ?7, 'schema_to', ?8, 'origin_found', \
               (SELECT origin_seq FROM found_contracts WHERE contract_id = ?9)))";
    let origin = |contract: &Contract| contract.origin.map(LedgerSeq::get);
    let kind = |contract: &Contract| contract.kind.map(ContractKind::as_str);
    let schema = |contract: &Contract| contract.schema.as_ref().map(ToString::to_string);
    connection.execute(
        sql,
        params![
            now_ms,
            new.id.to_string(),
            old.and_then(origin),
            origin(new),
            old.and_then(kind),
            kind(new),
            old.and_then(schema),
            schema(new),
            new.id.0,
        ],
    )?;
    Ok(())
}

/// Whether everything is in scope: it was asked for, or it is covered.
pub(super) fn all_in_scope(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "/* contracts::all_in_scope */ SELECT EXISTS (SELECT 1 FROM ranges WHERE scope_key = '*') \
               OR EXISTS (SELECT 1 FROM gaps WHERE scope_key = '*')";
    let everything: Option<bool> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    Ok(everything.unwrap_or(false))
}
