//! Digests of whole blocks, kept so that the digest of a long history is made from few rows.
//!
//! The commit that makes a scope key cover a block whole digests the block for the key's contracts, and a commit that
//! changes an event of a sealed block digests it anew for the event's contract. Which blocks are sealed follows from
//! coverage, apart from those of `unsealed`. As coverage never shrinks, seals are never broken.

use std::collections::{BTreeMap, BTreeSet};

use annals_core::history_digest::{BLOCK_LEDGERS, block_of};
use annals_core::{
    ContractId, Event, HistoryDigest, HistoryDigester, LedgerRange, LedgerSeq, Part, RangeDigest, ScopeKey,
};
use rusqlite::{Connection, OptionalExtension, Rows, params};

use super::{OF_CONTRACT, out_of_order, toids};
use crate::store::sqlite::failure::damaged;
use crate::store::sqlite::grants::Granted;
use crate::store::sqlite::ranges;
use crate::store::sqlite::state::ledger_seq;
use crate::store::{Sealed, StoreError};

/// How many blocks of those left over from before there were seals one commit takes.
const LEFT_OVER_A_COMMIT: u32 = 2;

pub(super) const OF_EVERY_CONTRACT: &str = "/* seals::digest_each */ SELECT toid, event_index, event_xdr, contract_id \
                                 FROM events WHERE toid BETWEEN ?1 AND ?2 AND contract_id IS NOT NULL \
                                 ORDER BY toid, event_index";

/// Consecutive blocks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blocks {
    first: u32,
    last: u32,
}

impl Blocks {
    /// The blocks that lie in `range` whole.
    pub(super) fn within(range: LedgerRange) -> Option<Self> {
        let (from, to) = (range.from_inclusive(), range.to_inclusive());
        let first = number_of(from) + u32::from(block_of(from).from_inclusive() < from);
        let end = number_of(to) + u32::from(block_of(to).to_inclusive() == to);
        (first < end).then(|| Self { first, last: end - 1 })
    }

    /// The block that `seq` lies in.
    pub(super) fn around(seq: LedgerSeq) -> Self {
        Self::touched_by(LedgerRange::single(seq))
    }

    /// The blocks that `range` touches.
    fn touched_by(range: LedgerRange) -> Self {
        Self { first: number_of(range.from_inclusive()), last: number_of(range.to_inclusive()) }
    }

    fn intersection(self, other: Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }

    pub(super) fn ledgers(self) -> Result<LedgerRange, StoreError> {
        let (first, last) = (ledgers_of(self.first)?, ledgers_of(self.last)?);
        LedgerRange::new(first.from_inclusive(), last.to_inclusive()).map_err(|_| damaged("stored blocks are inverted"))
    }

    /// The blocks without those of `others`, which are disjoint and ascend.
    fn without(self, others: &[Self]) -> Vec<Self> {
        let mut left = Vec::new();
        let mut first = self.first;
        for other in others.iter().filter_map(|other| other.intersection(self)) {
            if first < other.first {
                left.push(Self { first, last: other.first - 1 });
            }
            first = other.last + 1;
        }
        if first <= self.last {
            left.push(Self { first, last: self.last });
        }
        left
    }
}

pub(super) fn number_of(seq: LedgerSeq) -> u32 {
    seq.get() / BLOCK_LEDGERS
}

fn ledgers_of(block: u32) -> Result<LedgerRange, StoreError> {
    let first = block.checked_mul(BLOCK_LEDGERS).ok_or_else(|| damaged("a stored block is none"))?;
    Ok(block_of(ledger_seq(first.max(1))?))
}

/// The contracts whose events a commit added or replaced, by block.
#[derive(Default)]
pub(in crate::store::sqlite) struct Changed(BTreeMap<u32, BTreeSet<ContractId>>);

impl Changed {
    pub(in crate::store::sqlite) fn add(&mut self, event: &Event) {
        if let Some(contract) = event.contract_id {
            self.0.entry(number_of(event.position.ledger())).or_default().insert(contract);
        }
    }
}

/// Seals what a commit made whole, digests anew what it changed of sealed blocks, and takes a few of the blocks that were
/// left over. The commit's coverage is written.
pub(in crate::store::sqlite) fn after_commit(
    connection: &Connection,
    granted: &Granted,
    changed: &Changed,
) -> Result<(), StoreError> {
    let mut opened: BTreeMap<ScopeKey, Vec<Blocks>> = BTreeMap::new();
    for (key, fresh) in granted.by_scope_key()? {
        for range in fresh.ranges() {
            // Every block that these ledgers touch was not whole before.
            let held = ranges::around(connection, &key.to_string(), range.from_inclusive())?;
            let whole = held.and_then(Blocks::within).and_then(|whole| whole.intersection(Blocks::touched_by(*range)));
            if let Some(blocks) = whole {
                digest(connection, key, blocks)?;
                opened.entry(key).or_default().push(blocks);
            }
        }
    }
    for (block, contracts) in &changed.0 {
        let blocks = Blocks { first: *block, last: *block };
        let is_new = |key: &ScopeKey| {
            opened.get(key).is_some_and(|opened| opened.iter().any(|new| new.intersection(blocks).is_some()))
        };
        if is_new(&ScopeKey::All) {
            continue;
        }
        let keys = ranges::keys_over_all(connection, blocks.ledgers()?)?;
        for contract in contracts {
            let own = ScopeKey::Contract(*contract);
            if !is_new(&own) && (keys.contains(&ScopeKey::All) || keys.contains(&own)) {
                digest(connection, own, blocks)?;
            }
        }
    }
    seal_left_over(connection, LEFT_OVER_A_COMMIT)?;
    Ok(())
}

/// Seals up to `limit` of the blocks that were left over, and counts those that are still.
pub(in crate::store::sqlite) fn seal(connection: &Connection, limit: u32) -> Result<Sealed, StoreError> {
    let (blocks, events) = seal_left_over(connection, limit)?;
    let left = "/* seals::seal */ SELECT coalesce(sum(to_block - from_block + 1), 0) FROM unsealed";
    Ok(Sealed { blocks, events, left: connection.prepare_cached(left)?.query_row([], |row| row.get(0))? })
}

/// Seals up to `limit` of the blocks that were left over; returns how many, and how many events they hold.
fn seal_left_over(connection: &Connection, limit: u32) -> Result<(u32, u64), StoreError> {
    let mut events = 0;
    for done in 0..limit {
        let sql = "/* seals::seal_left_over */ SELECT scope_key, from_block, to_block FROM unsealed LIMIT 1";
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?, row.get::<_, u32>(2)?));
        let Some((key, first, last)) = connection.prepare_cached(sql)?.query_row([], row).optional()? else {
            return Ok((done, events));
        };
        events += digest(connection, ranges::scope_key(&key)?, Blocks { first: last, last })?;
        // From the end, so that the rest keeps its key.
        let shrink = match first == last {
            true => "/* seals::seal_left_over */ DELETE FROM unsealed WHERE scope_key = ?1 AND from_block = ?2",
            false => {
                "/* seals::seal_left_over */ UPDATE unsealed SET to_block = to_block - 1 \
                 WHERE scope_key = ?1 AND from_block = ?2"
            }
        };
        connection.prepare_cached(shrink)?.execute(params![key, first])?;
    }
    Ok((limit, events))
}

/// The blocks of `range` that are sealed for `contract`, ascending and disjoint.
pub(super) fn sealed(
    connection: &Connection,
    contract: ContractId,
    range: LedgerRange,
) -> Result<Vec<Blocks>, StoreError> {
    let mut sealed = Vec::new();
    for key in [ScopeKey::Contract(contract), ScopeKey::All] {
        let text = key.to_string();
        let left_over = unsealed(connection, &text)?;
        for covered in ranges::within(connection, &text, range)?.ranges() {
            sealed.extend(Blocks::within(*covered).iter().flat_map(|blocks| blocks.without(&left_over)));
        }
    }
    sealed.sort_unstable();
    let mut disjoint: Vec<Blocks> = Vec::new();
    for blocks in sealed {
        match disjoint.last_mut() {
            Some(last) if blocks.first <= last.last + 1 => last.last = last.last.max(blocks.last),
            _ => disjoint.push(blocks),
        }
    }
    Ok(disjoint)
}

/// Whether a block that `key` covers whole is one of those left over.
pub(super) fn is_left_over(connection: &Connection, key: ScopeKey, block: Blocks) -> Result<bool, StoreError> {
    let left_over = unsealed(connection, &key.to_string())?;
    Ok(left_over.iter().any(|blocks| blocks.intersection(block).is_some()))
}

fn unsealed(connection: &Connection, key: &str) -> Result<Vec<Blocks>, StoreError> {
    let sql =
        "/* seals::unsealed */ SELECT from_block, to_block FROM unsealed WHERE scope_key = ?1 ORDER BY from_block";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([key], |row| Ok(Blocks { first: row.get(0)?, last: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Gives `take` the digests of sealed blocks, ascending, for as long as it tells that it takes more; returns what it told
/// last.
pub(super) fn read(
    connection: &Connection,
    contract: ContractId,
    blocks: Blocks,
    mut take: impl FnMut(Part) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let sql = "/* seals::read */ SELECT block, events, digest FROM history_digests \
               WHERE contract_id = ?1 AND block BETWEEN ?2 AND ?3 ORDER BY block";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![contract.0, blocks.first, blocks.last])?;
    while let Some(row) = rows.next()? {
        let range = ledgers_of(row.get(0)?)?;
        if !take(Part { range, events: row.get(1)?, digest: HistoryDigest(row.get(2)?) })? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Digests whole blocks for the contracts of `key`; returns how many events they hold.
fn digest(connection: &Connection, key: ScopeKey, blocks: Blocks) -> Result<u64, StoreError> {
    let sql = "/* seals::digest */ INSERT INTO history_digests VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (contract_id, block) DO UPDATE SET events = excluded.events, digest = excluded.digest";
    let mut insert = connection.prepare_cached(sql)?;
    let mut events = 0;
    digest_each(connection, key, blocks, |contract, part| {
        events += part.events;
        insert.execute(params![contract.0, number_of(part.range.to_inclusive()), part.events, part.digest.0])?;
        Ok(())
    })?;
    Ok(events)
}

/// Gives `take` the digests of whole blocks for the contracts of `key`: block by block, and in each by contract.
pub(super) fn digest_each(
    connection: &Connection,
    key: ScopeKey,
    blocks: Blocks,
    mut take: impl FnMut(ContractId, Part) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (from, to) = toids(blocks.ledgers()?);
    match key {
        ScopeKey::All => {
            let mut statement = connection.prepare_cached(OF_EVERY_CONTRACT)?;
            digest_rows(statement.query(params![from, to])?, None, &mut take)
        }
        ScopeKey::Contract(contract) => {
            let mut statement = connection.prepare_cached(OF_CONTRACT)?;
            digest_rows(statement.query(params![contract.0, from, to])?, Some(contract), &mut take)
        }
    }
}

/// `of`: whose the events are where a row does not say so.
fn digest_rows(
    mut rows: Rows<'_>,
    of: Option<ContractId>,
    take: &mut impl FnMut(ContractId, Part) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut close = |open: BTreeMap<ContractId, HistoryDigester>| {
        open.into_iter().try_for_each(|(contract, digester)| {
            let RangeDigest { range, events, digest, .. } = digester.finish().map_err(out_of_order)?;
            take(contract, Part { range, events, digest })
        })
    };
    let mut open: BTreeMap<ContractId, HistoryDigester> = BTreeMap::new();
    let mut block = None;
    while let Some(row) = rows.next()? {
        let (position, xdr) = super::hashed(row)?;
        let own = block_of(position.ledger());
        if block != Some(own) {
            close(core::mem::take(&mut open))?;
            block = Some(own);
        }
        let contract = match of {
            Some(contract) => contract,
            None => ContractId(row.get(3)?),
        };
        let digester = open.entry(contract).or_insert_with(|| HistoryDigester::new(own));
        digester.event(position, xdr).map_err(out_of_order)?;
    }
    close(open)
}
