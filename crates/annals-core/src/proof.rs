//! The material that lets a ledger's committed events be verified again, offline and years later.

use crate::hash::TxHash;

/// One successful contract invocation; the header commits to its events, which may be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The transaction's apply order in its ledger, 1-based.
    pub tx_order: u32,
    /// The transaction's hash; the outer one of a fee bump.
    pub tx_hash: TxHash,
    /// XDR of the `InvokeHostFunctionSuccessPreImage`: the return value and *every* committed event.
    pub pre_image_xdr: Vec<u8>,
    /// How many events stand in front of the committed ones in the operation (protocol 23's reconciliation; else 0).
    pub uncommitted_prefix: u32,
    /// XDR of the `TransactionEnvelope`.
    pub envelope_xdr: Vec<u8>,
}

/// A ledger's proof material beside its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofMaterial {
    /// XDR of the `TransactionResultSet`, in apply order.
    pub results_xdr: Vec<u8>,
    /// Every successful invocation of the ledger, in apply order, whatever the scope and also without events. A store
    /// may hold less of a ledger that was committed when only those with events were kept.
    pub invocations: Vec<Invocation>,
}
