//! The contracts that somebody named, and what was said of them.

use annals_core::{ContractId, LedgerSeq, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::damaged;
use super::state::{self, ledger_seq};
use crate::store::{Contract, ContractKind, StoreError};

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

/// What is known of `id`.
pub(super) fn get(connection: &Connection, id: ContractId) -> Result<Option<Named>, StoreError> {
    let sql = "/* contracts::get */ SELECT contract_id, origin_seq, kind, kind_feed_position FROM contracts \
               WHERE contract_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id.0])?;
    rows.next()?.map(named).transpose()
}

/// All named contracts, by id.
pub(super) fn all(connection: &Connection) -> Result<Vec<Contract>, StoreError> {
    let sql = "/* contracts::all */ SELECT contract_id, origin_seq, kind, kind_feed_position FROM contracts \
               ORDER BY contract_id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut contracts = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        contracts.push(named(row)?.contract);
    }
    Ok(contracts)
}

fn named(row: &Row<'_>) -> Result<Named, StoreError> {
    let unknown = || damaged("a contract's kind is unknown");
    let kind = row.get::<_, Option<String>>(2)?;
    let kind = kind.map(|word| ContractKind::from_name(&word).ok_or_else(unknown)).transpose()?;
    let origin = row.get::<_, Option<u32>>(1)?.map(ledger_seq).transpose()?;
    Ok(Named {
        contract: Contract { id: ContractId(row.get(0)?), origin, kind, schema: None },
        kind_feed_position: row.get(3)?,
    })
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
pub(super) fn declare(connection: &Connection, said: &Contract, now_ms: u64) -> Result<(), StoreError> {
    if state::meta(connection)?.passphrase.is_none() {
        return Err(StoreError::NotRequested);
    }
    let before = get(connection, said.id)?;
    let old = before.as_ref().map(|named| named.contract.clone());
    let new = Contract {
        id: said.id,
        origin: said.origin.or(old.as_ref().and_then(|old| old.origin)),
        kind: said.kind.or(old.as_ref().and_then(|old| old.kind)),
        schema: None,
    };
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    let kind_feed_position = if old.as_ref().and_then(|old| old.kind) == new.kind {
        before.and_then(|named| named.kind_feed_position)
    } else {
        Some(state::act_position(connection)?)
    };
    let sql = "/* contracts::declare */ INSERT INTO contracts VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (contract_id) DO UPDATE SET origin_seq = excluded.origin_seq, kind = excluded.kind, \
               kind_feed_position = excluded.kind_feed_position";
    let (origin, kind) = (new.origin.map(LedgerSeq::get), new.kind.map(ContractKind::as_str));
    connection.execute(sql, params![said.id.0, now_ms, origin, kind, kind_feed_position])?;
    journal(connection, old, &new, now_ms)
}

fn journal(connection: &Connection, old: Option<Contract>, new: &Contract, now_ms: u64) -> Result<(), StoreError> {
    let sql = "/* contracts::journal */ INSERT INTO journal (recorded_at_ms, act, detail) \
               VALUES (?1, 'declare_contract', json_object('contract', ?2, 'origin_from', ?3, 'origin_to', ?4, \
               'kind_from', ?5, 'kind_to', ?6))";
    let origin = |contract: &Contract| contract.origin.map(LedgerSeq::get);
    let kind = |contract: &Contract| contract.kind.map(ContractKind::as_str);
    let (origin_from, kind_from) = (old.as_ref().and_then(origin), old.as_ref().and_then(kind));
    connection.execute(sql, params![now_ms, new.id.to_string(), origin_from, origin(new), kind_from, kind(new)])?;
    Ok(())
}

/// Whether everything is in scope: it was asked for, or it is covered.
pub(super) fn all_in_scope(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "/* contracts::all_in_scope */ SELECT EXISTS (SELECT 1 FROM ranges WHERE scope_key = '*') \
               OR EXISTS (SELECT 1 FROM gaps WHERE scope_key = '*')";
    let everything: Option<bool> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    Ok(everything.unwrap_or(false))
}
