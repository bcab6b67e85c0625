//! Which commit opened which coverage, so that an earlier state can be told from the present one.

use std::collections::BTreeMap;

use annals_core::hash::sha256;
use annals_core::{Coverage, ScopeKey};
use rusqlite::{Connection, OptionalExtension, params};

use super::ranges;
use crate::store::StoreError;

/// The coverage that one commit opens, by the keys of `ranges`.
#[derive(Default)]
pub(super) struct Granted(BTreeMap<String, Coverage>);

impl Granted {
    /// Adds ledgers that `key` did not cover before the commit.
    pub(super) fn add(&mut self, key: &str, fresh: &Coverage) {
        if !fresh.is_empty() {
            self.0.entry(key.to_owned()).or_default().extend(fresh.ranges().iter().copied());
        }
    }
}

impl Granted {
    /// What was opened, by scope key.
    pub(super) fn by_scope_key(&self) -> Result<Vec<(ScopeKey, &Coverage)>, StoreError> {
        let keys = self.0.iter().filter(|(key, _)| *key != ranges::VERIFIED);
        keys.map(|(key, fresh)| Ok((ranges::scope_key(key)?, fresh))).collect()
    }
}

/// Records what the commit at `feed_position` opened.
pub(super) fn record(connection: &Connection, granted: &Granted, feed_position: u64) -> Result<(), StoreError> {
    let mut keys_by_ledgers: BTreeMap<Vec<(u32, u32)>, Vec<&str>> = BTreeMap::new();
    for (key, coverage) in &granted.0 {
        let ledgers = coverage.ranges().iter().map(|range| (range.from_inclusive().get(), range.to_inclusive().get()));
        keys_by_ledgers.entry(ledgers.collect()).or_default().push(key);
    }
    let sql = "/* grants::record */ INSERT INTO grants VALUES (?1, ?2, ?3, ?4)";
    let mut insert = connection.prepare_cached(sql)?;
    for (ledgers, keys) in keys_by_ledgers {
        let set = set_id(connection, &keys)?;
        for (from, to) in ledgers {
            insert.execute(params![set, feed_position, from, to])?;
        }
    }
    Ok(())
}

/// The number of a sorted set of keys.
fn set_id(connection: &Connection, keys: &[&str]) -> Result<i64, StoreError> {
    let digest = sha256(&[keys.join("\n").as_bytes()]);
    let select = "/* grants::set_id */ SELECT id FROM grant_sets WHERE digest = ?1";
    if let Some(id) = connection.prepare_cached(select)?.query_row([digest], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let insert = "/* grants::set_id */ INSERT INTO grant_sets (digest) VALUES (?1) RETURNING id";
    let id: i64 = connection.prepare_cached(insert)?.query_row([digest], |row| row.get(0))?;
    let member = "/* grants::set_id */ INSERT INTO grant_set_keys VALUES (?1, ?2)";
    let mut member = connection.prepare_cached(member)?;
    for key in keys {
        member.execute(params![key, id])?;
    }
    Ok(id)
}

/// What `key` covered at the feed position `as_of`; none stands for the present, which nothing was granted after.
pub(super) fn coverage_at(connection: &Connection, key: &str, as_of: Option<u64>) -> Result<Coverage, StoreError> {
    let present = ranges::of(connection, key)?;
    let Some(as_of) = as_of else { return Ok(present) };
    let sql = "/* grants::coverage_at */ SELECT from_seq, to_seq FROM grant_set_keys CROSS JOIN grants USING (set_id) \
               WHERE scope_key = ?1 AND feed_position > ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut since = Coverage::new();
    let mut rows = statement.query(params![key, as_of])?;
    while let Some(row) = rows.next()? {
        since.insert(ranges::ledger_range(row.get(0)?, row.get(1)?)?);
    }
    Ok(present.difference(&since))
}
