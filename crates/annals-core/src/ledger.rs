//! One ledger after extraction and verification.

use crate::digest::EventsDigest;
use crate::event::{Event, ProofClass};
use crate::hash::{ContractId, LedgerHash};
use crate::ledger_seq::LedgerSeq;
use crate::proof::ProofMaterial;

/// Whether the exporter switched classic and fee events on, as far as the fees tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassicEvents {
    /// Fees were charged and there is no fee event.
    Absent,
    /// Some transaction's fee events do not sum to the fee it was charged.
    Inconsistent,
    /// Fee events sum to what was charged, or nothing was charged.
    Present,
}

impl ClassicEvents {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Inconsistent => "inconsistent",
            Self::Present => "present",
        }
    }

    /// The value that a word on the wire names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Absent, Self::Inconsistent, Self::Present].into_iter().find(|value| value.as_str() == name)
    }
}

/// Whether a ledger's own transactions prove which network it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkProof {
    /// Its transactions' hashes were recomputed under the network's id.
    Proven,
    /// It holds no transaction; only its links can tell.
    NoTransactions,
}

/// How many events a ledger holds, by proof class, whatever the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Census {
    /// Events of class `committed`.
    pub committed: u64,
    /// Events of class `rewritten`.
    pub rewritten: u64,
    /// Events of class `uncommitted`.
    pub uncommitted: u64,
    /// Events of class `unverified`.
    pub unverified: u64,
}

impl Census {
    /// Counts `events`.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut census = Self::default();
        for event in events {
            census.count(event.proof, 1);
        }
        census
    }

    /// Adds `number` events of one class.
    pub fn count(&mut self, class: ProofClass, number: u64) {
        match class {
            ProofClass::Committed => self.committed += number,
            ProofClass::Rewritten => self.rewritten += number,
            ProofClass::Uncommitted => self.uncommitted += number,
            ProofClass::Unverified => self.unverified += number,
        }
    }

    /// Adds another census.
    pub fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.rewritten += other.rewritten;
        self.uncommitted += other.uncommitted;
        self.unverified += other.unverified;
    }

    /// All events.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.committed + self.rewritten + self.uncommitted + self.unverified
    }
}

/// What runs when a contract is called (`ContractExecutable`, `Stellar-contract.x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Executable {
    /// Code that was uploaded, named by its hash or by reference.
    Wasm,
    /// The host's, as the contract of an asset (CAP-46-06).
    Asset,
}

/// A contract whose instance a ledger created; one that it restored or upgraded is none. No hash covers it: that it was
/// created here is the source's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Creation {
    /// The contract.
    pub contract: ContractId,
    /// What it was created to run.
    pub executable: Executable,
}

/// One ledger whose header, results and success pre-images hashed, with all its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedLedger {
    /// Its sequence number.
    pub seq: LedgerSeq,
    /// sha256 of `header_xdr`.
    pub hash: LedgerHash,
    /// The hash that its header gives for the ledger before it.
    pub previous_hash: LedgerHash,
    /// Close time, Unix milliseconds (whole seconds up to protocol 29).
    pub close_time_ms: u64,
    /// The protocol version that closed it.
    pub protocol: u32,
    /// XDR of the `LedgerHeader`.
    pub header_xdr: Vec<u8>,
    /// Whether its transactions prove the network.
    pub network_proof: NetworkProof,
    /// Whether classic and fee events are there.
    pub classic_events: ClassicEvents,
    /// Events by proof class.
    pub census: Census,
    /// Digest over all its events.
    pub digest: EventsDigest,
    /// Every event, in canonical order.
    pub events: Vec<Event>,
    /// The contracts that it created, each once, ascending.
    pub creations: Vec<Creation>,
    /// What re-proves the committed ones; its `invocations` are empty where there are none.
    pub proof: ProofMaterial,
}
