//! One event as the archive keeps it.

use crate::envelope::TransactionKey;
use crate::hash::{ContractId, TxHash};
use crate::position::Position;

/// Whether a contract or the host emitted the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// `ContractEventType` CONTRACT.
    Contract,
    /// `ContractEventType` SYSTEM.
    System,
}

impl EventKind {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::System => "system",
        }
    }

    /// The kind that a word on the wire names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Contract, Self::System].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What ties an event to the ledger header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProofClass {
    /// The source gave too little to check.
    Unverified,
    /// The protocol hashes no such event (fee events, events of classic operations).
    Uncommitted,
    /// The source exported a later format; the original was found in its diagnostics and re-hashes.
    Rewritten,
    /// The event re-hashes to the header.
    Committed,
}

impl ProofClass {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::Unverified, Self::Uncommitted, Self::Rewritten, Self::Committed];

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Uncommitted => "uncommitted",
            Self::Rewritten => "rewritten",
            Self::Committed => "committed",
        }
    }

    /// The class that a word on the wire names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// Whether the ledger header proves the event's bytes.
    #[must_use]
    pub fn is_proven(self) -> bool {
        matches!(self, Self::Committed | Self::Rewritten)
    }
}

/// One contract or system event, with the bytes the network published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Order and identity.
    pub position: Position,
    /// The transaction's hash; the outer one of a fee bump.
    pub tx_hash: TxHash,
    /// The transaction's real apply order in its ledger, 1-based, also where the position holds a sentinel; 0 where an
    /// unverified event's source does not say it.
    pub tx_order: u32,
    /// Whether the transaction succeeded.
    pub successful: bool,
    /// Close time of its ledger, Unix milliseconds; to the second where an unverified event's source says no more.
    pub close_time_ms: u64,
    /// The emitting contract; none for a host event without one.
    pub contract_id: Option<ContractId>,
    /// Contract or system.
    pub kind: EventKind,
    /// XDR of the `ContractEvent`, byte for byte as published; of an unverified one as its parts were, see
    /// [`crate::decode::EventView::assemble`].
    pub xdr: Vec<u8>,
    /// What ties it to the header.
    pub proof: ProofClass,
    /// XDR of the `ContractEvent` as a source rewrote it; only with [`ProofClass::Rewritten`].
    pub rewritten_xdr: Option<Vec<u8>>,
}

impl Event {
    /// The transaction that emitted it.
    #[must_use]
    pub fn transaction(&self) -> TransactionKey {
        TransactionKey { ledger: self.position.ledger(), hash: self.tx_hash }
    }
}
