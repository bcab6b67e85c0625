//! Whether the exporter wrote classic and fee events.

use crate::decode::{EventView, LedgerView};
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
        let (count, sum) = fee_sum(transaction.events.iter().map(|(_, event)| event), native);
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

/// How many of `events` are fee events (CAP-67), and their sum; none where an amount is no number or they overflow.
pub(crate) fn fee_sum<'a, 'b: 'a>(
    events: impl IntoIterator<Item = &'a EventView<'b>>,
    native: ContractId,
) -> (usize, Option<i128>) {
    let fees = events.into_iter().filter(|event| is_fee(event, native));
    fees.fold((0, Some(0)), |(count, sum), event| {
        let sum = sum.and_then(|sum: i128| sum.checked_add(event.amount()?));
        (count + 1, sum)
    })
}

/// Whether the native asset's contract emitted the event as a fee (CAP-67).
pub(crate) fn is_fee(event: &EventView<'_>, native: ContractId) -> bool {
    event.contract_id == Some(native) && event.symbol() == Some(b"fee")
}
