//! What a transfer's invocation carries beside its event.

use stellar_xdr::{Limits, ReadXdr, ScBytes, ScMap, ScVal};

use super::opening::{AccountKeys, Opening};
use super::scalar::Scalar;
use crate::value::{bytes, symbol_map};
use crate::xdr::encode;

/// Real proofs have 14,592 bytes; these are shorter, so that chains of them stay small.
const PROOF_BYTES: usize = 480;

/// The content of the Bytes argument of `confidential_transfer` and `confidential_transfer_from`: a
/// `#[contracttype]` map of the transfer's commitment and masked randomness, and its proof.
#[must_use]
pub(crate) fn write(recipient: &AccountKeys, ephemeral: &[u8], opening: Opening) -> Vec<u8> {
    let randomness = opening.randomness + recipient.randomness_mask(ephemeral);
    let proof: Vec<u8> = opening.commitment().iter().copied().cycle().take(PROOF_BYTES).collect();
    let payload = vec![("c_transfer", bytes(&opening.commitment())), ("r_transfer", bytes(&randomness.to_bytes()))];
    encode(&symbol_map(vec![("payload", symbol_map(payload)), ("proof", bytes(&proof))]))
}

/// What `recipient` learns from `payload` of a transfer whose event masks its value as `v_tilde`; none where the
/// payload is no payload, or is not this event's.
pub(crate) fn open(recipient: &AccountKeys, ephemeral: &[u8], v_tilde: Scalar, payload: &[u8]) -> Option<Opening> {
    let limits = Limits { depth: 16, len: 64 * 1024 };
    let ScVal::Map(Some(outer)) = ScVal::from_xdr(payload, limits).ok()? else { return None };
    let ScVal::Map(Some(inner)) = entry(&outer, "payload")? else { return None };
    let ScVal::Bytes(ScBytes(commitment)) = entry(inner, "c_transfer")? else { return None };
    let ScVal::Bytes(ScBytes(masked)) = entry(inner, "r_transfer")? else { return None };
    let masked = Scalar::from_bytes(masked.as_slice().try_into().ok()?)?;
    let value = v_tilde - recipient.value_mask(ephemeral);
    let opening = Opening { value, randomness: masked - recipient.randomness_mask(ephemeral) };
    (opening.commitment() == commitment.as_slice()).then_some(opening)
}

/// The value under a symbol.
pub(crate) fn entry<'a>(map: &'a ScMap, name: &str) -> Option<&'a ScVal> {
    let is_named = |key: &ScVal| matches!(key, ScVal::Symbol(symbol) if symbol.0.as_slice() == name.as_bytes());
    map.0.iter().find(|entry| is_named(&entry.key)).map(|entry| &entry.val)
}
