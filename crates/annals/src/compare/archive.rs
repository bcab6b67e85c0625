//! What one of two archives is asked for. Nothing that it answers is believed.

use std::time::Duration;

use annals_core::history_digest::{Part, digest_of_parts};
use annals_core::{HistoryDigest, LedgerHash, LedgerRange, LedgerSeq, Position, ProofClass};

use crate::source::HttpFault;

/// An archive that answers for one contract, or for one account's events of it.
pub trait Archive {
    /// Which network the archive is of, and from where to where it says it is gap-free.
    ///
    /// # Errors
    /// [`ArchiveFault`].
    fn marks(&self) -> Result<Marks, ArchiveFault>;

    /// The digest of a window, and what the archive says of how complete it is.
    ///
    /// # Errors
    /// [`ArchiveFault`].
    fn digest(&self, window: LedgerRange) -> Result<WindowDigest, ArchiveFault>;

    /// The events of one ledger, as the archive orders them.
    ///
    /// # Errors
    /// [`ArchiveFault`].
    fn events(&self, ledger: LedgerSeq, whose: Whose) -> Result<Vec<ShownEvent>, ArchiveFault>;

    /// What the archive holds of one ledger's header; none where it holds none.
    ///
    /// # Errors
    /// [`ArchiveFault`].
    fn header(&self, ledger: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault>;

    /// The proof bundle of all the contract's events in one ledger.
    ///
    /// # Errors
    /// [`ArchiveFault`].
    fn proof(&self, ledger: LedgerSeq) -> Result<ShownProof, ArchiveFault>;
}

/// Whose events are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The account's, where one is asked for; else the contract's.
    Subject,
    /// The contract's.
    Contract,
}

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The network's name or passphrase; none while the archive holds nothing.
    pub network: Option<String>,
    /// The lowest ledger that it was asked to hold.
    pub start: Option<LedgerSeq>,
    /// From where on it can be gap-free.
    pub first: Option<LedgerSeq>,
    /// Up to where it is gap-free.
    pub through: Option<LedgerSeq>,
    /// The highest ledger that it holds, over gaps.
    pub latest: Option<LedgerSeq>,
}

/// The digest of a window, as an archive gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowDigest {
    /// How many events the window holds.
    pub events: u64,
    /// Their digest.
    pub digest: HistoryDigest,
    /// The parts of the window that hold any.
    pub parts: Vec<Part>,
    /// Why the archive is not gap-free over the window; none where it says it is.
    pub incomplete: Option<Incomplete>,
    /// What it says its headers hang on.
    pub anchor: String,
}

impl WindowDigest {
    /// Whether the digest of `window` is that of its own parts.
    pub(super) fn follows(&self, window: LedgerRange) -> bool {
        let events = self.parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.events));
        events == Some(self.events) && digest_of_parts(window, &self.parts) == Some(self.digest)
    }

    /// What it says of one of the window's parts: events and digest; of a part without an event it says nothing.
    pub(super) fn part(&self, range: LedgerRange) -> Option<(u64, HistoryDigest)> {
        self.parts.iter().find(|part| part.range == range).map(|part| (part.events, part.digest))
    }

    /// The same of the window itself.
    pub(super) fn whole(&self) -> Option<(u64, HistoryDigest)> {
        (self.events > 0).then_some((self.events, self.digest))
    }
}

/// What an archive says it lacks in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// Its word for why.
    pub reason: String,
    /// The first ledgers that it says were not scanned.
    pub missing: Option<LedgerRange>,
}

/// An event, as an archive showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownEvent {
    /// Where it stands.
    pub position: Position,
    /// XDR of the `ContractEvent`.
    pub xdr: Vec<u8>,
    /// What the archive says proves it.
    pub class: ProofClass,
}

/// A ledger's header, as an archive showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHeader {
    /// The hash that it gives the ledger.
    pub hash: LedgerHash,
    /// XDR of the `LedgerHeader`.
    pub xdr: Vec<u8>,
}

/// What an archive gives as its proof of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownProof {
    /// A bundle.
    Bundle(Vec<u8>),
    /// None; its code says why.
    Absent(String),
}

/// Why an archive gave no answer that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// No answer came.
    #[error("it cannot be asked (see that its address is right and that its server runs)")]
    Unreachable(#[source] HttpFault),
    /// An answer did not come whole in the time that a request is given.
    #[error("it did not answer a request in time: ask whoever runs it, or compare fewer ledgers, by --from and --to")]
    TimedOut,
    /// The time for the whole comparison was over.
    #[error("the comparison was not done with it in time: give it longer, by --deadline")]
    Deadline,
    /// It takes no requests for now, and asks for no wait that there is time for.
    #[error("it takes no more requests for now, with status {status}{}: try again later", wait(.retry_after))]
    Busy {
        /// The status of its answer.
        status: u16,
        /// How long it asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The server failed.
    #[error("it failed with status {status}: its log says why, ask whoever runs it")]
    Failed {
        /// The status of its answer.
        status: u16,
    },
    /// The archive does not watch the contract.
    #[error("it does not watch the contract: `annals contracts add` there, or ask another archive")]
    UnknownContract,
    /// What came is not what an archive answers.
    #[error("it does not answer as an Annals does ({what}): give the address of `annals serve`, without /v1")]
    NotAnnals {
        /// What was unlike one.
        what: &'static str,
    },
    /// The server is of a version without digests.
    #[error("it is an Annals without digests: update it")]
    Older,
    /// The server digests in another way.
    #[error("it has digests of version {version}, and this program compares version {known}: update the older one")]
    OtherDigest {
        /// Its version.
        version: u64,
        /// The version that is known here.
        known: u8,
    },
    /// The server would have to hash too many events.
    #[error("it has not digested its events in those ledgers yet: compare fewer of them, by --from and --to")]
    TooWide,
    /// The server refused.
    #[error("it refused with status {status} and {code}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// The code of its error.
        code: String,
    },
    /// Its pages bring nothing new and never end.
    #[error("its pages of the events in ledger {ledger} do not go on and do not end: ask whoever runs it")]
    NoProgress {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// The ledger holds more events than are read.
    #[error("it shows more events in ledger {ledger} than a ledger has room for: ask whoever runs it")]
    TooMany {
        /// The ledger.
        ledger: LedgerSeq,
    },
}

fn wait(asked: &Option<Duration>) -> String {
    asked.map_or_else(String::new, |asked| format!(" (it asks to be left alone for {} s)", asked.as_secs()))
}

impl ArchiveFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "UNREACHABLE",
            Self::NotAnnals { .. } => "NOT_ANNALS",
            Self::Older => "OLDER_ARCHIVE",
            Self::OtherDigest { .. } => "OTHER_DIGEST",
            Self::TooWide => "WINDOW_TOO_WIDE",
            Self::TimedOut => "TIMED_OUT",
            Self::Deadline => "DEADLINE",
            Self::Busy { status: 429, .. } => "RATE_LIMITED",
            Self::Busy { .. } => "OVERLOADED",
            Self::Failed { .. } => "ARCHIVE_FAILED",
            Self::UnknownContract => "UNKNOWN_CONTRACT",
            Self::Refused { .. } => "REFUSED",
            Self::NoProgress { .. } => "NO_PROGRESS",
            Self::TooMany { .. } => "TOO_MANY_EVENTS",
        }
    }
}
