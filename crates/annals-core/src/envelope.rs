//! Envelopes of transactions that are known by their events alone.

use crate::check::transaction_hash;
use crate::decode::{DecodeError, EnvelopeView};
use crate::hash::TxHash;
use crate::ledger_seq::LedgerSeq;
use crate::network::NetworkId;

/// A transaction, by the ledger that applied it and by its hash; the outer one of a fee bump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionKey {
    /// The ledger.
    pub ledger: LedgerSeq,
    /// The hash.
    pub hash: TxHash,
}

/// The envelope of a transaction, which hashes to the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedEnvelope {
    transaction: TransactionKey,
    xdr: Vec<u8>,
}

/// Why bytes are not the envelope of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeFault {
    /// They are no envelope.
    #[error("the envelope cannot be decoded: {0}")]
    Undecodable(DecodeError),
    /// They are the envelope of another one.
    #[error("the envelope is of transaction {found}")]
    OtherTransaction {
        /// What it hashes to.
        found: TxHash,
    },
}

impl CheckedEnvelope {
    /// Takes `xdr` (a `TransactionEnvelope`) for the envelope of `transaction` if it hashes to it under the network's
    /// id; see [`transaction_hash`] for the rule. The envelope's signatures are no part of the hash, but for those of the
    /// inner transaction of a fee bump.
    ///
    /// # Errors
    /// [`EnvelopeFault`].
    pub fn check(network: NetworkId, transaction: TransactionKey, xdr: Vec<u8>) -> Result<Self, EnvelopeFault> {
        let envelope = EnvelopeView::parse(&xdr).map_err(EnvelopeFault::Undecodable)?;
        let found = transaction_hash(&envelope, network);
        if found != transaction.hash {
            return Err(EnvelopeFault::OtherTransaction { found });
        }
        Ok(Self { transaction, xdr })
    }

    /// Whose envelope it is.
    #[must_use]
    pub fn transaction(&self) -> TransactionKey {
        self.transaction
    }

    /// XDR of the `TransactionEnvelope`.
    #[must_use]
    pub fn xdr(&self) -> &[u8] {
        &self.xdr
    }
}
