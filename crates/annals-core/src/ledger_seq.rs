//! Ledger sequence numbers and ranges of them.

use core::fmt;
use core::str::FromStr;

/// Why a number or a text names no ledger, or no range of ledgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LedgerSeqError {
    /// Outside 1 … 2³¹−1.
    #[error("a ledger sequence is a whole number from 1 to 2147483647")]
    OutOfRange,
    /// The first ledger lies above the last.
    #[error("the range is inverted: ledger {from_inclusive} lies above {to_inclusive}")]
    Inverted {
        /// The first ledger asked for.
        from_inclusive: LedgerSeq,
        /// The last ledger asked for.
        to_inclusive: LedgerSeq,
    },
}

/// The sequence number of one closed ledger: 1 … 2³¹−1, so that a position fits an i64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerSeq(u32);

impl LedgerSeq {
    /// The genesis ledger.
    pub const MIN: Self = Self(1);
    /// The first ledger that a network exports (SEP-54 lakes begin with it).
    pub const FIRST_EXPORTED: Self = Self(2);
    /// 2³¹−1.
    pub const MAX: Self = Self(i32::MAX as u32);

    /// Takes a number from outside.
    ///
    /// # Errors
    /// [`LedgerSeqError::OutOfRange`] outside 1 … 2³¹−1.
    pub fn new(seq: u32) -> Result<Self, LedgerSeqError> {
        if (Self::MIN.0..=Self::MAX.0).contains(&seq) { Ok(Self(seq)) } else { Err(LedgerSeqError::OutOfRange) }
    }

    /// The number itself.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// The ledger after this one; none after 2³¹−1.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self < Self::MAX).then(|| Self(self.0 + 1))
    }

    /// The ledger before this one; none before 1.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        (self > Self::MIN).then(|| Self(self.0 - 1))
    }
}

impl fmt::Display for LedgerSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LedgerSeq {
    type Err = LedgerSeqError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(LedgerSeqError::OutOfRange);
        }
        text.parse().map_err(|_| LedgerSeqError::OutOfRange).and_then(Self::new)
    }
}

/// A non-empty run of consecutive ledgers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerRange {
    from_inclusive: LedgerSeq,
    to_inclusive: LedgerSeq,
}

impl LedgerRange {
    /// Makes a range.
    ///
    /// # Errors
    /// [`LedgerSeqError::Inverted`] when the first ledger lies above the last.
    pub fn new(from_inclusive: LedgerSeq, to_inclusive: LedgerSeq) -> Result<Self, LedgerSeqError> {
        if from_inclusive > to_inclusive {
            return Err(LedgerSeqError::Inverted { from_inclusive, to_inclusive });
        }
        Ok(Self { from_inclusive, to_inclusive })
    }

    /// The range that holds one ledger.
    #[must_use]
    pub fn single(seq: LedgerSeq) -> Self {
        Self { from_inclusive: seq, to_inclusive: seq }
    }

    /// The first ledger.
    #[must_use]
    pub fn from_inclusive(self) -> LedgerSeq {
        self.from_inclusive
    }

    /// The last ledger.
    #[must_use]
    pub fn to_inclusive(self) -> LedgerSeq {
        self.to_inclusive
    }

    /// How many ledgers the range holds; at least 1.
    #[must_use]
    pub fn count(self) -> u64 {
        u64::from(self.to_inclusive.0 - self.from_inclusive.0) + 1
    }

    /// Whether the range holds `seq`.
    #[must_use]
    pub fn contains(self, seq: LedgerSeq) -> bool {
        self.from_inclusive <= seq && seq <= self.to_inclusive
    }

    /// The ledgers that both ranges hold.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.from_inclusive.max(other.from_inclusive), self.to_inclusive.min(other.to_inclusive)).ok()
    }

    /// The ledgers, ascending.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = LedgerSeq> {
        (self.from_inclusive.0..=self.to_inclusive.0).map(LedgerSeq)
    }
}

impl fmt::Display for LedgerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from_inclusive == self.to_inclusive {
            self.from_inclusive.fmt(f)
        } else {
            write!(f, "{}-{}", self.from_inclusive, self.to_inclusive)
        }
    }
}
