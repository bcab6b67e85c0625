//! Confirmations of stored ledgers' hashes.

use annals_core::{Coverage, LedgerHash, LedgerSeq};
use rusqlite::{Connection, Row, params};

use super::ledgers;
use super::state::{check_incidents, ledger_seq};
use crate::store::{Anchor, AnchorKind, StoreError};

/// Records a confirmation of exactly the hash that is stored. One ledger is confirmed once in each way.
pub(super) fn record(connection: &Connection, anchor: &Anchor) -> Result<(), StoreError> {
    check_incidents(connection)?;
    let ledger = anchor.ledger;
    let stored = ledgers::get(connection, ledger)?.ok_or(StoreError::LedgerNotStored { ledger })?.hash;
    if stored != anchor.hash {
        let (stored, said, said_by) = (stored.to_string(), anchor.hash.to_string(), anchor.said_by.clone());
        return Err(StoreError::AnchorContradicted { ledger, stored, said, said_by });
    }
    // A row of another hash counts for nothing: only what was tampered with has one.
    let sql = "/* anchors::record */ INSERT INTO anchors VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (kind, ledger_seq) DO UPDATE SET hash = excluded.hash, said_by = excluded.said_by, \
               seen_at_ms = excluded.seen_at_ms WHERE anchors.hash <> excluded.hash";
    let kind = anchor.kind.as_str();
    let row = params![kind, ledger.get(), anchor.hash.0, anchor.said_by, anchor.seen_at_ms];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// The highest confirmation of each kind within each range of `verified`: all ledgers of the range up to it link to it.
pub(super) fn highest(connection: &Connection, verified: &Coverage) -> Result<Vec<Anchor>, StoreError> {
    let sql = "/* anchors::highest */ SELECT ledger_seq, anchors.hash, said_by, seen_at_ms FROM anchors \
               JOIN ledgers ON seq = ledger_seq AND ledgers.hash = anchors.hash \
               WHERE kind = ?1 AND ledger_seq BETWEEN ?2 AND ?3 ORDER BY ledger_seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::new();
    for range in verified.ranges() {
        for kind in AnchorKind::ALL {
            let (from, to) = (range.from_inclusive().get(), range.to_inclusive().get());
            let mut rows = statement.query(params![kind.as_str(), from, to])?;
            if let Some(row) = rows.next()? {
                found.push(read(row, kind)?);
            }
        }
    }
    Ok(found)
}

/// Up to `limit` confirmations of a kind from `from_inclusive` on, whether they count or not.
pub(super) fn page(
    connection: &Connection,
    kind: AnchorKind,
    from_inclusive: LedgerSeq,
    limit: u32,
) -> Result<Vec<Anchor>, StoreError> {
    let sql = "/* anchors::page */ SELECT ledger_seq, hash, said_by, seen_at_ms FROM anchors \
               WHERE kind = ?1 AND ledger_seq >= ?2 ORDER BY ledger_seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![kind.as_str(), from_inclusive.get(), limit])?;
    let mut anchors = Vec::new();
    while let Some(row) = rows.next()? {
        anchors.push(read(row, kind)?);
    }
    Ok(anchors)
}

fn read(row: &Row<'_>, kind: AnchorKind) -> Result<Anchor, StoreError> {
    Ok(Anchor {
        ledger: ledger_seq(row.get(0)?)?,
        hash: LedgerHash(row.get(1)?),
        kind,
        said_by: row.get(2)?,
        seen_at_ms: row.get(3)?,
    })
}
