//! Ledger rows.

use annals_core::chain::Neighbours;
use annals_core::{Census, CheckedLedger, ClassicEvents, EventsDigest, LedgerHash, LedgerRange, LedgerSeq};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::failure::damaged;
use super::state::ledger_seq;
use crate::store::{Pin, StoreError, StoredLedger};

/// What a row of a ledger is read from.
const ROWS: &str = "seq, hash, previous_hash, close_time_ms, protocol, header_xdr, classic_events, \
                      census_committed, census_rewritten, census_uncommitted, census_unverified, digest, \
                      digest_version, sources.name FROM ledgers JOIN sources ON sources.id = source_id";

/// The row of `seq`.
pub(super) fn get(connection: &Connection, seq: LedgerSeq) -> Result<Option<StoredLedger>, StoreError> {
    let sql = format!("/* ledgers::get */ SELECT {ROWS} WHERE seq = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([seq.get()])?;
    rows.next()?.map(stored_ledger).transpose()
}

/// Up to `limit` rows from `from_inclusive` on.
pub(super) fn page(
    connection: &Connection,
    from_inclusive: LedgerSeq,
    limit: u32,
) -> Result<Vec<StoredLedger>, StoreError> {
    let sql = format!("/* ledgers::page */ SELECT {ROWS} WHERE seq >= ?1 ORDER BY seq LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![from_inclusive.get(), limit])?;
    let mut ledgers = Vec::new();
    while let Some(row) = rows.next()? {
        ledgers.push(stored_ledger(row)?);
    }
    Ok(ledgers)
}

/// The links that the stored ledgers below and above `range` demand.
pub(super) fn neighbours(connection: &Connection, range: LedgerRange) -> Result<Neighbours, StoreError> {
    let hash_of = |seq: LedgerSeq, column: &str| -> Result<Option<LedgerHash>, StoreError> {
        let sql = format!("/* ledgers::neighbours */ SELECT {column} FROM ledgers WHERE seq = ?1");
        let hash = connection.prepare_cached(&sql)?.query_row([seq.get()], |row| row.get(0)).optional()?;
        Ok(hash.map(LedgerHash))
    };
    let below = range.from_inclusive().previous();
    let above = range.to_inclusive().next();
    Ok(Neighbours {
        before: below.map(|seq| hash_of(seq, "hash")).transpose()?.flatten(),
        after: above.map(|seq| hash_of(seq, "previous_hash")).transpose()?.flatten(),
    })
}

/// The hash that the stored chain gives for `seq`: by its own row, or by the row above it.
pub(super) fn chain_hash(connection: &Connection, seq: LedgerSeq) -> Result<Option<LedgerHash>, StoreError> {
    match get(connection, seq)? {
        Some(row) => Ok(Some(row.hash)),
        None => Ok(neighbours(connection, LedgerRange::single(seq))?.after),
    }
}

/// What a commit writes of a ledger beside the ledger itself.
pub(super) struct Provenance<'a> {
    pub(super) source: &'a str,
    pub(super) feed_position: u64,
}

/// Makes the row of `ledger`, or gives the row what a richer source says of the same ledger.
pub(super) fn put(connection: &Connection, ledger: &CheckedLedger, from: &Provenance<'_>) -> Result<(), StoreError> {
    let sql = "/* ledgers::put */ INSERT INTO ledgers VALUES (:seq, :hash, :previous, :close_time, :protocol, :header, \
               :classic, :committed, :rewritten, :uncommitted, :unverified, :digest, :digest_version, :source, \
               'source', :feed, :feed) \
               ON CONFLICT (seq) DO UPDATE SET classic_events = excluded.classic_events, \
               census_committed = excluded.census_committed, census_rewritten = excluded.census_rewritten, \
               census_uncommitted = excluded.census_uncommitted, census_unverified = excluded.census_unverified, \
               digest = excluded.digest, digest_version = excluded.digest_version, source_id = excluded.source_id, \
               classic_feed_position = excluded.classic_feed_position";
    connection.prepare_cached(sql)?.execute(named_params! {
        ":seq": ledger.seq.get(),
        ":hash": ledger.hash.0,
        ":previous": ledger.previous_hash.0,
        ":close_time": ledger.close_time_ms,
        ":protocol": ledger.protocol,
        ":header": ledger.header_xdr,
        ":classic": ledger.classic_events.as_str(),
        ":committed": ledger.census.committed,
        ":rewritten": ledger.census.rewritten,
        ":uncommitted": ledger.census.uncommitted,
        ":unverified": ledger.census.unverified,
        ":digest": ledger.digest.0,
        ":digest_version": EventsDigest::VERSION,
        ":source": source_id(connection, from.source)?,
        ":feed": from.feed_position,
    })?;
    Ok(())
}

fn source_id(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    let select = "/* ledgers::source_id */ SELECT id FROM sources WHERE name = ?1";
    if let Some(id) = connection.prepare_cached(select)?.query_row([name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let insert = "/* ledgers::source_id */ INSERT INTO sources (name) VALUES (?1) RETURNING id";
    Ok(connection.prepare_cached(insert)?.query_row([name], |row| row.get(0))?)
}

/// Records the network's first stored ledger, once.
pub(super) fn record_first(connection: &Connection, ledger: &CheckedLedger) -> Result<(), StoreError> {
    let sql = "/* ledgers::record_first */ UPDATE archive_meta SET first_ledger_seq = ?1, first_ledger_hash = ?2 \
               WHERE first_ledger_seq IS NULL";
    connection.prepare_cached(sql)?.execute(params![ledger.seq.get(), ledger.hash.0])?;
    Ok(())
}

/// The hashes that operators vouched for.
pub(super) fn pins(connection: &Connection) -> Result<Vec<Pin>, StoreError> {
    let sql = "/* ledgers::pins */ SELECT seq, hash FROM pins ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut pins = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        pins.push(Pin { seq: ledger_seq(row.get(0)?)?, hash: LedgerHash(row.get(1)?) });
    }
    Ok(pins)
}

/// Whether a stored ledger of `range` lacks classic events, or lacked them at `as_of` and got them later.
pub(super) fn lacks_classic(connection: &Connection, range: LedgerRange, as_of: u64) -> Result<bool, StoreError> {
    let (from, to) = (range.from_inclusive().get(), range.to_inclusive().get());
    // Both name their index: one that the planner took instead would look at every ledger of the range.
    let now = "/* ledgers::lacks_classic */ SELECT 1 FROM ledgers INDEXED BY ledgers_without_classic \
               WHERE classic_events <> 'present' AND seq BETWEEN ?1 AND ?2 LIMIT 1";
    let since = "/* ledgers::lacks_classic */ SELECT 1 FROM ledgers INDEXED BY ledgers_upgraded \
                 WHERE classic_feed_position > feed_position AND classic_feed_position > ?3 \
                 AND seq BETWEEN ?1 AND ?2 LIMIT 1";
    Ok(connection.prepare_cached(now)?.exists(params![from, to])?
        || connection.prepare_cached(since)?.exists(params![from, to, as_of])?)
}

fn stored_ledger(row: &Row<'_>) -> Result<StoredLedger, StoreError> {
    let classic = ClassicEvents::from_name(&row.get::<_, String>(6)?);
    Ok(StoredLedger {
        seq: ledger_seq(row.get(0)?)?,
        hash: LedgerHash(row.get(1)?),
        previous_hash: LedgerHash(row.get(2)?),
        close_time_ms: row.get(3)?,
        protocol: row.get(4)?,
        header_xdr: row.get(5)?,
        classic_events: classic.ok_or_else(|| damaged("a ledger's classic_events is unknown"))?,
        census: Census {
            committed: row.get(7)?,
            rewritten: row.get(8)?,
            uncommitted: row.get(9)?,
            unverified: row.get(10)?,
        },
        digest: EventsDigest(row.get(11)?),
        digest_version: row.get(12)?,
        source: row.get(13)?,
    })
}
