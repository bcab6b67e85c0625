//! The types of values that shapes speak of.

use serde::Deserialize;

/// The types of an `ScVal` (`ScValType`, `Stellar-contract.x`) that shapes speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// `SCV_BOOL`.
    Bool = 0,
    /// `SCV_VOID`.
    Void = 1,
    /// `SCV_ERROR`.
    Error = 2,
    /// `SCV_U32`.
    U32 = 3,
    /// `SCV_I32`.
    I32 = 4,
    /// `SCV_U64`.
    U64 = 5,
    /// `SCV_I64`.
    I64 = 6,
    /// `SCV_TIMEPOINT`.
    Timepoint = 7,
    /// `SCV_DURATION`.
    Duration = 8,
    /// `SCV_U128`.
    U128 = 9,
    /// `SCV_I128`.
    I128 = 10,
    /// `SCV_U256`.
    U256 = 11,
    /// `SCV_I256`.
    I256 = 12,
    /// `SCV_BYTES`.
    Bytes = 13,
    /// `SCV_STRING`.
    String = 14,
    /// `SCV_SYMBOL`.
    Symbol = 15,
    /// `SCV_VEC`, whatever its elements.
    Vec = 16,
    /// `SCV_MAP`, whatever its keys.
    Map = 17,
    /// `SCV_ADDRESS`; as a topic one that is no party.
    Address = 18,
}

impl ValueType {
    /// Whether an `ScVal`'s XDR is of this type.
    pub(super) fn is_of(self, xdr: &[u8]) -> bool {
        xdr.first_chunk().is_some_and(|discriminant| u32::from_be_bytes(*discriminant) == self as u32)
    }
}
