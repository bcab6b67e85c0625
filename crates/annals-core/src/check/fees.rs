//! Whether the exporter wrote classic and fee events.

use crate::decode::{EventView, LedgerView, TransactionView};
use crate::hash::ContractId;
use crate::ledger::ClassicEvents;
use crate::network::Network;

/// Compares each transaction's fee events (CAP-67: topics `fee` and the payer, data the amount, refunds negative)
/// with the fee that its committed result says it was charged.
pub(super) fn classic_events(view: &LedgerView<'_>, network: &Network) -> ClassicEvents {
    let native = network.native_contract();
    let mut charged = false;
    let mut emitted = false;
    let mut equal = true;
    for transaction in &view.transactions {
        let (count, sum) = fee_events(transaction, native);
        charged |= transaction.result.fee_charged != 0;
        emitted |= count > 0;
        equal &= sum == Some(i128::from(transaction.result.fee_charged));
    }
    match (charged, emitted) {
        (true, false) => ClassicEvents::Absent,
        _ if equal => ClassicEvents::Present,
        _ => ClassicEvents::Inconsistent,
    }
}

/// How many fee events a transaction has, and their sum; none where an amount is no number or they overflow.
fn fee_events(transaction: &TransactionView<'_>, native: ContractId) -> (usize, Option<i128>) {
    let is_fee = |event: &&EventView<'_>| event.contract_id == Some(native) && event.symbol() == Some(b"fee");
    let fees = transaction.events.iter().map(|(_, event)| event).filter(is_fee);
    fees.fold((0, Some(0)), |(count, sum), event| {
        let sum = sum.and_then(|sum: i128| sum.checked_add(event.amount()?));
        (count + 1, sum)
    })
}
