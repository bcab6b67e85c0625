//! Whom events belong to: what their contract's schema says, written in the transaction that stores or replaces them.
//!
//! The parties of an event are addresses among its own topics, whatever the schema. What was attributed of an event is
//! therefore found by the topics that it had, and needs no index of its own.

use std::collections::HashMap;
use std::rc::Rc;

use annals_core::decode::EventView;
use annals_core::{
    Address, ContractId, Creation, Event, EventKind, Executable, LedgerSeq, Network, Registry, Schema, SchemaChoice,
};
use rusqlite::Connection;

use self::table::{Attributed, Table};
use super::found::{self, Found};
use super::schemas;
use crate::store::{ContractKind, StoreError};

mod audit;
mod reread;
mod table;
#[cfg(test)]
mod tests;

pub(super) use audit::audit;
pub(super) use reread::{adopt, reattribute};
pub(super) use table::{party, quarantined, quarantined_count, quarantined_of};

/// `SCV_STRING` (`ScValType`, `Stellar-contract.x`): what an asset topic begins with.
const SCV_STRING: [u8; 4] = 14_u32.to_be_bytes();

/// What is known of a contract whose event was met.
#[derive(Clone)]
struct Known {
    /// What its events are read with; none where nobody knows whom they belong to.
    schema: Option<Rc<Schema>>,
    /// Whether it was found what it is, so that nothing is left to recognise.
    is_found: bool,
}

/// What one transaction attributes. Each address and each contract is looked up once; the rows are written at the end,
/// in the order of their table, which costs a fraction of writing them in the order of events.
pub(super) struct Attribution<'a> {
    connection: &'a Connection,
    registry: &'a Registry,
    network: &'a Network,
    now_ms: u64,
    contracts: HashMap<ContractId, Known>,
    schemas: HashMap<SchemaChoice, Option<Rc<Schema>>>,
    table: Table<'a>,
}

/// What reading an event again did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reread {
    changed: bool,
    quarantined: bool,
}

impl<'a> Attribution<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        registry: &'a Registry,
        network: &'a Network,
        now_ms: u64,
    ) -> Result<Self, StoreError> {
        let (contracts, schemas) = (HashMap::new(), HashMap::new());
        Ok(Self { connection, registry, network, now_ms, contracts, schemas, table: Table::new(connection)? })
    }

    /// Takes note of a contract that the ledger `seq` created; tells whether that says anything new.
    pub(super) fn created(&mut self, creation: Creation, seq: LedgerSeq, at: u64) -> Result<bool, StoreError> {
        let kind = match creation.executable {
            Executable::Wasm => ContractKind::Wasm,
            Executable::Asset => ContractKind::Asset,
        };
        // Asked of the table alone: a commit that says nothing new begins no schema anew either.
        if found::exists(self.connection, creation.contract)? {
            return Ok(false);
        }
        self.find(creation.contract, Found::created(kind, seq, at), None)?;
        Ok(true)
    }

    /// Attributes an event that was just stored in the row `feed_position`.
    pub(super) fn added(&mut self, event: &Event, feed_position: u64) -> Result<(), StoreError> {
        let Some(contract) = event.contract_id else { return Ok(()) };
        let known = self.known(contract, feed_position, Some(feed_position))?;
        let schema = if known.is_found || !self.names_its_asset(contract, event) {
            known.schema
        } else {
            self.find(contract, Found::asset(feed_position), Some(feed_position))?.schema
        };
        let Some(schema) = schema else { return Ok(()) };
        match schema.attribute(&event.xdr) {
            Ok(parties) => {
                for (place, party) in (0..).zip(&parties) {
                    self.table.add(contract, event, Attributed::of(place, party), feed_position, feed_position)?;
                }
                Ok(())
            }
            Err(fault) => self.table.quarantine(contract, event, fault, feed_position),
        }
    }

    /// Corrects what was attributed of a stored event whose bytes were `former` until now; from the feed position `at`
    /// on it is `event`, in the row `feed_position`.
    pub(super) fn replaced(
        &mut self,
        former: &[u8],
        event: &Event,
        feed_position: u64,
        at: u64,
    ) -> Result<(), StoreError> {
        let Some(contract) = event.contract_id else { return Ok(()) };
        let schema = self.known(contract, at, None)?.schema;
        self.reread(contract, schema.as_deref(), Some(former), event, feed_position, || Ok(at))?;
        Ok(())
    }

    /// Writes what is left to write.
    pub(super) fn finish(&mut self) -> Result<(), StoreError> {
        self.table.finish()
    }

    /// Makes what is attributed of `event` what `schema` says: nothing, where there is none. `at` is asked for the feed
    /// position only where anything changes.
    fn reread(
        &mut self,
        contract: ContractId,
        schema: Option<&Schema>,
        former: Option<&[u8]>,
        event: &Event,
        feed_position: u64,
        mut at: impl FnMut() -> Result<u64, StoreError>,
    ) -> Result<Reread, StoreError> {
        let (parties, fault) = match schema.map(|schema| schema.attribute(&event.xdr)) {
            None => (Vec::new(), None),
            Some(Ok(parties)) => (parties, None),
            Some(Err(fault)) => (Vec::new(), Some(fault)),
        };
        let wanted: Vec<Attributed> = (0..).zip(&parties).map(|(place, party)| Attributed::of(place, party)).collect();
        let mut addresses = addresses_of(&event.xdr);
        addresses.extend(former.map(addresses_of).unwrap_or_default());
        addresses.sort_unstable();
        addresses.dedup();
        let mut stored = Vec::new();
        for address in addresses {
            stored.extend(self.table.stored(contract, address, event.position)?);
        }
        let mut changed = false;
        for row in stored.iter().filter(|row| !wanted.contains(row)) {
            self.table.end(contract, row, event.position, at()?)?;
            changed = true;
        }
        for row in wanted.into_iter().filter(|row| !stored.contains(row)) {
            self.table.add(contract, event, row, feed_position, at()?)?;
            changed = true;
        }
        let before = self.table.fault(contract, event.position)?;
        if before != fault {
            if before.is_some() {
                self.table.release(contract, event.position, at()?)?;
            }
            if let Some(fault) = fault {
                self.table.quarantine(contract, event, fault, at()?)?;
            }
            changed = true;
        }
        Ok(Reread { changed, quarantined: fault.is_some() })
    }

    /// What is known of `contract`; a schema that the registry changed since is begun again at the feed position `at`,
    /// where the event in the row `except` is about to be attributed.
    fn known(&mut self, contract: ContractId, at: u64, except: Option<u64>) -> Result<Known, StoreError> {
        if let Some(known) = self.contracts.get(&contract) {
            return Ok(known.clone());
        }
        let reading = schemas::present(self.connection, contract)?;
        if let Some(reading) = reading.as_ref().filter(|reading| schemas::is_outdated(self.registry, reading)) {
            schemas::begin(self.connection, self.registry, contract, Some(&reading.choice), at, except)?;
        }
        let schema = reading.and_then(|reading| self.schema(&reading.choice));
        let is_found = found::exists(self.connection, contract)?;
        let known = Known { schema, is_found };
        self.contracts.insert(contract, known.clone());
        Ok(known)
    }

    fn schema(&mut self, choice: &SchemaChoice) -> Option<Rc<Schema>> {
        let registry = self.registry;
        let read = |choice: &SchemaChoice| registry.schema(choice).ok().map(Rc::new);
        self.schemas.entry(choice.clone()).or_insert_with_key(read).clone()
    }

    /// Whether the event names, as its last topic, the asset whose contract emitted it. No other contract can have the
    /// id that is derived from an asset. The native one is known by its id: its fee events name no asset (CAP-67).
    fn names_its_asset(&self, contract: ContractId, event: &Event) -> bool {
        if contract == self.network.native_contract() {
            return true;
        }
        if event.kind == EventKind::System {
            return false;
        }
        // Few events hold a string, and none that does not names an asset; reading each would cost more than this.
        if !event.xdr.chunks_exact(4).any(|word| word == SCV_STRING) {
            return false;
        }
        let Ok(view) = EventView::parse(&event.xdr) else { return false };
        view.topics.last().and_then(|topic| self.network.asset_contract(topic)) == Some(contract)
    }

    /// Records what was found of a contract, and begins to read it accordingly unless an operator said otherwise. The
    /// event in the row `except` is about to be attributed.
    fn find(&mut self, contract: ContractId, found: Found, except: Option<u64>) -> Result<Known, StoreError> {
        let at = found.feed_position;
        found::record(self.connection, contract, found, self.now_ms)?;
        let mut known = Known { is_found: true, ..self.known(contract, at, except)? };
        let choice = schemas::by_kind(found.kind);
        if let Some(choice) = choice.filter(|_| known.schema.is_none())
            && schemas::present(self.connection, contract)?.is_none()
        {
            schemas::begin(self.connection, self.registry, contract, Some(&choice), at, except)?;
            known.schema = self.schema(&choice);
        }
        self.contracts.insert(contract, known.clone());
        Ok(known)
    }
}

/// The addresses among an event's topics: all whom any schema could attribute it to.
fn addresses_of(xdr: &[u8]) -> Vec<Address> {
    let Ok(view) = EventView::parse(xdr) else { return Vec::new() };
    view.topics.iter().filter_map(|topic| Address::of_xdr(topic)).collect()
}
