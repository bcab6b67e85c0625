//! The digest of a contract's history, or of one account's.

use annals_core::history_digest::{OutOfOrder, block_of};
use annals_core::{ContractId, HistoryDigester, LedgerRange, LedgerSeq, Position};
use rusqlite::{Connection, Row, Rows, params};

use super::failure::damaged;
use super::view::{self, Known};
use super::{attribution, pages};
use crate::store::{DigestAnswer, DigestQuery, Digested, JudgedWindow, StoreError};

pub(super) mod audit;
pub(super) mod seals;
#[cfg(test)]
mod tests;

/// How many events and sealed blocks one read takes: a few seconds of work, and the blocks of every ledger that the public
/// network closes in twenty years.
pub(super) const ROWS_TAKEN_MAX: u64 = 2_000_000;

const OF_CONTRACT: &str = "/* history::contract */ SELECT toid, event_index, event_xdr FROM events \
                           INDEXED BY events_by_contract WHERE contract_id = ?1 AND toid BETWEEN ?2 AND ?3 \
                           ORDER BY toid, event_index";

/// An event is there once for each role that the account has in it.
const OF_ACCOUNT: &str = "/* history::digest */ SELECT attribution.toid, attribution.event_index, event_xdr \
                          FROM attribution CROSS JOIN events ON events.feed_position = event_feed_position \
                          WHERE party_id = ?1 AND attribution.toid BETWEEN ?2 AND ?3 AND until IS NULL \
                          ORDER BY attribution.toid, attribution.event_index";

/// Digests a window, of at most `rows_max` events and sealed blocks; `connection` stands on one snapshot.
pub(super) fn read(connection: &Connection, query: &DigestQuery, rows_max: u64) -> Result<DigestAnswer, StoreError> {
    let known = view::read(connection, query.contract, None)?;
    let window = known.window(query.asked_from, query.asked_to);
    let digested = match window.range() {
        None => Digested::NoRange,
        Some(range) => digest(connection, &known, query, range, rows_max)?,
    };
    let unattributed = match query.account {
        Some(_) => pages::unattributed(connection, &known, query.contract, window)?,
        None => None,
    };
    let classic_events_absent = known.lacks_classic(connection, window)?;
    let window = JudgedWindow { window, classic_events_absent, unattributed };
    Ok(DigestAnswer { digested, window, view: known.view })
}

fn digest(
    connection: &Connection,
    known: &Known,
    query: &DigestQuery,
    range: LedgerRange,
    rows_max: u64,
) -> Result<Digested, StoreError> {
    let mut hashing = Hashing { digester: HistoryDigester::new(range), last: None, left: rows_max };
    let within = match query.account {
        None => hashing.contract(connection, query.contract, range)?,
        // Without a schema nobody can say whose the events are, whatever an earlier one said.
        Some(account) => {
            let party = attribution::party(connection, query.contract, account)?.filter(|_| known.reading.is_some());
            let mut statement = connection.prepare_cached(OF_ACCOUNT)?;
            let (from, to) = toids(range);
            match party {
                Some(party) => hashing.take(statement.query(params![party, from, to])?)?,
                None => true,
            }
        }
    };
    if !within {
        return Ok(Digested::TooWide);
    }
    Ok(Digested::Range(hashing.digester.finish().map_err(out_of_order)?))
}

fn toids(range: LedgerRange) -> (u64, u64) {
    (Position::first_of(range.from_inclusive()).toid(), Position::last_of(range.to_inclusive()).toid())
}

/// What is hashed of an event: its position and its bytes, the first columns of a row.
fn hashed<'r>(row: &'r Row<'_>) -> Result<(Position, &'r [u8]), StoreError> {
    let position = Position::from_parts(row.get(0)?, row.get(1)?);
    let position = position.map_err(|_| damaged("an event's position is none"))?;
    Ok((position, row.get_ref(2)?.as_blob().map_err(|_| damaged("an event's bytes are none"))?))
}

fn out_of_order(found: OutOfOrder) -> StoreError {
    damaged(found.to_string())
}

/// A digest that takes events from the database.
struct Hashing {
    digester: HistoryDigester,
    last: Option<Position>,
    /// How many more events and sealed blocks it takes.
    left: u64,
}

impl Hashing {
    /// Takes all of a contract's events in `range`, those of sealed blocks by the blocks' digests; tells whether
    /// that were not too many.
    fn contract(
        &mut self,
        connection: &Connection,
        contract: ContractId,
        range: LedgerRange,
    ) -> Result<bool, StoreError> {
        let mut statement = connection.prepare_cached(OF_CONTRACT)?;
        // Of a block alone its ledgers are asked for.
        let is_block = range == block_of(range.from_inclusive());
        let sealed = if is_block { Vec::new() } else { seals::sealed(connection, contract, range)? };
        let mut hash = |hashing: &mut Self, (from, to): (LedgerSeq, LedgerSeq)| {
            let Ok(between) = LedgerRange::new(from, to) else { return Ok(true) };
            let (from, to) = toids(between);
            hashing.take(statement.query(params![contract.0, from, to])?)
        };
        let mut next = Some(range.from_inclusive());
        for blocks in sealed {
            let ledgers = blocks.ledgers()?;
            let before = next.zip(ledgers.from_inclusive().previous());
            if !before.map_or(Ok(true), |ends| hash(self, ends))? {
                return Ok(false);
            }
            let is_read = seals::read(connection, contract, blocks, |part| {
                self.digester.part(part).map_err(out_of_order)?;
                Ok(self.spend())
            })?;
            if !is_read {
                return Ok(false);
            }
            next = ledgers.to_inclusive().next();
        }
        next.map_or(Ok(true), |from| hash(self, (from, range.to_inclusive())))
    }

    /// Counts a row that is taken; tells whether it may be.
    fn spend(&mut self) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    /// Takes the events of `rows`, each once; tells whether that were not too many.
    fn take(&mut self, mut rows: Rows<'_>) -> Result<bool, StoreError> {
        while let Some(row) = rows.next()? {
            let (position, xdr) = hashed(row)?;
            if self.last == Some(position) {
                continue;
            }
            if !self.spend() {
                return Ok(false);
            }
            self.last = Some(position);
            self.digester.event(position, xdr).map_err(out_of_order)?;
        }
        Ok(true)
    }
}
