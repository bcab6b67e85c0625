//! What an operation changed in the ledger's entries, as far as an archive of events asks.

use stellar_xdr::{ContractExecutable, LedgerEntryChange, LedgerEntryChanges, LedgerEntryData, ScAddress, ScVal};

use crate::hash::ContractId;
use crate::ledger::{Creation, Executable};

/// Adds the contracts whose instances were created among `changes`.
///
/// An instance is the `ContractData` entry with key `SCV_LEDGER_KEY_CONTRACT_INSTANCE` (`Stellar-contract.x`). An
/// upgrade updates the entry; a restoration changes its time to live up to protocol 22 and is
/// `LEDGER_ENTRY_RESTORED` later (CAP-62, CAP-66).
pub(super) fn push_creations(changes: &LedgerEntryChanges, creations: &mut Vec<Creation>) {
    for change in changes.0.iter() {
        let LedgerEntryChange::Created(entry) = change else { continue };
        let LedgerEntryData::ContractData(data) = &entry.data else { continue };
        let (ScAddress::Contract(contract), ScVal::LedgerKeyContractInstance) = (&data.contract, &data.key) else {
            continue;
        };
        let ScVal::ContractInstance(instance) = &data.val else { continue };
        let executable = match instance.executable {
            ContractExecutable::Wasm(_) | ContractExecutable::ExternalRef(_) => Executable::Wasm,
            ContractExecutable::StellarAsset => Executable::Asset,
        };
        creations.push(Creation { contract: ContractId(contract.0.0), executable });
    }
}
