//! The field that openings are added up in.

use core::ops::{Add, AddAssign, Sub, SubAssign};

/// The order of the BN254 scalar field, least significant word first: the token's scalars are canonical in it.
const MODULUS: [u64; 4] = [0x43e1_f593_f000_0001, 0x2833_e848_79b9_7091, 0xb850_45b6_8181_585d, 0x3064_4e72_e131_a029];

/// A number below the modulus, least significant word first. It is added and subtracted, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Scalar([u64; 4]);

impl Scalar {
    /// The neutral element.
    pub const ZERO: Self = Self([0; 4]);

    /// The number that stands for `amount`; a negative one counts down from the modulus.
    #[must_use]
    pub fn from_amount(amount: i128) -> Self {
        let size = amount.unsigned_abs();
        let size = Self([size as u64, (size >> 64) as u64, 0, 0]);
        if amount < 0 { Self::ZERO - size } else { size }
    }

    /// The amount that it stands for; none for a number too large to be one, as a wrong mask leaves behind.
    #[must_use]
    pub fn amount(self) -> Option<i128> {
        let [low, high, 0, 0] = self.0 else { return None };
        i128::try_from(u128::from(high) << 64 | u128::from(low)).ok()
    }

    /// The number that a hash stands for: its low 253 bits, so that it is canonical.
    #[must_use]
    pub fn from_hash(hash: [u8; 32]) -> Self {
        let mut words = words(hash);
        words[3] &= u64::MAX >> 3;
        Self(words)
    }

    /// Reads 32 big-endian bytes; none where they are not canonical.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        let words = words(bytes);
        is_below(words, MODULUS).then_some(Self(words))
    }

    /// Its 32 big-endian bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.rchunks_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

impl Add for Scalar {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // Two numbers below the modulus, which has 254 bits, do not overflow 256.
        let (sum, _) = carried(self.0, other.0, u64::overflowing_add);
        Self(if is_below(sum, MODULUS) { sum } else { carried(sum, MODULUS, u64::overflowing_sub).0 })
    }
}

impl Sub for Scalar {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let (difference, borrowed) = carried(self.0, other.0, u64::overflowing_sub);
        Self(if borrowed { carried(difference, MODULUS, u64::overflowing_add).0 } else { difference })
    }
}

impl AddAssign for Scalar {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Scalar {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

fn words(bytes: [u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(bytes.rchunks(8)) {
        *word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

fn is_below(one: [u64; 4], other: [u64; 4]) -> bool {
    one.iter().rev().lt(other.iter().rev())
}

/// Applies `step` word by word, handing the carry or borrow on; the last one is given back.
fn carried(one: [u64; 4], other: [u64; 4], step: fn(u64, u64) -> (u64, bool)) -> ([u64; 4], bool) {
    let mut words = [0; 4];
    let mut carry = false;
    for (word, (one, other)) in words.iter_mut().zip(one.into_iter().zip(other)) {
        let (partial, first) = step(one, other);
        let (whole, second) = step(partial, u64::from(carry));
        (*word, carry) = (whole, first || second);
    }
    (words, carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest() -> Scalar {
        Scalar::ZERO - Scalar::from_amount(1)
    }

    #[test]
    fn sums_and_differences_wrap_at_the_modulus() {
        assert_eq!(
            hex::encode(largest().to_bytes()),
            "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000"
        );
        assert_eq!(largest() + Scalar::from_amount(1), Scalar::ZERO);
        assert_eq!(largest() + largest(), Scalar::ZERO - Scalar::from_amount(2));
        let (one, other) = (Scalar::from_hash([0xAB; 32]), Scalar::from_hash([0xFF; 32]));
        assert_eq!(one - other + other, one);
        assert_eq!(one + other - one, other);
    }

    #[test]
    fn only_canonical_bytes_are_read() {
        assert_eq!(Scalar::from_bytes(largest().to_bytes()), Some(largest()));
        let mut modulus = largest().to_bytes();
        modulus[31] += 1;
        assert_eq!(Scalar::from_bytes(modulus), None);
        assert_eq!(Scalar::from_bytes([0xFF; 32]), None);
    }

    #[test]
    fn an_amount_comes_back_and_a_masked_one_is_none() {
        for amount in [0, 1, i128::from(u64::MAX) + 1, i128::MAX] {
            assert_eq!(Scalar::from_amount(amount).amount(), Some(amount));
        }
        assert_eq!(Scalar::from_amount(-1).amount(), None);
        assert_eq!(Scalar::from_amount(5) + Scalar::from_amount(-5), Scalar::ZERO);
        assert_eq!(Scalar::from_hash([0xAB; 32]).amount(), None);
    }
}
