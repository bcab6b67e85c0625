//! The digest over a ledger's events, by which two archives compare what they hold.

use core::fmt;

use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::hash::sha256;

/// sha256 over the ledger's events in canonical order of `toid (u64 BE) ‖ index (u32 BE) ‖
/// sha256(ContractEvent XDR)`; the original's bytes for a rewritten event, the proof class left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventsDigest(pub [u8; 32]);

impl EventsDigest {
    /// The version of the construction; stored beside each digest.
    pub const VERSION: u8 = 1;

    /// Digests `events`, which must be in canonical order.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut hasher = Sha256::new();
        for event in events {
            hasher.update(event.position.toid().to_be_bytes());
            hasher.update(event.position.index().to_be_bytes());
            hasher.update(sha256(&[&event.xdr]));
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for EventsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for EventsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventsDigest({self})")
    }
}
