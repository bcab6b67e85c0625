//! Transaction results.

use stellar_xdr::{
    InnerTransactionResultResult, InvokeHostFunctionResult, OperationResult, OperationResultTr, TransactionResultPair,
    TransactionResultResult,
};

use super::reader::{DecodeError, Reader};
use crate::hash::TxHash;

/// The hash that a successful `InvokeHostFunction` result commits to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuccessHash {
    /// The operation, 0-based.
    pub operation: u32,
    /// sha256 of the `InvokeHostFunctionSuccessPreImage`.
    pub hash: [u8; 32],
}

/// A `TransactionResultPair`: its bytes and what they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultView<'a> {
    /// XDR of the `TransactionResultPair`.
    pub xdr: &'a [u8],
    /// The transaction's hash; the outer one of a fee bump.
    pub tx_hash: TxHash,
    /// The fee that was charged in the end, stroops.
    pub fee_charged: i64,
    /// Whether the transaction succeeded; for a fee bump, the inner one.
    pub successful: bool,
    /// How many operations have results.
    pub operations: usize,
    /// The success hashes of its contract invocations.
    pub success_hashes: Vec<SuccessHash>,
}

impl<'a> ResultView<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (pair, xdr) = reader.read::<TransactionResultPair>("TransactionResultPair")?;
        let (successful, operations) = outcome(&pair.result.result);
        let success_hashes = if successful { success_hashes(operations) } else { Vec::new() };
        Ok(Self {
            xdr,
            tx_hash: TxHash(pair.transaction_hash.0),
            fee_charged: pair.result.fee_charged,
            successful,
            operations: operations.len(),
            success_hashes,
        })
    }
}

/// Reads the pairs of a `TransactionResultSet` that fills `xdr`, in apply order.
///
/// # Errors
/// [`DecodeError`].
pub fn result_pairs(xdr: &[u8]) -> Result<Vec<ResultView<'_>>, DecodeError> {
    let mut reader = Reader::new(xdr);
    let pairs = reader.array("TransactionResultSet", ResultView::read)?;
    reader.finish()?;
    Ok(pairs)
}

fn outcome(result: &TransactionResultResult) -> (bool, &[OperationResult]) {
    match result {
        TransactionResultResult::TxSuccess(operations) => (true, operations.as_slice()),
        TransactionResultResult::TxFailed(operations) => (false, operations.as_slice()),
        TransactionResultResult::TxFeeBumpInnerSuccess(pair) => inner_outcome(&pair.result.result),
        // The outer word counts, whatever the inner one says.
        TransactionResultResult::TxFeeBumpInnerFailed(pair) => (false, inner_outcome(&pair.result.result).1),
        _ => (false, &[]),
    }
}

fn inner_outcome(result: &InnerTransactionResultResult) -> (bool, &[OperationResult]) {
    match result {
        InnerTransactionResultResult::TxSuccess(operations) => (true, operations.as_slice()),
        InnerTransactionResultResult::TxFailed(operations) => (false, operations.as_slice()),
        _ => (false, &[]),
    }
}

fn success_hashes(operations: &[OperationResult]) -> Vec<SuccessHash> {
    let hash_of = |(operation, result): (u32, &OperationResult)| match result {
        OperationResult::OpInner(OperationResultTr::InvokeHostFunction(InvokeHostFunctionResult::Success(hash))) => {
            Some(SuccessHash { operation, hash: hash.0 })
        }
        _ => None,
    };
    (0..).zip(operations).filter_map(hash_of).collect()
}
