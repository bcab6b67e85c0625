//! Transaction metas.

use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, DiagnosticEvent, ExtensionPoint,
    LedgerEntryChanges, OperationMeta, OperationMetaV2, ScVal, SorobanTransactionMeta, SorobanTransactionMetaExt,
    SorobanTransactionMetaExtV1, SorobanTransactionMetaV2, TransactionEvent, TransactionEventStage, TransactionMeta,
    TransactionMetaV3, TransactionMetaV4, VecM,
};

use crate::plan::{Body, Format, InvocationPlan, ReturnValue, TxPlan};
use crate::transaction::{Emitted, Place};
use crate::value::{bytes, symbol, xdr_contract};
use crate::xdr::list;

/// The meta of `plan`, holding `emitted`.
pub(crate) fn meta(plan: &TxPlan, emitted: &[Emitted], format: Format) -> TransactionMeta {
    if format == Format::V1Meta3 { meta_v3(plan, emitted) } else { meta_v4(plan, emitted) }
}

fn meta_v3(plan: &TxPlan, emitted: &[Emitted]) -> TransactionMeta {
    let operations = (0..operation_count(plan)).map(|_| OperationMeta { changes: no_changes() }).collect();
    let soroban_meta = match &plan.body {
        // Of a failed invocation there is nothing to tell without diagnostics.
        Body::Invocation(_) if !plan.succeeds && !plan.diagnostics => None,
        Body::Payments(_) => None,
        Body::Invocation(invocation) => Some(SorobanTransactionMeta {
            ext: resource_fees(),
            events: published(emitted, Place::Op(0)),
            return_value: return_value(plan, invocation).unwrap_or(ScVal::Void),
            diagnostic_events: diagnostics(plan, emitted),
        }),
    };
    TransactionMeta::V3(TransactionMetaV3 {
        ext: ExtensionPoint::V0,
        tx_changes_before: no_changes(),
        operations: list(operations),
        tx_changes_after: no_changes(),
        soroban_meta,
    })
}

fn meta_v4(plan: &TxPlan, emitted: &[Emitted]) -> TransactionMeta {
    let operations = (0..operation_count(plan)).map(|op| OperationMetaV2 {
        ext: ExtensionPoint::V0,
        changes: no_changes(),
        events: published(emitted, Place::Op(op)),
    });
    let soroban_meta = match &plan.body {
        Body::Payments(_) => None,
        Body::Invocation(invocation) => {
            Some(SorobanTransactionMetaV2 { ext: resource_fees(), return_value: return_value(plan, invocation) })
        }
    };
    TransactionMeta::V4(TransactionMetaV4 {
        ext: ExtensionPoint::V0,
        tx_changes_before: no_changes(),
        operations: list(operations.collect()),
        tx_changes_after: no_changes(),
        soroban_meta,
        events: list(emitted.iter().filter_map(transaction_event).collect()),
        diagnostic_events: diagnostics(plan, emitted),
    })
}

/// A failed transaction's meta holds no operation.
fn operation_count(plan: &TxPlan) -> u32 {
    match &plan.body {
        _ if !plan.succeeds => 0,
        Body::Invocation(_) => 1,
        Body::Payments(operations) => {
            u32::try_from(operations.len()).expect("a transaction has at most 100 operations")
        }
    }
}

fn published(emitted: &[Emitted], place: Place) -> VecM<ContractEvent> {
    list(emitted.iter().filter(|event| event.place == place).map(|event| event.published().clone()).collect())
}

fn transaction_event(emitted: &Emitted) -> Option<TransactionEvent> {
    let stage = match emitted.place {
        Place::Op(_) => return None,
        Place::BeforeAllTxs => TransactionEventStage::BeforeAllTxs,
        Place::AfterTx => TransactionEventStage::AfterTx,
        Place::AfterAllTxs => TransactionEventStage::AfterAllTxs,
    };
    Some(TransactionEvent { stage, event: emitted.published().clone() })
}

fn return_value(plan: &TxPlan, invocation: &InvocationPlan) -> Option<ScVal> {
    match &invocation.return_value {
        ReturnValue::Value(value) if plan.succeeds => Some(value.clone()),
        ReturnValue::Value(_) | ReturnValue::Absent => None,
    }
}

/// What a node with diagnostics switched on adds: the call and its return around the original events,
/// those of failed calls among them, and the host's counters.
fn diagnostics(plan: &TxPlan, emitted: &[Emitted]) -> VecM<DiagnosticEvent> {
    let Body::Invocation(invocation) = &plan.body else { return VecM::default() };
    if !plan.diagnostics {
        return VecM::default();
    }
    let contract = Some(xdr_contract(invocation.contract));
    let called = [symbol("fn_call"), bytes(&invocation.contract.0), symbol(&invocation.function)];
    let returned = [symbol("fn_return"), symbol(&invocation.function)];
    let counted = [symbol("core_metrics"), symbol("cpu_insn")];
    let mut diagnostics = vec![diagnostic(true, None, called.to_vec(), ScVal::Void)];
    let event = |successful, event| DiagnosticEvent { in_successful_contract_call: successful, event };
    diagnostics.extend(invocation.failed_calls.iter().map(|plan| event(false, plan.to_event())));
    if plan.succeeds {
        let originals = emitted.iter().filter(|event| event.is_hashed());
        diagnostics.extend(originals.map(|emitted| event(true, emitted.original.clone())));
    } else {
        diagnostics.extend(invocation.events.iter().map(|plan| event(false, plan.to_event())));
    }
    diagnostics.push(diagnostic(plan.succeeds, contract, returned.to_vec(), ScVal::Void));
    diagnostics.push(diagnostic(plan.succeeds, None, counted.to_vec(), ScVal::U64(1_234_567)));
    list(diagnostics)
}

fn diagnostic(
    successful: bool,
    contract_id: Option<stellar_xdr::ContractId>,
    topics: Vec<ScVal>,
    data: ScVal,
) -> DiagnosticEvent {
    let body = ContractEventBody::V0(ContractEventV0 { topics: list(topics), data });
    let event = ContractEvent { ext: ExtensionPoint::V0, contract_id, type_: ContractEventType::Diagnostic, body };
    DiagnosticEvent { in_successful_contract_call: successful, event }
}

fn resource_fees() -> SorobanTransactionMetaExt {
    SorobanTransactionMetaExt::V1(SorobanTransactionMetaExtV1 {
        ext: ExtensionPoint::V0,
        total_non_refundable_resource_fee_charged: 30_000,
        total_refundable_resource_fee_charged: 7_000,
        rent_fee_charged: 655,
    })
}

pub(crate) fn no_changes() -> LedgerEntryChanges {
    LedgerEntryChanges(VecM::default())
}
