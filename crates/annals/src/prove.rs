//! Proof bundles out of an archive.
//!
//! What is handed out was checked first, by the check that its reader will make: an archive that is damaged says so
//! and gives no bundle.

use annals_core::bundle::{
    Above, BUNDLE_BYTES_MAX, BuildFault, BundleFault, HEADERS_ABOVE_MAX, LEDGERS_MAX, LedgerMaterial, event_bundle,
    ledgers_bundle, unproven_bundle,
};
use annals_core::{
    ContractId, Event, LedgerHash, LedgerRange, LedgerSeq, Network, Position, ProofClass, ProofVerdict, Stage,
    check_proof,
};

use crate::marks::covered_by_any;
use crate::store::{EventLookup, EventQuery, Pin, Status, Store, StoreError, StoredLedger};

/// How many events are asked for at once.
const PAGE_EVENTS: u32 = 5000;
/// Ledgers between two checkpoints of a history archive.
const CHECKPOINT_LEDGERS: u32 = 64;

const _: () = assert!(HEADERS_ABOVE_MAX == CHECKPOINT_LEDGERS as usize, "every claim's next checkpoint can be reached");

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The store failed.
    #[error("the archive could not be read")]
    Store(#[from] StoreError),
    /// There is no such event, and its ledger was scanned for every contract.
    #[error("ledger {} was scanned for every contract and has no event {id}", id.ledger())]
    NoSuchEvent {
        /// Its id.
        id: Position,
    },
    /// The ledger was not scanned, or not for every event of every contract.
    #[error("ledger {ledger} was not scanned for every event of every contract, so that nothing can be said")]
    NotCovered {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// The ledger was scanned, from a source that gave no header.
    #[error("ledger {ledger} came from a source that gave no header, and cannot be proved")]
    NoLedgerRow {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// The archive keeps too little.
    #[error("{0}")]
    Build(#[from] BuildFault),
    /// The bundle would be longer than what checkers read.
    #[error("a proof of {ledgers} ledgers would take {bytes} bytes, more than a checker reads: ask for fewer")]
    TooLarge {
        /// How many ledgers.
        ledgers: u64,
        /// How long it would be.
        bytes: usize,
    },
    /// What the archive holds does not prove what it says.
    #[error("the archive is damaged: {0}")]
    Damaged(BundleFault),
}

impl ProveError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::NoSuchEvent { .. } => "EVENT_NOT_FOUND",
            Self::NotCovered { .. } => "LEDGER_NOT_COVERED",
            Self::NoLedgerRow { .. } => "NO_LEDGER_ROW",
            Self::Build(BuildFault::Ledgers { .. }) | Self::TooLarge { .. } => "BAD_RANGE",
            Self::Build(BuildFault::NoMaterial { .. } | BuildFault::InvocationsNotKept { .. }) => "NOT_PROVABLE",
            Self::Build(BuildFault::EventNotHeld { .. } | BuildFault::Undecodable { .. }) | Self::Damaged(_) => {
                "DAMAGED"
            }
        }
    }
}

/// The bundle of one event. Of an event that no header proves it says why.
///
/// # Errors
/// [`ProveError`].
pub fn event(store: &dyn Store, id: Position) -> Result<Vec<u8>, ProveError> {
    let ledger = id.ledger();
    let event = match store.event(id)? {
        EventLookup::Found(found) => found.event,
        EventLookup::Absent { covered: true } => return Err(ProveError::NoSuchEvent { id }),
        EventLookup::Absent { covered: false } => return Err(ProveError::NotCovered { ledger }),
    };
    let archive = Archive::of(store, ledger)?;
    let row = archive.rows(ledger, 1)?.pop();
    let proven = event.proof.is_proven();
    let row = if proven { Some(row.ok_or(BuildFault::NoMaterial { ledger })?) } else { row };
    let material = row.as_ref().map(|row| archive.material(row)).transpose()?;
    let above = row.as_ref().map(|row| archive.above(row)).transpose()?.unwrap_or_default();
    let bundle = match &material {
        Some(material) if proven => event_bundle(&archive.network, &event, material, &above)?,
        _ => {
            let siblings = archive.siblings(&event)?;
            unproven_bundle(&archive.network, &event, &siblings, material.as_ref(), &above)?
        }
    };
    checked(bundle, 1)
}

/// The bundle that proves which committed events `contract` has in `range`, whether the archive watches it or not.
///
/// # Errors
/// [`ProveError`], with the first ledger of which the archive keeps too little.
pub fn ledgers(store: &dyn Store, contract: ContractId, range: LedgerRange) -> Result<Vec<u8>, ProveError> {
    let count = u32::try_from(range.count()).ok().filter(|count| *count as usize <= LEDGERS_MAX);
    let found = usize::try_from(range.count()).unwrap_or(usize::MAX);
    let count = count.ok_or(BuildFault::Ledgers { found })?;
    let archive = Archive::of(store, range.from_inclusive())?;
    let rows = archive.rows(range.from_inclusive(), count)?;
    if rows.len() < count as usize {
        let gap = rows.last().map_or(Some(range.from_inclusive()), |last| last.seq.next());
        return Err(archive.absent(gap.unwrap_or(LedgerSeq::MAX)));
    }
    let materials: Result<Vec<_>, _> = rows.iter().map(|row| archive.material(row)).collect();
    let above = rows.last().map(|last| archive.above(last)).transpose()?.unwrap_or_default();
    checked(ledgers_bundle(&archive.network, contract, &materials?, &above)?, range.count())
}

/// Hands a bundle out that holds.
fn checked(bundle: Vec<u8>, ledgers: u64) -> Result<Vec<u8>, ProveError> {
    if bundle.len() > BUNDLE_BYTES_MAX {
        return Err(ProveError::TooLarge { ledgers, bytes: bundle.len() });
    }
    match check_proof(&bundle, None) {
        ProofVerdict::Refuted(fault) => Err(ProveError::Damaged(fault)),
        ProofVerdict::Proved(_) | ProofVerdict::Undecided(_) => Ok(bundle),
    }
}

/// What the bundles of one request are made from.
struct Archive<'a> {
    store: &'a dyn Store,
    status: Status,
    network: Network,
}

impl<'a> Archive<'a> {
    /// `ledger` is what an archive of no network yet does not cover.
    fn of(store: &'a dyn Store, ledger: LedgerSeq) -> Result<Self, ProveError> {
        let status = store.status()?;
        let passphrase = status.passphrase.clone().ok_or(ProveError::NotCovered { ledger })?;
        Ok(Self { store, status, network: Network::new(passphrase) })
    }

    /// The rows from `from` on without a gap, at most `limit` of them.
    fn rows(&self, from: LedgerSeq, limit: u32) -> Result<Vec<StoredLedger>, StoreError> {
        let rows = self.store.ledgers(from, limit)?;
        let consecutive = (from.get()..).zip(rows).take_while(|(seq, row)| row.seq.get() == *seq);
        Ok(consecutive.map(|(_, row)| row).collect())
    }

    fn absent(&self, ledger: LedgerSeq) -> ProveError {
        match covered_by_any(&self.status).contains(ledger) {
            true => ProveError::NoLedgerRow { ledger },
            false => ProveError::NotCovered { ledger },
        }
    }

    fn material(&self, row: &StoredLedger) -> Result<LedgerMaterial, StoreError> {
        let material = self.store.proof(row.seq)?;
        Ok(LedgerMaterial { seq: row.seq, header_xdr: row.header_xdr.clone(), material })
    }

    /// The headers above the last claimed ledger: up to the nearest pin if one lies near enough, else to the next
    /// checkpoint, or as far as the archive's ledgers link.
    fn above(&self, claimed: &StoredLedger) -> Result<Above, StoreError> {
        let seq = claimed.seq.get();
        let pins = self.status.pins.iter().filter(|pin| pin.seq >= claimed.seq);
        let pin = pins.min_by_key(|pin| pin.seq);
        let near = pin.map(|pin| pin.seq.get() - seq).filter(|distance| *distance <= CHECKPOINT_LEDGERS);
        let distance = near.unwrap_or(CHECKPOINT_LEDGERS - 1 - seq % CHECKPOINT_LEDGERS);
        let mut linked: Vec<StoredLedger> = Vec::new();
        if let (Some(next), 1..) = (claimed.seq.next(), distance) {
            for row in self.rows(next, distance)? {
                if linked.last().unwrap_or(claimed).hash != row.previous_hash {
                    break;
                }
                linked.push(row);
            }
        }
        let last = linked.last().unwrap_or(claimed).seq;
        let unreached = pin.filter(|pin| pin.seq > last).map(name);
        Ok(Above { headers_xdr: linked.into_iter().map(|row| row.header_xdr).collect(), unreached })
    }

    /// The events of the transaction of a fee event, in canonical order; of another event none are needed.
    fn siblings(&self, event: &Event) -> Result<Vec<Event>, StoreError> {
        let mut siblings = Vec::new();
        if event.position.stage() == Stage::Op || event.proof != ProofClass::Uncommitted {
            return Ok(siblings);
        }
        let seq = event.position.ledger();
        let mut after = seq.previous().map(Position::last_of);
        loop {
            let as_of = self.status.feed_position;
            let page = self.store.events(&EventQuery { after, to_inclusive: seq, as_of, limit: PAGE_EVENTS })?;
            let Some(last) = page.last() else { return Ok(siblings) };
            after = Some(last.position);
            let is_last = page.len() < PAGE_EVENTS as usize;
            siblings.extend(page.into_iter().filter(|other| other.tx_hash == event.tx_hash));
            if is_last {
                return Ok(siblings);
            }
        }
    }
}

fn name(pin: &Pin) -> (LedgerSeq, LedgerHash) {
    (pin.seq, pin.hash)
}
