//! A ledger's results, and the invocations that they commit to.

use super::BundleFault;
use super::parts::{InvocationPart, undecodable};
use super::text::Base85;
use super::verdict::ProvedEvent;
use crate::check::{allows_prefix, may_be_reconciled};
use crate::decode::{EventView, HeaderView, ResultView, SuccessHash, pre_image_events, result_pairs};
use crate::hash::sha256;
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;
use crate::position::Position;

/// A ledger whose results are known by its header.
#[derive(Clone, Copy)]
pub(super) struct Ledger<'a> {
    pub seq: LedgerSeq,
    pub header: HeaderView<'a>,
}

/// One successful invocation, as the results name it.
pub(super) struct Invocation<'a, 'b> {
    ledger: Ledger<'a>,
    tx_order: u32,
    success: SuccessHash,
    pub result: &'b ResultView<'b>,
}

impl<'a> Ledger<'a> {
    /// The ledger's results, which hash to what its header names.
    pub(super) fn results<'b>(&self, results: &'b Base85) -> Result<Vec<ResultView<'b>>, BundleFault> {
        if sha256(&[&results.0]) != self.header.tx_set_result_hash {
            return Err(BundleFault::ResultsHash { ledger: self.seq });
        }
        result_pairs(&results.0).map_err(undecodable("results"))
    }

    /// The invocation that is transaction `tx_order`.
    pub(super) fn invocation<'b>(
        self,
        results: &'b [ResultView<'b>],
        tx_order: u32,
    ) -> Result<Invocation<'a, 'b>, BundleFault> {
        let absent = || BundleFault::NoInvocation { ledger: self.seq, tx_order };
        let at = tx_order.checked_sub(1).and_then(|at| usize::try_from(at).ok()).ok_or_else(absent)?;
        let result = results.get(at).ok_or_else(absent)?;
        // The network allows an invocation as a transaction's only operation.
        let ([success], 1) = (result.success_hashes.as_slice(), result.operations) else { return Err(absent()) };
        Ok(Invocation { ledger: self, tx_order, success: *success, result })
    }
}

impl Invocation<'_, '_> {
    /// The events that the result commits to, each with its position.
    pub(super) fn events<'c>(&self, part: &'c InvocationPart) -> Result<Vec<(Position, EventView<'c>)>, BundleFault> {
        let Self { ledger: Ledger { seq, header }, tx_order, .. } = *self;
        let (protocol, prefix) = (header.protocol, part.uncommitted_prefix);
        if !allows_prefix(&header, prefix) {
            return Err(BundleFault::Prefix { protocol, prefix });
        }
        if sha256(&[&part.pre_image.0]) != self.success.hash {
            return Err(BundleFault::SuccessHash { ledger: seq, tx_order });
        }
        let events = pre_image_events(&part.pre_image.0).map_err(undecodable("pre-image"))?;
        let mut placed = Vec::with_capacity(events.len());
        for (index, event) in (prefix..).zip(events) {
            let position = Position::op(seq, tx_order, self.success.operation, index);
            let position = position.map_err(|_| BundleFault::NoInvocation { ledger: seq, tx_order })?;
            placed.push((position, event));
        }
        Ok(placed)
    }

    /// Checks that `transaction` is this one, under the network's id.
    pub(super) fn is_of_network(&self, transaction: &Base85, network: &Network) -> Result<(), BundleFault> {
        let hash = sha256(&[&network.id().0, &transaction.0]);
        if hash == self.result.tx_hash.0 { Ok(()) } else { Err(BundleFault::Transaction) }
    }

    /// An event of this invocation, as proved.
    pub(super) fn proved(&self, position: Position, event: &EventView<'_>) -> ProvedEvent {
        ProvedEvent {
            position,
            tx_hash: self.result.tx_hash,
            xdr: event.xdr.to_vec(),
            rewritten_xdr: None,
            index_is_the_sources: may_be_reconciled(&self.ledger.header),
        }
    }
}
