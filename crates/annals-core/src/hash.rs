//! Thirty-two-byte names: hashes and contract ids, each a type of its own.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Why a text is no hash or no contract id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashParseError {
    /// The text is not 64 hexadecimal digits.
    #[error("a hash is 64 hexadecimal digits")]
    NotHex,
    /// The text is no contract strkey.
    #[error("a contract id is a strkey that starts with C (56 characters)")]
    NotContract,
}

/// Returns sha256 over the concatenation of `parts`.
#[must_use]
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

macro_rules! hex_hash {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = HashParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut bytes = [0; 32];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| HashParseError::NotHex)?;
                Ok(Self(bytes))
            }
        }
    };
}

hex_hash! {
    /// sha256 of a ledger's `LedgerHeader`: the ledger's name in the chain.
    LedgerHash
}

hex_hash! {
    /// A transaction's hash under its network's id; the outer one of a fee bump.
    TxHash
}

/// A contract's id; as text a strkey that starts with `C`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractId(pub [u8; 32]);

impl fmt::Display for ContractId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", stellar_strkey::Contract(self.0))
    }
}

impl fmt::Debug for ContractId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContractId({self})")
    }
}

impl FromStr for ContractId {
    type Err = HashParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        stellar_strkey::Contract::from_string(text)
            .map(|contract| Self(contract.0))
            .map_err(|_| HashParseError::NotContract)
    }
}
