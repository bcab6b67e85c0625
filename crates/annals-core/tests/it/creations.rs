//! Contracts that real and built ledgers create, restore and upgrade.

use std::collections::{BTreeMap, BTreeSet};

use annals_core::check::transaction_hash;
use annals_core::decode::{EnvelopeView, decode};
use annals_core::{ContractId, Creation, Executable, check_ledger};
use annals_sim::value::contract;
use annals_sim::{EventPlan, Format, LedgerPlan, TxPlan};
use stellar_xdr::{
    ContractDataDurability, ContractDataEntry, ContractExecutable, ContractId as XdrContractId, ExtensionPoint,
    FeeBumpTransactionInnerTx, Hash, HostFunction, LedgerCloseMeta, LedgerEntry, LedgerEntryChange, LedgerEntryChanges,
    LedgerEntryData, LedgerEntryExt, LedgerKey, LedgerKeyContractData, Limits, OperationBody, OperationMeta,
    OperationMetaV2, ReadXdr, ScAddress, ScContractInstance, ScVal, TransactionEnvelope, TransactionMeta, WriteXdr,
};

use crate::built::{chain, check_built, network};
use crate::shared::{self, core_network};

fn limits(xdr: &[u8]) -> Limits {
    Limits { depth: 1000, len: xdr.len() }
}

/// The metas of a ledger's transactions.
fn metas(ledger: &mut LedgerCloseMeta) -> Vec<&mut TransactionMeta> {
    match ledger {
        LedgerCloseMeta::V0(ledger) => ledger.tx_processing.iter_mut().map(|tx| &mut tx.tx_apply_processing).collect(),
        LedgerCloseMeta::V1(ledger) => ledger.tx_processing.iter_mut().map(|tx| &mut tx.tx_apply_processing).collect(),
        LedgerCloseMeta::V2(ledger) => ledger.tx_processing.iter_mut().map(|tx| &mut tx.tx_apply_processing).collect(),
    }
}

/// The changes of a transaction's operations.
fn changes(meta: &mut TransactionMeta) -> Vec<&mut LedgerEntryChanges> {
    match meta {
        TransactionMeta::V3(meta) => meta.operations.iter_mut().map(|operation| &mut operation.changes).collect(),
        TransactionMeta::V4(meta) => meta.operations.iter_mut().map(|operation| &mut operation.changes).collect(),
        _ => Vec::new(),
    }
}

/// What a transaction returns, where that is an address.
fn returned(meta: &TransactionMeta) -> Option<ContractId> {
    let value = match meta {
        TransactionMeta::V3(meta) => meta.soroban_meta.as_ref().map(|soroban| &soroban.return_value),
        TransactionMeta::V4(meta) => meta.soroban_meta.as_ref().and_then(|soroban| soroban.return_value.as_ref()),
        _ => None,
    };
    match value? {
        ScVal::Address(ScAddress::Contract(contract)) => Some(ContractId(contract.0.0)),
        _ => None,
    }
}

/// How many successful transactions of a ledger ask for nothing but the creation of a contract.
fn asked(bytes: &[u8]) -> usize {
    let view = decode(bytes).unwrap();
    let succeeded =
        |hash| view.transactions.iter().any(|tx| tx.result.tx_hash == hash && !tx.result.success_hashes.is_empty());
    let creates = |envelope: &&EnvelopeView<'_>| {
        let operations = match TransactionEnvelope::from_xdr(envelope.xdr, limits(envelope.xdr)).unwrap() {
            TransactionEnvelope::Tx(envelope) => envelope.tx.operations,
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(envelope) = bump.tx.inner_tx;
                envelope.tx.operations
            }
            TransactionEnvelope::TxV0(envelope) => envelope.tx.operations,
        };
        operations.iter().any(|operation| match &operation.body {
            OperationBody::InvokeHostFunction(call) => {
                matches!(call.host_function, HostFunction::CreateContract(_) | HostFunction::CreateContractV2(_))
            }
            _ => false,
        })
    };
    let envelopes = view.tx_set.envelopes.iter();
    envelopes.filter(creates).filter(|own| succeeded(transaction_hash(own, core_network().id()))).count()
}

/// Whether an entry is a contract's instance.
fn is_instance(entry: &LedgerEntry) -> bool {
    matches!(&entry.data, LedgerEntryData::ContractData(data) if data.key == ScVal::LedgerKeyContractInstance)
}

#[test]
fn a_contract_of_the_core_corpus_is_created_once_and_never_by_a_restoration() {
    let mut created: BTreeMap<(u32, Executable), u32> = BTreeMap::new();
    let (mut restored, mut confirmed, mut asked_for) = (0, 0, 0);
    let found = shared::core_corpus(|path, chain| {
        let mut seen = BTreeSet::new();
        for bytes in chain {
            let ledger = check_ledger(bytes, &core_network()).unwrap();
            assert!(ledger.creations.is_sorted());
            for creation in &ledger.creations {
                assert!(seen.insert(creation.contract), "{path:?} {} creates {creation:?} again", ledger.seq);
                *created.entry((ledger.protocol, creation.executable)).or_default() += 1;
            }
            asked_for += asked(bytes);
            let mut typed = LedgerCloseMeta::from_xdr(bytes, limits(bytes)).unwrap();
            for meta in metas(&mut typed) {
                // A transaction that creates a contract itself returns its address, to which its result commits.
                let own = returned(meta).filter(|own| ledger.creations.iter().any(|one| one.contract == *own));
                confirmed += u32::from(own.is_some());
                let all = changes(meta).into_iter().flat_map(|changes| changes.0.to_vec());
                let instances =
                    all.filter(|change| matches!(change, LedgerEntryChange::Restored(entry) if is_instance(entry)));
                restored += instances.count();
            }
        }
    });
    if !found {
        return;
    }
    let of =
        |executable| created.iter().filter(|((_, own), _)| *own == executable).map(|(_, count)| count).sum::<u32>();
    let protocols: BTreeSet<u32> = created.keys().map(|(protocol, _)| *protocol).collect();
    assert_eq!(protocols, BTreeSet::from([20, 21, 22, 23, 26, 27]));
    assert_eq!((of(Executable::Wasm), of(Executable::Asset), restored), (2386, 52, 18));
    assert_eq!((confirmed, asked_for), (2438, 2438));
}

fn instance(id: u8, executable: ContractExecutable) -> LedgerEntry {
    let val = ScVal::ContractInstance(ScContractInstance { executable, storage: None });
    entry(id, ScVal::LedgerKeyContractInstance, val)
}

fn entry(id: u8, key: ScVal, val: ScVal) -> LedgerEntry {
    let data = ContractDataEntry {
        ext: ExtensionPoint::V0,
        contract: ScAddress::Contract(XdrContractId(Hash([id; 32]))),
        key,
        durability: ContractDataDurability::Persistent,
        val,
    };
    LedgerEntry { last_modified_ledger_seq: 9, data: LedgerEntryData::ContractData(data), ext: LedgerEntryExt::V0 }
}

fn wasm(id: u8) -> LedgerEntry {
    instance(id, ContractExecutable::Wasm(Hash([1; 32])))
}

fn asset(id: u8) -> LedgerEntry {
    instance(id, ContractExecutable::StellarAsset)
}

fn creation(id: u8, executable: Executable) -> Creation {
    Creation { contract: ContractId([id; 32]), executable }
}

/// The creations of a built ledger of `transaction` alone, after `edit` changed its meta.
fn creations(format: Format, transaction: TxPlan, edit: impl Fn(&mut TransactionMeta)) -> Vec<Creation> {
    let built = chain(format).push(&LedgerPlan::new(vec![transaction]));
    check_built(&built);
    let mut typed = LedgerCloseMeta::from_xdr(&built.xdr, limits(&built.xdr)).unwrap();
    metas(&mut typed).into_iter().for_each(edit);
    let xdr = typed.to_xdr(Limits { depth: 1000, len: 1 << 20 }).unwrap();
    check_ledger(&xdr, &network()).unwrap().creations
}

fn invocation() -> TxPlan {
    TxPlan::invocation(contract(1), vec![EventPlan::transfer(contract(1), [1; 32], [2; 32], 5)])
}

/// Puts one operation, which changed `list`, into a meta.
fn with(list: Vec<LedgerEntryChange>) -> impl Fn(&mut TransactionMeta) {
    move |meta| {
        let changes = LedgerEntryChanges(list.clone().try_into().unwrap());
        match meta {
            TransactionMeta::V3(meta) => meta.operations = vec![OperationMeta { changes }].try_into().unwrap(),
            TransactionMeta::V4(meta) => {
                let events = meta.operations.first().map(|operation| operation.events.clone()).unwrap_or_default();
                let operation = OperationMetaV2 { ext: ExtensionPoint::V0, changes, events };
                meta.operations = vec![operation].try_into().unwrap();
            }
            _ => panic!("the builder writes no older metas"),
        }
    }
}

#[test]
fn an_instance_that_was_created_is_a_creation_once() {
    for format in Format::WITH_CONTRACTS {
        let list = vec![
            LedgerEntryChange::Created(wasm(9)),
            LedgerEntryChange::Created(asset(3)),
            LedgerEntryChange::Created(wasm(9)),
        ];
        let expected = vec![creation(3, Executable::Asset), creation(9, Executable::Wasm)];
        assert_eq!(creations(format, invocation(), with(list)), expected, "{format:?}");
    }
}

#[test]
fn an_upgrade_a_restoration_and_other_entries_are_no_creations() {
    let key = LedgerKeyContractData {
        contract: ScAddress::Contract(XdrContractId(Hash([5; 32]))),
        key: ScVal::LedgerKeyContractInstance,
        durability: ContractDataDurability::Persistent,
    };
    let list = vec![
        LedgerEntryChange::State(wasm(1)),
        LedgerEntryChange::Updated(wasm(1)),
        LedgerEntryChange::Restored(wasm(2)),
        LedgerEntryChange::Restored(wasm(4)),
        LedgerEntryChange::Updated(wasm(4)),
        LedgerEntryChange::Removed(LedgerKey::ContractData(key)),
        LedgerEntryChange::Created(entry(6, ScVal::U32(1), ScVal::U32(2))),
        LedgerEntryChange::Created(entry(7, ScVal::LedgerKeyContractInstance, ScVal::Void)),
    ];
    for format in Format::WITH_CONTRACTS {
        assert_eq!(creations(format, invocation(), with(list.clone())), [], "{format:?}");
    }
}

#[test]
fn only_what_the_operations_of_an_invocation_changed_counts() {
    let created = |id| LedgerEntryChanges(vec![LedgerEntryChange::Created(wasm(id))].try_into().unwrap());
    for format in Format::WITH_CONTRACTS {
        let around = |meta: &mut TransactionMeta| match meta {
            TransactionMeta::V3(meta) => {
                (meta.tx_changes_before, meta.tx_changes_after) = (created(1), created(2));
            }
            TransactionMeta::V4(meta) => {
                (meta.tx_changes_before, meta.tx_changes_after) = (created(1), created(2));
            }
            _ => (),
        };
        assert_eq!(creations(format, invocation(), around), [], "{format:?}");
        let created = || with(vec![LedgerEntryChange::Created(wasm(3))]);
        assert_eq!(creations(format, invocation(), created()), [creation(3, Executable::Wasm)], "{format:?}");
        assert_eq!(creations(format, invocation().failing(), created()), [], "{format:?}");
        assert_eq!(creations(format, TxPlan::payments(vec![vec![]]), created()), [], "{format:?}");
    }
}
