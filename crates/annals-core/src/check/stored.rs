//! Verifying stored proof material again, with nothing but the header.

use super::envelopes::transaction_hash;
use super::invocation::allows_prefix;
use crate::decode::{DecodeError, EnvelopeView, HeaderView, ResultView, pre_image_events, result_pairs};
use crate::hash::{TxHash, sha256};
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;
use crate::position::Position;
use crate::proof::{Invocation, ProofMaterial};

/// One event that a header commits to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenEvent<'a> {
    /// Where the event stands.
    pub position: Position,
    /// Its transaction.
    pub tx_hash: TxHash,
    /// XDR of the `ContractEvent`.
    pub xdr: &'a [u8],
}

/// Why stored proof material proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    /// A part cannot be decoded.
    #[error("the proof material cannot be decoded: {0}")]
    Undecodable(#[from] DecodeError),
    /// The results are not those that the header names.
    #[error("the stored results do not hash to the header's result hash")]
    ResultsHash,
    /// An invocation names a transaction that the results do not hold at its place, comes twice or out of order, or
    /// claims a place among the operation's events that its protocol does not know.
    #[error("the results hold no successful invocation as transaction {tx_order}")]
    NotInResults {
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// The pre-image is not the one that the result commits to.
    #[error("the stored events of transaction {tx_order} do not hash to its result")]
    SuccessHash {
        /// Its apply order, 1-based.
        tx_order: u32,
    },
    /// The envelope is another transaction's, or another network's.
    #[error("the stored envelope of transaction {tx_order} does not hash to the transaction")]
    Envelope {
        /// Its apply order, 1-based.
        tx_order: u32,
    },
}

/// Recomputes every hash between the stored pre-images and the header, and returns the events proven thereby, in
/// canonical order.
///
/// # Errors
/// [`ProofFault`] with the first hash that does not hold.
pub fn prove_stored<'a>(
    header: &HeaderView<'_>,
    material: &'a ProofMaterial,
    network: &Network,
) -> Result<Vec<ProvenEvent<'a>>, ProofFault> {
    if sha256(&[&material.results_xdr]) != header.tx_set_result_hash {
        return Err(ProofFault::ResultsHash);
    }
    let results = result_pairs(&material.results_xdr)?;
    let seq = LedgerSeq::new(header.seq).map_err(|_| ProofFault::ResultsHash)?;
    let mut proven = Vec::new();
    let mut last = 0;
    for invocation in &material.invocations {
        let tx_order = invocation.tx_order;
        if tx_order <= last || !allows_prefix(header, invocation.uncommitted_prefix) {
            return Err(ProofFault::NotInResults { tx_order });
        }
        last = tx_order;
        prove_invocation(seq, invocation, &results, network, &mut proven)?;
    }
    Ok(proven)
}

fn prove_invocation<'a>(
    seq: LedgerSeq,
    invocation: &'a Invocation,
    results: &[ResultView<'_>],
    network: &Network,
    proven: &mut Vec<ProvenEvent<'a>>,
) -> Result<(), ProofFault> {
    let tx_order = invocation.tx_order;
    let absent = ProofFault::NotInResults { tx_order };
    let at = tx_order.checked_sub(1).and_then(|at| usize::try_from(at).ok()).ok_or(absent)?;
    let result = results.get(at).filter(|result| result.tx_hash == invocation.tx_hash).ok_or(absent)?;
    let ([success], 1) = (result.success_hashes.as_slice(), result.operations) else { return Err(absent) };
    if sha256(&[&invocation.pre_image_xdr]) != success.hash {
        return Err(ProofFault::SuccessHash { tx_order });
    }
    let envelope = EnvelopeView::parse(&invocation.envelope_xdr)?;
    if transaction_hash(&envelope, network.id()) != invocation.tx_hash {
        return Err(ProofFault::Envelope { tx_order });
    }
    for (index, event) in (0_u32..).zip(pre_image_events(&invocation.pre_image_xdr)?) {
        let index = invocation.uncommitted_prefix.saturating_add(index);
        let position = Position::op(seq, tx_order, success.operation, index).map_err(|_| absent)?;
        proven.push(ProvenEvent { position, tx_hash: invocation.tx_hash, xdr: event.xdr });
    }
    Ok(())
}
