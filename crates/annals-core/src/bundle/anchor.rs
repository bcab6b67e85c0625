//! The chain of a bundle's headers, and what it hangs on.

use super::parts::{AbovePart, undecodable};
use super::verdict::Anchor;
use super::{BundleFault, HEADERS_ABOVE_MAX, Undecided};
use crate::decode::HeaderView;
use crate::hash::{LedgerHash, sha256};
use crate::ledger_seq::LedgerSeq;

/// Ledgers that link to each other, ascending.
#[derive(Default)]
pub(super) struct Links {
    names: Vec<(LedgerSeq, LedgerHash)>,
    /// How many of them something is claimed of; the rest follows.
    claimed: usize,
}

impl Links {
    /// Adds the header of a ledger that something is claimed of.
    pub(super) fn claim<'a>(&mut self, header_xdr: &'a [u8]) -> Result<(LedgerSeq, HeaderView<'a>), BundleFault> {
        let header = self.push(header_xdr)?;
        self.claimed = self.names.len();
        Ok(header)
    }

    fn push<'a>(&mut self, header_xdr: &'a [u8]) -> Result<(LedgerSeq, HeaderView<'a>), BundleFault> {
        let header = HeaderView::parse(header_xdr).map_err(undecodable("header"))?;
        let misplaced = BundleFault::HeaderSequence { found: header.seq };
        let Ok(seq) = LedgerSeq::new(header.seq) else { return Err(misplaced) };
        if let Some((before, hash)) = self.names.last() {
            if before.next() != Some(seq) {
                return Err(misplaced);
            }
            if header.previous_hash != hash.0 {
                return Err(BundleFault::BrokenLink { ledger: seq });
            }
        }
        self.names.push((seq, LedgerHash(sha256(&[header_xdr]))));
        Ok((seq, header))
    }

    /// Climbs to the bundle's last header, and finds what the claim hangs on: the given anchor, or that header.
    pub(super) fn anchor(
        mut self,
        above: &AbovePart,
        given: Option<(LedgerSeq, LedgerHash)>,
    ) -> Result<Result<Anchor, Undecided>, BundleFault> {
        let (found, at_most) = (above.headers.len(), HEADERS_ABOVE_MAX);
        if found > at_most {
            return Err(BundleFault::Count { what: "headers", found, at_least: 0, at_most });
        }
        for header in &above.headers {
            self.push(&header.0)?;
        }
        let last = self.names.last().copied().zip(self.names.get(self.claimed.wrapping_sub(1)).copied());
        let Some(((ledger, hash), (from, _))) = last else {
            return Err(BundleFault::Count { what: "ledgers", found: 0, at_least: 1, at_most: super::LEDGERS_MAX });
        };
        if (above.anchor.ledger, above.anchor.hash.0) != (ledger.get(), hash) {
            return Err(BundleFault::AnchorMismatch { ledger, hash });
        }
        if let Some(unreached) = above.unreached
            && (unreached.ledger <= ledger.get() || LedgerSeq::new(unreached.ledger).is_err())
        {
            return Err(BundleFault::UnreachedReached { ledger: unreached.ledger });
        }
        let Some((ledger, given)) = given else {
            return Ok(match above.unreached {
                None => Ok(Anchor { ledger, hash, given: false }),
                Some(unreached) => Err(Undecided::Unreached { from, to: ledger, hash, unreached: unreached.ledger }),
            });
        };
        self.hang_on(ledger, given, from, above)
    }

    fn hang_on(
        &self,
        ledger: LedgerSeq,
        given: LedgerHash,
        from: LedgerSeq,
        above: &AbovePart,
    ) -> Result<Result<Anchor, Undecided>, BundleFault> {
        let own = self.names.iter().find(|(seq, _)| *seq == ledger).map(|(_, hash)| *hash);
        let unreached = above.unreached.filter(|name| name.ledger == ledger.get()).map(|name| name.hash.0);
        match own.or(unreached).filter(|found| *found != given) {
            Some(found) => Err(BundleFault::AnchorContradicted { ledger, given, found }),
            None if own.is_some() && ledger >= from => Ok(Ok(Anchor { ledger, hash: given, given: true })),
            None => {
                let to = self.names.last().map_or(from, |(seq, _)| *seq);
                Ok(Err(Undecided::AnchorNotHere { ledger, from, to }))
            }
        }
    }
}
