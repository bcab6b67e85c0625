//! Contradictions that wait for an operator.

use annals_core::{LedgerSeq, Position};

/// What contradicted a stored fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentKind {
    /// Another hash for a stored ledger.
    LedgerHash,
    /// Other bytes under a stored position.
    EventBytes,
}

impl IncidentKind {
    /// The word in store and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LedgerHash => "ledger_hash",
            Self::EventBytes => "event_bytes",
        }
    }

    /// The kind that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::LedgerHash, Self::EventBytes].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A contradiction between what is stored and what a source gave; both versions are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Its number.
    pub id: u64,
    /// What was contradicted.
    pub kind: IncidentKind,
    /// The ledger.
    pub ledger: LedgerSeq,
    /// The event, for [`IncidentKind::EventBytes`].
    pub position: Option<Position>,
    /// The source that contradicted.
    pub source: String,
    /// The stored version: XDR of the `LedgerHeader` or `ContractEvent`; empty where nothing is stored.
    pub stored_xdr: Vec<u8>,
    /// The source's version of the same; empty where the source gives nothing under the position. Where it contradicts the
    /// hash by another link alone, the header of the ledger above, which gives the other hash.
    pub offered_xdr: Vec<u8>,
    /// When it was recorded, Unix milliseconds.
    pub recorded_at_ms: u64,
    /// When an operator resolved it; none while it is open.
    pub resolved_at_ms: Option<u64>,
    /// What the operator said.
    pub note: Option<String>,
}
