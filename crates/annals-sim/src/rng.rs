//! The one seeded source of chance.

/// A small generator (SplitMix64): the same seed gives the same numbers on every platform.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Starts from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound_exclusive`, which must not be 0. (The slight bias of a remainder is of no account here.)
    pub fn below(&mut self, bound_exclusive: u32) -> u32 {
        u32::try_from(self.bits() % u64::from(bound_exclusive)).expect("a remainder is below its 32-bit divisor")
    }

    /// An index into a list of `length`, which must not be 0.
    pub(crate) fn below_len(&mut self, length: usize) -> usize {
        self.below(u32::try_from(length).expect("a list in a test is short")) as usize
    }

    /// True `in_hundred` times out of a hundred.
    pub fn chance(&mut self, in_hundred: u32) -> bool {
        self.below(100) < in_hundred
    }

    /// `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
        bytes
    }
}
