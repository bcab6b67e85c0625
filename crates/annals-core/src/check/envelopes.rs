//! Which envelope belongs to which result, and which network they are of.

use super::{Envelopes, LedgerFault, check_tx_set};
use crate::decode::{EnvelopeView, LedgerView};
use crate::hash::{TxHash, sha256};
use crate::ledger_seq::LedgerSeq;
use crate::network::{Network, NetworkId};

/// `ENVELOPE_TYPE_TX`, by which V0 envelopes hash too (`Stellar-ledger-entries.x`).
const ENVELOPE_TYPE_TX: i32 = 2;
/// `PUBLIC_KEY_TYPE_ED25519`, the word that a V0 transaction's source account lacks.
const PUBLIC_KEY_TYPE_ED25519: [u8; 4] = [0; 4];

/// The part of an envelope that its transaction's hash is made of, behind the network's id: envelope type and transaction
/// (`TransactionSignaturePayload.taggedTransaction`, `Stellar-transaction.x`). No signature of the envelope's own is in it.
#[must_use]
pub fn tagged_transaction(envelope: &EnvelopeView<'_>) -> Vec<u8> {
    let (kind, source): (i32, &[u8]) =
        if envelope.is_v0() { (ENVELOPE_TYPE_TX, &PUBLIC_KEY_TYPE_ED25519) } else { (envelope.kind, &[]) };
    [kind.to_be_bytes().as_slice(), source, envelope.body].concat()
}

/// The hash of an envelope's transaction: sha256 of network id, envelope type and transaction
/// (`TransactionSignaturePayload`, `Stellar-transaction.x`).
#[must_use]
pub fn transaction_hash(envelope: &EnvelopeView<'_>, network: NetworkId) -> TxHash {
    if envelope.is_v0() {
        let kind = ENVELOPE_TYPE_TX.to_be_bytes();
        return TxHash(sha256(&[&network.0, &kind, &PUBLIC_KEY_TYPE_ED25519, envelope.body]));
    }
    TxHash(sha256(&[&network.0, &envelope.kind.to_be_bytes(), envelope.body]))
}

/// Finds the envelope of every transaction by recomputing all hashes under the network's id.
///
/// # Errors
/// [`LedgerFault::TxSetHash`] where envelopes are missing because the set is not the header's; else
/// [`LedgerFault::WrongNetwork`] when no transaction is found, and [`LedgerFault::EnvelopeMissing`] for the first.
pub(super) fn of_transactions<'a>(
    view: &LedgerView<'a>,
    seq: LedgerSeq,
    network: &Network,
) -> Result<Envelopes<'a>, LedgerFault> {
    let envelopes: Envelopes<'a> =
        view.tx_set.envelopes.iter().map(|envelope| (transaction_hash(envelope, network.id()), envelope.xdr)).collect();
    let mut missing = None;
    let mut found = false;
    for (tx_order, transaction) in (1..).zip(&view.transactions) {
        if envelopes.contains_key(&transaction.result.tx_hash) {
            found = true;
        } else {
            missing = missing.or(Some(tx_order));
        }
    }
    let Some(tx_order) = missing else { return Ok(envelopes) };
    // A damaged set says nothing about the network: only the one that the header names does.
    check_tx_set(view, seq)?;
    Err(if found { LedgerFault::EnvelopeMissing { seq, tx_order } } else { LedgerFault::WrongNetwork { seq } })
}
