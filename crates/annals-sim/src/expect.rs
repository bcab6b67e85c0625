//! What a right extraction finds in a built ledger: counted here, from the plan, and not read from the meta.

use annals_core::{ClassicEvents, ContractId, Event, EventKind, LedgerSeq, Position, TxHash};
use stellar_xdr::{ContractEvent, ContractEventType};

use crate::format::Format;
use crate::plan::LedgerPlan;
use crate::transaction::{BuiltTx, Place};
use crate::xdr::encode;

/// The events of `transactions`, in canonical order.
pub(crate) fn events(seq: LedgerSeq, close_time_ms: u64, transactions: &[BuiltTx]) -> Vec<Event> {
    let (mut charges, mut refunds) = (0, 0);
    let mut events = Vec::new();
    for (tx_order, tx) in (1..).zip(transactions) {
        let mut after_tx = 0;
        let (mut op_of_last, mut in_op) = (0, 0);
        for emitted in &tx.emitted {
            let position = match emitted.place {
                Place::BeforeAllTxs => Position::before_all_txs(seq, take(&mut charges)),
                Place::AfterAllTxs => Position::after_all_txs(seq, take(&mut refunds)),
                Place::AfterTx => position(Position::after_tx(seq, tx_order, take(&mut after_tx))),
                Place::Op(op) => {
                    if op != op_of_last {
                        (op_of_last, in_op) = (op, 0);
                    }
                    position(Position::op(seq, tx_order, op, take(&mut in_op)))
                }
            };
            events.push(Event {
                position,
                tx_hash: TxHash(tx.sealed.hash.0),
                tx_order,
                successful: tx.succeeds,
                close_time_ms,
                contract_id: emitted.original.contract_id.as_ref().map(|contract| ContractId(contract.0.0)),
                kind: kind(&emitted.original),
                xdr: encode(&emitted.original),
                proof: emitted.proof,
                rewritten_xdr: emitted.rewritten.as_ref().map(encode),
            });
        }
    }
    events.sort_by_key(|event| event.position);
    events
}

/// What a ledger's fees tell of its exporter.
pub(crate) fn classic_events(plan: &LedgerPlan, format: Format) -> ClassicEvents {
    let fees_emitted = format.has_classic_events() && plan.classic_events != ClassicEvents::Absent;
    if fees_emitted && plan.transactions.iter().any(|tx| tx.charge != 0) {
        plan.classic_events
    } else if plan.transactions.iter().any(|tx| tx.charge != tx.refund) {
        ClassicEvents::Absent
    } else {
        ClassicEvents::Present
    }
}

fn take(counter: &mut u32) -> u32 {
    *counter += 1;
    *counter - 1
}

fn position<E: core::fmt::Debug>(position: Result<Position, E>) -> Position {
    position.expect("a ledger holds far fewer than 1048575 transactions")
}

fn kind(event: &ContractEvent) -> EventKind {
    if event.type_ == ContractEventType::System { EventKind::System } else { EventKind::Contract }
}
