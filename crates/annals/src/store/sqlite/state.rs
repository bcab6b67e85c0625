//! The archive's one-row tables: what it is of, where it stands, and who may write.

use annals_core::{Census, ClassicPolicy, LedgerSeq, Network, ProofClass};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::failure::damaged;
use crate::store::{Fence, StoreError};

/// How many commits `cursor_history` keeps.
const CURSOR_HISTORY_MAX: u32 = 1_000;

/// What the first request recorded.
pub(super) struct Meta {
    pub(super) passphrase: Option<String>,
    pub(super) classic: Option<ClassicPolicy>,
    pub(super) start: Option<LedgerSeq>,
}

pub(super) fn meta(connection: &Connection) -> Result<Meta, StoreError> {
    let sql = "/* state::meta */ SELECT network_passphrase, classic_policy, start_seq FROM archive_meta";
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<u32>>(2)?))
    };
    let (passphrase, classic, start) = connection.prepare_cached(sql)?.query_row([], row)?;
    let classic = match classic {
        Some(word) => Some(ClassicPolicy::from_name(&word).ok_or_else(|| damaged("the classic policy is unknown"))?),
        None => None,
    };
    Ok(Meta { passphrase, classic, start: start.map(ledger_seq).transpose()? })
}

impl Meta {
    /// Compares the recorded network and policy; nothing recorded is compared with nothing.
    pub(super) fn compare(&self, network: &Network, classic: ClassicPolicy) -> Result<(), StoreError> {
        if let Some(stored) = self.passphrase.as_ref().filter(|stored| *stored != network.passphrase()) {
            return Err(StoreError::NetworkMismatch { stored: stored.clone(), asked: network.passphrase().to_owned() });
        }
        match self.classic {
            Some(stored) if stored != classic => Err(StoreError::PolicyMismatch { stored: stored.as_str() }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Where the archive stands.
pub(super) struct IndexerState {
    pub(super) cursor: Option<LedgerSeq>,
    pub(super) epoch: u64,
    pub(super) feed_position: u64,
    pub(super) events: Census,
}

pub(super) fn indexer_state(connection: &Connection) -> Result<IndexerState, StoreError> {
    let sql = "/* state::indexer_state */ SELECT cursor_seq, epoch, feed_position, events_unverified, \
               events_uncommitted, events_rewritten, events_committed FROM indexer_state";
    let row = |row: &rusqlite::Row<'_>| {
        let events = Census {
            unverified: row.get(3)?,
            uncommitted: row.get(4)?,
            rewritten: row.get(5)?,
            committed: row.get(6)?,
        };
        Ok((row.get::<_, Option<u32>>(0)?, row.get(1)?, row.get(2)?, events))
    };
    let (cursor, epoch, feed_position, events) = connection.prepare_cached(sql)?.query_row([], row)?;
    Ok(IndexerState { cursor: cursor.map(ledger_seq).transpose()?, epoch, feed_position, events })
}

/// Writes the state that a commit leaves and remembers the commit. The cursor never falls (seed 000).
pub(super) fn advance(
    connection: &Connection,
    before: &IndexerState,
    end: LedgerSeq,
    feed_position: u64,
    events: Census,
    now_ms: u64,
) -> Result<(), StoreError> {
    let cursor = before.cursor.map_or(end, |cursor| cursor.max(end));
    let sql = "/* state::advance */ UPDATE indexer_state SET cursor_seq = :cursor, feed_position = :feed, \
               events_unverified = :unverified, events_uncommitted = :uncommitted, events_rewritten = :rewritten, \
               events_committed = :committed";
    connection.prepare_cached(sql)?.execute(named_params! {
        ":cursor": cursor.get(),
        ":feed": feed_position,
        ":unverified": events.unverified,
        ":uncommitted": events.uncommitted,
        ":rewritten": events.rewritten,
        ":committed": events.committed,
    })?;
    let remember = "/* state::advance */ INSERT INTO cursor_history VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(remember)?.execute(params![feed_position, cursor.get(), before.epoch, now_ms])?;
    let forget = "/* state::advance */ DELETE FROM cursor_history WHERE feed_position <= \
                  (SELECT feed_position FROM cursor_history ORDER BY feed_position DESC LIMIT 1 OFFSET ?1)";
    connection.prepare_cached(forget)?.execute([CURSOR_HISTORY_MAX])?;
    Ok(())
}

/// When the commit was made that brought the highest ledger, Unix milliseconds; the earliest remembered one that had
/// it where that one is forgotten.
pub(super) fn grown_ms(connection: &Connection) -> Result<Option<u64>, StoreError> {
    let sql = "/* state::grown_ms */ SELECT committed_at_ms FROM cursor_history WHERE cursor_seq = \
               (SELECT cursor_seq FROM indexer_state) ORDER BY feed_position LIMIT 1";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

/// Hands out a feed position for an operator's act that changes what later pages say of the same ledgers.
pub(super) fn act_position(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "/* state::act_position */ UPDATE indexer_state SET feed_position = feed_position + 1 \
               RETURNING feed_position";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The key that the archive signs cursors with.
pub(super) fn cursor_key(connection: &Connection) -> Result<[u8; 32], StoreError> {
    let sql = "/* state::cursor_key */ SELECT cursor_key FROM archive_meta";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Raises the fence of the ingest lease.
pub(super) fn acquire(connection: &Connection) -> Result<Fence, StoreError> {
    let sql = "/* state::acquire */ UPDATE leases SET fence = fence + 1 WHERE name = 'ingest' RETURNING fence";
    let number = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(Fence { number, epoch: indexer_state(connection)?.epoch })
}

/// Refuses every fence but the latest one of this epoch. The transaction was begun `IMMEDIATE`, so that nobody
/// can take the lease between this check and the commit.
pub(super) fn check_fence(connection: &Connection, fence: Fence) -> Result<(), StoreError> {
    let sql = "/* state::check_fence */ SELECT fence, (SELECT epoch FROM indexer_state) FROM leases \
               WHERE name = 'ingest'";
    let latest = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if latest == (fence.number, fence.epoch) { Ok(()) } else { Err(StoreError::StaleFence) }
}

/// Refuses while an incident is open.
pub(super) fn check_incidents(connection: &Connection) -> Result<(), StoreError> {
    let sql = "/* state::check_incidents */ SELECT id FROM incidents WHERE resolved_at_ms IS NULL ORDER BY id LIMIT 1";
    match connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()? {
        Some(id) => Err(StoreError::IncidentOpen { id }),
        None => Ok(()),
    }
}

/// Takes a stored sequence number.
pub(super) fn ledger_seq(seq: u32) -> Result<LedgerSeq, StoreError> {
    LedgerSeq::new(seq).map_err(|_| damaged(format!("{seq} is stored as a ledger's number")))
}

/// The number that stands for a proof class in `events`.
pub(super) fn proof_code(class: ProofClass) -> u8 {
    match class {
        ProofClass::Unverified => 0,
        ProofClass::Uncommitted => 1,
        ProofClass::Rewritten => 2,
        ProofClass::Committed => 3,
    }
}

/// The proof class that a number in `events` stands for.
pub(super) fn proof_class(code: u8) -> Result<ProofClass, StoreError> {
    let class = ProofClass::ALL.into_iter().find(|class| proof_code(*class) == code);
    class.ok_or_else(|| damaged(format!("{code} is stored as a proof class")))
}
