//! Ledgers that ought to be refused.

use annals_core::{Network, NetworkId};
use stellar_xdr::{Hash, LedgerCloseMeta, LedgerHeader, LedgerHeaderHistoryEntry, Limits, ReadXdr};

use crate::plan::{Body, EventPlan, LedgerPlan, TxPlan};
use crate::transaction::{Emitted, Place};
use crate::value;
use crate::xdr::{encode, hash_of};

/// One thing a builder gets wrong, everything outside it being in order. Faults in a transaction go into the
/// first one that has what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A result's success hash is not that of its invocation.
    WrongSuccessHash,
    /// A committed event is missing from the meta.
    DroppedEvent,
    /// A committed event has other data in the meta.
    AlteredEvent,
    /// The first two committed events of an operation stand in each other's place.
    SwappedEvents,
    /// An event that the ledger does not commit to stands behind the committed ones.
    AddedEvent,
    /// A fee charge's event says one stroop: no hash covers it.
    WrongFeeSum,
    /// A transaction was hashed under another network's id.
    WrongTxHashNetwork,
    /// The header's hash of the results is another.
    WrongResultsHash,
    /// The header's hash of the transaction set is another.
    WrongTxSetHash,
    /// The header links to a ledger that is none.
    WrongPreviousHash,
    /// The ledger's own hash is not that of its header.
    WrongHeaderHash,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 11] = [
        Self::WrongSuccessHash,
        Self::DroppedEvent,
        Self::AlteredEvent,
        Self::SwappedEvents,
        Self::AddedEvent,
        Self::WrongFeeSum,
        Self::WrongTxHashNetwork,
        Self::WrongResultsHash,
        Self::WrongTxSetHash,
        Self::WrongPreviousHash,
        Self::WrongHeaderHash,
    ];

    /// Which transaction of `plan` it goes into; none for a fault of the ledger itself.
    pub(crate) fn target(self, plan: &LedgerPlan) -> Option<usize> {
        let fits = |tx: &TxPlan| match self {
            Self::WrongSuccessHash | Self::AddedEvent => committed(tx).is_some(),
            Self::DroppedEvent | Self::AlteredEvent => committed(tx).is_some_and(|events| !events.is_empty()),
            Self::SwappedEvents => committed(tx).is_some_and(|events| events.len() > 1 && events[0] != events[1]),
            Self::WrongFeeSum => tx.charge != 0,
            Self::WrongTxHashNetwork => true,
            Self::WrongResultsHash | Self::WrongTxSetHash | Self::WrongPreviousHash | Self::WrongHeaderHash => false,
        };
        let target = plan.transactions.iter().position(fits);
        let of_ledger = [Self::WrongResultsHash, Self::WrongTxSetHash, Self::WrongPreviousHash, Self::WrongHeaderHash];
        assert!(target.is_some() || of_ledger.contains(&self), "the plan holds nothing to plant {self:?} in");
        target
    }

    pub(crate) fn network_id(self, network: &Network) -> NetworkId {
        let foreign = || Network::new(format!("not {}", network.passphrase())).id();
        if self == Self::WrongTxHashNetwork { foreign() } else { network.id() }
    }

    pub(crate) fn plant_in_events(self, events: &mut Vec<Emitted>) {
        let first = events.iter().position(Emitted::is_hashed);
        match (self, first) {
            (Self::DroppedEvent, Some(first)) => drop(events.remove(first)),
            (Self::AlteredEvent, Some(first)) => set_data(&mut events[first], -1),
            (Self::SwappedEvents, Some(first)) => events.swap(first, first + 1),
            (Self::AddedEvent, _) => {
                let added = EventPlan::new(value::contract(0), vec![value::symbol("added")], value::i128(1));
                let proof = annals_core::ProofClass::Committed;
                events.push(Emitted { place: Place::Op(0), original: added.to_event(), rewritten: None, proof });
            }
            (Self::WrongFeeSum, _) => {
                let charge = events.iter_mut().find(|event| event.place == Place::BeforeAllTxs);
                set_data(charge.expect("a wrong fee sum needs a format and an exporter with fee events"), 1);
            }
            _ => {}
        }
    }

    pub(crate) fn plant_in_success(self, success: &mut Hash) {
        if self == Self::WrongSuccessHash {
            flip(success);
        }
    }

    pub(crate) fn plant_in_header(self, header: &mut LedgerHeader) {
        match self {
            Self::WrongResultsHash => flip(&mut header.tx_set_result_hash),
            Self::WrongTxSetHash => flip(&mut header.scp_value.tx_set_hash),
            Self::WrongPreviousHash => flip(&mut header.previous_ledger_hash),
            _ => {}
        }
    }

    pub(crate) fn plant_in_hash(self, hash: &mut Hash) {
        if self == Self::WrongHeaderHash {
            flip(hash);
        }
    }
}

/// The committed events of a successful call of the host.
fn committed(tx: &TxPlan) -> Option<&[EventPlan]> {
    let calls = matches!(tx.body, Body::Invocation(_) | Body::Creation(_));
    (calls && tx.succeeds).then(|| tx.body.committed_events())
}

fn flip(hash: &mut Hash) {
    hash.0[31] ^= 1;
}

fn set_data(emitted: &mut Emitted, data: i128) {
    for event in [Some(&mut emitted.original), emitted.rewritten.as_mut()].into_iter().flatten() {
        let stellar_xdr::ContractEventBody::V0(body) = &mut event.body;
        body.data = value::i128(data);
    }
}

/// Changes the header of a `LedgerCloseMeta` and hashes it again; its successor still links to the old hash.
///
/// # Panics
/// When `xdr` is no `LedgerCloseMeta`.
#[must_use]
pub fn edit_header(xdr: &[u8], edit: impl FnOnce(&mut LedgerHeader)) -> Vec<u8> {
    edit_meta(xdr, |meta| {
        let entry = header_entry(meta);
        edit(&mut entry.header);
        entry.hash = hash_of(&entry.header);
    })
}

/// Changes anything in a `LedgerCloseMeta` and hashes nothing again.
///
/// # Panics
/// When `xdr` is no `LedgerCloseMeta`.
#[must_use]
pub fn edit_meta(xdr: &[u8], edit: impl FnOnce(&mut LedgerCloseMeta)) -> Vec<u8> {
    let mut meta = LedgerCloseMeta::from_xdr(xdr, Limits::none()).expect("a built ledger decodes");
    edit(&mut meta);
    encode(&meta)
}

pub(crate) fn header_entry(meta: &mut LedgerCloseMeta) -> &mut LedgerHeaderHistoryEntry {
    match meta {
        LedgerCloseMeta::V0(meta) => &mut meta.ledger_header,
        LedgerCloseMeta::V1(meta) => &mut meta.ledger_header,
        LedgerCloseMeta::V2(meta) => &mut meta.ledger_header,
    }
}
