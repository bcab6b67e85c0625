//! Openings, the commitments that they open, and the keys that hide them.

use annals_core::Address;
use annals_core::hash::sha256;
use stellar_xdr::{ScAddress, ScVal};

use super::scalar::Scalar;
use crate::xdr::encode;

/// What opens a commitment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Opening {
    /// The value, in the asset's smallest unit.
    pub value: Scalar,
    /// The randomness that hides it.
    pub randomness: Scalar,
}

impl Opening {
    /// What a public deposit adds: no randomness.
    #[must_use]
    pub fn public(amount: i128) -> Self {
        Self { value: Scalar::from_amount(amount), randomness: Scalar::ZERO }
    }

    /// The model's stand-in for the 64-byte point on the ledger: it binds, and cannot be added.
    #[must_use]
    pub fn commitment(self) -> [u8; 64] {
        let half = |name: &[u8]| sha256(&[name, &self.value.to_bytes(), &self.randomness.to_bytes()]);
        let mut point = [0; 64];
        point[..32].copy_from_slice(&half(b"commitment x"));
        point[32..].copy_from_slice(&half(b"commitment y"));
        point
    }
}

impl core::ops::AddAssign for Opening {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.randomness += other.randomness;
    }
}

/// Both openings of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Openings {
    /// What the owner can spend.
    pub spendable: Opening,
    /// What came in since the last merge.
    pub receiving: Opening,
}

impl Openings {
    /// Folds what came in into what can be spent.
    pub(crate) fn fold(&mut self) {
        self.spendable += core::mem::take(&mut self.receiving);
    }
}

/// What a wallet keeps through the loss of everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountKeys {
    /// The account, by any arm of `ScAddress`.
    pub address: ScAddress,
    /// The viewing key.
    pub viewing_key: [u8; 32],
}

impl AccountKeys {
    /// The account, as an archive names it.
    ///
    /// # Panics
    /// Never: every arm of `ScAddress` is an address.
    #[must_use]
    pub fn account(&self) -> Address {
        Address::of_value(&ScVal::Address(self.address.clone())).expect("every arm of ScAddress is an address")
    }

    /// Hides the spendable value in a checkpoint: `b_tilde` less this is the value.
    #[must_use]
    pub fn balance_mask(&self, sigma: Scalar) -> Scalar {
        keyed(b"enc_bal", &self.viewing_key, &sigma.to_bytes())
    }

    /// The randomness of the spendable opening after a checkpoint.
    #[must_use]
    pub fn spend_randomness(&self, sigma: Scalar) -> Scalar {
        keyed(b"spend_r", &self.viewing_key, &sigma.to_bytes())
    }

    /// Hides the value of a transfer to this account, with `ephemeral` the event's point.
    #[must_use]
    pub fn value_mask(&self, ephemeral: &[u8]) -> Scalar {
        keyed(b"enc_tx", &self.viewing_key, ephemeral)
    }

    /// Hides, in the payload, the randomness of a transfer to this account.
    #[must_use]
    pub fn randomness_mask(&self, ephemeral: &[u8]) -> Scalar {
        keyed(b"tx_r", &self.viewing_key, ephemeral)
    }

    /// The key that opens what this owner lets `spender` spend.
    #[must_use]
    pub fn delegation_key(&self, spender: &ScAddress) -> [u8; 32] {
        sha256(&[b"delegation", &self.viewing_key, &encode(spender)])
    }
}

/// Hides an allowance: `a_tilde` less this is its value.
#[must_use]
pub fn allowance_mask(delegation_key: &[u8; 32], salt: Scalar) -> Scalar {
    keyed(b"enc_allow", delegation_key, &salt.to_bytes())
}

/// The randomness of an allowance's opening under `salt`.
#[must_use]
pub fn allowance_randomness(delegation_key: &[u8; 32], salt: Scalar) -> Scalar {
    keyed(b"allow_r", delegation_key, &salt.to_bytes())
}

fn keyed(domain: &[u8], key: &[u8; 32], nonce: &[u8]) -> Scalar {
    Scalar::from_hash(sha256(&[domain, key, nonce]))
}
