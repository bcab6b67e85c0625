//! Proof bundles: what ties an event, or all events of a contract, to a ledger header, in one text that anybody can check.
//!
//! [`event_bundle`] and [`ledgers_bundle`] write bundles from an archive's proof material, [`check_proof`] reads them and
//! knows nothing but what they hold. `docs/proof-format.md` describes the format for whoever writes a checker.
//!
//! A bundle has one text: whatever is not written exactly as its own content would be is refused, and every byte of it
//! is hashed, directly or by what it names. Two parts are the source's word and proven by nothing: the form that a
//! source rewrote an event into, and the pinned ledger that the bundle did not reach.

mod anchor;
mod base85;
mod build;
mod event;
mod fault;
mod invocation;
mod ledgers;
mod parts;
mod text;
mod unproven;
mod verdict;

pub use build::{Above, BuildFault, LedgerMaterial, event_bundle, ledgers_bundle, unproven_bundle};
pub use fault::{BundleFault, Undecided};
pub use verdict::{Anchor, FeeEvidence, ProofVerdict, Proved, ProvedClaim, ProvedEvent};

use crate::hash::LedgerHash;
use crate::ledger_seq::LedgerSeq;
use parts::{EventBundle, LedgersBundle, UnprovenBundle};

/// The format that this version writes and reads.
pub const FORMAT: &str = "annals-proof/1";
/// At most so many headers follow the claim's last ledger: history archives publish one of every 64 ledgers.
pub const HEADERS_ABOVE_MAX: usize = 64;
/// At most so many ledgers are claimed by one bundle.
pub const LEDGERS_MAX: usize = 64;
/// No longer text is read.
pub const BUNDLE_BYTES_MAX: usize = 64 << 20;

/// A ledger in which history archives publish a checkpoint: one whose successor is a multiple of 64.
#[must_use]
pub fn is_checkpoint(ledger: LedgerSeq) -> bool {
    ledger.get() % 64 == 63
}

/// Checks a bundle with nothing but what it holds, and `anchor`, a ledger hash that the caller trusts.
///
/// With an anchor, the bundle proves what it claims if the anchor is one of its headers, at or above the last ledger
/// that it claims anything of: headers name what lies below them, never what lies above. Without one it proves what it
/// claims relative to its own last header, which the caller then has to compare with one that is trusted.
#[must_use]
pub fn check_proof(bundle: &[u8], anchor: Option<(LedgerSeq, LedgerHash)>) -> ProofVerdict {
    match judge(bundle, anchor) {
        Ok(proved) => ProofVerdict::Proved(Box::new(proved)),
        Err(Halt::Refuted(fault)) => ProofVerdict::Refuted(fault),
        Err(Halt::Undecided(reason)) => ProofVerdict::Undecided(reason),
    }
}

/// Why a check ends before it proves anything.
enum Halt {
    Refuted(BundleFault),
    Undecided(Undecided),
}

impl From<BundleFault> for Halt {
    fn from(fault: BundleFault) -> Self {
        Self::Refuted(fault)
    }
}

impl From<Undecided> for Halt {
    fn from(reason: Undecided) -> Self {
        Self::Undecided(reason)
    }
}

fn judge(bundle: &[u8], anchor: Option<(LedgerSeq, LedgerHash)>) -> Result<Proved, Halt> {
    if bundle.len() > BUNDLE_BYTES_MAX {
        return Err(Undecided::TooLarge { bytes: bundle.len() }.into());
    }
    match text::front(bundle)? {
        parts::Kind::Event => event::prove(text::read::<EventBundle>(bundle)?, anchor),
        parts::Kind::Ledgers => ledgers::prove(text::read::<LedgersBundle>(bundle)?, anchor),
        parts::Kind::Unproven => unproven::judge(&text::read::<UnprovenBundle>(bundle)?, anchor),
    }
}
