//! Every event of a ledger, with position and proof class.

use super::invocation::Commitment;
use super::{Envelopes, LedgerFault};
use crate::decode::{EventView, HeaderView, LedgerView, TransactionStage, TransactionView};
use crate::event::{Event, ProofClass};
use crate::ledger_seq::LedgerSeq;
use crate::position::{Position, PositionError};
use crate::proof::Invocation;

/// What a ledger's transactions give.
#[derive(Default)]
pub(super) struct Extracted {
    /// Every event, in canonical order.
    pub events: Vec<Event>,
    /// Every successful invocation, in apply order, those without an event too; none where no event is committed.
    pub invocations: Vec<Invocation>,
}

struct Extraction<'a> {
    seq: LedgerSeq,
    header: &'a HeaderView<'a>,
    close_time_ms: u64,
    envelopes: &'a Envelopes<'a>,
    /// Fee charges and refunds are counted over the whole ledger.
    charges: u32,
    refunds: u32,
    out: Extracted,
}

pub(super) fn extract<'a>(
    view: &'a LedgerView<'a>,
    seq: LedgerSeq,
    envelopes: &'a Envelopes<'a>,
) -> Result<Extracted, LedgerFault> {
    let mut extraction = Extraction {
        seq,
        header: &view.header,
        close_time_ms: view.header.close_time_ms,
        envelopes,
        charges: 0,
        refunds: 0,
        out: Extracted::default(),
    };
    for (tx_order, transaction) in (1..).zip(&view.transactions) {
        extraction.operation_events(tx_order, transaction)?;
        extraction.transaction_events(tx_order, transaction)?;
    }
    let mut out = extraction.out;
    out.events.sort_by_key(|event| event.position);
    if !out.events.iter().any(|event| event.proof.is_proven()) {
        out.invocations.clear();
    }
    Ok(out)
}

impl<'a> Extraction<'a> {
    fn operation_events(&mut self, tx_order: u32, transaction: &'a TransactionView<'a>) -> Result<(), LedgerFault> {
        let seq = self.seq;
        let result = &transaction.result;
        let eventful = transaction.operations.iter().any(|events| !events.is_empty());
        if !result.successful && eventful {
            return Err(LedgerFault::EventsOfFailedTransaction { seq, tx_order });
        }
        let commitment = self.commitment(tx_order, transaction)?;
        for (operation, events) in (0..).zip(&transaction.operations) {
            for (index, published) in (0_u32..).zip(events) {
                let (event, proof, rewritten) = match &commitment {
                    Some(commitment) => commitment.classify(index as usize, published),
                    None => (published, ProofClass::Uncommitted, None),
                };
                let position = Position::op(seq, tx_order, operation, index);
                self.push(position, tx_order, transaction, event, proof, rewritten)?;
            }
        }
        self.keep_invocation(tx_order, transaction, commitment)
    }

    /// What the transaction's result commits to; none for one that is no successful contract invocation.
    fn commitment(
        &self,
        tx_order: u32,
        transaction: &'a TransactionView<'a>,
    ) -> Result<Option<Commitment<'a>>, LedgerFault> {
        let seq = self.seq;
        let result = &transaction.result;
        let [success] = result.success_hashes.as_slice() else {
            // The network allows an invocation as a transaction's only operation.
            let none = result.success_hashes.is_empty();
            return if none { Ok(None) } else { Err(LedgerFault::PreImageMissing { seq, tx_order }) };
        };
        let [events] = transaction.operations.as_slice() else {
            return Err(LedgerFault::PreImageMissing { seq, tx_order });
        };
        if result.operations != 1 || !transaction.has_soroban_meta {
            return Err(LedgerFault::PreImageMissing { seq, tx_order });
        }
        Commitment::find(transaction, events, success.hash, self.header)
            .map(Some)
            .ok_or(LedgerFault::SuccessHash { seq, tx_order })
    }

    /// Keeps the proof material of an invocation. One without an event is kept too: only all of a ledger's invocations
    /// show that a contract emitted nothing else in it.
    fn keep_invocation(
        &mut self,
        tx_order: u32,
        transaction: &TransactionView<'_>,
        commitment: Option<Commitment<'_>>,
    ) -> Result<(), LedgerFault> {
        let Some(commitment) = commitment else { return Ok(()) };
        let tx_hash = transaction.result.tx_hash;
        let envelope = self.envelopes.get(&tx_hash).ok_or(LedgerFault::EnvelopeMissing { seq: self.seq, tx_order })?;
        self.out.invocations.push(Invocation {
            tx_order,
            tx_hash,
            pre_image_xdr: commitment.pre_image_xdr,
            uncommitted_prefix: u32::try_from(commitment.uncommitted_prefix)
                .map_err(|_| LedgerFault::NoPosition { seq: self.seq, tx_order })?,
            envelope_xdr: envelope.to_vec(),
        });
        Ok(())
    }

    fn transaction_events(&mut self, tx_order: u32, transaction: &'a TransactionView<'a>) -> Result<(), LedgerFault> {
        let seq = self.seq;
        let mut after = 0;
        for (stage, event) in &transaction.events {
            let (position, counter) = match stage {
                TransactionStage::BeforeAllTxs => (Ok(Position::before_all_txs(seq, self.charges)), &mut self.charges),
                TransactionStage::AfterTx => (Position::after_tx(seq, tx_order, after), &mut after),
                TransactionStage::AfterAllTxs => (Ok(Position::after_all_txs(seq, self.refunds)), &mut self.refunds),
            };
            *counter = counter.checked_add(1).ok_or(LedgerFault::NoPosition { seq, tx_order })?;
            self.push(position, tx_order, transaction, event, ProofClass::Uncommitted, None)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        position: Result<Position, PositionError>,
        tx_order: u32,
        transaction: &TransactionView<'_>,
        event: &EventView<'_>,
        proof: ProofClass,
        rewritten: Option<&[u8]>,
    ) -> Result<(), LedgerFault> {
        let seq = self.seq;
        let position = position.map_err(|_| LedgerFault::NoPosition { seq, tx_order })?;
        let kind = event.kind.ok_or(LedgerFault::DiagnosticAmongEvents { seq, tx_order })?;
        self.out.events.push(Event {
            position,
            tx_hash: transaction.result.tx_hash,
            tx_order,
            successful: transaction.result.successful,
            close_time_ms: self.close_time_ms,
            contract_id: event.contract_id,
            kind,
            xdr: event.xdr.to_vec(),
            proof,
            rewritten_xdr: rewritten.map(<[u8]>::to_vec),
        });
        Ok(())
    }
}
