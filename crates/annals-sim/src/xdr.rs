//! Encoding of what the builder made itself, and so needs no limits.

use annals_core::hash::sha256;
use stellar_xdr::{Hash, Limits, VecM, WriteXdr};

pub(crate) fn encode(value: &impl WriteXdr) -> Vec<u8> {
    value.to_xdr(Limits::none()).expect("a value in memory encodes into memory")
}

pub(crate) fn hash_of(value: &impl WriteXdr) -> Hash {
    Hash(sha256(&[&encode(value)]))
}

/// # Panics
/// When there are more items than the protocol has room for.
pub(crate) fn list<T, const MAX: u32>(items: Vec<T>) -> VecM<T, MAX> {
    let count = items.len();
    items.try_into().unwrap_or_else(|_| panic!("{count} items are more than the protocol's {MAX}"))
}
