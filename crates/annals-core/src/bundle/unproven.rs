//! Why an event cannot be proven, and what is known beside it.

use super::anchor::Links;
use super::invocation::Ledger;
use super::parts::{Class, EventPart, EvidencePart, UnprovenBundle, undecodable};
use super::verdict::{FeeEvidence, Proved};
use super::{BundleFault, Halt, Undecided};
use crate::check::{fee_sum, is_fee, may_be_reconciled};
use crate::decode::{EventView, HeaderView, ResultView};
use crate::hash::LedgerHash;
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;
use crate::position::{Position, Stage};

/// Says why the event is unproven; never that anything is proved.
pub(super) fn judge(bundle: &UnprovenBundle, given: Option<(LedgerSeq, LedgerHash)>) -> Result<Proved, Halt> {
    let id = bundle.event.id.0;
    let event = EventView::parse(&bundle.event.event_xdr.0).map_err(undecodable("event"))?;
    let reason = match (bundle.class, &bundle.evidence) {
        (Class::Unverified, None) => Undecided::Unverified { id },
        // Evidence tells what the protocol does not commit to; of an unverified event nothing is known.
        (Class::Unverified, Some(_)) => return Err(BundleFault::NotCanonical.into()),
        (Class::Uncommitted, None) if id.stage() == Stage::Op => Undecided::SaidUncommitted { id },
        (Class::Uncommitted, None) => Undecided::NotCommitted { id, fee: None },
        (Class::Uncommitted, Some(evidence)) => weigh(bundle, &event, evidence, given)?,
    };
    Err(reason.into())
}

/// Checks the evidence: the transaction's result tells whether it commits to such an event, and what it was charged.
fn weigh(
    bundle: &UnprovenBundle,
    event: &EventView<'_>,
    evidence: &EvidencePart,
    given: Option<(LedgerSeq, LedgerHash)>,
) -> Result<Undecided, Halt> {
    let id = bundle.event.id.0;
    let mut links = Links::default();
    let (seq, header) = links.claim(&evidence.ledger.header.0)?;
    let ledger = Ledger { seq, header };
    let results = ledger.results(&evidence.ledger.results)?;
    let tx_order = evidence.tx_order;
    let at = tx_order.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    let result = at.and_then(|at| results.get(at)).ok_or(BundleFault::NoSuchEvent { id })?;
    let in_place = [0, tx_order, Position::TX_AFTER_ALL].contains(&id.tx());
    if id.ledger() != seq || !in_place {
        return Err(BundleFault::NoSuchEvent { id }.into());
    }
    let shown = id.stage() != Stage::Op || shows_uncommitted(id, result, &header)?;
    let sum = check_fees(bundle, event, evidence, result)?;
    let anchor = links.anchor(&evidence.above, given)?;
    if !shown {
        return Ok(Undecided::SaidUncommitted { id });
    }
    // Evidence that hangs on no trusted ledger is left out; that the protocol commits to no such event stays true.
    let fee = sum.zip(anchor.ok()).map(|(events, anchor)| {
        let (tx_hash, charged) = (result.tx_hash, result.fee_charged);
        FeeEvidence { tx_hash, tx_order, events, charged, anchor }
    });
    Ok(Undecided::NotCommitted { id, fee })
}

/// Whether the result shows that no event of the operation is committed to: only successful invocations commit to any.
/// Protocol 23 could put events in front of an invocation's committed ones, which a result does not tell apart.
fn shows_uncommitted(id: Position, result: &ResultView<'_>, header: &HeaderView<'_>) -> Result<bool, BundleFault> {
    if !result.successful || usize::try_from(id.operation()).is_ok_and(|at| at >= result.operations) {
        return Err(BundleFault::NoSuchEvent { id });
    }
    match result.success_hashes.iter().any(|success| success.operation == id.operation()) {
        false => Ok(true),
        true if may_be_reconciled(header) => Ok(false),
        true => Err(BundleFault::Committed { id }),
    }
}

/// Checks that the fee events, where there are any, sum to the charge and that the event is one of them; returns how
/// many there are.
fn check_fees(
    bundle: &UnprovenBundle,
    event: &EventView<'_>,
    evidence: &EvidencePart,
    result: &ResultView<'_>,
) -> Result<Option<usize>, BundleFault> {
    let fees = &evidence.fee_events;
    if fees.is_empty() {
        return Ok(None);
    }
    let native = Network::new(bundle.network_passphrase.as_str()).native_contract();
    let views: Result<Vec<_>, _> = fees.iter().map(|fee| EventView::parse(&fee.event_xdr.0)).collect();
    let views = views.map_err(undecodable("fee event"))?;
    let ascending = fees.windows(2).all(|pair| matches!(pair, [before, after] if before.id.0 < after.id.0));
    let placed = |fee: &EventPart| {
        let of_transaction = fee.id.0.stage() != Stage::AfterTx || fee.id.0.tx() == evidence.tx_order;
        fee.id.0.ledger() == bundle.event.id.0.ledger() && fee.id.0.stage() != Stage::Op && of_transaction
    };
    let (count, sum) = fee_sum(&views, native);
    let holds = ascending
        && fees.iter().all(placed)
        && fees.contains(&bundle.event)
        && is_fee(event, native)
        && count == fees.len()
        && sum == Some(i128::from(result.fee_charged));
    if holds { Ok(Some(count)) } else { Err(BundleFault::Fees) }
}
