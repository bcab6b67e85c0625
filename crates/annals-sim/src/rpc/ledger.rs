//! One ledger as a node holds it: the bytes, and what its answers read out of them.
//!
//! Everything here is read by the typed decoder of `stellar-xdr`, and nothing by the extraction that the simulator is
//! there to test.

use std::io::Cursor;
use std::sync::OnceLock;

use annals_core::NetworkId;
use stellar_xdr::{
    LedgerCloseMeta, LedgerCloseMetaExt, LedgerHeaderHistoryEntry, Limited, Limits, ReadXdr, TransactionEnvelope,
};

use super::contents::{Contents, NodeTransaction};
use crate::xdr::encode;

/// Deep enough for any value of the network, and far from the end of the stack.
const LIMITS: Limits = Limits { depth: 1000, len: 1 << 30 };

/// Bytes that are no ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerBytesError {
    /// The front is no header of a `LedgerCloseMeta`.
    #[error("the bytes do not begin as a LedgerCloseMeta does")]
    Header(#[source] stellar_xdr::Error),
    /// The arm of the union is none that is known.
    #[error("there is no LedgerCloseMeta of version {version}")]
    Version {
        /// The discriminant.
        version: i32,
    },
    /// What follows the header does not decode.
    #[error("the LedgerCloseMeta does not decode")]
    Body(#[source] stellar_xdr::Error),
    /// A transaction of the results is missing from the transaction set.
    #[error("the transaction set holds no transaction {hash}")]
    NoEnvelope {
        /// The transaction's hash.
        hash: String,
    },
}

/// A ledger of a node.
#[derive(Debug)]
pub(super) struct NodeLedger {
    pub(super) seq: u32,
    pub(super) hash: [u8; 32],
    pub(super) protocol: u32,
    /// `scpValue.closeTime`, Unix seconds: a node knows no milliseconds.
    pub(super) close_time: u64,
    /// XDR of the bare `LedgerHeader`.
    pub(super) header_xdr: Vec<u8>,
    /// XDR of the `LedgerHeaderHistoryEntry`.
    pub(super) entry_xdr: Vec<u8>,
    pub(super) xdr: Vec<u8>,
    contents: OnceLock<Option<Contents>>,
}

impl NodeLedger {
    pub(super) fn read(xdr: Vec<u8>) -> Result<Self, LedgerBytesError> {
        let mut reader = Limited::new(Cursor::new(&xdr), LIMITS);
        let version = i32::read_xdr(&mut reader).map_err(LedgerBytesError::Header)?;
        match version {
            0 => {}
            1 | 2 => {
                LedgerCloseMetaExt::read_xdr(&mut reader).map_err(LedgerBytesError::Header)?;
            }
            _ => return Err(LedgerBytesError::Version { version }),
        }
        let entry = LedgerHeaderHistoryEntry::read_xdr(&mut reader).map_err(LedgerBytesError::Header)?;
        Ok(Self {
            seq: entry.header.ledger_seq,
            hash: entry.hash.0,
            protocol: entry.header.ledger_version,
            close_time: entry.header.scp_value.close_time.0,
            header_xdr: encode(&entry.header),
            entry_xdr: encode(&entry),
            xdr,
            contents: OnceLock::new(),
        })
    }

    /// The same ledger with other bytes, whose header is what it was where they have none.
    pub(super) fn edited(&self, xdr: Vec<u8>) -> Self {
        match Self::read(xdr.clone()) {
            Ok(ledger) => ledger,
            Err(_) => Self {
                header_xdr: self.header_xdr.clone(),
                entry_xdr: self.entry_xdr.clone(),
                xdr,
                contents: OnceLock::new(),
                ..*self
            },
        }
    }

    /// The transactions' hashes and every event, in the order of ids; none for bytes that do not decode.
    pub(super) fn contents(&self) -> Option<&Contents> {
        self.contents.get_or_init(|| self.decoded().ok().map(|meta| Contents::of(self.seq, &meta))).as_ref()
    }

    /// The transactions with their envelopes, in apply order.
    pub(super) fn transactions(&self, network: NetworkId) -> Result<Vec<NodeTransaction>, LedgerBytesError> {
        let meta = self.decoded()?;
        NodeTransaction::all(&meta, network)
    }

    fn decoded(&self) -> Result<LedgerCloseMeta, LedgerBytesError> {
        LedgerCloseMeta::from_xdr(&self.xdr, LIMITS).map_err(LedgerBytesError::Body)
    }
}

/// The hash under which the results name the transaction.
pub(super) fn envelope_hash(envelope: &TransactionEnvelope, network: NetworkId) -> Option<[u8; 32]> {
    envelope.hash(network.0).ok()
}
