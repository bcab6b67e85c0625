//! Why a bundle proves nothing.

use crate::decode::DecodeError;
use crate::hash::LedgerHash;
use crate::ledger_seq::LedgerSeq;
use crate::position::Position;

use super::verdict::{Anchor, FeeEvidence};

/// What in a bundle does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleFault {
    /// The text is no bundle.
    #[error("the text is no proof bundle (line {line}, column {column})")]
    Unreadable {
        /// Where it ceases to be one, 1-based.
        line: usize,
        /// Where it ceases to be one, in bytes.
        column: usize,
    },
    /// The bundle claims something that the format does not know.
    #[error("the bundle's kind is none of this format")]
    UnknownKind,
    /// The text is not the one that its content has.
    #[error("the bundle is not written as its content must be")]
    NotCanonical,
    /// A part is no XDR of its type.
    #[error("the {part} cannot be decoded: {error}")]
    Undecodable {
        /// The part.
        part: &'static str,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// No ledger, too many ledgers or too many headers.
    #[error("the bundle holds {found} {what}, the format at least {at_least} and at most {at_most}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The fewest that the format allows.
        at_least: usize,
        /// The most that the format allows.
        at_most: usize,
    },
    /// A header's sequence number is not the one that must stand there.
    #[error("a header is of ledger {found} where another must stand")]
    HeaderSequence {
        /// What its header says.
        found: u32,
    },
    /// A header does not name the hash of the one before it.
    #[error("the header of ledger {ledger} does not name the hash of the ledger before it")]
    BrokenLink {
        /// The later of the two.
        ledger: LedgerSeq,
    },
    /// The bundle's own anchor is not its last header.
    #[error("the bundle's anchor is not its last header, which is of ledger {ledger} and hashes to {hash}")]
    AnchorMismatch {
        /// The last header's ledger.
        ledger: LedgerSeq,
        /// Its hash.
        hash: LedgerHash,
    },
    /// The ledger that the bundle did not reach lies where it reaches.
    #[error("the bundle says that it does not reach ledger {ledger}, which it reaches")]
    UnreachedReached {
        /// The ledger.
        ledger: u32,
    },
    /// The trusted anchor has another hash than the bundle gives its ledger.
    #[error("ledger {ledger} is {found} by the bundle, and {given} by the anchor that was given")]
    AnchorContradicted {
        /// The ledger.
        ledger: LedgerSeq,
        /// The hash that the caller trusts.
        given: LedgerHash,
        /// The bundle's.
        found: LedgerHash,
    },
    /// The results are not those that the header names.
    #[error("the results of ledger {ledger} do not hash to its header's result hash")]
    ResultsHash {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// The results hold no successful invocation in the claimed place: the transaction failed, or was no invocation.
    #[error("transaction {tx_order} of ledger {ledger} is no successful contract invocation")]
    NoInvocation {
        /// The ledger.
        ledger: LedgerSeq,
        /// The apply order, 1-based.
        tx_order: u32,
    },
    /// A ledger's invocations are not as many as its results hold.
    #[error("ledger {ledger} holds {expected} successful invocations, and the bundle {found} of them")]
    Invocations {
        /// The ledger.
        ledger: LedgerSeq,
        /// How many its results hold.
        expected: usize,
        /// How many the bundle holds.
        found: usize,
    },
    /// The pre-image is not the one that the result commits to.
    #[error("the events of transaction {tx_order} of ledger {ledger} do not hash to its result")]
    SuccessHash {
        /// The ledger.
        ledger: LedgerSeq,
        /// The apply order, 1-based.
        tx_order: u32,
    },
    /// Events stand in front of the committed ones where the protocol knows none.
    #[error("protocol {protocol} puts no {prefix} events in front of an invocation's committed ones")]
    Prefix {
        /// The ledger's protocol.
        protocol: u32,
        /// So many are said to stand there.
        prefix: u32,
    },
    /// The transaction does not hash to the result's under the network's id, or there is none where there must be.
    #[error("the transaction does not hash to the one in the results under the network's id")]
    Transaction,
    /// The claimed event does not stand where it is claimed to.
    #[error("the ledger commits to no such event in the place of {id}")]
    NoSuchEvent {
        /// The claimed position.
        id: Position,
    },
    /// The listed events are not all of the contract's, or not only those.
    #[error("the listed events are not the contract's committed events: event {at} of the list differs")]
    Listed {
        /// The first difference, 0-based.
        at: usize,
    },
    /// The form that a source is said to have rewritten the event into cannot be one.
    #[error("no source rewrites the event into the form beside it")]
    RewrittenForm,
    /// An event that is said to be uncommitted stands among those of an invocation, which the ledger commits to.
    #[error("event {id} is said to be uncommitted, and stands where the ledger commits to every event")]
    Committed {
        /// Its position.
        id: Position,
    },
    /// The fee events are not those of one charge and its refunds, or do not sum to what the result says was charged.
    #[error("the fee events do not sum to the fee that the result says was charged")]
    Fees,
}

impl BundleFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "UNREADABLE",
            Self::UnknownKind => "UNKNOWN_KIND",
            Self::NotCanonical => "NOT_CANONICAL",
            Self::Undecodable { .. } => "UNDECODABLE",
            Self::Count { .. } => "COUNT",
            Self::HeaderSequence { .. } => "HEADER_SEQUENCE",
            Self::BrokenLink { .. } => "BROKEN_LINK",
            Self::AnchorMismatch { .. } => "ANCHOR_MISMATCH",
            Self::UnreachedReached { .. } => "UNREACHED_REACHED",
            Self::AnchorContradicted { .. } => "ANCHOR_CONTRADICTED",
            Self::ResultsHash { .. } => "RESULTS_HASH",
            Self::NoInvocation { .. } => "NO_INVOCATION",
            Self::Invocations { .. } => "INVOCATIONS",
            Self::SuccessHash { .. } => "SUCCESS_HASH",
            Self::Prefix { .. } => "PREFIX",
            Self::Transaction => "TRANSACTION",
            Self::NoSuchEvent { .. } => "NO_SUCH_EVENT",
            Self::Listed { .. } => "LISTED",
            Self::RewrittenForm => "REWRITTEN_FORM",
            Self::Committed { .. } => "COMMITTED",
            Self::Fees => "FEES",
        }
    }
}

/// Why a bundle in which nothing is wrong proves nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// Another format, perhaps a later one.
    #[error("the bundle's format is {found:?}, and this checker reads {:?}", super::FORMAT)]
    UnknownFormat {
        /// Its name, shortened.
        found: String,
    },
    /// The text is longer than what is read.
    #[error("the bundle holds {bytes} bytes, and this checker reads {}", super::BUNDLE_BYTES_MAX)]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// The trusted anchor is none of the headers at or above what is claimed.
    #[error("the anchor's ledger {ledger} is none of those at or above the claim, {from} to {to}")]
    AnchorNotHere {
        /// The anchor's ledger.
        ledger: LedgerSeq,
        /// The claim's last ledger.
        from: LedgerSeq,
        /// The bundle's last header.
        to: LedgerSeq,
    },
    /// The bundle ends below the ledger that its archive trusts.
    #[error(
        "the bundle reaches ledger {to} ({hash}) and not the pinned ledger {unreached}: give the hash of a ledger \
         from {from} to {to} that you trust"
    )]
    Unreached {
        /// The claim's last ledger.
        from: LedgerSeq,
        /// The bundle's last header.
        to: LedgerSeq,
        /// Its hash.
        hash: LedgerHash,
        /// The ledger that was not reached.
        unreached: u32,
    },
    /// No transaction ties the ledgers to a network.
    #[error("the ledgers hold no contract invocation, and nothing ties them to the network")]
    NetworkUnproven,
    /// The protocol commits to no such event.
    #[error("the protocol commits to no such event: no hash covers {id}{}", words(.fee.as_ref()))]
    NotCommitted {
        /// The event.
        id: Position,
        /// What its transaction was charged, and that its fee events sum to it.
        fee: Option<FeeEvidence>,
    },
    /// The archive says that the protocol commits to no such event, and shows nothing to tell it by.
    #[error("the archive says that the protocol commits to no such event as {id}, and holds nothing to show it by")]
    SaidUncommitted {
        /// The event.
        id: Position,
    },
    /// The archive's source gave the event alone.
    #[error("the archive's source gave event {id} without anything to prove it by")]
    Unverified {
        /// The event.
        id: Position,
    },
}

impl Undecided {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownFormat { .. } => "UNKNOWN_FORMAT",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::AnchorNotHere { .. } => "ANCHOR_NOT_HERE",
            Self::Unreached { .. } => "UNREACHED",
            Self::NetworkUnproven => "NETWORK_UNPROVEN",
            Self::NotCommitted { .. } => "NOT_COMMITTED",
            Self::SaidUncommitted { .. } => "SAID_UNCOMMITTED",
            Self::Unverified { .. } => "UNVERIFIED",
        }
    }
}

fn words(fee: Option<&FeeEvidence>) -> String {
    fee.map(|fee| {
        let FeeEvidence { charged, events, tx_hash, anchor: Anchor { ledger, hash, .. }, .. } = fee;
        format!(
            "; relative to ledger {ledger} {hash}, the {events} fee events sum to the {charged} stroops that transaction \
             {tx_hash} was charged"
        )
    })
    .unwrap_or_default()
}
