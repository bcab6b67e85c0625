//! What can fail to hold in an archive.

use std::fmt;

use annals_core::check::ProofFault;
use annals_core::decode::DecodeError;
use annals_core::{ContractId, LedgerHash, LedgerRange, LedgerSeq, Position, ProofClass, TxHash};
use serde::Serialize;

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The ledger, or the first one concerned.
    pub ledger: LedgerSeq,
    /// The event, where it is about one.
    pub position: Option<Position>,
    /// What it is.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ledger {}", self.ledger)?;
        if let Some(position) = self.position {
            write!(f, ", event {position}")?;
        }
        write!(f, ": {} [{}]", self.kind, self.kind.code())
    }
}

/// A [`Fault`] as JSON.
#[derive(Debug, Serialize)]
pub(super) struct FaultJson<'a> {
    ledger: u32,
    event: Option<String>,
    code: &'a str,
    message: String,
}

impl Fault {
    pub(super) fn to_json(&self) -> FaultJson<'_> {
        FaultJson {
            ledger: self.ledger.get(),
            event: self.position.map(|position| position.to_string()),
            code: self.kind.code(),
            message: self.kind.to_string(),
        }
    }
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The header is another one than the row's hash names.
    #[error("the stored header hashes to {computed} and the row says {stored}")]
    HeaderHash {
        /// The row's.
        stored: LedgerHash,
        /// The header's.
        computed: LedgerHash,
    },
    /// The header cannot be decoded.
    #[error("the stored header cannot be decoded: {0}")]
    HeaderUndecodable(DecodeError),
    /// A column says something else than the header.
    #[error("the row's {column} is not the header's")]
    RowContradictsHeader {
        /// The column.
        column: &'static str,
    },
    /// The ledger does not link to the one before it.
    #[error("it does not name the hash of the stored ledger before it")]
    BrokenLink,
    /// The ledger's hash is not the one that an operator vouched for.
    #[error("its hash is not the pinned {pinned}")]
    PinContradicted {
        /// The pinned hash.
        pinned: LedgerHash,
    },
    /// The ledger's hash is not the one that a witness confirmed.
    #[error("its hash is not {said}, which {said_by} confirmed")]
    AnchorContradicted {
        /// The confirmed hash.
        said: LedgerHash,
        /// Who confirmed it.
        said_by: String,
    },
    /// Ledgers that are said to be verified have no row.
    #[error("ledgers {range} are said to be verified and have no row")]
    MissingRow {
        /// The ledgers.
        range: LedgerRange,
    },
    /// Ledgers have rows and were never scanned for anybody.
    #[error("ledgers {range} have rows and are not covered")]
    RowWithoutCoverage {
        /// The ledgers.
        range: LedgerRange,
    },
    /// Events stand where nothing was scanned.
    #[error("{events} events stand in ledgers {range}, which are not covered")]
    EventsWithoutCoverage {
        /// The ledgers.
        range: LedgerRange,
        /// How many.
        events: u64,
    },
    /// Events claim a proof that a ledger without a row cannot give.
    #[error("{events} events of ledgers {range} claim a proof, and the ledgers have no row")]
    ProvenWithoutRow {
        /// The ledgers.
        range: LedgerRange,
        /// How many.
        events: u64,
    },
    /// The event's bytes cannot be decoded.
    #[error("the stored event cannot be decoded: {0}")]
    EventUndecodable(DecodeError),
    /// A column says something else than the event's bytes, its ledger or its transaction's result.
    #[error("the event's {column} is not what its bytes, its ledger or its transaction say")]
    EventContradictsBytes {
        /// The column.
        column: &'static str,
    },
    /// The class and the rewritten form do not go together.
    #[error("the event is {} and its rewritten form is {}", class.as_str(), if *has_form { "there" } else { "missing" })]
    RewrittenForm {
        /// The event's class.
        class: ProofClass,
        /// Whether a rewritten form is stored.
        has_form: bool,
    },
    /// Committed events have no proof material.
    #[error("it holds committed events and no proof material")]
    NoProofMaterial,
    /// The proof material proves nothing.
    #[error("{0}")]
    Proof(ProofFault),
    /// The header does not commit to an event that is stored as committed.
    #[error("the event is stored as {} and the header commits to no event in its place", class.as_str())]
    NotCommitted {
        /// The event's class.
        class: ProofClass,
    },
    /// The header commits to other bytes.
    #[error("the header commits to other bytes for the event")]
    OtherBytes,
    /// The event names another transaction than its place in the results.
    #[error("the event names another transaction than its place in the ledger")]
    OtherTransaction,
    /// The event is proven and stored as if it were not.
    #[error("the header commits to the event and it is stored as {}", class.as_str())]
    ClassTooLow {
        /// The event's class.
        class: ProofClass,
    },
    /// The header commits to an event in scope that is not stored.
    #[error("the header commits to the event and it is not stored")]
    MissingEvent,
    /// The row's digest was made in a way that this program does not know.
    #[error("its digest is of version {version}, which this Annals does not know")]
    UnknownDigest {
        /// The version.
        version: u8,
    },
    /// The events are others than those that were digested when the ledger was checked.
    #[error("its events do not make the digest that was recorded when it was checked")]
    Digest,
    /// The numbers of events are others than those counted when the ledger was checked.
    #[error("its events are not as many of each proof class as were counted when it was checked")]
    Census,
    /// The envelope that is kept of a transaction is another's, or no stored event is of the transaction.
    #[error("the envelope kept of transaction {hash} is not its own, or no event that is stored is of it")]
    Envelope {
        /// The transaction.
        hash: TxHash,
    },
    /// Whom the event is stored to belong to is not what its contract's schema says of it.
    #[error("whom the event belongs to is not what its contract's schema says: run `annals reattribute`")]
    Attribution,
    /// Parties are stored that belong to no event.
    #[error("{stored} parties of events are stored and the schemas name {named} in the events that are")]
    AttributionTotals {
        /// How many are stored.
        stored: u64,
        /// How many the schemas name.
        named: u64,
    },
    /// The digest that is kept of some ledgers is not that of the events.
    #[error("the digest kept of the events of {contract} in ledgers {range} is not theirs, or there is none")]
    HistoryDigest {
        /// Whose events.
        contract: ContractId,
        /// The ledgers.
        range: LedgerRange,
    },
    /// Digests are kept of no events.
    #[error("{kept} digests of histories are kept and {compared} are of events that are stored")]
    HistoryDigests {
        /// How many are kept.
        kept: u64,
        /// How many are of stored events.
        compared: u64,
    },
    /// The numbers of events that the archive reports of itself are not those of the events it holds.
    #[error("{read} events were read and the archive counts {kept}, or counts their proof classes otherwise")]
    Totals {
        /// The archive's count.
        kept: u64,
        /// The events that were read.
        read: u64,
    },
}

impl FaultKind {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::HeaderHash { .. } => "HEADER_HASH",
            Self::HeaderUndecodable(_) => "HEADER_UNDECODABLE",
            Self::RowContradictsHeader { .. } => "ROW_CONTRADICTS_HEADER",
            Self::BrokenLink => "BROKEN_LINK",
            Self::PinContradicted { .. } => "PIN_CONTRADICTED",
            Self::AnchorContradicted { .. } => "ANCHOR_CONTRADICTED",
            Self::MissingRow { .. } => "MISSING_ROW",
            Self::RowWithoutCoverage { .. } => "ROW_WITHOUT_COVERAGE",
            Self::EventsWithoutCoverage { .. } => "EVENTS_WITHOUT_COVERAGE",
            Self::ProvenWithoutRow { .. } => "PROVEN_WITHOUT_ROW",
            Self::EventUndecodable(_) => "EVENT_UNDECODABLE",
            Self::EventContradictsBytes { .. } => "EVENT_CONTRADICTS_BYTES",
            Self::RewrittenForm { .. } => "REWRITTEN_FORM",
            Self::NoProofMaterial => "NO_PROOF_MATERIAL",
            Self::Proof(ProofFault::Undecodable(_)) => "PROOF_UNDECODABLE",
            Self::Proof(ProofFault::ResultsHash) => "RESULTS_HASH",
            Self::Proof(ProofFault::NotInResults { .. }) => "NOT_IN_RESULTS",
            Self::Proof(ProofFault::SuccessHash { .. }) => "SUCCESS_HASH",
            Self::Proof(ProofFault::Envelope { .. }) => "ENVELOPE",
            Self::NotCommitted { .. } => "NOT_COMMITTED",
            Self::OtherBytes => "OTHER_BYTES",
            Self::OtherTransaction => "OTHER_TRANSACTION",
            Self::ClassTooLow { .. } => "CLASS_TOO_LOW",
            Self::MissingEvent => "MISSING_EVENT",
            Self::UnknownDigest { .. } => "UNKNOWN_DIGEST",
            Self::Digest => "DIGEST",
            Self::Census => "CENSUS",
            Self::Envelope { .. } => "ENVELOPE",
            Self::Attribution => "ATTRIBUTION",
            Self::AttributionTotals { .. } => "ATTRIBUTION_TOTALS",
            Self::HistoryDigest { .. } => "HISTORY_DIGEST",
            Self::HistoryDigests { .. } => "HISTORY_DIGESTS",
            Self::Totals { .. } => "TOTALS",
        }
    }
}
