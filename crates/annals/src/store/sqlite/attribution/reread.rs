//! Reading stored events again, after a schema or the registry changed.

use annals_core::{ContractId, Event, Network, Position, Registry};
use rusqlite::{Connection, OptionalExtension, params};

use super::Attribution;
use crate::store::sqlite::events::{COLUMNS, StoredEvent, stored_event};
use crate::store::sqlite::{schemas, state};
use crate::store::{Reattributed, StoreError};

/// Takes `registry` for the one that attributes events; returns the contracts that wait to be read again.
pub(in crate::store::sqlite) fn adopt(
    connection: &Connection,
    registry: &Registry,
    now_ms: u64,
) -> Result<Vec<ContractId>, StoreError> {
    survey(connection, registry, now_ms)?;
    schemas::adopt(connection, registry)?;
    schemas::waiting(connection)
}

/// Looks once for asset contracts among the events that were stored before there was attribution: by the first event of
/// each contract, since all events of an asset contract name their asset.
fn survey(connection: &Connection, registry: &Registry, now_ms: u64) -> Result<(), StoreError> {
    let pending = "/* reread::survey */ UPDATE attribution_state SET survey_pending = 0 WHERE survey_pending = 1";
    let Some(passphrase) = state::meta(connection)?.passphrase else { return Ok(()) };
    if connection.execute(pending, [])? == 0 {
        return Ok(());
    }
    let at = state::act_position(connection)?;
    let network = Network::new(passphrase);
    let mut attribution = Attribution::new(connection, registry, &network, now_ms)?;
    let mut contract = next_contract(connection, None)?;
    while let Some(id) = contract {
        if let Some(first) = step(connection, id, None, 1)?.pop() {
            attribution.recognise(&first.event, at)?;
        }
        contract = next_contract(connection, Some(id))?;
    }
    attribution.finish()
}

pub(super) const NEXT_CONTRACT: &str = "/* reread::next_contract */ SELECT contract_id FROM events \
    INDEXED BY events_by_contract WHERE contract_id > ?1 ORDER BY contract_id LIMIT 1";

/// The contract with stored events whose id follows.
fn next_contract(connection: &Connection, behind: Option<ContractId>) -> Result<Option<ContractId>, StoreError> {
    // No blob is below the empty one.
    let behind = behind.map_or(Vec::new(), |id| id.0.to_vec());
    Ok(connection.prepare_cached(NEXT_CONTRACT)?.query_row([behind], |row| row.get(0).map(ContractId)).optional()?)
}

/// Reads some of a contract's events again.
pub(in crate::store::sqlite) fn reattribute(
    connection: &Connection,
    registry: &Registry,
    contract: ContractId,
    after: Option<Position>,
    limit: u32,
    now_ms: u64,
) -> Result<Reattributed, StoreError> {
    let mut position = None;
    // The step's feed position is used up only where anything changes.
    let mut at = || -> Result<u64, StoreError> {
        if position.is_none() {
            position = Some(state::act_position(connection)?);
        }
        Ok(position.expect("it was just made"))
    };
    let mut reading = schemas::present(connection, contract)?;
    if let Some(outdated) = reading.as_ref().filter(|reading| schemas::is_outdated(registry, reading)) {
        schemas::begin(connection, registry, contract, Some(&outdated.choice), at()?, None)?;
        reading = schemas::present(connection, contract)?;
    }
    let waits = reading.as_ref().is_some_and(schemas::Reading::waits);
    let schema = reading.as_ref().map(|reading| registry.schema(&reading.choice)).transpose();
    // What nobody can read waits until the registry knows its schema again.
    let Ok(schema) = schema else { return Ok(Reattributed { next: None, events: 0, changed: 0, quarantined: 0 }) };
    let after = if waits { reading.and_then(|reading| reading.pass) } else { after };
    let events = step(connection, contract, after, limit)?;
    let network = Network::new(state::meta(connection)?.passphrase.unwrap_or_default());
    let mut attribution = Attribution::new(connection, registry, &network, now_ms)?;
    let mut done = Reattributed { next: None, events: 0, changed: 0, quarantined: 0 };
    for stored in &events {
        let reread =
            attribution.reread(contract, schema.as_ref(), None, &stored.event, stored.feed_position, &mut at)?;
        done.events += 1;
        done.changed += u64::from(reread.changed);
        done.quarantined += u64::from(reread.quarantined);
    }
    attribution.finish()?;
    let last = events.last().map(|stored: &StoredEvent| stored.event.position);
    let is_full = events.len() >= usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
    match last.filter(|_| is_full) {
        Some(last) => {
            schemas::pass(connection, contract, last)?;
            done.next = Some(last);
        }
        None if waits => schemas::finish(connection, contract, at()?)?,
        None => {}
    }
    Ok(done)
}

/// Up to `limit` stored events of a contract behind a position.
fn step(
    connection: &Connection,
    contract: ContractId,
    after: Option<Position>,
    limit: u32,
) -> Result<Vec<StoredEvent>, StoreError> {
    let sql = format!(
        "/* reread::step */ SELECT {COLUMNS} FROM events INDEXED BY events_by_contract \
         WHERE contract_id = ?1 AND (toid, event_index) > (?2, ?3) ORDER BY toid, event_index LIMIT ?4"
    );
    let (toid, index) = after.map_or((0, 0), |after| (after.toid(), after.index()));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![contract.0, toid, index, limit.max(1)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(stored_event(row)?);
    }
    Ok(events)
}

impl Attribution<'_> {
    /// Begins to read a contract as an asset's, if one of its events says that it is one.
    fn recognise(&mut self, event: &Event, at: u64) -> Result<(), StoreError> {
        let Some(contract) = event.contract_id else { return Ok(()) };
        if !self.known(contract, at, None)?.is_found && self.names_its_asset(contract, event) {
            self.find(contract, super::Found::asset(at), None)?;
        }
        Ok(())
    }
}
