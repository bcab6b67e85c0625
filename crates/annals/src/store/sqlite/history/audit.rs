//! Comparing the digests of sealed blocks with the events that are stored.

use annals_core::{HistoryDigest, LedgerSeq, Part, Position, ScopeKey};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::seals::{self, Blocks};
use crate::store::sqlite::ranges;
use crate::store::sqlite::state::ledger_seq;
use crate::store::{AuditedDigests, StoreError};

/// Compares the digests of up to `blocks` blocks with events behind the ledger `after`.
pub(in crate::store::sqlite) fn audit(
    connection: &Connection,
    after: Option<LedgerSeq>,
    blocks: u32,
) -> Result<AuditedDigests, StoreError> {
    let kept = "/* audit::audit */ SELECT events, digest FROM history_digests WHERE contract_id = ?1 AND block = ?2";
    let mut kept = connection.prepare_cached(kept)?;
    let mut audited = AuditedDigests { next: after, wrong: Vec::new(), compared: 0, kept: None };
    for _ in 0..blocks.max(1) {
        let Some(block) = next_block(connection, audited.next)? else {
            audited.next = None;
            let count = "/* audit::audit */ SELECT count(*) FROM history_digests";
            audited.kept = Some(connection.prepare_cached(count)?.query_row([], |row| row.get(0))?);
            return Ok(audited);
        };
        audit_block(connection, &mut kept, block, &mut audited)?;
        audited.next = Some(block.ledgers()?.to_inclusive());
    }
    Ok(audited)
}

fn audit_block(
    connection: &Connection,
    kept: &mut CachedStatement<'_>,
    block: Blocks,
    audited: &mut AuditedDigests,
) -> Result<(), StoreError> {
    let ledgers = block.ledgers()?;
    let mut sealed = Vec::new();
    for key in ranges::keys_over_all(connection, ledgers)? {
        if !seals::is_left_over(connection, key, block)? {
            sealed.push(key);
        }
    }
    seals::digest_each(connection, ScopeKey::All, block, |contract, part| {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, [u8; 32]>(1)?));
        let number = seals::number_of(ledgers.to_inclusive());
        let found = kept.query_row(params![contract.0, number], row).optional()?;
        let found = found.map(|(events, digest)| Part { range: ledgers, events, digest: HistoryDigest(digest) });
        let is_due = sealed.contains(&ScopeKey::All) || sealed.contains(&ScopeKey::Contract(contract));
        audited.compared += u64::from(found.is_some());
        if found != Some(part) && (is_due || found.is_some()) {
            audited.wrong.push((contract, ledgers));
        }
        Ok(())
    })
}

/// The first block behind the ledger `after` that has an event.
fn next_block(connection: &Connection, after: Option<LedgerSeq>) -> Result<Option<Blocks>, StoreError> {
    let sql = "/* audit::next_block */ SELECT toid >> 32 FROM events WHERE toid > ?1 ORDER BY toid LIMIT 1";
    let behind = after.map_or(0, |after| Position::last_of(after).toid());
    let ledger = connection.prepare_cached(sql)?.query_row([behind], |row| row.get::<_, u32>(0)).optional()?;
    ledger.map(|ledger| Ok(Blocks::around(ledger_seq(ledger)?))).transpose()
}
