//! What bundles hold; the order of the fields is that of the text.
//!
//! A field whose name ends in `_xdr` is base64 as in every answer of an archive; what only a checker reads is base85.

use serde::{Deserialize, Serialize};

use super::text::{Base64, Base85, Written};
use crate::decode::DecodeError;
use crate::event::ProofClass;
use crate::hash::{ContractId, LedgerHash};
use crate::position::Position;

/// What a bundle claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// That one event is committed.
    Event,
    /// That the listed events are all committed ones of a contract in consecutive ledgers.
    Ledgers,
    /// Nothing: it says why an event cannot be proven.
    Unproven,
}

/// The kind `event`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventBundle {
    pub format: String,
    pub kind: Kind,
    pub network_passphrase: String,
    pub event: EventPart,
    /// The source's word; null for an event that no source rewrote.
    pub rewritten_xdr: Option<Base64>,
    pub invocation: InvocationPart,
    /// XDR of the `taggedTransaction` of the invocation's `TransactionSignaturePayload`.
    pub transaction: Base85,
    pub ledger: LedgerPart,
    pub above: AbovePart,
}

/// The kind `ledgers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgersBundle {
    pub format: String,
    pub kind: Kind,
    pub network_passphrase: String,
    pub contract_id: Written<ContractId>,
    pub events: Vec<EventPart>,
    /// That of the first invocation; null where there is none.
    pub transaction: Option<Base85>,
    pub ledgers: Vec<WholeLedgerPart>,
    pub above: AbovePart,
}

/// The kind `unproven`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnprovenBundle {
    pub format: String,
    pub kind: Kind,
    pub network_passphrase: String,
    pub class: Class,
    pub event: EventPart,
    pub evidence: Option<EvidencePart>,
}

/// Why an event is unproven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Class {
    Uncommitted,
    Unverified,
}

impl Class {
    /// The class of an event that no header proves.
    pub(super) fn of(proof: ProofClass) -> Option<Self> {
        match proof {
            ProofClass::Uncommitted => Some(Self::Uncommitted),
            ProofClass::Unverified => Some(Self::Unverified),
            ProofClass::Rewritten | ProofClass::Committed => None,
        }
    }
}

/// What is known beside an event that the protocol does not commit to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvidencePart {
    /// The apply order of the event's transaction, 1-based.
    pub tx_order: u32,
    /// Every fee event of the transaction, where the event is one of them.
    pub fee_events: Vec<EventPart>,
    pub ledger: LedgerPart,
    pub above: AbovePart,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventPart {
    pub id: Written<Position>,
    /// XDR of the `ContractEvent`.
    pub event_xdr: Base64,
}

/// One successful invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InvocationPart {
    /// How many of the operation's events stand in front of the committed ones; the source's word.
    pub uncommitted_prefix: u32,
    /// XDR of the `InvokeHostFunctionSuccessPreImage`.
    pub pre_image: Base85,
}

/// A ledger with its results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerPart {
    /// XDR of the `LedgerHeader`.
    pub header: Base85,
    /// XDR of the `TransactionResultSet`, in apply order.
    pub results: Base85,
}

/// A ledger with its results and every successful invocation, in apply order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WholeLedgerPart {
    /// XDR of the `LedgerHeader`.
    pub header: Base85,
    /// XDR of the `TransactionResultSet`, in apply order.
    pub results: Base85,
    pub invocations: Vec<InvocationPart>,
}

/// The headers above the last ledger that is claimed anything of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AbovePart {
    /// XDR of each `LedgerHeader`, ascending.
    pub headers: Vec<Base85>,
    /// The last header's ledger.
    pub anchor: LedgerName,
    /// A pinned ledger too far above to be reached; the source's word.
    pub unreached: Option<LedgerName>,
}

/// A ledger by number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerName {
    pub ledger: u32,
    pub hash: Written<LedgerHash>,
}

/// A part of a bundle that cannot be decoded.
pub(super) fn undecodable(part: &'static str) -> impl FnOnce(DecodeError) -> super::BundleFault {
    move |error| super::BundleFault::Undecodable { part, error }
}
