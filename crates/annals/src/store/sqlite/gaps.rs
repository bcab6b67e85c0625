//! The asked-for ledgers that are not scanned: a durable list, so that neither a restart nor a full queue loses one.

use annals_core::{LedgerRange, LedgerSeq, ScopeKey};
use rusqlite::{Connection, params};

use super::ranges::{ledger_range, scope_key};
use crate::store::{Gap, GapFailure, StoreError};

/// The gaps that hold a ledger of `window`.
fn touching(connection: &Connection, key: ScopeKey, window: LedgerRange) -> Result<Vec<Gap>, StoreError> {
    let sql = "/* gaps::touching */ SELECT scope_key, from_seq, to_seq, attempts, last_code, last_error FROM gaps \
               WHERE scope_key = ?1 AND from_seq <= ?3 AND to_seq >= ?2 ORDER BY from_seq";
    let mut statement = connection.prepare_cached(sql)?;
    let (from, to) = (window.from_inclusive().get(), window.to_inclusive().get());
    collect(statement.query(params![key.to_string(), from, to])?)
}

/// Every gap, by key and ledger.
pub(super) fn all(connection: &Connection) -> Result<Vec<Gap>, StoreError> {
    let sql = "/* gaps::all */ SELECT scope_key, from_seq, to_seq, attempts, last_code, last_error FROM gaps \
               ORDER BY scope_key, from_seq";
    collect(connection.prepare_cached(sql)?.query([])?)
}

fn collect(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Gap>, StoreError> {
    let mut gaps = Vec::new();
    while let Some(row) = rows.next()? {
        gaps.push(Gap {
            key: scope_key(&row.get::<_, String>(0)?)?,
            range: ledger_range(row.get(1)?, row.get(2)?)?,
            attempts: row.get(3)?,
            last_code: row.get(4)?,
            last_error: row.get(5)?,
        });
    }
    Ok(gaps)
}

/// The keys that have a gap in `window`.
pub(super) fn keys_in(connection: &Connection, window: LedgerRange) -> Result<Vec<ScopeKey>, StoreError> {
    let sql = "/* gaps::keys_in */ SELECT DISTINCT scope_key FROM gaps WHERE from_seq <= ?2 AND to_seq >= ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut keys = Vec::new();
    let mut rows = statement.query(params![window.from_inclusive().get(), window.to_inclusive().get()])?;
    while let Some(row) = rows.next()? {
        keys.push(scope_key(&row.get::<_, String>(0)?)?);
    }
    Ok(keys)
}

/// Lists `missing` under `key`, as far as it is not listed yet.
pub(super) fn add(connection: &Connection, key: ScopeKey, missing: LedgerRange, now_ms: u64) -> Result<(), StoreError> {
    let mut listed = touching(connection, key, widened(missing))?;
    let mut fresh = annals_core::Coverage::from_iter([missing]);
    for gap in &listed {
        fresh.remove(gap.range);
    }
    if fresh.is_empty() {
        return Ok(());
    }
    let old = listed.clone();
    let never_tried = |range: &LedgerRange| Gap { key, range: *range, attempts: 0, last_code: None, last_error: None };
    listed.extend(fresh.ranges().iter().map(never_tried));
    replace(connection, key, &old, listed, now_ms)
}

/// Takes `covered` off the list of `key`; tells whether it was on it.
pub(super) fn shrink(
    connection: &Connection,
    key: ScopeKey,
    covered: LedgerRange,
    now_ms: u64,
) -> Result<bool, StoreError> {
    let old = touching(connection, key, covered)?;
    let rest = old.iter().flat_map(|gap| outside(gap, covered)).collect();
    replace(connection, key, &old, rest, now_ms)?;
    Ok(!old.is_empty())
}

/// Counts a failed attempt on the part of `key`'s gaps that lies in the failure's range.
pub(super) fn fail(
    connection: &Connection,
    key: ScopeKey,
    failure: &GapFailure,
    now_ms: u64,
) -> Result<(), StoreError> {
    let old = touching(connection, key, widened(failure.range))?;
    let mut new = Vec::new();
    for gap in &old {
        new.extend(outside(gap, failure.range));
        new.extend(gap.range.intersection(failure.range).map(|range| Gap {
            range,
            attempts: gap.attempts.saturating_add(1),
            last_code: Some(failure.code.clone()),
            last_error: Some(failure.message.clone()),
            ..gap.clone()
        }));
    }
    replace(connection, key, &old, new, now_ms)
}

/// Replaces rows; neighbours of one history become one row.
fn replace(
    connection: &Connection,
    key: ScopeKey,
    old: &[Gap],
    mut new: Vec<Gap>,
    now_ms: u64,
) -> Result<(), StoreError> {
    new.sort_by_key(|gap| gap.range);
    let mut merged: Vec<Gap> = Vec::with_capacity(new.len());
    for gap in new {
        match merged.last_mut() {
            Some(last) if continues(last, &gap) => {
                last.range = span(last.range.from_inclusive(), gap.range.to_inclusive());
            }
            _ => merged.push(gap),
        }
    }
    let key = key.to_string();
    let delete = "/* gaps::replace */ DELETE FROM gaps WHERE scope_key = ?1 AND from_seq = ?2";
    let mut delete = connection.prepare_cached(delete)?;
    for gap in old.iter().filter(|gap| !merged.contains(gap)) {
        delete.execute(params![key, gap.range.from_inclusive().get()])?;
    }
    let insert = "/* gaps::replace */ INSERT INTO gaps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = connection.prepare_cached(insert)?;
    for gap in merged.iter().filter(|gap| !old.contains(gap)) {
        let (from, to) = (gap.range.from_inclusive().get(), gap.range.to_inclusive().get());
        insert.execute(params![key, from, to, gap.attempts, gap.last_code, gap.last_error, now_ms])?;
    }
    Ok(())
}

fn continues(earlier: &Gap, later: &Gap) -> bool {
    earlier.range.to_inclusive().next() == Some(later.range.from_inclusive())
        && (earlier.attempts, &earlier.last_code, &earlier.last_error)
            == (later.attempts, &later.last_code, &later.last_error)
}

/// The parts of `gap` below and above `cut`.
fn outside(gap: &Gap, cut: LedgerRange) -> Vec<Gap> {
    let mut rest = annals_core::Coverage::from_iter([gap.range]);
    rest.remove(cut);
    rest.ranges().iter().map(|range| Gap { range: *range, ..gap.clone() }).collect()
}

/// `range` with one more ledger on each side, so that neighbours are found.
fn widened(range: LedgerRange) -> LedgerRange {
    let below = range.from_inclusive().previous().unwrap_or(range.from_inclusive());
    span(below, range.to_inclusive().next().unwrap_or(range.to_inclusive()))
}

fn span(from: LedgerSeq, to: LedgerSeq) -> LedgerRange {
    LedgerRange::new(from, to).expect("a span runs from a lower ledger to a higher one")
}
