//! The digest over a ledger's events, by which two archives compare what they hold.

use core::fmt;

use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::hash::sha256;
use crate::position::Position;

/// sha256 over the ledger's events in canonical order of `toid (u64 BE) ‖ index (u32 BE) ‖
/// sha256(ContractEvent XDR)`; the original's bytes for a rewritten event, the proof class left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventsDigest(pub [u8; 32]);

impl EventsDigest {
    /// The version of the construction; stored beside each digest.
    pub const VERSION: u8 = 1;

    /// Digests `events`, which must be in canonical order.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut hasher = EventsHasher::default();
        for event in events {
            hasher.add(event.position, &event.xdr);
        }
        hasher.finish()
    }
}

/// An [`EventsDigest`] that is still open.
#[derive(Default)]
pub(crate) struct EventsHasher(Sha256);

impl EventsHasher {
    /// Takes the next event in canonical order: its position and the original's XDR.
    pub(crate) fn add(&mut self, position: Position, xdr: &[u8]) {
        self.0.update(position.toid().to_be_bytes());
        self.0.update(position.index().to_be_bytes());
        self.0.update(sha256(&[xdr]));
    }

    pub(crate) fn finish(self) -> EventsDigest {
        EventsDigest(self.0.finalize().into())
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
