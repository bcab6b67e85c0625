//! Slicing a stored `ContractEvent` without building its values.
//!
//! The typed decoder read each stored event when it came. To find its parts again, it is enough to walk over the
//! lengths; the typed decoder stays the judge of whatever the walk does not take, so that what both take is the same.

use super::event_view::EventView;
use crate::event::EventKind;
use crate::hash::ContractId;

/// Containers in one another that the walk follows; the typed decoder takes many more.
const NESTING_MAX: u32 = 16;
/// `SCSYMBOL_LIMIT`, `Stellar-contract.x`.
const SYMBOL_BYTES_MAX: usize = 32;
/// Topics that a list has room for at once: as many as most events have at most.
const TOPICS_USUAL: usize = 4;

/// The parts of the event that fills `xdr`; none where the bytes are faulty or hold what is rare.
pub(super) fn event(xdr: &[u8]) -> Option<EventView<'_>> {
    let mut walk = Walk { rest: xdr };
    // ContractEvent.ext
    walk.expect(0)?;
    let contract_id = match walk.word()? {
        0 => None,
        1 => Some(ContractId(*walk.rest.split_off(..32)?.first_chunk()?)),
        _ => return None,
    };
    let kind = match walk.word()? {
        0 => Some(EventKind::System),
        1 => Some(EventKind::Contract),
        _ => return None,
    };
    // ContractEvent.body
    walk.expect(0)?;
    let count = usize::try_from(walk.word()?).ok()?;
    let mut topics = Vec::with_capacity(count.min(TOPICS_USUAL));
    for _ in 0..count {
        topics.push(walk.value_slice()?);
    }
    let data = walk.value_slice()?;
    walk.rest.is_empty().then_some(EventView { xdr, contract_id, kind, topics, data })
}

/// What is left of the bytes.
struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_be_bytes(*word))
    }

    fn expect(&mut self, word: u32) -> Option<()> {
        (self.word()? == word).then_some(())
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    /// Bytes with their length before them and zeros up to the next word behind.
    fn opaque(&mut self, bytes_max: usize) -> Option<()> {
        let length = usize::try_from(self.word()?).ok()?;
        let padded = length.checked_next_multiple_of(4)?;
        let (taken, rest) = self.rest.split_at_checked(padded)?;
        self.rest = rest;
        (length <= bytes_max && taken[length..].iter().all(|byte| *byte == 0)).then_some(())
    }

    fn value_slice(&mut self) -> Option<&'a [u8]> {
        let before = self.rest;
        self.value(NESTING_MAX)?;
        before.get(..before.len() - self.rest.len())
    }

    /// An `SCVal`, `Stellar-contract.x`; errors, contract instances, nonces and executable tags are rare in events.
    fn value(&mut self, nesting: u32) -> Option<()> {
        match self.word()? {
            // SCV_BOOL
            0 => (self.word()? <= 1).then_some(()),
            // SCV_VOID
            1 => Some(()),
            // SCV_U32, SCV_I32
            3 | 4 => self.skip(4),
            // SCV_U64, SCV_I64, SCV_TIMEPOINT, SCV_DURATION
            5..=8 => self.skip(8),
            // SCV_U128, SCV_I128
            9 | 10 => self.skip(16),
            // SCV_U256, SCV_I256
            11 | 12 => self.skip(32),
            // SCV_BYTES, SCV_STRING
            13 | 14 => self.opaque(usize::MAX),
            // SCV_SYMBOL
            15 => self.opaque(SYMBOL_BYTES_MAX),
            // SCV_VEC
            16 => self.container(1, nesting),
            // SCV_MAP
            17 => self.container(2, nesting),
            // SCV_ADDRESS
            18 => self.address(),
            _ => None,
        }
    }

    /// An optional array of one or two values an element.
    fn container(&mut self, values: u32, nesting: u32) -> Option<()> {
        let nesting = nesting.checked_sub(1)?;
        match self.word()? {
            0 => Some(()),
            1 => {
                let count = u64::from(self.word()?) * u64::from(values);
                (0..count).try_for_each(|_| self.value(nesting))
            }
            _ => None,
        }
    }

    /// An `SCAddress`, `Stellar-contract.x`.
    fn address(&mut self) -> Option<()> {
        match self.word()? {
            // SC_ADDRESS_TYPE_ACCOUNT, SC_ADDRESS_TYPE_CLAIMABLE_BALANCE: each of the one type that there is.
            0 | 3 => {
                self.expect(0)?;
                self.skip(32)
            }
            // SC_ADDRESS_TYPE_CONTRACT, SC_ADDRESS_TYPE_LIQUIDITY_POOL
            1 | 4 => self.skip(32),
            // SC_ADDRESS_TYPE_MUXED_ACCOUNT
            2 => self.skip(40),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
