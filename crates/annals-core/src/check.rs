//! Extraction and verification of one ledger.
//!
//! What is hashed is always a slice of the source's own bytes. The chain of hashes (`Stellar-ledger.x`,
//! `Stellar-transaction.x`): an invocation's events → `InvokeHostFunctionSuccessPreImage` → its result →
//! `TransactionResultSet` → `LedgerHeader` → the next ledger's `previousLedgerHash`.

mod envelopes;
mod events;
mod fees;
mod invocation;
mod stored;

use std::collections::HashMap;

pub use envelopes::{tagged_transaction, transaction_hash};
pub(crate) use fees::{fee_sum, is_fee};
pub(crate) use invocation::{allows_prefix, may_be_reconciled, may_be_rewritten};
pub use stored::{ProofFault, ProvenEvent, prove_stored};

use crate::decode::{DecodeError, HeaderView, LedgerView, decode, peek_header};
use crate::digest::EventsDigest;
use crate::hash::{LedgerHash, TxHash, sha256};
use crate::ledger::{Census, CheckedLedger, Creation, NetworkProof};
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;
use crate::proof::ProofMaterial;
use crate::wire::CLOSE_TIME_MS_MAX;

/// The newest protocol whose ledgers are read: that of `stellar-xdr` 30. What a later one says may look like what is known
/// and mean something else, so nothing of it is taken.
pub const PROTOCOL_KNOWN_MAX: u32 = 30;

/// Why a ledger's bytes are a bad object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LedgerFault {
    /// The bytes are no `LedgerCloseMeta` that this version knows.
    #[error("the ledger cannot be decoded: {0}")]
    Undecodable(#[from] DecodeError),
    /// The ledger ran under a protocol later than [`PROTOCOL_KNOWN_MAX`].
    #[error(
        "the ledger is of protocol {protocol} and this version knows up to {PROTOCOL_KNOWN_MAX}: use a newer Annals"
    )]
    UnknownProtocol {
        /// The protocol.
        protocol: u32,
    },
    /// The header's sequence number lies outside 1 … 2³¹−1.
    #[error("the header's ledger sequence {0} is out of range")]
    SequenceOutOfRange(u32),
    /// sha256 of the header is not the hash that stands beside it.
    #[error("the header of ledger {seq} does not hash to the ledger's hash")]
    HeaderHash {
        /// The ledger.
        seq: LedgerSeq,
    },
    /// The header's close time lies beyond what RFC 3339 can write.
    #[error("the header of ledger {seq} closes it beyond the year 9999")]
    CloseTimeOutOfRange {
        /// The ledger.
        seq: LedgerSeq,
    },
    /// sha256 of the results is not the header's `txSetResultHash`.
    #[error("the results of ledger {seq} do not hash to the header's result hash")]
    ResultsHash {
        /// The ledger.
        seq: LedgerSeq,
    },
    /// The transaction set is not the one that the header names.
    #[error("the transaction set of ledger {seq} does not hash to the header's set hash")]
    TxSetHash {
        /// The ledger.
        seq: LedgerSeq,
    },
    /// No transaction's hash recomputes under the network's id.
    #[error("the transactions of ledger {seq} are not of the network that was asked for")]
    WrongNetwork {
        /// The ledger.
        seq: LedgerSeq,
    },
    /// A transaction has a result and no envelope.
    #[error("transaction {tx_order} of ledger {seq} has a result and no envelope")]
    EnvelopeMissing {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// The events of an invocation are not those that its result commits to.
    #[error("the events of transaction {tx_order} of ledger {seq} do not hash to its result")]
    SuccessHash {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// An invocation's meta lacks what its result commits to.
    #[error("the meta of transaction {tx_order} of ledger {seq} lacks the invocation that its result commits to")]
    PreImageMissing {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// A failed transaction carries operation events; the network emits none.
    #[error("the failed transaction {tx_order} of ledger {seq} carries operation events")]
    EventsOfFailedTransaction {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// A diagnostic event stands among the events.
    #[error("a diagnostic event stands among the events of transaction {tx_order} of ledger {seq}")]
    DiagnosticAmongEvents {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// An event's numbers have no room in a position.
    #[error("an event of transaction {tx_order} of ledger {seq} has no position")]
    NoPosition {
        /// The ledger.
        seq: LedgerSeq,
        /// Its apply order, 1-based.
        tx_order: u32,
    },
}

impl LedgerFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "UNDECODABLE_LEDGER",
            Self::UnknownProtocol { .. } => "UNKNOWN_PROTOCOL",
            Self::SequenceOutOfRange(_) => "SEQUENCE_OUT_OF_RANGE",
            Self::HeaderHash { .. } => "HEADER_HASH_MISMATCH",
            Self::CloseTimeOutOfRange { .. } => "CLOSE_TIME_OUT_OF_RANGE",
            Self::ResultsHash { .. } => "RESULTS_HASH_MISMATCH",
            Self::TxSetHash { .. } => "TX_SET_HASH_MISMATCH",
            Self::WrongNetwork { .. } => "WRONG_NETWORK",
            Self::EnvelopeMissing { .. } => "ENVELOPE_MISSING",
            Self::SuccessHash { .. } => "SUCCESS_HASH_MISMATCH",
            Self::PreImageMissing { .. } => "PRE_IMAGE_MISSING",
            Self::EventsOfFailedTransaction { .. } => "EVENTS_OF_FAILED_TRANSACTION",
            Self::DiagnosticAmongEvents { .. } => "DIAGNOSTIC_AMONG_EVENTS",
            Self::NoPosition { .. } => "NO_POSITION",
        }
    }
}

/// Extracts every event of one ledger from the XDR of its `LedgerCloseMeta` and verifies what its hashes cover.
///
/// # Errors
/// [`LedgerFault`]: the ledger is a bad object; nothing of it may be stored.
pub fn check_ledger(bytes: &[u8], network: &Network) -> Result<CheckedLedger, LedgerFault> {
    let view = decode(bytes).map_err(|error| of_later_format(bytes).unwrap_or(error.into()))?;
    let seq = LedgerSeq::new(view.header.seq).map_err(|_| LedgerFault::SequenceOutOfRange(view.header.seq))?;
    if sha256(&[view.header.xdr]) != view.claimed_hash {
        return Err(LedgerFault::HeaderHash { seq });
    }
    check_protocol(&view.header)?;
    if view.header.close_time_ms > CLOSE_TIME_MS_MAX {
        return Err(LedgerFault::CloseTimeOutOfRange { seq });
    }
    let results_xdr = result_set(&view);
    if sha256(&[&results_xdr]) != view.header.tx_set_result_hash {
        return Err(LedgerFault::ResultsHash { seq });
    }
    let envelopes = envelopes::of_transactions(&view, seq, network)?;
    let extracted = events::extract(&view, seq, &envelopes)?;
    if !extracted.invocations.is_empty() {
        // These envelopes are kept as proof material, so they must be the ones that the header commits to.
        check_tx_set(&view, seq)?;
    }
    let network_proof = if view.transactions.is_empty() { NetworkProof::NoTransactions } else { NetworkProof::Proven };
    Ok(CheckedLedger {
        seq,
        hash: LedgerHash(view.claimed_hash),
        previous_hash: LedgerHash(view.header.previous_hash),
        close_time_ms: view.header.close_time_ms,
        protocol: view.header.protocol,
        header_xdr: view.header.xdr.to_vec(),
        network_proof,
        classic_events: fees::classic_events(&view, network),
        census: Census::of(&extracted.events),
        digest: EventsDigest::of(&extracted.events),
        events: extracted.events,
        creations: creations(&view),
        proof: ProofMaterial { results_xdr, invocations: extracted.invocations },
    })
}

/// What is wrong with bytes that do not decode, where their header can be read and names a later protocol.
fn of_later_format(bytes: &[u8]) -> Option<LedgerFault> {
    check_protocol(&peek_header(bytes).ok()?).err()
}

fn check_protocol(header: &HeaderView<'_>) -> Result<(), LedgerFault> {
    let protocol = *header.ran_under().end();
    if protocol > PROTOCOL_KNOWN_MAX { Err(LedgerFault::UnknownProtocol { protocol }) } else { Ok(()) }
}

/// Verifies that the ledger's transaction set is the one that its header names: sha256 of the
/// `GeneralizedTransactionSet`, of previous hash and envelopes for a legacy set, or zero and no transaction where
/// consensus agreed on the empty set (CAP-83).
///
/// # Errors
/// [`LedgerFault::TxSetHash`].
pub fn check_tx_set(view: &LedgerView<'_>, seq: LedgerSeq) -> Result<(), LedgerFault> {
    let set = &view.tx_set;
    let HeaderView { empty_tx_set, tx_set_hash, .. } = view.header;
    let holds = if empty_tx_set {
        tx_set_hash == [0; 32] && set.envelopes.is_empty()
    } else if set.legacy {
        let parts: Vec<&[u8]> =
            core::iter::once(set.previous_hash.as_slice()).chain(set.envelopes.iter().map(|env| env.xdr)).collect();
        sha256(&parts) == tx_set_hash
    } else {
        sha256(&[set.xdr]) == tx_set_hash
    };
    if holds { Ok(()) } else { Err(LedgerFault::TxSetHash { seq }) }
}

/// XDR of the `TransactionResultSet`: the ledger's own result slices, in apply order.
fn result_set(view: &LedgerView<'_>) -> Vec<u8> {
    let count = u32::try_from(view.transactions.len()).expect("the transactions were counted by a u32");
    let mut results = count.to_be_bytes().to_vec();
    for transaction in &view.transactions {
        results.extend_from_slice(transaction.result.xdr);
    }
    results
}

/// The contracts that the ledger's invocations created, each once, ascending. No other operation can create one, and a
/// failed transaction changes nothing.
fn creations(view: &LedgerView<'_>) -> Vec<Creation> {
    let invocations = view.transactions.iter().filter(|transaction| !transaction.result.success_hashes.is_empty());
    let mut creations: Vec<Creation> =
        invocations.flat_map(|transaction| transaction.creations.iter().copied()).collect();
    creations.sort_unstable();
    // One contract is created once; a source that says it was created to run two things is believed in the first.
    creations.dedup_by_key(|creation| creation.contract);
    creations
}

/// The envelope of each transaction, by hash.
type Envelopes<'a> = HashMap<TxHash, &'a [u8]>;
