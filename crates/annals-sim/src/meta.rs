//! Transaction metas.

use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, DiagnosticEvent, ExtensionPoint,
    LedgerEntryChanges, OperationMeta, OperationMetaV2, ScVal, SorobanTransactionMeta, SorobanTransactionMetaExt,
    SorobanTransactionMetaExtV1, SorobanTransactionMetaV2, TransactionEvent, TransactionEventStage, TransactionMeta,
    TransactionMetaV1, TransactionMetaV2, TransactionMetaV3, TransactionMetaV4, VecM,
};

use crate::format::{Format, MetaVersion};
use crate::plan::{Body, InvocationPlan, ReturnValue, TxPlan};
use crate::transaction::{Emitted, Place, Prepared};
use crate::value::{bytes, symbol, xdr_contract};
use crate::xdr::list;

/// The meta of a transaction, holding `emitted`.
pub(crate) fn meta(tx: &Prepared<'_>, emitted: &[Emitted], format: Format) -> TransactionMeta {
    match format.meta_version() {
        MetaVersion::V0 => TransactionMeta::V0(list(operations(tx))),
        MetaVersion::V1 => {
            TransactionMeta::V1(TransactionMetaV1 { tx_changes: no_changes(), operations: list(operations(tx)) })
        }
        MetaVersion::V2 => TransactionMeta::V2(TransactionMetaV2 {
            tx_changes_before: no_changes(),
            operations: list(operations(tx)),
            tx_changes_after: no_changes(),
        }),
        MetaVersion::V3 => meta_v3(tx, emitted),
        MetaVersion::V4 => meta_v4(tx, emitted),
    }
}

fn operations(tx: &Prepared<'_>) -> Vec<OperationMeta> {
    (0..operation_count(tx.plan)).map(|op| OperationMeta { changes: changes(tx, op) }).collect()
}

fn changes(tx: &Prepared<'_>, op: u32) -> LedgerEntryChanges {
    if op == 0 { LedgerEntryChanges(list(tx.changes.clone())) } else { no_changes() }
}

fn meta_v3(tx: &Prepared<'_>, emitted: &[Emitted]) -> TransactionMeta {
    let plan = tx.plan;
    let soroban_meta = match &tx.call {
        // Of a failed invocation there is nothing to tell without diagnostics.
        Some(_) if !plan.succeeds && !plan.diagnostics => None,
        Some(call) => Some(SorobanTransactionMeta {
            ext: resource_fees(),
            events: published(emitted, Place::Op(0)),
            return_value: return_value(plan, call).unwrap_or(ScVal::Void),
            diagnostic_events: diagnostics(tx, emitted),
        }),
        // What gives nothing back says so by the value that XDR begins with.
        None => plan.body.is_soroban().then(|| SorobanTransactionMeta {
            ext: resource_fees(),
            events: VecM::default(),
            return_value: ScVal::Bool(false),
            diagnostic_events: VecM::default(),
        }),
    };
    TransactionMeta::V3(TransactionMetaV3 {
        ext: ExtensionPoint::V0,
        tx_changes_before: no_changes(),
        operations: list(operations(tx)),
        tx_changes_after: no_changes(),
        soroban_meta,
    })
}

fn meta_v4(tx: &Prepared<'_>, emitted: &[Emitted]) -> TransactionMeta {
    let operations = (0..operation_count(tx.plan)).map(|op| OperationMetaV2 {
        ext: ExtensionPoint::V0,
        changes: changes(tx, op),
        events: published(emitted, Place::Op(op)),
    });
    let return_value = tx.call.as_ref().and_then(|call| return_value(tx.plan, call));
    let soroban_meta =
        tx.plan.body.is_soroban().then(|| SorobanTransactionMetaV2 { ext: resource_fees(), return_value });
    TransactionMeta::V4(TransactionMetaV4 {
        ext: ExtensionPoint::V0,
        tx_changes_before: no_changes(),
        operations: list(operations.collect()),
        tx_changes_after: no_changes(),
        soroban_meta,
        events: list(emitted.iter().filter_map(transaction_event).collect()),
        diagnostic_events: diagnostics(tx, emitted),
    })
}

/// A failed transaction's meta holds no operation.
fn operation_count(plan: &TxPlan) -> u32 {
    match &plan.body {
        _ if !plan.succeeds => 0,
        Body::Invocation(_) | Body::Creation(_) | Body::Restoration(_) => 1,
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
fn diagnostics(tx: &Prepared<'_>, emitted: &[Emitted]) -> VecM<DiagnosticEvent> {
    let Prepared { plan, call: Some(invocation), .. } = tx else { return VecM::default() };
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
