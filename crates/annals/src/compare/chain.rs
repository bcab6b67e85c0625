//! From which ledger on two archives hold different headers.

use annals_core::decode::HeaderView;
use annals_core::hash::sha256;
use annals_core::{LedgerHash, LedgerRange, LedgerSeq};

use super::{Both, Halt, Lie, Marks, Pair, Side};

/// Where two chains part, as far as both archives hold headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The highest ledger that is known to have the same hash in both; the next is then the first that differs, or lies
    /// where an archive holds no header.
    pub same_through: Option<LedgerSeq>,
    /// The lowest ledger that is known to have two hashes.
    pub differs_from: LedgerSeq,
    /// Its hash in each.
    pub hashes: Both<LedgerHash>,
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

/// Where the two chains part, if they do at or below `ledger`, whose hashes are known. Where one of both holds no header
/// of it, others are looked at that both may hold: the highest up to which both are gap-free, and the highest of all.
pub(super) fn fork(
    pair: &Pair<'_>,
    ledger: LedgerSeq,
    window: LedgerRange,
    known: &Both<Option<LedgerHash>>,
    marks: &Both<Marks>,
) -> Result<Option<Fork>, Halt> {
    let lowest = marks.a.start.max(marks.b.start).unwrap_or(LedgerSeq::MIN);
    if let Both { a: Some(a), b: Some(b) } = *known {
        let hashes = Both { a, b };
        let differs = || Fork { same_through: None, differs_from: ledger, hashes };
        return (a != b).then(|| halve(pair, lowest, differs())).transpose();
    }
    let common = |mark: fn(&Marks) -> Option<LedgerSeq>| {
        Some(mark(&marks.a)?.min(mark(&marks.b)?).min(window.to_inclusive())).filter(|found| *found != ledger)
    };
    let (gap_free, highest) = (common(|marks| marks.through), common(|marks| marks.latest));
    let mut same_through = None;
    for other in gap_free.into_iter().chain(highest.filter(|_| highest != gap_free)) {
        let Both { a: Some(a), b: Some(b) } = hashes(pair, other)? else { continue };
        if a == b {
            same_through = same_through.max(Some(other));
            continue;
        }
        let low = same_through.and_then(LedgerSeq::next).unwrap_or(lowest);
        let fork = halve(pair, low, Fork { same_through, differs_from: other, hashes: Both { a, b } })?;
        // Chains that part above the ledger are one chain in it.
        return Ok(Some(fork).filter(|fork| fork.same_through < Some(ledger)));
    }
    Ok(None)
}

/// Halves the way down from a ledger of two hashes to `low`, the lowest that is not known to differ. Each header names the
/// one before it, so that chains that agree on a ledger agree on all below it, and never again after one that differs.
fn halve(pair: &Pair<'_>, low: LedgerSeq, mut found: Fork) -> Result<Fork, Halt> {
    let mut low = low.min(found.differs_from);
    while low < found.differs_from {
        let middle = low.get() + (found.differs_from.get() - low.get()) / 2;
        let middle = LedgerSeq::new(middle).expect("between two ledgers lie ledgers");
        match hashes(pair, middle)? {
            Both { a: Some(a), b: Some(b) } if a == b => {
                found.same_through = Some(middle);
                low = middle.next().expect("a ledger that differs lies above");
            }
            Both { a: Some(a), b: Some(b) } => (found.differs_from, found.hashes) = (middle, Both { a, b }),
            _ => break,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
