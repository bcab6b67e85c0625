//! Which ledgers of a fetched run link to each other, and which one is at fault where two do not.
//!
//! A ledger is held back until its successor links to it or its run ends. Where N and N+1 disagree, N is at
//! fault if N+1 links on to N+2; else N+1 is; both are at fault when nothing follows that could tell. A run
//! that contradicts the *stored* ledger below it is refused for as long as it links on: what is stored was checked.
//! Where such a run links up to the stored ledger above the gap, the two stored ledgers are not of one chain, whoever
//! gave it: hashes prove downwards. Of a run that contradicts the stored ledger above it, only the last ledger is
//! refused here: those below are decided by then, so that whoever fills a gap asks for its last ledger beforehand.

use crate::hash::LedgerHash;
use crate::ledger::CheckedLedger;
use crate::ledger_seq::{LedgerRange, LedgerSeq};

/// What the archive already holds beside a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Neighbours {
    /// The hash of the stored ledger below the gap.
    pub before: Option<LedgerHash>,
    /// The hash that the stored ledger above the gap gives for the gap's last ledger.
    pub after: Option<LedgerHash>,
}

/// Why a ledger that is sound in itself is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The ledger and its fetched neighbour do not link.
    #[error("ledgers {lower} and {upper} of the source do not link to each other")]
    DoesNotLink {
        /// The earlier of the two.
        lower: LedgerSeq,
        /// The later of the two.
        upper: LedgerSeq,
    },
    /// The ledger, or the run it links to, contradicts a ledger of the archive.
    #[error("the source's ledgers do not link to the stored ledger {stored}")]
    ContradictsStored {
        /// The stored ledger.
        stored: LedgerSeq,
    },
}

impl ChainFault {
    /// The stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::DoesNotLink { .. } => "DOES_NOT_LINK",
            Self::ContradictsStored { .. } => "CONTRADICTS_STORED",
        }
    }
}

/// What became of one ledger. `T` travels with the ledger (where it came from).
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// It links as far as there is anything to link to.
    Accepted(Box<CheckedLedger>, T),
    /// It does not.
    Refused(LedgerSeq, ChainFault, T),
    /// All of the gap's ledgers were refused, and prove something of what is stored beside it.
    Severed(Severance),
}

/// Two stored ledgers that are not of one chain: what lies between links up to the one above and does not to the one
/// below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Severance {
    /// The ledgers between them.
    pub between: LedgerRange,
    /// The header of the first of these, XDR.
    pub header_xdr: Vec<u8>,
    /// The hash that it gives for the stored ledger below.
    pub below: LedgerHash,
    /// The hash of the last of these, which the stored ledger above gives for it.
    pub last: LedgerHash,
}

type Item<T> = (Box<CheckedLedger>, T);

enum State<T> {
    /// Nothing is held back; `before` is the hash that the next ledger must name, where one is known.
    Open { before: Option<LedgerHash> },
    /// A ledger waits for its successor.
    Held(Item<T>),
    /// Two neighbours disagree and the next ledger tells.
    Disputed(Item<T>, Item<T>),
    /// A ledger whose run contradicts the stored ledger below the gap, and the run's first.
    Tainted(Item<T>, Taint),
}

/// The ledger that names another hash than the stored one's below the gap.
struct Taint {
    stored: LedgerSeq,
    header_xdr: Vec<u8>,
    below: LedgerHash,
}

/// The links of one gap's ledgers, taken in ascending order.
pub struct Chain<T> {
    range: LedgerRange,
    after: Option<LedgerHash>,
    expected: Option<LedgerSeq>,
    state: State<T>,
}

impl<T> Chain<T> {
    /// Begins the chain of one gap.
    #[must_use]
    pub fn new(range: LedgerRange, neighbours: Neighbours) -> Self {
        Self {
            range,
            after: neighbours.after,
            expected: Some(range.from_inclusive()),
            state: State::Open { before: neighbours.before },
        }
    }

    /// The next ledger that would continue the chain; none after the gap's last.
    #[must_use]
    pub fn expected(&self) -> Option<LedgerSeq> {
        self.expected
    }

    /// Takes the next ledger; appends what is decided to `out`.
    ///
    /// # Panics
    /// When `ledger` is not the expected one or above it.
    pub fn push(&mut self, ledger: Box<CheckedLedger>, origin: T, out: &mut Vec<Verdict<T>>) {
        let seq = ledger.seq;
        assert!(self.expected.is_some_and(|expected| expected <= seq), "ledgers are pushed in ascending order");
        if self.expected != Some(seq) {
            self.break_off(out);
        }
        self.expected = seq.next().filter(|next| self.range.contains(*next));
        let item = (ledger, origin);
        let state = core::mem::replace(&mut self.state, State::Open { before: None });
        self.state = match state {
            State::Open { before: Some(hash) } if hash != item.0.previous_hash => {
                let stored = seq.previous().expect("a ledger with a stored neighbour below is not the first");
                let (header_xdr, below) = (item.0.header_xdr.clone(), item.0.previous_hash);
                State::Tainted(item, Taint { stored, header_xdr, below })
            }
            State::Open { .. } => State::Held(item),
            State::Held(held) if links(&held, &item) => {
                out.push(Verdict::Accepted(held.0, held.1));
                State::Held(item)
            }
            State::Held(held) => State::Disputed(held, item),
            State::Disputed(lower, upper) => {
                let fault = ChainFault::DoesNotLink { lower: lower.0.seq, upper: upper.0.seq };
                if links(&upper, &item) {
                    out.push(Verdict::Refused(lower.0.seq, fault, lower.1));
                    out.push(Verdict::Accepted(upper.0, upper.1));
                } else {
                    out.push(Verdict::Accepted(lower.0, lower.1));
                    out.push(Verdict::Refused(upper.0.seq, fault, upper.1));
                }
                State::Held(item)
            }
            State::Tainted(tainted, taint) => {
                let links_on = links(&tainted, &item);
                out.push(taint.refusal(tainted));
                if links_on { State::Tainted(item, taint) } else { State::Held(item) }
            }
        };
    }

    /// Says that the next ledger up to and including `through` is not to be had; what is held back is decided.
    pub fn skip(&mut self, through: LedgerSeq, out: &mut Vec<Verdict<T>>) {
        self.break_off(out);
        self.expected = through.next().filter(|next| self.range.contains(*next));
    }

    /// Ends the gap; what is held back is decided, and no ledger is expected any more.
    pub fn finish(&mut self, out: &mut Vec<Verdict<T>>) {
        self.break_off(out);
        self.expected = None;
    }

    fn break_off(&mut self, out: &mut Vec<Verdict<T>>) {
        let after = self.after;
        let last = self.range.to_inclusive();
        let stored = last.next().unwrap_or(last);
        let stored_says =
            |ledger: &CheckedLedger| (ledger.seq == last).then_some(after).flatten().map(|hash| hash == ledger.hash);
        match core::mem::replace(&mut self.state, State::Open { before: None }) {
            State::Open { .. } => {}
            State::Held(held) if stored_says(&held.0) == Some(false) => {
                out.push(Verdict::Refused(held.0.seq, ChainFault::ContradictsStored { stored }, held.1));
            }
            State::Held(held) => out.push(Verdict::Accepted(held.0, held.1)),
            State::Disputed(lower, upper) => {
                let fault = ChainFault::DoesNotLink { lower: lower.0.seq, upper: upper.0.seq };
                out.push(Verdict::Refused(lower.0.seq, fault, lower.1));
                out.push(match stored_says(&upper.0) {
                    Some(true) => Verdict::Accepted(upper.0, upper.1),
                    Some(false) | None => Verdict::Refused(upper.0.seq, fault, upper.1),
                });
            }
            State::Tainted(tainted, taint) => {
                let (between, last) = (self.range, tainted.0.hash);
                let links_up = stored_says(&tainted.0) == Some(true);
                out.push(taint.refusal(tainted));
                if links_up {
                    let Taint { header_xdr, below, .. } = taint;
                    out.push(Verdict::Severed(Severance { between, header_xdr, below, last }));
                }
            }
        }
    }
}

impl Taint {
    fn refusal<T>(&self, (ledger, origin): Item<T>) -> Verdict<T> {
        Verdict::Refused(ledger.seq, ChainFault::ContradictsStored { stored: self.stored }, origin)
    }
}

fn links<T>(lower: &Item<T>, upper: &Item<T>) -> bool {
    upper.0.previous_hash == lower.0.hash
}

#[cfg(test)]
mod tests;
