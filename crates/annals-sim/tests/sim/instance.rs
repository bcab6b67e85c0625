//! Contract instances that are created, upgraded and restored.

use annals_core::{ContractId, ProofClass, Stage, check_ledger};
use annals_sim::instance::{asset, asset_contract, asset_name};
use annals_sim::value::{account, contract};
use annals_sim::{
    BuiltLedger, ChainBuilder, CreationPlan, EventPlan, Format, InstanceChange, LedgerPlan, RestoredInstance,
    TokenTraffic, TokenVersion, TxPlan,
};
use stellar_xdr::{
    Asset, ContractExecutable, Hash, LedgerCloseMeta, LedgerEntry, LedgerEntryChange, LedgerEntryData, Limits, ReadXdr,
    ScAddress, ScVal, TransactionMeta,
};

use super::{network, seq};

const CODE: [u8; 32] = [9; 32];

fn built(format: Format, transactions: Vec<TxPlan>) -> BuiltLedger {
    let ledger = ChainBuilder::new(&network(), seq(500_000), 1, format).push(&LedgerPlan::new(transactions));
    let checked = check_ledger(&ledger.xdr, &network()).unwrap();
    assert_eq!(checked.events, ledger.events);
    ledger
}

/// Every change of every first operation: its kind, the contract whose instance it is, and what that runs; no
/// contract and nothing for the life of an entry.
fn changes(xdr: &[u8]) -> Vec<(&'static str, Option<ContractId>, Option<ContractExecutable>)> {
    let metas: Vec<TransactionMeta> = match LedgerCloseMeta::from_xdr(xdr, Limits::none()).unwrap() {
        LedgerCloseMeta::V0(_) => panic!("no contract lives there"),
        LedgerCloseMeta::V1(meta) => meta.tx_processing.iter().map(|tx| tx.tx_apply_processing.clone()).collect(),
        LedgerCloseMeta::V2(meta) => meta.tx_processing.iter().map(|tx| tx.tx_apply_processing.clone()).collect(),
    };
    let of_first = |meta: &TransactionMeta| match meta {
        TransactionMeta::V3(meta) => meta.operations.first().map(|op| op.changes.0.to_vec()),
        TransactionMeta::V4(meta) => meta.operations.first().map(|op| op.changes.0.to_vec()),
        _ => panic!("a meta with contracts"),
    };
    metas.iter().filter_map(of_first).flatten().map(|change| told(&change)).collect()
}

fn told(change: &LedgerEntryChange) -> (&'static str, Option<ContractId>, Option<ContractExecutable>) {
    let (kind, entry) = match change {
        LedgerEntryChange::Created(entry) => ("created", entry),
        LedgerEntryChange::Updated(entry) => ("updated", entry),
        LedgerEntryChange::State(entry) => ("state", entry),
        LedgerEntryChange::Restored(entry) => ("restored", entry),
        LedgerEntryChange::Removed(_) => panic!("nothing is removed"),
    };
    match instance(entry) {
        Some((contract, executable)) => (kind, Some(contract), Some(executable)),
        None => (kind, None, None),
    }
}

fn instance(entry: &LedgerEntry) -> Option<(ContractId, ContractExecutable)> {
    let LedgerEntryData::ContractData(data) = &entry.data else { return None };
    assert_eq!(data.key, ScVal::LedgerKeyContractInstance);
    let ScAddress::Contract(contract) = &data.contract else { panic!("a contract's entry") };
    let ScVal::ContractInstance(instance) = &data.val else { panic!("an instance") };
    Some((ContractId(contract.0.0), instance.executable.clone()))
}

fn wasm(code: [u8; 32]) -> ContractExecutable {
    ContractExecutable::Wasm(Hash(code))
}

#[test]
fn a_creation_shows_the_instance_of_the_contract_that_its_id_is_derived_for() {
    for format in Format::WITH_CONTRACTS {
        let creation = CreationPlan::wasm(account(1), [1; 32], CODE);
        let created = creation.contract(&network());
        let emitted = EventPlan::transfer(created, account(1), account(2), 5);
        let creation = creation.constructing(vec![ScVal::U32(1)], vec![emitted]);
        let sac = CreationPlan::asset(asset("SIM", account(1)));
        let sac_contract = sac.contract(&network());
        assert_ne!(created, CreationPlan::wasm(account(1), [2; 32], CODE).contract(&network()));
        let failed = CreationPlan::wasm(account(1), [3; 32], CODE);
        let ledger =
            built(format, vec![TxPlan::creating(creation), TxPlan::creating(sac), TxPlan::creating(failed).failing()]);
        let expected = [
            ("created", Some(created), Some(wasm(CODE))),
            ("created", None, None),
            ("created", Some(sac_contract), Some(ContractExecutable::StellarAsset)),
            ("created", None, None),
        ];
        assert_eq!(changes(&ledger.xdr), expected, "{format:?}");
        let of_constructor: Vec<_> = ledger.events.iter().filter(|event| event.position.stage() == Stage::Op).collect();
        assert_eq!(of_constructor.len(), 1);
        assert_eq!(of_constructor[0].proof, ProofClass::Committed);
        assert_eq!(of_constructor[0].contract_id, Some(created));
    }
}

#[test]
fn a_creation_of_another_network_is_of_another_contract_and_an_asset_has_the_id_that_everybody_knows() {
    let pubnet = annals_core::Network::preset("pubnet").unwrap();
    assert_eq!(asset_contract(&pubnet, &Asset::Native), pubnet.native_contract());
    let issuer = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN";
    let ScAddress::Account(stellar_xdr::AccountId(stellar_xdr::PublicKey::PublicKeyTypeEd25519(key))) =
        issuer.parse::<ScAddress>().unwrap()
    else {
        panic!("an account")
    };
    let usdc = asset("USDC", key.0);
    let known = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75";
    assert_eq!(asset_contract(&pubnet, &usdc).to_string(), known);
    assert_ne!(asset_contract(&network(), &usdc).to_string(), known);
    assert_eq!(asset_name(&usdc), format!("USDC:{issuer}"));
    assert_eq!(asset_name(&asset("LONGCODE", key.0)), format!("LONGCODE:{issuer}"));
    assert_eq!(asset_name(&Asset::Native), "native");
}

#[test]
fn a_restoration_shows_the_entry_from_protocol_23_on_and_only_its_life_before() {
    let restored = |code| RestoredInstance { contract: contract(5), executable: wasm(code) };
    let tx = TxPlan::restoring(vec![restored(CODE)]);
    let ledger = built(Format::V2Meta4, vec![tx.clone(), tx.clone().failing()]);
    let entry = ("restored", Some(contract(5)), Some(wasm(CODE)));
    assert_eq!(changes(&ledger.xdr), [entry.clone(), ("restored", None, None)]);
    for format in [Format::V1Meta3, Format::V1Meta4] {
        let ledger = built(format, vec![tx.clone()]);
        assert_eq!(changes(&ledger.xdr), [("state", None, None), ("updated", None, None)]);
    }
    // An invocation brings back what it needs, and a factory creates in the middle of one.
    let factory = TxPlan::invocation(contract(5), Vec::new())
        .changing(InstanceChange::Restored { contract: contract(5), executable: wasm(CODE) })
        .changing(InstanceChange::Created { contract: contract(6), executable: wasm(CODE) });
    let ledger = built(Format::V2Meta4, vec![factory]);
    let created = ("created", Some(contract(6)), Some(wasm(CODE)));
    assert_eq!(changes(&ledger.xdr), [entry, ("restored", None, None), created, ("created", None, None)]);
}

#[test]
fn a_deployed_token_is_created_before_its_first_event_and_an_upgrade_changes_what_it_runs() {
    for (format, protocol) in [(Format::V1Meta3, 20), (Format::V1Meta3, 22), (Format::V2Meta4, 26)] {
        let mut traffic =
            TokenTraffic::deployed(1, &network(), TokenVersion::July).of_protocol(protocol).without_noise();
        let token = traffic.model().contract();
        let mut chain = ChainBuilder::new(&network(), seq(100), 1, format);
        let first = chain.push(&traffic.next_ledger().plan);
        let instances = |ledger: &BuiltLedger| {
            let changes = changes(&ledger.xdr).into_iter();
            changes.filter_map(|(kind, contract, code)| Some((kind, contract?, code?))).collect::<Vec<_>>()
        };
        let of_first = instances(&first);
        let [("created", created, before)] = of_first.as_slice() else { panic!("a creation") };
        assert_eq!(*created, token);
        assert!(first.events.iter().any(|event| event.contract_id == Some(token)));
        traffic.upgrade(TokenVersion::Later);
        let upgraded = chain.push(&traffic.next_ledger().plan);
        let of_upgrade = instances(&upgraded);
        let [("state", one, from), ("updated", other, to)] = of_upgrade.as_slice() else { panic!("an upgrade") };
        assert_eq!((*one, *other, from), (token, token, before));
        assert_ne!(from, to);
        assert!(instances(&chain.push(&traffic.next_ledger().plan)).is_empty());
    }
}
