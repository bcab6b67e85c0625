//! Contract instances: their creation, upgrade and restoration, and the ledger entries that tell of them.

use annals_core::hash::sha256;
use annals_core::{ContractId, Network};
use stellar_xdr::{
    AccountId, Asset, ContractDataDurability, ContractDataEntry, ContractExecutable, ContractIdPreimage,
    ContractIdPreimageFromAddress, ExtensionPoint, Hash, HashIdPreimage, HashIdPreimageContractId, LedgerEntry,
    LedgerEntryChange, LedgerEntryData, LedgerEntryExt, LedgerKey, LedgerKeyContractData, LedgerKeyTtl, PublicKey,
    ScAddress, ScContractInstance, ScMap, ScMapEntry, ScVal, TtlEntry, Uint256,
};

use crate::plan::{EventPlan, InvocationPlan, ReturnValue};
use crate::value::{account_party, contract_party, string, symbol, symbol_map};
use crate::xdr::{hash_of, list};

/// How long an instance lives from its creation or restoration on, in ledgers.
const LIFE_LEDGERS: u32 = 120_960;

/// The creation of a contract by a host function of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationPlan {
    /// What its id is derived from.
    pub preimage: ContractIdPreimage,
    /// What it runs.
    pub executable: ContractExecutable,
    /// The constructor's arguments; none for the older host function, which calls no constructor.
    pub constructor_args: Option<Vec<ScVal>>,
    /// What its constructor emits, and the ledger commits to.
    pub events: Vec<EventPlan>,
}

impl CreationPlan {
    /// The creation of a contract of Wasm code by `deployer`, a public key.
    #[must_use]
    pub fn wasm(deployer: [u8; 32], salt: [u8; 32], code: [u8; 32]) -> Self {
        let address = account_party(deployer);
        Self {
            preimage: ContractIdPreimage::Address(ContractIdPreimageFromAddress { address, salt: Uint256(salt) }),
            executable: ContractExecutable::Wasm(Hash(code)),
            constructor_args: None,
            events: Vec::new(),
        }
    }

    /// The deployment of an asset's contract, which could emit before it.
    #[must_use]
    pub fn asset(asset: Asset) -> Self {
        Self {
            preimage: ContractIdPreimage::Asset(asset),
            executable: ContractExecutable::StellarAsset,
            constructor_args: None,
            events: Vec::new(),
        }
    }

    /// The same with a constructor that takes `args` and emits `events` (protocol 22, CAP-58).
    #[must_use]
    pub fn constructing(self, args: Vec<ScVal>, events: Vec<EventPlan>) -> Self {
        Self { constructor_args: Some(args), events, ..self }
    }

    /// The contract that is created.
    #[must_use]
    pub fn contract(&self, network: &Network) -> ContractId {
        contract_id(network, self.preimage.clone())
    }

    /// The creation seen as a call: the host gives the contract's address back.
    pub(crate) fn call(&self, network: &Network) -> InvocationPlan {
        let contract = self.contract(network);
        InvocationPlan {
            function: "__constructor".to_owned(),
            return_value: ReturnValue::Value(ScVal::Address(contract_party(contract))),
            ..InvocationPlan::new(contract, self.events.clone())
        }
    }

    pub(crate) fn change(&self, network: &Network) -> InstanceChange {
        InstanceChange::Created { contract: self.contract(network), executable: self.executable.clone() }
    }
}

/// The contract of a Stellar asset: derived, not deployed.
#[must_use]
pub fn asset_contract(network: &Network, asset: &Asset) -> ContractId {
    contract_id(network, ContractIdPreimage::Asset(asset.clone()))
}

/// The asset of `issuer`, a public key, whose code has at most twelve letters.
///
/// # Panics
/// When the code is longer.
#[must_use]
pub fn asset(code: &str, issuer: [u8; 32]) -> Asset {
    let issuer = AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(issuer)));
    let padded = |bytes: &mut [u8]| bytes[..code.len()].copy_from_slice(code.as_bytes());
    if code.len() <= 4 {
        let mut bytes = [0; 4];
        padded(&mut bytes);
        let asset_code = stellar_xdr::AssetCode4(bytes);
        return Asset::CreditAlphanum4(stellar_xdr::AlphaNum4 { asset_code, issuer });
    }
    let mut bytes = [0; 12];
    padded(&mut bytes);
    Asset::CreditAlphanum12(stellar_xdr::AlphaNum12 { asset_code: stellar_xdr::AssetCode12(bytes), issuer })
}

/// The name that an asset's contract puts into its events' last topic (CAP-46-06): `CODE:G…`, or `native`.
#[must_use]
pub fn asset_name(asset: &Asset) -> String {
    let named = |code: &[u8], issuer: &AccountId| {
        let code: Vec<u8> = code.iter().copied().take_while(|letter| *letter != 0).collect();
        format!("{}:{issuer}", String::from_utf8_lossy(&code))
    };
    match asset {
        Asset::Native => "native".to_owned(),
        Asset::CreditAlphanum4(asset) => named(&asset.asset_code.0, &asset.issuer),
        Asset::CreditAlphanum12(asset) => named(&asset.asset_code.0, &asset.issuer),
    }
}

/// sha256 of the `HashIDPreimage` of a contract (CAP-46-02).
fn contract_id(network: &Network, contract_id_preimage: ContractIdPreimage) -> ContractId {
    let network_id = Hash(network.id().0);
    let preimage = HashIdPreimage::ContractId(HashIdPreimageContractId { network_id, contract_id_preimage });
    ContractId(hash_of(&preimage).0)
}

/// An archived instance that comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredInstance {
    /// The contract.
    pub contract: ContractId,
    /// What it runs.
    pub executable: ContractExecutable,
}

impl RestoredInstance {
    pub(crate) fn change(&self) -> InstanceChange {
        InstanceChange::Restored { contract: self.contract, executable: self.executable.clone() }
    }
}

/// What happens to a contract's instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceChange {
    /// It comes to be: in an operation of its own, or by a factory in the middle of an invocation.
    Created {
        /// The contract.
        contract: ContractId,
        /// What it runs.
        executable: ContractExecutable,
    },
    /// It is written: another executable, or other storage.
    Updated {
        /// The contract.
        contract: ContractId,
        /// What it ran.
        from: ContractExecutable,
        /// What it runs.
        to: ContractExecutable,
    },
    /// It comes back from the archive: in an operation of its own, or from protocol 23 on before an invocation.
    Restored {
        /// The contract.
        contract: ContractId,
        /// What it runs.
        executable: ContractExecutable,
    },
}

impl InstanceChange {
    /// The ledger key of an instance.
    pub(crate) fn key(contract: ContractId) -> LedgerKey {
        LedgerKey::ContractData(LedgerKeyContractData {
            contract: contract_party(contract),
            key: ScVal::LedgerKeyContractInstance,
            durability: ContractDataDurability::Persistent,
        })
    }

    /// The changes as the meta of ledger `seq` shows them (Stellar-ledger.x).
    pub(crate) fn entries(&self, seq: u32, protocol: u32) -> Vec<LedgerEntryChange> {
        match self {
            Self::Created { contract, executable } => vec![
                LedgerEntryChange::Created(instance(*contract, executable, seq)),
                LedgerEntryChange::Created(life(*contract, seq, seq + LIFE_LEDGERS)),
            ],
            Self::Updated { contract, from, to } => vec![
                LedgerEntryChange::State(instance(*contract, from, seq.saturating_sub(1))),
                LedgerEntryChange::Updated(instance(*contract, to, seq)),
            ],
            // Before protocol 23 an archived entry stayed where it was, and only its life was written again; since
            // then it comes back as an entry (CAP-62).
            Self::Restored { contract, .. } if protocol < 23 => {
                let written = seq.saturating_sub(LIFE_LEDGERS + 1);
                vec![
                    LedgerEntryChange::State(life(*contract, written, seq.saturating_sub(1))),
                    LedgerEntryChange::Updated(life(*contract, seq, seq + LIFE_LEDGERS)),
                ]
            }
            Self::Restored { contract, executable } => vec![
                LedgerEntryChange::Restored(instance(*contract, executable, seq)),
                LedgerEntryChange::Restored(life(*contract, seq, seq + LIFE_LEDGERS)),
            ],
        }
    }
}

fn instance(contract: ContractId, executable: &ContractExecutable, last_modified_ledger_seq: u32) -> LedgerEntry {
    let val =
        ScVal::ContractInstance(ScContractInstance { executable: executable.clone(), storage: storage(executable) });
    let data = LedgerEntryData::ContractData(ContractDataEntry {
        ext: ExtensionPoint::V0,
        contract: contract_party(contract),
        key: ScVal::LedgerKeyContractInstance,
        durability: ContractDataDurability::Persistent,
        val,
    });
    LedgerEntry { last_modified_ledger_seq, data, ext: LedgerEntryExt::V0 }
}

fn life(contract: ContractId, last_modified_ledger_seq: u32, live_until_ledger_seq: u32) -> LedgerEntry {
    let LedgerKeyTtl { key_hash } = LedgerKeyTtl { key_hash: hash_of(&InstanceChange::key(contract)) };
    let data = LedgerEntryData::Ttl(TtlEntry { key_hash, live_until_ledger_seq });
    LedgerEntry { last_modified_ledger_seq, data, ext: LedgerEntryExt::V0 }
}

/// An asset's contract keeps its metadata in its instance, and others what they like.
fn storage(executable: &ContractExecutable) -> Option<ScMap> {
    let (key, val) = if *executable == ContractExecutable::StellarAsset {
        let metadata = vec![("decimal", ScVal::U32(7)), ("name", string(b"SIM:G")), ("symbol", string(b"SIM"))];
        (symbol("METADATA"), symbol_map(metadata))
    } else {
        (crate::value::vec(vec![symbol("Admin")]), ScVal::Address(admin()))
    };
    Some(ScMap(list(vec![ScMapEntry { key, val }])))
}

fn admin() -> ScAddress {
    account_party(sha256(&[b"admin"]))
}
