//! Short ways to write contract values, contracts and accounts.

use annals_core::ContractId;
use annals_core::hash::sha256;
use stellar_xdr::{
    AccountId, ClaimableBalanceId, Hash, Int128Parts, PoolId, PublicKey, ScAddress, ScBytes, ScMap, ScMapEntry,
    ScString, ScSymbol, ScVal, ScVec, Uint256,
};

use crate::xdr::list;

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

/// The address of an account (G…).
#[must_use]
pub fn account_party(public_key: [u8; 32]) -> ScAddress {
    ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(public_key))))
}

/// The address of a contract (C…).
#[must_use]
pub fn contract_party(contract: ContractId) -> ScAddress {
    ScAddress::Contract(xdr_contract(contract))
}

/// The address of the `number`-th claimable balance (B…) of every simulated network; events name such from protocol
/// 23 on (CAP-67).
#[must_use]
pub fn claimable_balance_party(number: u32) -> ScAddress {
    let id = Hash(sha256(&[b"claimable balance", &number.to_be_bytes()]));
    ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(id))
}

/// The address of the `number`-th liquidity pool (L…) of every simulated network; events name such from protocol 23
/// on (CAP-67).
#[must_use]
pub fn liquidity_pool_party(number: u32) -> ScAddress {
    ScAddress::LiquidityPool(PoolId(Hash(sha256(&[b"liquidity pool", &number.to_be_bytes()]))))
}

/// The address of an account, as a value.
#[must_use]
pub fn account_address(public_key: [u8; 32]) -> ScVal {
    ScVal::Address(account_party(public_key))
}

/// The address of a contract, as a value.
#[must_use]
pub fn contract_address(contract: ContractId) -> ScVal {
    ScVal::Address(contract_party(contract))
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

/// A vector.
///
/// # Panics
/// When there are more items than 32 bits count.
#[must_use]
pub fn vec(items: Vec<ScVal>) -> ScVal {
    ScVal::Vec(Some(ScVec(list(items))))
}

/// A map keyed by symbols, in the canonical order of keys that the host holds maps in.
///
/// # Panics
/// When a key is longer than 32 bytes or stands twice.
#[must_use]
pub fn symbol_map(mut entries: Vec<(&str, ScVal)>) -> ScVal {
    entries.sort_by_key(|(key, _)| *key);
    assert!(entries.windows(2).all(|pair| pair[0].0 != pair[1].0), "a map holds each key once");
    let entries = entries.into_iter().map(|(key, val)| ScMapEntry { key: symbol(key), val });
    ScVal::Map(Some(ScMap(list(entries.collect()))))
}

pub(crate) fn xdr_contract(contract: ContractId) -> stellar_xdr::ContractId {
    stellar_xdr::ContractId(Hash(contract.0))
}
