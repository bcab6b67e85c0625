//! Why a chain was not compared, or does not hold.

use annals_core::{BatchError, LedgerSeq};

use crate::store::StoreError;

/// Why a chain was not compared, or does not hold.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// A witness gives a stored ledger another hash.
    #[error(
        "ledger {ledger} is stored with the hash {stored} and {said_by} gives it {said}: {}",
        match incident {
            Some(id) => format!("incident {id} keeps both: look at `annals incidents list`"),
            None => "find out which of them is the network's own before you rely on either".to_owned(),
        }
    )]
    Contradicted {
        /// The ledger.
        ledger: LedgerSeq,
        /// The stored hash.
        stored: String,
        /// The other one.
        said: String,
        /// Who gives it.
        said_by: String,
        /// The incident that was recorded; none where the witness has headers alone, or a pin speaks against it.
        incident: Option<u64>,
    },
    /// The store refused or failed.
    #[error("what the chain hangs on was not recorded")]
    Store(#[from] StoreError),
    /// A witness's ledger made no batch.
    #[error("a witness's ledger makes no batch")]
    Batch(#[from] BatchError),
}

impl AnchorError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Contradicted { .. } => "ANCHOR_CONTRADICTED",
            Self::Store(error) => error.code(),
            Self::Batch(_) => "BAD_BATCH",
        }
    }

    /// Whether something contradicts the chain, rather than just failing.
    #[must_use]
    pub fn contradicts_chain(&self) -> bool {
        match self {
            Self::Contradicted { .. } => true,
            Self::Store(error) => error.contradicts_chain(),
            Self::Batch(_) => false,
        }
    }
}
