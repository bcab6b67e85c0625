//! Event rows.

use annals_core::{Census, ContractId, Event, EventKind, LedgerRange, LedgerSeq, Position, ProofClass, Scope, TxHash};
use rusqlite::{CachedStatement, Connection, Row, params};

use super::failure::damaged;
use super::state::{proof_class, proof_code};
use super::{topics, versions};
use crate::store::{EventQuery, StoreError};

/// What a stored event is read from.
pub(super) const COLUMNS: &str = "toid, event_index, tx_hash, tx_order, successful, close_time_ms, contract_id, kind, \
                                  event_xdr, proof, rewritten_xdr, feed_position, upgraded_at";

/// An event and the row that holds it.
pub(super) struct StoredEvent {
    pub(super) event: Event,
    pub(super) feed_position: u64,
    /// The feed position that gave the row its present form; none for the form it was stored in.
    pub(super) upgraded_at: Option<u64>,
}

/// The statements of one batch's events; each takes one row, whatever the number of events.
pub(super) struct EventTable<'c> {
    insert: CachedStatement<'c>,
    select: CachedStatement<'c>,
    upgrade: versions::Upgrades<'c>,
}

impl<'c> EventTable<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        let insert = format!(
            "/* events::insert */ INSERT INTO events ({COLUMNS}, topic0_key) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, NULL, ?13) \
             ON CONFLICT (toid, event_index) DO NOTHING"
        );
        let select = format!("/* events::get */ SELECT {COLUMNS} FROM events WHERE toid = ?1 AND event_index = ?2");
        Ok(Self {
            insert: connection.prepare_cached(&insert)?,
            select: connection.prepare_cached(&select)?,
            upgrade: versions::Upgrades::new(connection)?,
        })
    }

    /// Stores `event` unless something stands under its position; tells whether it was stored.
    pub(super) fn insert(&mut self, event: &Event, feed_position: u64) -> Result<bool, StoreError> {
        let rows = self.insert.execute(params![
            event.position.toid(),
            event.position.index(),
            event.tx_hash.0,
            event.tx_order,
            event.successful,
            event.close_time_ms,
            event.contract_id.map(|contract| contract.0),
            u8::from(event.kind == EventKind::System),
            event.xdr,
            proof_code(event.proof),
            event.rewritten_xdr,
            feed_position,
            topics::first_key(event),
        ])?;
        Ok(rows == 1)
    }

    /// What stands under `position`.
    pub(super) fn get(&mut self, position: Position) -> Result<Option<StoredEvent>, StoreError> {
        let mut rows = self.select.query(params![position.toid(), position.index()])?;
        rows.next()?.map(stored_event).transpose()
    }

    /// Gives a stored event what a richer source knows of it, from the feed position `at` on.
    pub(super) fn upgrade(&mut self, stored: &StoredEvent, event: &Event, at: u64) -> Result<(), StoreError> {
        self.upgrade.apply(stored, event, at)
    }
}

/// What stands under `position`.
pub(super) fn at(connection: &Connection, position: Position) -> Result<Option<Event>, StoreError> {
    let sql = format!("/* events::at */ SELECT {COLUMNS} FROM events WHERE toid = ?1 AND event_index = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![position.toid(), position.index()])?;
    Ok(rows.next()?.map(stored_event).transpose()?.map(|stored| stored.event))
}

/// The first stored event of `seq` and `scope`, in canonical order, that `lacks` picks.
pub(super) fn find_in_ledger(
    connection: &Connection,
    seq: LedgerSeq,
    scope: &Scope,
    mut lacks: impl FnMut(&Event) -> bool,
) -> Result<Option<Event>, StoreError> {
    let sql = format!(
        "/* events::find_in_ledger */ SELECT {COLUMNS} FROM events WHERE toid BETWEEN ?1 AND ?2 \
         ORDER BY toid, event_index"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![Position::first_of(seq).toid(), Position::last_of(seq).toid()])?;
    while let Some(row) = rows.next()? {
        let event = stored_event(row)?.event;
        if scope.takes(&event) && lacks(&event) {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// A page in canonical order.
pub(super) fn page(connection: &Connection, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
    let sql = format!(
        "/* events::page */ SELECT {COLUMNS} FROM events WHERE (toid, event_index) > (?1, ?2) AND toid <= ?3 \
         AND feed_position <= ?4 ORDER BY toid, event_index LIMIT ?5"
    );
    let (toid, index) = query.after.map_or((0, 0), |after| (after.toid(), after.index()));
    let as_of = i64::try_from(query.as_of.0).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&sql)?;
    let last = Position::last_of(query.to_inclusive).toid();
    let mut rows = statement.query(params![toid, index, last, as_of, query.limit.max(1)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(versions::as_of(connection, stored_event(row)?, query.as_of.0)?);
    }
    Ok(events)
}

/// Counts the stored events of `scope` in `range` by proof class.
pub(super) fn tally(connection: &Connection, scope: &Scope, range: LedgerRange) -> Result<Census, StoreError> {
    let from = Position::first_of(range.from_inclusive()).toid();
    let to = Position::last_of(range.to_inclusive()).toid();
    let mut census = Census::default();
    match scope {
        Scope::All => {
            let sql = "/* events::tally */ SELECT proof, count(*) FROM events WHERE toid BETWEEN ?1 AND ?2 \
                       GROUP BY proof";
            let mut statement = connection.prepare_cached(sql)?;
            count_into(&mut census, statement.query(params![from, to])?)?;
        }
        Scope::Contracts(contracts) => {
            let sql = "/* events::tally */ SELECT proof, count(*) FROM events WHERE contract_id = ?3 \
                       AND toid BETWEEN ?1 AND ?2 GROUP BY proof";
            let mut statement = connection.prepare_cached(sql)?;
            for contract in contracts {
                count_into(&mut census, statement.query(params![from, to, contract.0])?)?;
            }
        }
    }
    Ok(census)
}

fn count_into(census: &mut Census, mut rows: rusqlite::Rows<'_>) -> Result<(), StoreError> {
    while let Some(row) = rows.next()? {
        census.count(proof_class(row.get(0)?)?, row.get(1)?);
    }
    Ok(())
}

/// Whether there are events and every one lies in `range`.
pub(super) fn all_lie_in(connection: &Connection, range: LedgerRange) -> Result<bool, StoreError> {
    let sql = "/* events::all_lie_in */ SELECT min(toid), max(toid) FROM events";
    let ends = |row: &Row<'_>| Ok((row.get::<_, Option<u64>>(0)?, row.get::<_, Option<u64>>(1)?));
    let (lowest, highest) = connection.prepare_cached(sql)?.query_row([], ends)?;
    let from = Position::first_of(range.from_inclusive()).toid();
    let to = Position::last_of(range.to_inclusive()).toid();
    Ok(lowest.is_some_and(|lowest| from <= lowest) && highest.is_some_and(|highest| highest <= to))
}

pub(super) fn stored_event(row: &Row<'_>) -> Result<StoredEvent, StoreError> {
    let position =
        Position::from_parts(row.get(0)?, row.get(1)?).map_err(|_| damaged("an event's position is none"))?;
    let kind = match row.get(7)? {
        0 => EventKind::Contract,
        1 => EventKind::System,
        code => return Err(damaged(format!("{code} is stored as an event's kind"))),
    };
    let proof: ProofClass = proof_class(row.get(9)?)?;
    let event = Event {
        position,
        tx_hash: TxHash(row.get(2)?),
        tx_order: row.get(3)?,
        successful: row.get(4)?,
        close_time_ms: row.get(5)?,
        contract_id: row.get::<_, Option<[u8; 32]>>(6)?.map(ContractId),
        kind,
        xdr: row.get(8)?,
        proof,
        rewritten_xdr: row.get(10)?,
    };
    Ok(StoredEvent { event, feed_position: row.get(11)?, upgraded_at: row.get(12)? })
}
