//! Short ways to write contract values, contracts and accounts.

use annals_core::ContractId;
use annals_core::hash::sha256;
use stellar_xdr::{AccountId, Hash, Int128Parts, PublicKey, ScAddress, ScBytes, ScString, ScSymbol, ScVal, Uint256};

/// The `number`-th contract of every simulated network.
#[must_use]
pub fn contract(number: u32) -> ContractId {
    ContractId(sha256(&[b"contract", &number.to_be_bytes()]))
}

/// The public key of the `number`-th account of every simulated network.
#[must_use]
pub fn account(number: u32) -> [u8; 32] {
    sha256(&[b"account", &number.to_be_bytes()])
}

/// The address of an account, as a value.
#[must_use]
pub fn account_address(public_key: [u8; 32]) -> ScVal {
    ScVal::Address(ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(public_key)))))
}

/// The address of a contract, as a value.
#[must_use]
pub fn contract_address(contract: ContractId) -> ScVal {
    ScVal::Address(ScAddress::Contract(xdr_contract(contract)))
}

/// A symbol.
///
/// # Panics
/// When `text` is longer than 32 bytes.
#[must_use]
pub fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(text.try_into().expect("a symbol has at most 32 bytes")))
}

/// A string of any bytes.
#[must_use]
pub fn string(bytes: &[u8]) -> ScVal {
    ScVal::String(ScString(bytes.try_into().expect("a string in memory fits 32 bits")))
}

/// Bytes.
#[must_use]
pub fn bytes(bytes: &[u8]) -> ScVal {
    ScVal::Bytes(ScBytes(bytes.try_into().expect("bytes in memory fit 32 bits")))
}

/// A signed 128-bit number.
#[must_use]
pub fn i128(number: i128) -> ScVal {
    ScVal::I128(Int128Parts { hi: (number >> 64) as i64, lo: number as u64 })
}

pub(crate) fn xdr_contract(contract: ContractId) -> stellar_xdr::ContractId {
    stellar_xdr::ContractId(Hash(contract.0))
}
