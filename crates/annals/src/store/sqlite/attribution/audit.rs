//! Comparing what is attributed with what the schemas say of every stored event.

use std::collections::HashMap;

use annals_core::{ContractId, Event, Registry, Schema};
use rusqlite::{Connection, params};

use super::addresses_of;
use super::table::{Attributed, Table};
use crate::store::sqlite::events::{COLUMNS, stored_event};
use crate::store::sqlite::schemas;
use crate::store::{Audited, FeedPosition, StoreError};

/// Compares up to `limit` stored events behind a feed position. Contracts that wait to be read again, or were read with
/// other schemas than those of `registry`, are left out.
pub(in crate::store::sqlite) fn audit(
    connection: &Connection,
    registry: &Registry,
    after: FeedPosition,
    limit: u32,
) -> Result<Audited, StoreError> {
    let sql = format!(
        "/* audit::audit */ SELECT {COLUMNS} FROM events WHERE feed_position > ?1 ORDER BY feed_position LIMIT ?2"
    );
    let mut readers = Readers { connection, registry, schemas: HashMap::new() };
    let mut table = Table::new(connection)?;
    let mut audited = Audited { next: None, wrong: Vec::new(), parties: 0, stored: None, uncompared: 0 };
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![after.0, limit.max(1)])?;
    let mut read = 0;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let stored = stored_event(row)?;
        read += 1;
        last = Some(FeedPosition(stored.feed_position));
        let Some(contract) = stored.event.contract_id else { continue };
        let Some(schema) = readers.schema(contract)? else { continue };
        let parties = compare(&mut table, contract, schema, &stored.event)?;
        audited.parties += parties.wanted;
        if !parties.agree {
            audited.wrong.push(stored.event.position);
        }
    }
    audited.next = last.filter(|_| read >= limit.max(1));
    if audited.next.is_none() {
        audited.stored = Some(readers.stored()?);
        audited.uncompared = readers.uncompared()?;
    }
    Ok(audited)
}

/// What an event's schema says, beside what is stored.
struct Compared {
    wanted: u64,
    agree: bool,
}

fn compare(
    table: &mut Table<'_>,
    contract: ContractId,
    schema: &Schema,
    event: &Event,
) -> Result<Compared, StoreError> {
    let (parties, fault) = match schema.attribute(&event.xdr) {
        Ok(parties) => (parties, None),
        Err(fault) => (Vec::new(), Some(fault)),
    };
    let wanted: Vec<Attributed> = (0..).zip(&parties).map(|(place, party)| Attributed::of(place, party)).collect();
    let mut addresses = addresses_of(&event.xdr);
    addresses.sort_unstable();
    addresses.dedup();
    let mut stored = Vec::new();
    for address in addresses {
        stored.extend(table.stored(contract, address, event.position)?);
    }
    let same = stored.len() == wanted.len() && wanted.iter().all(|party| stored.contains(party));
    let agree = same && table.fault(contract, event.position)? == fault;
    Ok(Compared { wanted: wanted.len() as u64, agree })
}

/// With what the contracts that can be audited are read.
struct Readers<'a> {
    connection: &'a Connection,
    registry: &'a Registry,
    schemas: HashMap<ContractId, Option<Schema>>,
}

impl Readers<'_> {
    fn schema(&mut self, contract: ContractId) -> Result<Option<&Schema>, StoreError> {
        if !self.schemas.contains_key(&contract) {
            let reading = schemas::present(self.connection, contract)?;
            let settled =
                |reading: &schemas::Reading| !reading.waits() && !schemas::is_outdated(self.registry, reading);
            let schema = reading.filter(settled).and_then(|reading| self.registry.schema(&reading.choice).ok());
            self.schemas.insert(contract, schema);
        }
        Ok(self.schemas.get(&contract).and_then(Option::as_ref))
    }

    /// How many contracts have a schema and cannot be audited.
    fn uncompared(&mut self) -> Result<u64, StoreError> {
        let sql = "/* audit::uncompared */ SELECT contract_id FROM contract_schemas WHERE until IS NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut uncompared = 0;
        while let Some(row) = rows.next()? {
            uncompared += u64::from(self.schema(ContractId(row.get(0)?))?.is_none());
        }
        Ok(uncompared)
    }

    /// How many parties are stored of all events of contracts that can be audited.
    fn stored(&mut self) -> Result<u64, StoreError> {
        let sql = "/* audit::stored */ SELECT contract_id, count(*) FROM attribution JOIN parties ON id = party_id \
                   WHERE until IS NULL GROUP BY contract_id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut stored = 0;
        while let Some(row) = rows.next()? {
            if self.schema(ContractId(row.get(0)?))?.is_some() {
                stored += row.get::<_, u64>(1)?;
            }
        }
        Ok(stored)
    }
}
