//! Contradictions, recorded with both versions.

use annals_core::{LedgerSeq, Position, TxHash};
use rusqlite::{Connection, params};

use super::failure::damaged;
use super::state::{self, ledger_seq};
use crate::store::{Incident, IncidentKind, StoreError};

/// A contradiction that was met and is not recorded yet.
#[derive(Debug)]
pub(super) struct Contradiction {
    pub(super) kind: IncidentKind,
    pub(super) ledger: LedgerSeq,
    pub(super) position: Option<Position>,
    pub(super) stored_xdr: Vec<u8>,
    pub(super) offered_xdr: Vec<u8>,
    pub(super) stored_tx_hash: Option<TxHash>,
    pub(super) offered_tx_hash: Option<TxHash>,
}

impl Contradiction {
    /// The error that tells of the recorded incident.
    pub(super) fn into_error(self, id: u64) -> StoreError {
        let what = match (self.kind, self.position) {
            (IncidentKind::LedgerHash, _) => "hash".to_owned(),
            (IncidentKind::EventBytes, Some(position)) => format!("event {position}"),
            (IncidentKind::EventBytes, None) => "events digest".to_owned(),
        };
        StoreError::Incident { id, what, ledger: self.ledger, position: self.position }
    }
}

/// Records an incident and returns its number.
pub(super) fn record(
    connection: &Connection,
    found: &Contradiction,
    source: &str,
    now_ms: u64,
) -> Result<u64, StoreError> {
    let sql = "/* incidents::record */ INSERT INTO incidents (kind, ledger_seq, toid, event_index, source, stored_xdr, \
               offered_xdr, stored_tx_hash, offered_tx_hash, recorded_at_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id";
    let values = params![
        found.kind.as_str(),
        found.ledger.get(),
        found.position.map(Position::toid),
        found.position.map(Position::index),
        source,
        found.stored_xdr,
        found.offered_xdr,
        found.stored_tx_hash.map(|hash| hash.0),
        found.offered_tx_hash.map(|hash| hash.0),
        now_ms,
    ];
    Ok(connection.query_row(sql, values, |row| row.get(0))?)
}

/// Whether an operator has resolved the same contradiction before.
pub(super) fn is_resolved(connection: &Connection, found: &Contradiction) -> Result<bool, StoreError> {
    let sql = "/* incidents::is_resolved */ SELECT 1 FROM incidents WHERE resolved_at_ms IS NOT NULL AND kind = ?1 \
               AND ledger_seq = ?2 AND stored_xdr = ?3 AND offered_xdr = ?4";
    let values = params![found.kind.as_str(), found.ledger.get(), found.stored_xdr, found.offered_xdr];
    Ok(connection.prepare_cached(sql)?.exists(values)?)
}

/// Marks an open incident as resolved.
pub(super) fn resolve(connection: &Connection, id: u64, note: Option<&str>, now_ms: u64) -> Result<(), StoreError> {
    let unknown = || StoreError::UnknownIncident { id };
    // No incident has a number that the database cannot hold.
    let stored = i64::try_from(id).map_err(|_| unknown())?;
    // A page that was begun while the incident was open must go on to say so.
    let position = state::act_position(connection)?;
    let sql = "/* incidents::resolve */ UPDATE incidents SET resolved_at_ms = ?2, resolved_feed_position = ?4, \
               note = ?3 WHERE id = ?1 AND resolved_at_ms IS NULL";
    if connection.execute(sql, params![stored, now_ms, note, position])? == 0 { Err(unknown()) } else { Ok(()) }
}

/// The lowest ledger of an incident that is open, or was at `as_of`.
pub(super) fn lowest_ledger(connection: &Connection, as_of: u64) -> Result<Option<LedgerSeq>, StoreError> {
    let open = "/* incidents::lowest_ledger */ SELECT min(ledger_seq) FROM incidents WHERE resolved_at_ms IS NULL";
    let since = "/* incidents::lowest_ledger */ SELECT min(ledger_seq) FROM incidents \
                 WHERE resolved_at_ms IS NOT NULL AND resolved_feed_position > ?1";
    let open: Option<u32> = connection.prepare_cached(open)?.query_row([], |row| row.get(0))?;
    let since: Option<u32> = connection.prepare_cached(since)?.query_row([as_of], |row| row.get(0))?;
    [open, since].into_iter().flatten().min().map(ledger_seq).transpose()
}

/// How many incidents are open.
pub(super) fn open_count(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "/* incidents::open_count */ SELECT count(*) FROM incidents WHERE resolved_at_ms IS NULL";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// All incidents, oldest first.
pub(super) fn all(connection: &Connection) -> Result<Vec<Incident>, StoreError> {
    let sql = "/* incidents::all */ SELECT id, kind, ledger_seq, toid, event_index, source, stored_xdr, offered_xdr, \
               recorded_at_ms, resolved_at_ms, note FROM incidents ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut incidents = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let kind = IncidentKind::from_name(&row.get::<_, String>(1)?);
        let position = match (row.get(3)?, row.get(4)?) {
            (Some(toid), Some(index)) => {
                Some(Position::from_parts(toid, index).map_err(|_| damaged("an incident's position is none"))?)
            }
            _ => None,
        };
        incidents.push(Incident {
            id: row.get(0)?,
            kind: kind.ok_or_else(|| damaged("an incident's kind is unknown"))?,
            ledger: ledger_seq(row.get(2)?)?,
            position,
            source: row.get(5)?,
            stored_xdr: row.get(6)?,
            offered_xdr: row.get(7)?,
            recorded_at_ms: row.get(8)?,
            resolved_at_ms: row.get(9)?,
            note: row.get(10)?,
        });
    }
    Ok(incidents)
}
