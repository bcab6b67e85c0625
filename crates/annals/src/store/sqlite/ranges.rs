//! The scanned ledgers: disjoint ranges by key that never touch.

use annals_core::{ContractId, Coverage, LedgerRange, LedgerSeq, ScopeKey};
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::damaged;
use super::state::ledger_seq;
use crate::store::StoreError;

/// The key of the ledgers that have a row; no scope key's text.
pub(super) const VERIFIED: &str = "verified";

/// Adds `range` to the ranges of `key`; tells which of its ledgers were not there before.
pub(super) fn extend(connection: &Connection, key: &str, range: LedgerRange) -> Result<Coverage, StoreError> {
    let (from, to) = (range.from_inclusive().get(), range.to_inclusive().get());
    let touching = "/* ranges::extend */ SELECT min(from_seq), max(to_seq) FROM ranges \
                    WHERE scope_key = ?1 AND from_seq <= ?3 + 1 AND to_seq >= ?2 - 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<u32>>(0)?, row.get::<_, Option<u32>>(1)?));
    let (lowest, highest) = connection.prepare_cached(touching)?.query_row(params![key, from, to], row)?;
    let merged = (lowest.map_or(from, |lowest| lowest.min(from)), highest.map_or(to, |highest| highest.max(to)));
    let fresh = within(connection, key, range)?.missing(range);
    if fresh.is_empty() {
        return Ok(fresh);
    }
    let replaced = "/* ranges::extend */ DELETE FROM ranges WHERE scope_key = ?1 AND from_seq BETWEEN ?2 AND ?3";
    connection.prepare_cached(replaced)?.execute(params![key, merged.0, merged.1])?;
    let insert = "/* ranges::extend */ INSERT INTO ranges VALUES (?1, ?2, ?3)";
    connection.prepare_cached(insert)?.execute(params![key, merged.0, merged.1])?;
    Ok(fresh)
}

/// Whether nothing was ever scanned.
pub(super) fn are_none(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "/* ranges::are_none */ SELECT NOT EXISTS (SELECT 1 FROM ranges)";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// All ledgers that `key` covers.
pub(super) fn of(connection: &Connection, key: &str) -> Result<Coverage, StoreError> {
    let sql = "/* ranges::of */ SELECT from_seq, to_seq FROM ranges WHERE scope_key = ?1 ORDER BY from_seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut coverage = Coverage::new();
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        coverage.insert(ledger_range(row.get(0)?, row.get(1)?)?);
    }
    Ok(coverage)
}

/// The keys, beside [`VERIFIED`], under which `seq` is covered.
pub(super) fn keys_over(connection: &Connection, seq: LedgerSeq) -> Result<Vec<ScopeKey>, StoreError> {
    keys_over_all(connection, LedgerRange::single(seq))
}

/// The scope keys that cover `range` whole: ranges of one key never touch, so that one of them holds all of it.
pub(super) fn keys_over_all(connection: &Connection, range: LedgerRange) -> Result<Vec<ScopeKey>, StoreError> {
    let sql = "/* ranges::keys_over_all */ SELECT scope_key FROM ranges WHERE from_seq <= ?1 AND to_seq >= ?2 \
               AND scope_key <> 'verified'";
    let mut statement = connection.prepare_cached(sql)?;
    let mut keys = Vec::new();
    let mut rows = statement.query([range.from_inclusive().get(), range.to_inclusive().get()])?;
    while let Some(row) = rows.next()? {
        keys.push(scope_key(&row.get::<_, String>(0)?)?);
    }
    Ok(keys)
}

/// The range of `key` that holds `seq`.
pub(super) fn around(connection: &Connection, key: &str, seq: LedgerSeq) -> Result<Option<LedgerRange>, StoreError> {
    let sql = "/* ranges::around */ SELECT from_seq, to_seq FROM ranges WHERE scope_key = ?1 AND from_seq <= ?2 \
               ORDER BY from_seq DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found = connection.prepare_cached(sql)?.query_row(params![key, seq.get()], row).optional()?;
    let range = found.map(|(from, to)| ledger_range(from, to)).transpose()?;
    Ok(range.filter(|range| range.contains(seq)))
}

/// The part of `window` that `key` covers.
pub(super) fn within(connection: &Connection, key: &str, window: LedgerRange) -> Result<Coverage, StoreError> {
    let sql = "/* ranges::within */ SELECT from_seq, to_seq FROM ranges \
               WHERE scope_key = ?1 AND from_seq <= ?3 AND to_seq >= ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut coverage = Coverage::new();
    let mut rows = statement.query(params![key, window.from_inclusive().get(), window.to_inclusive().get()])?;
    while let Some(row) = rows.next()? {
        let held = ledger_range(row.get(0)?, row.get(1)?)?;
        coverage.extend(held.intersection(window));
    }
    Ok(coverage)
}

/// The ledgers of `window` that are scanned for `key`: under the key itself, or for all contracts.
pub(super) fn scanned_for(connection: &Connection, key: ScopeKey, window: LedgerRange) -> Result<Coverage, StoreError> {
    let own = within(connection, &key.to_string(), window)?;
    Ok(own.union(&within(connection, &ScopeKey::All.to_string(), window)?))
}

/// Whether the events of `contract` (of no contract: none) are scanned for at `seq`.
pub(super) fn scans_contract(
    connection: &Connection,
    contract: Option<ContractId>,
    seq: LedgerSeq,
) -> Result<bool, StoreError> {
    let key = contract.map_or(ScopeKey::All, ScopeKey::Contract);
    Ok(scanned_for(connection, key, LedgerRange::single(seq))?.contains(seq))
}

/// All ranges by key, [`VERIFIED`] apart.
pub(super) fn all(connection: &Connection) -> Result<(Vec<(ScopeKey, Coverage)>, Coverage), StoreError> {
    let sql = "/* ranges::all */ SELECT scope_key, from_seq, to_seq FROM ranges ORDER BY scope_key, from_seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut verified = Coverage::new();
    let mut by_key: Vec<(ScopeKey, Coverage)> = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let range = ledger_range(row.get(1)?, row.get(2)?)?;
        let text = row.get::<_, String>(0)?;
        if text == VERIFIED {
            verified.insert(range);
            continue;
        }
        let key = scope_key(&text)?;
        match by_key.last_mut() {
            Some((last, coverage)) if *last == key => coverage.insert(range),
            _ => by_key.push((key, Coverage::from_iter([range]))),
        }
    }
    Ok((by_key, verified))
}

/// Takes a stored scope key.
pub(super) fn scope_key(text: &str) -> Result<ScopeKey, StoreError> {
    text.parse().map_err(|_| damaged("a scope key is neither `*` nor a contract"))
}

/// Takes a stored range.
pub(super) fn ledger_range(from: u32, to: u32) -> Result<LedgerRange, StoreError> {
    LedgerRange::new(ledger_seq(from)?, ledger_seq(to)?).map_err(|_| damaged("a stored range is inverted"))
}
