//! The rows of parties, attribution and quarantine.

use std::collections::HashMap;

use annals_core::{Address, ContractId, Event, LedgerRange, Mark, Party, Position, ShapeFault};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::store::sqlite::failure::damaged;
use crate::store::{FeedPosition, StoreError};

/// One party of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attributed {
    address: Address,
    /// Counts the event's parties in the order of its topics.
    place: u32,
    role: String,
    mark: Option<Mark>,
}

impl Attributed {
    pub(super) fn of(place: u32, party: &Party<'_>) -> Self {
        Self { address: party.address, place, role: party.role.to_owned(), mark: party.mark }
    }
}

/// One row that is to be written, in the order of the table.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    party: i64,
    position: Position,
    place: u32,
    since: u64,
    role: String,
    mark: Option<Mark>,
    feed_position: u64,
}

/// The statements of one transaction, and the rows that it has still to write.
pub(super) struct Table<'c> {
    connection: &'c Connection,
    select_party: CachedStatement<'c>,
    parties: HashMap<(ContractId, Address), i64>,
    rows: Vec<Row>,
}

impl<'c> Table<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        let select_party = connection.prepare_cached(PARTY)?;
        Ok(Self { connection, select_party, parties: HashMap::new(), rows: Vec::new() })
    }

    /// Adds a party to an event, from the feed position `since` on.
    pub(super) fn add(
        &mut self,
        contract: ContractId,
        event: &Event,
        party: Attributed,
        feed_position: u64,
        since: u64,
    ) -> Result<(), StoreError> {
        let id = self.party_or_insert(contract, party.address)?;
        let Attributed { place, role, mark, .. } = party;
        self.rows.push(Row { party: id, position: event.position, place, since, role, mark, feed_position });
        Ok(())
    }

    /// What an event at `position` has of `address` now, in the order of its topics.
    pub(super) fn stored(
        &mut self,
        contract: ContractId,
        address: Address,
        position: Position,
    ) -> Result<Vec<Attributed>, StoreError> {
        let Some(id) = self.party(contract, address)? else { return Ok(Vec::new()) };
        let mut statement = self.connection.prepare_cached(STORED)?;
        let mut rows = statement.query(params![id, position.toid(), position.index()])?;
        let mut parties = Vec::new();
        while let Some(row) = rows.next()? {
            let mark = row.get::<_, Option<String>>(2)?.map(|word| mark_of(&word)).transpose()?;
            parties.push(Attributed { address, place: row.get(0)?, role: row.get(1)?, mark });
        }
        Ok(parties)
    }

    /// Ends a party of an event at the feed position `at`.
    pub(super) fn end(
        &mut self,
        contract: ContractId,
        party: &Attributed,
        position: Position,
        at: u64,
    ) -> Result<(), StoreError> {
        let Some(id) = self.party(contract, party.address)? else { return Ok(()) };
        let values = params![id, position.toid(), position.index(), party.place, at];
        self.connection.prepare_cached(END)?.execute(values)?;
        Ok(())
    }

    /// Why the event at `position` is quarantined; none where it is not.
    pub(super) fn fault(&self, contract: ContractId, position: Position) -> Result<Option<ShapeFault>, StoreError> {
        let sql = "/* table::fault */ SELECT fault FROM quarantine WHERE contract_id = ?1 AND toid = ?2 \
                   AND event_index = ?3 AND until IS NULL";
        let values = params![contract.0, position.toid(), position.index()];
        let word: Option<String> =
            self.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
        let unknown = || damaged("the fault of a quarantined event is unknown");
        word.map(|word| ShapeFault::from_name(&word).ok_or_else(unknown)).transpose()
    }

    /// Quarantines an event from the feed position `since` on.
    pub(super) fn quarantine(
        &mut self,
        contract: ContractId,
        event: &Event,
        fault: ShapeFault,
        since: u64,
    ) -> Result<(), StoreError> {
        let sql = "/* table::quarantine */ INSERT INTO quarantine (contract_id, toid, event_index, since, fault) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![contract.0, event.position.toid(), event.position.index(), since, fault.as_str()];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Takes an event out of quarantine at the feed position `at`.
    pub(super) fn release(&mut self, contract: ContractId, position: Position, at: u64) -> Result<(), StoreError> {
        let sql = "/* table::release */ UPDATE quarantine SET until = ?4 WHERE contract_id = ?1 AND toid = ?2 \
                   AND event_index = ?3 AND until IS NULL";
        let values = params![contract.0, position.toid(), position.index(), at];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Writes the rows that were added.
    pub(super) fn finish(&mut self) -> Result<(), StoreError> {
        self.rows.sort_unstable();
        let sql = "/* table::finish */ INSERT INTO attribution (party_id, toid, event_index, place, since, role, mark, \
                   event_feed_position) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let mut insert = self.connection.prepare_cached(sql)?;
        for row in &self.rows {
            let Row { party, position, place, since, role, mark, feed_position } = row;
            let mark = mark.map(Mark::as_str);
            insert.execute(params![
                party,
                position.toid(),
                position.index(),
                place,
                since,
                role,
                mark,
                feed_position
            ])?;
        }
        self.rows.clear();
        Ok(())
    }

    fn party(&mut self, contract: ContractId, address: Address) -> Result<Option<i64>, StoreError> {
        if let Some(id) = self.parties.get(&(contract, address)) {
            return Ok(Some(*id));
        }
        let values = params![contract.0, address.to_bytes()];
        let id = self.select_party.query_row(values, |row| row.get(0)).optional()?;
        if let Some(id) = id {
            self.parties.insert((contract, address), id);
        }
        Ok(id)
    }

    fn party_or_insert(&mut self, contract: ContractId, address: Address) -> Result<i64, StoreError> {
        if let Some(id) = self.party(contract, address)? {
            return Ok(id);
        }
        let sql = "/* table::party_or_insert */ INSERT INTO parties (contract_id, address) VALUES (?1, ?2) \
                   RETURNING id";
        let values = params![contract.0, address.to_bytes()];
        let id = self.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        self.parties.insert((contract, address), id);
        Ok(id)
    }
}

pub(super) const STORED: &str = "/* table::stored */ SELECT place, role, mark FROM attribution \
    WHERE party_id = ?1 AND toid = ?2 AND event_index = ?3 AND until IS NULL ORDER BY place";

pub(super) const END: &str = "/* table::end */ UPDATE attribution SET until = ?5 \
    WHERE party_id = ?1 AND toid = ?2 AND event_index = ?3 AND place = ?4 AND until IS NULL";

pub(super) const PARTY: &str = "/* table::party */ SELECT id FROM parties WHERE contract_id = ?1 AND address = ?2";

/// The number of a contract's party; none where no event ever belonged to it.
pub(in crate::store::sqlite) fn party(
    connection: &Connection,
    contract: ContractId,
    address: Address,
) -> Result<Option<i64>, StoreError> {
    let values = params![contract.0, address.to_bytes()];
    Ok(connection.prepare_cached(PARTY)?.query_row(values, |row| row.get(0)).optional()?)
}

/// Takes a stored mark.
fn mark_of(word: &str) -> Result<Mark, StoreError> {
    Mark::from_name(word).ok_or_else(|| damaged("the mark of an event's party is unknown"))
}

/// Whether an event of `contract` in `range` is quarantined, as of the feed position `as_of`.
pub(in crate::store::sqlite) fn quarantined(
    connection: &Connection,
    contract: ContractId,
    range: LedgerRange,
    as_of: FeedPosition,
) -> Result<bool, StoreError> {
    let first = Position::first_of(range.from_inclusive()).toid();
    let last = Position::last_of(range.to_inclusive()).toid();
    let values = params![contract.0, first, last, as_of.0];
    Ok(connection.prepare_cached(QUARANTINED_NOW)?.exists(values)?
        || connection.prepare_cached(QUARANTINED_THEN)?.exists(values)?)
}

/// Both name their index: the planner would else look through all that the contract ever had in quarantine.
pub(super) const QUARANTINED_NOW: &str = "/* table::quarantined */ SELECT 1 FROM quarantine \
    INDEXED BY quarantine_open WHERE contract_id = ?1 AND toid BETWEEN ?2 AND ?3 AND until IS NULL AND since <= ?4 \
    LIMIT 1";
/// See [`QUARANTINED_NOW`].
pub(super) const QUARANTINED_THEN: &str = "/* table::quarantined */ SELECT 1 FROM quarantine \
    INDEXED BY quarantine_ended WHERE contract_id = ?1 AND until > ?4 AND toid BETWEEN ?2 AND ?3 AND since <= ?4 \
    LIMIT 1";

/// How many events are in quarantine, of the contracts that are read with a schema.
pub(in crate::store::sqlite) fn quarantined_count(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "/* table::quarantined_count */ SELECT count(*) FROM quarantine INDEXED BY quarantine_open \
               WHERE until IS NULL AND contract_id IN \
               (SELECT contract_id FROM contract_schemas WHERE until IS NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// How many of a contract's events are in quarantine; none where it is read with no schema.
pub(in crate::store::sqlite) fn quarantined_of(
    connection: &Connection,
    contract: ContractId,
) -> Result<u64, StoreError> {
    let sql = "/* table::quarantined_of */ SELECT count(*) FROM quarantine INDEXED BY quarantine_open \
               WHERE until IS NULL AND contract_id = ?1 AND EXISTS \
               (SELECT 1 FROM contract_schemas WHERE until IS NULL AND contract_id = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([contract.0], |row| row.get(0))?)
}
