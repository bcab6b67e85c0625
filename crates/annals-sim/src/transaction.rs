//! One transaction: its envelope, its result, its meta and the events it emits.

use std::borrow::Cow;

use annals_core::{ClassicEvents, Network, ProofClass};
use stellar_xdr::{ContractEvent, LedgerEntryChange, TransactionMeta, TransactionResultPair};

use crate::envelope::{Sealed, seal};
use crate::fault::Fault;
use crate::format::Format;
use crate::instance::RestoredInstance;
use crate::meta;
use crate::plan::{Body, EventPlan, InvocationPlan, TxPlan};
use crate::result::{pair, success_hash};
use crate::value::{account_address, i128, symbol};

/// What a transaction needs to know of its ledger.
pub(crate) struct Surroundings<'a> {
    pub(crate) network: &'a Network,
    pub(crate) format: Format,
    pub(crate) seq: u32,
    pub(crate) protocol: u32,
    pub(crate) classic_events: ClassicEvents,
}

/// Where in a transaction's meta an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    BeforeAllTxs,
    Op(u32),
    AfterTx,
    AfterAllTxs,
}

/// One event on its way into a meta.
#[derive(Debug, Clone)]
pub(crate) struct Emitted {
    pub(crate) place: Place,
    /// The event as the network made it.
    pub(crate) original: ContractEvent,
    /// The same as a backfilling exporter rewrote it.
    pub(crate) rewritten: Option<ContractEvent>,
    pub(crate) proof: ProofClass,
}

impl Emitted {
    /// The form that the exporter hands out.
    pub(crate) fn published(&self) -> &ContractEvent {
        self.rewritten.as_ref().unwrap_or(&self.original)
    }

    pub(crate) fn is_hashed(&self) -> bool {
        self.proof.is_proven()
    }
}

/// A transaction as its ledger holds it.
pub(crate) struct BuiltTx {
    pub(crate) sealed: Sealed,
    pub(crate) is_soroban: bool,
    pub(crate) succeeds: bool,
    pub(crate) pair: TransactionResultPair,
    pub(crate) meta: TransactionMeta,
    /// What a right extraction finds, whatever fault was planted.
    pub(crate) emitted: Vec<Emitted>,
}

/// A plan with what its ledger adds to it.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: &'a TxPlan,
    /// The host function that it calls and the ledger commits to; a creation counts as the call of a constructor.
    pub(crate) call: Option<Cow<'a, InvocationPlan>>,
    /// The changes of its first operation.
    pub(crate) changes: Vec<LedgerEntryChange>,
}

impl<'a> Prepared<'a> {
    fn new(plan: &'a TxPlan, around: &Surroundings<'_>) -> Self {
        let (call, own) = match &plan.body {
            Body::Invocation(invocation) => (Some(Cow::Borrowed(&**invocation)), Vec::new()),
            Body::Creation(creation) => {
                (Some(Cow::Owned(creation.call(around.network))), vec![creation.change(around.network)])
            }
            Body::Restoration(instances) => (None, instances.iter().map(RestoredInstance::change).collect()),
            Body::Payments(_) => (None, Vec::new()),
        };
        let changes = own.iter().chain(&plan.instance_changes);
        Self { plan, call, changes: changes.flat_map(|change| change.entries(around.seq, around.protocol)).collect() }
    }
}

/// Builds `plan`; `number` tells the chain's transactions apart.
pub(crate) fn build(plan: &TxPlan, number: u64, around: &Surroundings<'_>, fault: Option<Fault>) -> BuiltTx {
    let sealed = seal(plan, number, fault.map_or(around.network.id(), |fault| fault.network_id(around.network)));
    let prepared = Prepared::new(plan, around);
    let emitted = emit(&prepared, &sealed, around);
    let mut exported = emitted.clone();
    let mut success = match &prepared.call {
        Some(call) => success_hash(&call.return_value, &hashed(&emitted)),
        None => stellar_xdr::Hash([0; 32]),
    };
    if let Some(fault) = fault {
        fault.plant_in_events(&mut exported);
        fault.plant_in_success(&mut success);
    }
    BuiltTx {
        is_soroban: plan.body.is_soroban(),
        succeeds: plan.succeeds,
        pair: pair(plan, &sealed, success),
        meta: meta::meta(&prepared, &exported, around.format),
        sealed,
        emitted,
    }
}

fn hashed(emitted: &[Emitted]) -> Vec<ContractEvent> {
    emitted.iter().filter(|event| event.is_hashed()).map(|event| event.original.clone()).collect()
}

/// Every event that the format publishes, in the meta's order.
fn emit(prepared: &Prepared<'_>, sealed: &Sealed, around: &Surroundings<'_>) -> Vec<Emitted> {
    let plan = prepared.plan;
    let classic = around.format.has_classic_events() && around.classic_events != ClassicEvents::Absent;
    let uncommitted = |place, plan: &EventPlan| Emitted {
        place,
        original: plan.to_event(),
        rewritten: None,
        proof: ProofClass::Uncommitted,
    };
    let mut emitted = Vec::new();
    if classic && plan.charge != 0 {
        let error = i64::from(around.classic_events == ClassicEvents::Inconsistent);
        emitted.push(uncommitted(Place::BeforeAllTxs, &fee_event(around.network, sealed, plan.charge + error)));
    }
    match (&prepared.call, &plan.body) {
        (Some(call), _) if plan.succeeds => {
            emitted.extend(call.reconciliation.iter().map(|event| uncommitted(Place::Op(0), event)));
            emitted.extend(call.events.iter().map(|event| committed(event, around.format)));
        }
        (None, Body::Payments(operations)) if plan.succeeds && classic => {
            for (op, events) in (0..).zip(operations) {
                emitted.extend(events.iter().map(|event| uncommitted(Place::Op(op), event)));
            }
        }
        _ => {}
    }
    if classic && plan.succeeds {
        emitted.extend(plan.after_tx.iter().map(|event| uncommitted(Place::AfterTx, event)));
    }
    if classic && plan.refund != 0 {
        // Refunds moved behind all transactions with protocol 23 (CAP-62, CAP-67).
        let place = if around.protocol >= 23 { Place::AfterAllTxs } else { Place::AfterTx };
        emitted.push(uncommitted(place, &fee_event(around.network, sealed, -plan.refund)));
    }
    emitted
}

fn committed(plan: &EventPlan, format: Format) -> Emitted {
    let rewritten = if format == Format::V1Meta4 { plan.backfilled() } else { None };
    Emitted {
        place: Place::Op(0),
        original: plan.to_event(),
        proof: if rewritten.is_some() { ProofClass::Rewritten } else { ProofClass::Committed },
        rewritten: rewritten.map(|plan| plan.to_event()),
    }
}

/// CAP-67: `["fee", payer]`, an amount in stroops, of the native asset's contract.
fn fee_event(network: &Network, sealed: &Sealed, amount: i64) -> EventPlan {
    let topics = vec![symbol("fee"), account_address(sealed.payer)];
    EventPlan::new(network.native_contract(), topics, i128(i128::from(amount)))
}
