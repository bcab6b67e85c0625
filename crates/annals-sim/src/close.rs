//! The closing of a ledger: transaction set, header, `LedgerCloseMeta`.

use annals_core::hash::sha256;
use stellar_xdr::{
    DependentTxCluster, ExtensionPoint, GeneralizedTransactionSet, Hash, LedgerCloseMeta, LedgerCloseMetaExt,
    LedgerCloseMetaV0, LedgerCloseMetaV1, LedgerCloseMetaV2, LedgerCloseValueSignature, LedgerHeader, LedgerHeaderExt,
    LedgerHeaderHistoryEntry, LedgerHeaderHistoryEntryExt, LedgerUpgrade, NodeId, ParallelTxExecutionStage,
    ParallelTxsComponent, PublicKey, Signature, StellarValue, StellarValueExt, StellarValueProposedMsValue,
    StellarValueProposedValue, StellarValueSignedMsValue, TimePoint, TimePointMs, TransactionEnvelope,
    TransactionPhase, TransactionResultMeta, TransactionResultMetaV1, TransactionSet, TransactionSetV1, TxSetComponent,
    TxSetComponentTxsMaybeDiscountedFee, Uint256, UpgradeEntryMeta, UpgradeType, VecM,
};

use crate::envelope::list_bytes;
use crate::fault::Fault;
use crate::format::{CloseVersion, Format};
use crate::meta::no_changes;
use crate::plan::CloseTime;
use crate::transaction::BuiltTx;
use crate::xdr::{encode, hash_of, list};

/// Before, nobody signed what consensus agreed on.
const SIGNED_VALUES_SINCE: u32 = 12;

/// What a ledger takes from its chain and its plan.
pub(crate) struct Closing {
    pub(crate) seq: u32,
    pub(crate) protocol: u32,
    pub(crate) upgrade_to: Option<u32>,
    pub(crate) previous_hash: Hash,
    pub(crate) close_time_ms: u64,
    pub(crate) close_time: CloseTime,
    pub(crate) empty_tx_set: bool,
    pub(crate) fee_pool: i64,
    pub(crate) format: Format,
}

/// Closes the ledger over `transactions`, which stand in apply order.
pub(crate) fn close(closing: &Closing, transactions: &[BuiltTx], fault: Option<Fault>) -> LedgerCloseMeta {
    let pairs = transactions.iter().map(|tx| tx.pair.clone()).collect();
    let results = stellar_xdr::TransactionResultSet { results: list(pairs) };
    let entry = |tx_set_hash| header_entry(closing, tx_set_hash, hash_of(&results), fault);
    match closing.format.close_version() {
        CloseVersion::V0 => {
            let tx_set = legacy_set(closing, transactions);
            LedgerCloseMeta::V0(LedgerCloseMetaV0 {
                ledger_header: entry(legacy_hash(&tx_set)),
                tx_set,
                tx_processing: list(transactions.iter().map(processing).collect()),
                upgrades_processing: upgrades_processing(closing),
                scp_info: VecM::default(),
            })
        }
        CloseVersion::V1 => {
            let tx_set = transaction_set(closing, transactions);
            LedgerCloseMeta::V1(LedgerCloseMetaV1 {
                ext: LedgerCloseMetaExt::V0,
                ledger_header: entry(hash_of(&tx_set)),
                tx_set,
                tx_processing: list(transactions.iter().map(processing).collect()),
                upgrades_processing: upgrades_processing(closing),
                scp_info: VecM::default(),
                total_byte_size_of_live_soroban_state: 0,
                evicted_keys: VecM::default(),
                unused: VecM::default(),
            })
        }
        CloseVersion::V2 => {
            let tx_set = transaction_set(closing, transactions);
            LedgerCloseMeta::V2(LedgerCloseMetaV2 {
                ext: LedgerCloseMetaExt::V0,
                ledger_header: entry(hash_of(&tx_set)),
                tx_set,
                tx_processing: list(transactions.iter().map(processing_v1).collect()),
                upgrades_processing: upgrades_processing(closing),
                scp_info: VecM::default(),
                total_byte_size_of_live_soroban_state: 0,
                evicted_keys: VecM::default(),
            })
        }
    }
}

fn header_entry(
    closing: &Closing,
    tx_set_hash: Hash,
    tx_set_result_hash: Hash,
    fault: Option<Fault>,
) -> LedgerHeaderHistoryEntry {
    let mut header = header(closing, tx_set_hash, tx_set_result_hash);
    if let Some(fault) = fault {
        fault.plant_in_header(&mut header);
    }
    let mut hash = hash_of(&header);
    if let Some(fault) = fault {
        fault.plant_in_hash(&mut hash);
    }
    LedgerHeaderHistoryEntry { hash, header, ext: LedgerHeaderHistoryEntryExt::V0 }
}

fn processing(tx: &BuiltTx) -> TransactionResultMeta {
    TransactionResultMeta {
        result: tx.pair.clone(),
        fee_processing: no_changes(),
        tx_apply_processing: tx.meta.clone(),
    }
}

fn processing_v1(tx: &BuiltTx) -> TransactionResultMetaV1 {
    TransactionResultMetaV1 {
        ext: ExtensionPoint::V0,
        result: tx.pair.clone(),
        fee_processing: no_changes(),
        tx_apply_processing: tx.meta.clone(),
        post_tx_apply_fee_processing: no_changes(),
    }
}

/// The transaction set of protocols before 20.
fn legacy_set(closing: &Closing, transactions: &[BuiltTx]) -> TransactionSet {
    TransactionSet { previous_ledger_hash: closing.previous_hash.clone(), txs: list(sorted(transactions, false)) }
}

/// sha256 of the previous hash and every envelope: their count is not hashed.
fn legacy_hash(set: &TransactionSet) -> Hash {
    let envelopes: Vec<_> = set.txs.iter().map(encode).collect();
    let parts: Vec<&[u8]> =
        core::iter::once(&set.previous_ledger_hash.0[..]).chain(envelopes.iter().map(Vec::as_slice)).collect();
    Hash(sha256(&parts))
}

/// A classic phase and a Soroban phase, which is the parallel one from protocol 23 on (CAP-63).
fn transaction_set(closing: &Closing, transactions: &[BuiltTx]) -> GeneralizedTransactionSet {
    let classic = TransactionPhase::V0(components(sorted(transactions, false)));
    let soroban = sorted(transactions, true);
    let soroban = if closing.protocol >= 23 {
        TransactionPhase::V1(ParallelTxsComponent {
            base_fee: (!soroban.is_empty()).then_some(100),
            execution_stages: stages(soroban),
        })
    } else {
        TransactionPhase::V0(components(soroban))
    };
    let phases = list(vec![classic, soroban]);
    GeneralizedTransactionSet::V1(TransactionSetV1 { previous_ledger_hash: closing.previous_hash.clone(), phases })
}

/// One phase's envelopes in the order of their full hashes, which is not the apply order.
fn sorted(transactions: &[BuiltTx], is_soroban: bool) -> Vec<TransactionEnvelope> {
    let phase = transactions.iter().filter(|tx| tx.is_soroban == is_soroban);
    let mut envelopes: Vec<_> = phase.map(|tx| tx.sealed.envelope.clone()).collect();
    envelopes.sort_by_cached_key(|envelope| sha256(&[&encode(envelope)]));
    envelopes
}

fn components(txs: Vec<TransactionEnvelope>) -> VecM<TxSetComponent> {
    if txs.is_empty() {
        return VecM::default();
    }
    let component = TxSetComponentTxsMaybeDiscountedFee { base_fee: Some(100), txs: list(txs) };
    list(vec![TxSetComponent::TxsetCompTxsMaybeDiscountedFee(component)])
}

/// At most two stages of at most two clusters.
fn stages(txs: Vec<TransactionEnvelope>) -> VecM<ParallelTxExecutionStage> {
    list(halves(&txs).map(|stage| ParallelTxExecutionStage(clusters(stage))).collect())
}

fn clusters(stage: &[TransactionEnvelope]) -> VecM<DependentTxCluster> {
    list(halves(stage).map(|cluster| DependentTxCluster(list(cluster.to_vec()))).collect())
}

/// Two runs, the first no shorter; one of a single item, none of none.
fn halves<T>(items: &[T]) -> core::slice::Chunks<'_, T> {
    items.chunks(items.len().div_ceil(2).max(1))
}

/// The upgrades as consensus agreed on them: each is the XDR of a `LedgerUpgrade`.
fn upgrades(closing: &Closing) -> VecM<UpgradeType, 6> {
    let encoded = closing.upgrade_to.map(|version| UpgradeType(list_bytes(encode(&LedgerUpgrade::Version(version)))));
    list(encoded.into_iter().collect())
}

/// The upgrades as they were applied; that of the protocol's version alone changes no entry.
fn upgrades_processing(closing: &Closing) -> VecM<UpgradeEntryMeta> {
    let version = closing.upgrade_to.map(LedgerUpgrade::Version);
    list(version.into_iter().map(|upgrade| UpgradeEntryMeta { upgrade, changes: no_changes() }).collect())
}

fn header(closing: &Closing, tx_set_hash: Hash, tx_set_result_hash: Hash) -> LedgerHeader {
    LedgerHeader {
        ledger_version: closing.upgrade_to.unwrap_or(closing.protocol),
        previous_ledger_hash: closing.previous_hash.clone(),
        scp_value: StellarValue {
            tx_set_hash: if closing.empty_tx_set { Hash([0; 32]) } else { tx_set_hash.clone() },
            close_time: TimePoint(closing.close_time_ms / 1000),
            upgrades: upgrades(closing),
            ext: value_ext(closing, tx_set_hash),
        },
        tx_set_result_hash,
        bucket_list_hash: Hash(sha256(&[b"buckets", &closing.seq.to_be_bytes(), &closing.previous_hash.0])),
        ledger_seq: closing.seq,
        total_coins: 1_000_000_000_000_000_000,
        fee_pool: closing.fee_pool,
        inflation_seq: 0,
        id_pool: 0,
        base_fee: 100,
        base_reserve: 5_000_000,
        max_tx_set_size: 1000,
        skip_list: [const { Hash([0; 32]) }; 4],
        ext: LedgerHeaderExt::V0,
    }
}

/// The arm of `StellarValue.ext` (Stellar-ledger.x). A fallen-back value names the set that was proposed.
fn value_ext(closing: &Closing, proposed: Hash) -> StellarValueExt {
    let lc_value_signature = signature(closing.seq);
    let close_time_ms = TimePointMs(closing.close_time_ms);
    let tx_set_hash = Hash(sha256(&[b"proposed", &proposed.0]));
    let previous_ledger_hash = closing.previous_hash.clone();
    let previous_ledger_version = closing.protocol;
    match (closing.close_time, closing.empty_tx_set) {
        (CloseTime::Seconds, false) if closing.protocol < SIGNED_VALUES_SINCE => StellarValueExt::Basic,
        (CloseTime::Seconds, false) => StellarValueExt::Signed(lc_value_signature),
        (CloseTime::Milliseconds, false) => {
            StellarValueExt::SignedMs(StellarValueSignedMsValue { close_time_ms, lc_value_signature })
        }
        (CloseTime::Seconds, true) => StellarValueExt::EmptyTxSet(StellarValueProposedValue {
            tx_set_hash,
            previous_ledger_hash,
            previous_ledger_version,
            lc_value_signature,
        }),
        (CloseTime::Milliseconds, true) => StellarValueExt::EmptyTxSetMs(StellarValueProposedMsValue {
            close_time_ms,
            tx_set_hash,
            previous_ledger_hash,
            previous_ledger_version,
            lc_value_signature,
        }),
    }
}

fn signature(seq: u32) -> LedgerCloseValueSignature {
    let halves = [sha256(&[b"validator r", &seq.to_be_bytes()]), sha256(&[b"validator s", &seq.to_be_bytes()])];
    LedgerCloseValueSignature {
        node_id: NodeId(PublicKey::PublicKeyTypeEd25519(Uint256(sha256(&[b"validator"])))),
        signature: Signature(list_bytes(halves.concat())),
    }
}
