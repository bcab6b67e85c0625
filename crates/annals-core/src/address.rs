//! An address: who an event can belong to.

use core::fmt;
use core::str::FromStr;

use stellar_strkey::Strkey;
use stellar_xdr::{
    AccountId, ClaimableBalanceId, Hash, Limits, MuxedEd25519Account, PoolId, PublicKey, ReadXdr, ScAddress, ScVal,
    ScValType,
};

use crate::hash::ContractId;

/// Who an event can belong to: what an `ScAddress` (`Stellar-contract.x`) names, without the number of a muxed one. As
/// text a strkey (SEP-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// `G…`: an account, by its ed25519 key.
    Account([u8; 32]),
    /// `C…`: a contract.
    Contract(ContractId),
    /// `B…`: a claimable balance of version 0.
    ClaimableBalance([u8; 32]),
    /// `L…`: a liquidity pool.
    LiquidityPool([u8; 32]),
}

/// Why a text names no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressParseError {
    /// The text is no strkey of an address.
    #[error("an account is a strkey that starts with G, C, B or L")]
    NotAddress,
    /// The text is the strkey of a muxed account; events belong to the account under it.
    #[error("a muxed account shares the history of the account under it: ask for {0}")]
    Muxed(Address),
}

/// The arms of an address, and their numbers in its stored form.
const ARMS: [u8; 4] = [0, 1, 2, 3];

impl Address {
    /// The address that an `ScVal` holds; that under it where it is muxed. None for any other value.
    #[must_use]
    pub fn of_value(value: &ScVal) -> Option<Self> {
        let ScVal::Address(address) = value else { return None };
        Some(match address {
            ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(key))) => Self::Account(key.0),
            ScAddress::MuxedAccount(MuxedEd25519Account { ed25519, .. }) => Self::Account(ed25519.0),
            ScAddress::Contract(contract) => Self::Contract(ContractId(contract.0.0)),
            ScAddress::MuxedContract(muxed) => Self::Contract(ContractId(muxed.contract_id.0.0)),
            ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash(id))) => {
                Self::ClaimableBalance(*id)
            }
            ScAddress::LiquidityPool(PoolId(Hash(id))) => Self::LiquidityPool(*id),
        })
    }

    /// The address that the XDR of an `ScVal` holds, as [`Address::of_value`] reads it.
    #[must_use]
    pub fn of_xdr(xdr: &[u8]) -> Option<Self> {
        let limits = Limits { depth: crate::decode::DEPTH_MAX, len: xdr.len() };
        // Every other value is told from an address by its discriminant.
        let is_address = xdr.starts_with(&(ScValType::Address as u32).to_be_bytes());
        is_address.then(|| ScVal::from_xdr(xdr, limits).ok()).flatten().as_ref().and_then(Self::of_value)
    }

    /// Thirty-three bytes that name the address: the number of its arm, and its own 32.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 33] {
        let (arm, id) = match self {
            Self::Account(id) => (0, id),
            Self::Contract(ContractId(id)) => (1, id),
            Self::ClaimableBalance(id) => (2, id),
            Self::LiquidityPool(id) => (3, id),
        };
        let mut bytes = [arm; 33];
        bytes[1..].copy_from_slice(&id);
        bytes
    }

    /// The address that [`Address::to_bytes`] made these bytes of.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (arm, id) = bytes.split_first()?;
        let id: [u8; 32] = id.try_into().ok()?;
        Some(match ARMS.iter().find(|known| *known == arm)? {
            0 => Self::Account(id),
            1 => Self::Contract(ContractId(id)),
            2 => Self::ClaimableBalance(id),
            _ => Self::LiquidityPool(id),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => write!(f, "{}", stellar_strkey::ed25519::PublicKey(*id)),
            Self::Contract(contract) => contract.fmt(f),
            Self::ClaimableBalance(id) => write!(f, "{}", stellar_strkey::ClaimableBalance::V0(*id)),
            Self::LiquidityPool(id) => write!(f, "{}", stellar_strkey::LiquidityPool(*id)),
        }
    }
}

impl FromStr for Address {
    type Err = AddressParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Strkey::from_string(text).map_err(|_| AddressParseError::NotAddress)? {
            Strkey::PublicKeyEd25519(key) => Ok(Self::Account(key.0)),
            Strkey::Contract(contract) => Ok(Self::Contract(ContractId(contract.0))),
            Strkey::ClaimableBalance(stellar_strkey::ClaimableBalance::V0(id)) => Ok(Self::ClaimableBalance(id)),
            Strkey::LiquidityPool(pool) => Ok(Self::LiquidityPool(pool.0)),
            Strkey::MuxedAccountEd25519(muxed) => Err(AddressParseError::Muxed(Self::Account(muxed.ed25519))),
            Strkey::MuxedContract(muxed) => {
                Err(AddressParseError::Muxed(Self::Contract(ContractId(muxed.contract_id))))
            }
            _ => Err(AddressParseError::NotAddress),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_arm() -> [Address; 4] {
        let id = [7; 32];
        [
            Address::Account(id),
            Address::Contract(ContractId(id)),
            Address::ClaimableBalance(id),
            Address::LiquidityPool(id),
        ]
    }

    #[test]
    fn every_arm_reads_back_from_its_text_and_its_bytes() {
        for (address, letter) in every_arm().into_iter().zip("GCBL".chars()) {
            let text = address.to_string();
            assert!(text.starts_with(letter), "{text}");
            assert_eq!(text.parse(), Ok(address));
            assert_eq!(Address::from_bytes(&address.to_bytes()), Some(address));
        }
        assert_eq!(Address::from_bytes(&[4; 33]), None);
        assert_eq!(Address::from_bytes(&[0; 32]), None);
    }

    #[test]
    fn a_muxed_account_names_the_one_to_ask_for() {
        let muxed = stellar_strkey::ed25519::MuxedAccount { ed25519: [7; 32], id: 9 }.to_string();
        let refused = muxed.parse::<Address>().unwrap_err();
        assert_eq!(refused, AddressParseError::Muxed(Address::Account([7; 32])));
        assert!(refused.to_string().ends_with(&Address::Account([7; 32]).to_string()));
        let seed = stellar_strkey::ed25519::PrivateKey([7; 32]).as_unredacted().to_string();
        for text in ["", "G", seed.as_str(), &every_arm()[0].to_string().to_lowercase()] {
            assert_eq!(text.parse::<Address>(), Err(AddressParseError::NotAddress));
        }
    }
}
