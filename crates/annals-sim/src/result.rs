//! Transaction results, and the hash by which they commit to events.

use stellar_xdr::{
    ContractEvent, Hash, InnerTransactionResult, InnerTransactionResultExt, InnerTransactionResultPair,
    InnerTransactionResultResult, InvokeHostFunctionResult, InvokeHostFunctionSuccessPreImage, OperationResult,
    OperationResultTr, PaymentResult, RestoreFootprintResult, ScVal, TransactionResult, TransactionResultExt,
    TransactionResultPair, TransactionResultResult,
};

use crate::envelope::Sealed;
use crate::plan::{Body, ReturnValue, TxPlan};
use crate::xdr::{hash_of, list};

/// The hash that the result of a successful invocation carries (`InvokeHostFunctionSuccessPreImage`, CAP-46-08).
pub(crate) fn success_hash(return_value: &ReturnValue, events: &[ContractEvent]) -> Hash {
    let return_value = match return_value {
        ReturnValue::Absent => ScVal::Void,
        ReturnValue::Value(value) => value.clone(),
    };
    hash_of(&InvokeHostFunctionSuccessPreImage { return_value, events: list(events.to_vec()) })
}

/// The result of `plan`; `success` is the hash of its invocation, where it makes one.
pub(crate) fn pair(plan: &TxPlan, sealed: &Sealed, success: Hash) -> TransactionResultPair {
    let operations = list(match &plan.body {
        Body::Invocation(_) | Body::Creation(_) => vec![invocation(if plan.succeeds {
            InvokeHostFunctionResult::Success(success)
        } else {
            InvokeHostFunctionResult::Trapped
        })],
        Body::Restoration(_) => {
            let failed = RestoreFootprintResult::ResourceLimitExceeded;
            let result = if plan.succeeds { RestoreFootprintResult::Success } else { failed };
            vec![OperationResult::OpInner(OperationResultTr::RestoreFootprint(result))]
        }
        Body::Payments(payments) => {
            let result = if plan.succeeds { PaymentResult::Success } else { PaymentResult::Underfunded };
            vec![OperationResult::OpInner(OperationResultTr::Payment(result)); payments.len()]
        }
    });
    let result = match (&sealed.inner_hash, plan.succeeds) {
        (None, true) => TransactionResultResult::TxSuccess(operations),
        (None, false) => TransactionResultResult::TxFailed(operations),
        (Some(hash), true) => TransactionResultResult::TxFeeBumpInnerSuccess(inner(
            hash,
            InnerTransactionResultResult::TxSuccess(operations),
        )),
        (Some(hash), false) => TransactionResultResult::TxFeeBumpInnerFailed(inner(
            hash,
            InnerTransactionResultResult::TxFailed(operations),
        )),
    };
    let fee_charged = plan.charge - plan.refund;
    let result = TransactionResult { fee_charged, result, ext: TransactionResultExt::V0 };
    TransactionResultPair { transaction_hash: sealed.hash.clone(), result }
}

fn invocation(result: InvokeHostFunctionResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::InvokeHostFunction(result))
}

/// The fee stands in the outer result alone.
fn inner(hash: &Hash, result: InnerTransactionResultResult) -> InnerTransactionResultPair {
    let result = InnerTransactionResult { fee_charged: 0, result, ext: InnerTransactionResultExt::V0 };
    InnerTransactionResultPair { transaction_hash: hash.clone(), result }
}
