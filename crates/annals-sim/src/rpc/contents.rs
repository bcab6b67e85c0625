//! Transactions and events of a ledger, as a node numbers and lists them.

use std::collections::HashMap;

use annals_core::{ContractId, NetworkId};
use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, DiagnosticEvent, GeneralizedTransactionSet, LedgerCloseMeta,
    TransactionEnvelope, TransactionEvent, TransactionEventStage, TransactionMeta, TransactionPhase,
    TransactionResultPair, TransactionResultResult, TxSetComponent,
};

use super::ledger::{LedgerBytesError, envelope_hash};
use crate::xdr::encode;

/// The transaction number of events after all transactions, and of the end of a scanned window.
pub(super) const TX_LAST: u32 = 0xF_FFFF;
/// The operation number of events after a transaction, and of the end of a scanned window.
pub(super) const OP_LAST: u32 = 0xFFF;

/// SEP-35: `ledger << 32 | transaction << 12 | operation`.
pub(super) fn toid(ledger: u32, tx: u32, op: u32) -> u64 {
    u64::from(ledger) << 32 | u64::from(tx) << 12 | u64::from(op)
}

/// An event under its id.
#[derive(Debug)]
pub(super) struct NodeEvent {
    pub(super) toid: u64,
    pub(super) index: u32,
    pub(super) tx_hash: [u8; 32],
    pub(super) successful: bool,
    pub(super) kind: &'static str,
    pub(super) contract: Option<ContractId>,
    /// XDR of each topic.
    pub(super) topics: Vec<Vec<u8>>,
    /// XDR of the data.
    pub(super) data: Vec<u8>,
}

/// What most answers ask of a ledger.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) tx_hashes: Vec<[u8; 32]>,
    /// In the order of ids.
    pub(super) events: Vec<NodeEvent>,
}

impl Contents {
    /// Numbers the events of ledger `seq` as the node does since protocol 23: fee charges and refunds over the
    /// whole ledger, events behind a transaction within it, those of operations within their own.
    pub(super) fn of(seq: u32, meta: &LedgerCloseMeta) -> Self {
        let mut contents = Self { tx_hashes: Vec::new(), events: Vec::new() };
        let (mut before_all, mut after_all) = (0, 0);
        for (order, (pair, meta)) in (1..).zip(processed(meta)) {
            let mut after_tx = 0;
            let mut add = |toid, index, event: &ContractEvent| {
                contents.events.push(NodeEvent::new(toid, index, pair, event));
            };
            for event in tx_events(meta) {
                let (toid, counter) = match event.stage {
                    TransactionEventStage::BeforeAllTxs => (toid(seq, 0, 0), &mut before_all),
                    TransactionEventStage::AfterTx => (toid(seq, order, OP_LAST), &mut after_tx),
                    TransactionEventStage::AfterAllTxs => (toid(seq, TX_LAST, 0), &mut after_all),
                };
                add(toid, *counter, &event.event);
                *counter += 1;
            }
            for (op, events) in (0..).zip(op_events(meta)) {
                for (index, event) in (0..).zip(events) {
                    add(toid(seq, order, op), index, event);
                }
            }
            contents.tx_hashes.push(pair.transaction_hash.0);
        }
        contents.events.sort_by_key(|event| (event.toid, event.index));
        contents
    }
}

impl NodeEvent {
    fn new(toid: u64, index: u32, pair: &TransactionResultPair, event: &ContractEvent) -> Self {
        let ContractEventBody::V0(body) = &event.body;
        Self {
            toid,
            index,
            tx_hash: pair.transaction_hash.0,
            successful: succeeded(pair),
            kind: match event.type_ {
                ContractEventType::System => "system",
                ContractEventType::Contract => "contract",
                ContractEventType::Diagnostic => "diagnostic",
            },
            contract: event.contract_id.as_ref().map(|contract| ContractId(contract.0.0)),
            topics: body.topics.iter().map(encode).collect(),
            data: encode(&body.data),
        }
    }

    /// The id, and the cursor behind it.
    pub(super) fn id(&self) -> String {
        id(self.toid, self.index)
    }
}

/// An event's id as text.
pub(super) fn id(toid: u64, index: u32) -> String {
    format!("{toid:019}-{index:010}")
}

/// A transaction as `getTransaction` and `getTransactions` give it; everything is XDR.
#[derive(Debug)]
pub(super) struct NodeTransaction {
    pub(super) hash: [u8; 32],
    /// Apply order, 1-based.
    pub(super) order: u32,
    pub(super) successful: bool,
    pub(super) fee_bump: bool,
    pub(super) envelope: Vec<u8>,
    pub(super) result: Vec<u8>,
    pub(super) meta: Vec<u8>,
    pub(super) diagnostics: Vec<Vec<u8>>,
    pub(super) tx_events: Vec<Vec<u8>>,
    /// Of each operation; no list at all where the meta has none.
    pub(super) op_events: Vec<Vec<Vec<u8>>>,
}

impl NodeTransaction {
    /// Joins results and metas, which stand in apply order, with the envelopes, which do not.
    pub(super) fn all(meta: &LedgerCloseMeta, network: NetworkId) -> Result<Vec<Self>, LedgerBytesError> {
        let by_hash: HashMap<_, _> = envelopes(meta)
            .into_iter()
            .filter_map(|envelope| Some((envelope_hash(envelope, network)?, envelope)))
            .collect();
        let transactions = (1..).zip(processed(meta)).map(|(order, (pair, meta))| {
            let hash = pair.transaction_hash.0;
            let envelope =
                by_hash.get(&hash).ok_or_else(|| LedgerBytesError::NoEnvelope { hash: hex::encode(hash) })?;
            Ok(Self {
                hash,
                order,
                successful: succeeded(pair),
                fee_bump: matches!(envelope, TransactionEnvelope::TxFeeBump(_)),
                envelope: encode(*envelope),
                result: encode(&pair.result),
                meta: encode(meta),
                diagnostics: diagnostics(meta).iter().map(encode).collect(),
                tx_events: tx_events(meta).iter().map(encode).collect(),
                op_events: op_events(meta).iter().map(|events| events.iter().map(encode).collect()).collect(),
            })
        });
        transactions.collect()
    }
}

fn processed(meta: &LedgerCloseMeta) -> Vec<(&TransactionResultPair, &TransactionMeta)> {
    match meta {
        LedgerCloseMeta::V0(meta) => {
            meta.tx_processing.iter().map(|tx| (&tx.result, &tx.tx_apply_processing)).collect()
        }
        LedgerCloseMeta::V1(meta) => {
            meta.tx_processing.iter().map(|tx| (&tx.result, &tx.tx_apply_processing)).collect()
        }
        LedgerCloseMeta::V2(meta) => {
            meta.tx_processing.iter().map(|tx| (&tx.result, &tx.tx_apply_processing)).collect()
        }
    }
}

fn envelopes(meta: &LedgerCloseMeta) -> Vec<&TransactionEnvelope> {
    let GeneralizedTransactionSet::V1(set) = match meta {
        LedgerCloseMeta::V0(meta) => return meta.tx_set.txs.iter().collect(),
        LedgerCloseMeta::V1(meta) => &meta.tx_set,
        LedgerCloseMeta::V2(meta) => &meta.tx_set,
    };
    let mut envelopes = Vec::new();
    for phase in set.phases.iter() {
        match phase {
            TransactionPhase::V0(components) => {
                for TxSetComponent::TxsetCompTxsMaybeDiscountedFee(component) in components.iter() {
                    envelopes.extend(component.txs.iter());
                }
            }
            TransactionPhase::V1(parallel) => {
                let clusters = parallel.execution_stages.iter().flat_map(|stage| stage.0.iter());
                envelopes.extend(clusters.flat_map(|cluster| cluster.0.iter()));
            }
        }
    }
    envelopes
}

fn succeeded(pair: &TransactionResultPair) -> bool {
    matches!(
        pair.result.result,
        TransactionResultResult::TxSuccess(_) | TransactionResultResult::TxFeeBumpInnerSuccess(_)
    )
}

fn tx_events(meta: &TransactionMeta) -> &[TransactionEvent] {
    match meta {
        TransactionMeta::V4(meta) => &meta.events,
        _ => &[],
    }
}

/// The events of each operation; those of the oldest metas with events are of their only one.
fn op_events(meta: &TransactionMeta) -> Vec<&[ContractEvent]> {
    match meta {
        TransactionMeta::V4(meta) => meta.operations.iter().map(|operation| operation.events.as_slice()).collect(),
        TransactionMeta::V3(meta) => meta.soroban_meta.iter().map(|soroban| soroban.events.as_slice()).collect(),
        _ => Vec::new(),
    }
}

fn diagnostics(meta: &TransactionMeta) -> &[DiagnosticEvent] {
    match meta {
        TransactionMeta::V4(meta) => &meta.diagnostic_events,
        TransactionMeta::V3(meta) => meta.soroban_meta.as_ref().map_or(&[], |soroban| &soroban.diagnostic_events),
        _ => &[],
    }
}
