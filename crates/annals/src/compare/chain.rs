//! From which ledger on two archives hold different headers.

use annals_core::decode::HeaderView;
use annals_core::hash::sha256;
use annals_core::{LedgerHash, LedgerSeq};

use super::{Both, Halt, Lie, Marks, Pair, Side};

/// Where two chains part, as far as both archives hold headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// The highest ledger that is known to have the same hash in both; the next is then the first that differs, or lies
    /// where an archive holds no header.
    pub same_through: Option<LedgerSeq>,
    /// The lowest ledger that is known to have two hashes.
    pub differs_from: LedgerSeq,
}

/// The hash of a ledger in both; none in an archive that holds no header of it.
pub(super) fn hashes(pair: &Pair<'_>, ledger: LedgerSeq) -> Result<Both<Option<LedgerHash>>, Halt> {
    let shown = pair.each(|_, archive| archive.header(ledger))?;
    let hash = |side: Side| {
        let Some(header) = shown.of(side) else { return Ok(None) };
        let is_of = HeaderView::parse(&header.xdr).is_ok_and(|view| view.seq == ledger.get());
        match is_of && sha256(&[&header.xdr]) == header.hash.0 {
            true => Ok(Some(header.hash)),
            false => Err(Halt::Lie(side, Lie::Header(ledger))),
        }
    };
    Ok(Both { a: hash(Side::A)?, b: hash(Side::B)? })
}

/// Halves the way down from a ledger of two hashes. Each header names the one before it, so that chains that agree on a
/// ledger agree on all below it, and never again after one that differs.
pub(super) fn fork(pair: &Pair<'_>, differs: LedgerSeq, marks: &Both<Marks>) -> Result<Fork, Halt> {
    let lowest = marks.a.start.max(marks.b.start).unwrap_or(LedgerSeq::MIN);
    let mut found = Fork { same_through: None, differs_from: differs };
    // The lowest ledger that is not known to differ.
    let mut low = lowest.min(differs);
    while low < found.differs_from {
        let middle = low.get() + (found.differs_from.get() - low.get()) / 2;
        let middle = LedgerSeq::new(middle).expect("between two ledgers lie ledgers");
        match hashes(pair, middle)? {
            Both { a: Some(a), b: Some(b) } if a == b => {
                found.same_through = Some(middle);
                low = middle.next().expect("a ledger that differs lies above");
            }
            Both { a: Some(_), b: Some(_) } => found.differs_from = middle,
            _ => break,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
