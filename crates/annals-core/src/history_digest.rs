//! The digest of a history: one hash over the events of a range of ledgers, by which two archives find where they
//! differ. `docs/history-digest.md` is its contract.
//!
//! It is a tree over fixed boundaries, so that it depends on nothing but the range and the events in it. The leaves are
//! ledgers. A range of more ledgers is cut at the multiples of the smallest power of 64 that gives at most 64 parts, and
//! its digest is a hash over the parts that have an event. Whoever compares two archives goes down the parts that
//! differ: from 2³¹ ledgers to one in six steps.

use core::fmt;

use sha2::{Digest as _, Sha256};

use crate::digest::{EventsDigest, EventsHasher};
use crate::ledger_seq::{LedgerRange, LedgerSeq};
use crate::position::Position;

#[cfg(test)]
mod tests;

/// Parts that a range is cut into, at most; also how many parts of one level make one of the next.
pub const PARTS_MAX: usize = 1 << LEVEL_BITS;
/// Ledgers of a block: the smallest parts of more than one ledger.
pub const BLOCK_LEDGERS: u32 = 1 << LEVEL_BITS;

const LEVEL_BITS: u32 = 6;
/// What the hash over the parts of a range begins with.
const PREFIX: &[u8] = b"annals history digest v1";

/// The digest of the events of some ledgers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryDigest(pub [u8; 32]);

impl HistoryDigest {
    /// The version of the construction.
    pub const VERSION: u8 = 1;
}

impl From<EventsDigest> for HistoryDigest {
    fn from(digest: EventsDigest) -> Self {
        Self(digest.0)
    }
}

impl fmt::Display for HistoryDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for HistoryDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HistoryDigest({self})")
    }
}

/// Ledgers with at least one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// The ledgers.
    pub range: LedgerRange,
    /// How many events they have; at least 1.
    pub events: u64,
    /// The digest of these.
    pub digest: HistoryDigest,
}

/// The digest of a range, and of the parts that it is cut into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeDigest {
    /// The ledgers.
    pub range: LedgerRange,
    /// How many events they have.
    pub events: u64,
    /// The digest of these.
    pub digest: HistoryDigest,
    /// The parts that have an event, ascending; of one ledger the ledger itself.
    pub parts: Vec<Part>,
}

/// Events, or parts of a range, that come out of order, twice, or lie outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what a history is digested from is not in order at ledger {at}")]
pub struct OutOfOrder {
    /// The ledger.
    pub at: LedgerSeq,
}

/// The block that `seq` lies in: the ledgers from one multiple of 64 up to the next.
#[must_use]
pub fn block_of(seq: LedgerSeq) -> LedgerRange {
    part_of(whole(), 1, seq)
}

/// What `range` is cut into: at most [`PARTS_MAX`] ranges, ascending; one ledger is its own part.
pub fn cut(range: LedgerRange) -> impl Iterator<Item = LedgerRange> {
    let level = level_of(range);
    let part = move |seq: LedgerSeq| part_of(range, level, seq);
    core::iter::successors(Some(part(range.from_inclusive())), move |before| {
        before.to_inclusive().next().filter(|seq| range.contains(*seq)).map(part)
    })
}

/// The digest of `range` by its parts; none where these are not among the parts that it is cut into, ascending, each
/// with an event.
#[must_use]
pub fn digest_of_parts(range: LedgerRange, parts: &[Part]) -> Option<HistoryDigest> {
    let level = level_of(range);
    let is_cut = |part: &Part| {
        let from = part.range.from_inclusive();
        range.contains(from) && part.range == part_of(range, level, from) && part.events > 0
    };
    let ascend = parts.windows(2).all(|pair| pair[0].range.to_inclusive() < pair[1].range.from_inclusive());
    (ascend && parts.iter().all(is_cut)).then(|| combine(range, parts))
}

fn whole() -> LedgerRange {
    LedgerRange::new(LedgerSeq::MIN, LedgerSeq::MAX).expect("the first ledger lies below the last")
}

/// The power of 64 at whose multiples `range` is cut.
fn level_of(range: LedgerRange) -> u32 {
    let (from, to) = (range.from_inclusive().get(), range.to_inclusive().get());
    let parts = |level: u32| (to >> (level * LEVEL_BITS)) - (from >> (level * LEVEL_BITS)) + 1;
    (0..).find(|level| parts(*level) as usize <= PARTS_MAX).expect("at 64 to the fifth, 2³¹ ledgers are two parts")
}

/// The part of `range`, cut at the multiples of 64 to the power of `level`, that `seq` lies in.
fn part_of(range: LedgerRange, level: u32, seq: LedgerSeq) -> LedgerRange {
    let ledgers = 1 << (level * LEVEL_BITS);
    let first = seq.get() / ledgers * ledgers;
    let from = LedgerSeq::new(first).map_or(range.from_inclusive(), |first| first.max(range.from_inclusive()));
    let to = LedgerSeq::new(first + (ledgers - 1)).map_or(range.to_inclusive(), |last| last.min(range.to_inclusive()));
    LedgerRange::new(from, to).expect("the ledger lies in the range and in its own part")
}

/// The digest of `range` by its parts in order, without the empty ones.
fn combine(range: LedgerRange, parts: &[Part]) -> HistoryDigest {
    if range.count() == 1 {
        return parts.first().map_or_else(|| EventsDigest::of([]).into(), |ledger| ledger.digest);
    }
    let mut hasher = Sha256::new_with_prefix(PREFIX);
    for part in parts {
        hasher.update(part.range.from_inclusive().get().to_be_bytes());
        hasher.update(part.range.to_inclusive().get().to_be_bytes());
        hasher.update(part.events.to_be_bytes());
        hasher.update(part.digest.0);
    }
    HistoryDigest(hasher.finalize().into())
}

/// Digests the events of one range as they come, in canonical order; holds at most [`PARTS_MAX`] parts a level.
pub struct HistoryDigester {
    /// The range, and inside each the part that was begun; never empty.
    open: Vec<Node>,
    ledger: Option<OpenLedger>,
}

struct Node {
    range: LedgerRange,
    parts: Vec<Part>,
}

struct OpenLedger {
    last: Position,
    events: u64,
    hasher: EventsHasher,
}

impl Node {
    fn new(range: LedgerRange) -> Self {
        Self { range, parts: Vec::new() }
    }

    fn events(&self) -> u64 {
        self.parts.iter().fold(0, |events: u64, part| events.saturating_add(part.events))
    }

    fn close(self) -> Part {
        Part { range: self.range, events: self.events(), digest: combine(self.range, &self.parts) }
    }
}

impl HistoryDigester {
    /// Begins with no event.
    #[must_use]
    pub fn new(range: LedgerRange) -> Self {
        Self { open: vec![Node::new(range)], ledger: None }
    }

    /// Takes the next event of the range: its position and the original's XDR.
    ///
    /// # Errors
    /// [`OutOfOrder`]; the digest is then worth nothing.
    pub fn event(&mut self, position: Position, xdr: &[u8]) -> Result<(), OutOfOrder> {
        let at = position.ledger();
        match &mut self.ledger {
            Some(open) if open.last >= position => return Err(OutOfOrder { at }),
            Some(open) if open.last.ledger() == at => {
                open.last = position;
                open.events += 1;
                open.hasher.add(position, xdr);
            }
            _ => {
                self.close_ledger()?;
                let mut hasher = EventsHasher::default();
                hasher.add(position, xdr);
                self.ledger = Some(OpenLedger { last: position, events: 1, hasher });
            }
        }
        Ok(())
    }

    /// Takes the next part whose digest is known: a ledger, or a block that lies in the range together with other
    /// ledgers.
    ///
    /// # Errors
    /// [`OutOfOrder`]; the digest is then worth nothing.
    pub fn part(&mut self, part: Part) -> Result<(), OutOfOrder> {
        self.close_ledger()?;
        self.place(part)
    }

    /// The digest of all that came.
    ///
    /// # Errors
    /// [`OutOfOrder`].
    pub fn finish(mut self) -> Result<RangeDigest, OutOfOrder> {
        self.close_ledger()?;
        while self.open.len() > 1 {
            self.close_node();
        }
        let node = self.open.pop().expect("the range itself is never closed");
        let (events, digest) = (node.events(), combine(node.range, &node.parts));
        Ok(RangeDigest { range: node.range, events, digest, parts: node.parts })
    }

    fn close_ledger(&mut self) -> Result<(), OutOfOrder> {
        let Some(open) = self.ledger.take() else { return Ok(()) };
        let range = LedgerRange::single(open.last.ledger());
        self.place(Part { range, events: open.events, digest: open.hasher.finish().into() })
    }

    fn place(&mut self, part: Part) -> Result<(), OutOfOrder> {
        let from = part.range.from_inclusive();
        while self.open.len() > 1 && !self.top().range.contains(from) {
            self.close_node();
        }
        let passed = self.top().parts.last().is_some_and(|last| last.range.to_inclusive() >= from);
        if passed || part.events == 0 || !self.top().range.contains(from) {
            return Err(OutOfOrder { at: from });
        }
        loop {
            let range = self.top().range;
            let next = part_of(range, level_of(range), from);
            if next == part.range {
                self.top().parts.push(part);
                return Ok(());
            }
            if next.count() == 1 {
                return Err(OutOfOrder { at: from });
            }
            self.open.push(Node::new(next));
        }
    }

    fn top(&mut self) -> &mut Node {
        self.open.last_mut().expect("the range itself is never closed")
    }

    /// Closes the innermost part and gives it to the one around it.
    fn close_node(&mut self) {
        let part = self.open.pop().expect("the range itself is never closed").close();
        self.top().parts.push(part);
    }
}
