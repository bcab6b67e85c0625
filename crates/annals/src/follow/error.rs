//! Why following does not begin, or ends.

use annals_core::LedgerSeq;

use crate::backfill::BackfillError;
use crate::source::{OtherNetwork, SourceError};
use crate::store::StoreError;

/// Why following does not begin, or ended. What it had committed stays.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// A source says that it is of another network.
    #[error(transparent)]
    SourceNetwork(#[from] OtherNetwork),
    /// The archive has ledgers that the network is far from having.
    #[error(
        "the archive holds ledger {stored} and {source_name} is at {tip}: the network was reset, or this is the endpoint of \
         another; name the right --rpc, or another --data-dir for a network that begins anew"
    )]
    AheadOfNetwork {
        /// The source.
        source_name: String,
        /// The highest stored ledger.
        stored: LedgerSeq,
        /// The source's tip.
        tip: LedgerSeq,
    },
    /// A source cannot be used.
    #[error("the source failed")]
    Source(#[from] SourceError),
    /// The store refused or failed.
    #[error("the archive did not take the ledgers")]
    Store(#[from] StoreError),
    /// Gaps could not be worked off.
    #[error("filling gaps failed")]
    Gaps(#[source] Box<BackfillError>),
    /// The system gives no thread.
    #[error("the system gives no thread to follow with: allow the process more of them")]
    NoThread(#[from] std::io::Error),
    /// A thread of the follower's broke off.
    #[error("{0} broke off, which is a fault of Annals: start again, and report what was logged before")]
    Broken(&'static str),
}

impl FollowError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::SourceNetwork(_) => OtherNetwork::CODE,
            Self::AheadOfNetwork { .. } => "AHEAD_OF_NETWORK",
            Self::Source(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Gaps(_) => "GAPS_FAILED",
            Self::NoThread(_) => "NO_THREAD",
            Self::Broken(_) => "BROKEN",
        }
    }
}
