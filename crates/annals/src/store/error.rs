//! Why a store did not do what it was asked.

use std::path::PathBuf;

use annals_core::{LedgerSeq, Position, RegistryError};

use super::freshness::DISK_FULL;

/// Why a store did not do what it was asked; nothing was written unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no archive where one was to be read.
    #[error("there is no archive in {}: fill one with `annals backfill`, or name another folder with --data-dir", path.display())]
    NoArchive {
        /// The data folder.
        path: PathBuf,
    },
    /// The file is no SQLite database, or another program's.
    #[error("{} is not an Annals archive: name another folder with --data-dir", path.display())]
    ForeignDatabase {
        /// The file.
        path: PathBuf,
    },
    /// A newer Annals wrote the archive.
    #[error("the archive has schema {found} and this version knows up to {known}: use a newer Annals")]
    NewerSchema {
        /// The archive's schema version.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// An older Annals wrote the archive and nobody migrated it.
    #[error("the archive has schema {found} and this version needs {known}: run `annals migrate`")]
    OlderSchema {
        /// The archive's schema version.
        found: u32,
        /// The one that this program needs.
        known: u32,
    },
    /// Another process writes to the archive.
    #[error(
        "another process is writing to the archive: wait until it ends, or stop it; a server that follows is stopped before, and started again after"
    )]
    WriterBusy,
    /// The data folder or file cannot be written.
    #[error("{} cannot be written: check its owner and mode, or name another folder with --data-dir", path.display())]
    ReadOnly {
        /// The folder or file.
        path: PathBuf,
    },
    /// The archive cannot be read.
    #[error(
        "{} cannot be read: check its owner and mode; of a folder that may not be written make a copy first, because SQLite keeps files beside the archive",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// The archive's file is gone, or another one stands in its place.
    #[error("{} is no longer the file that was opened: start again over the one that is to be read", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error(
        "the disk that holds the archive is full: make room, and a server that follows goes on by itself, any other command once it is run again; nothing stored was lost"
    )]
    Full,
    /// The archive is of another network.
    #[error(
        "the archive is of the network \"{stored}\" and \"{asked}\" was asked for: name another --data-dir or the right network"
    )]
    NetworkMismatch {
        /// The archive's passphrase.
        stored: String,
        /// The one asked for.
        asked: String,
    },
    /// The archive was begun with the other policy for classic events.
    #[error("the archive was begun with --classic {stored}: use the same, or another --data-dir")]
    PolicyMismatch {
        /// The recorded policy.
        stored: &'static str,
    },
    /// The chain disagrees with a hash that the operator vouched for.
    #[error("ledger {seq} has the hash {found} and not the pinned {pinned}")]
    PinContradicted {
        /// The pinned ledger.
        seq: LedgerSeq,
        /// The pinned hash.
        pinned: String,
        /// The chain's hash.
        found: String,
    },
    /// An earlier request pinned the ledger to another hash.
    #[error(
        "ledger {seq} was pinned to {earlier} before, which stays, and {asked} is another hash: give the earlier one, or another --data-dir"
    )]
    PinnedOtherwise {
        /// The pinned ledger.
        seq: LedgerSeq,
        /// The hash that is kept.
        earlier: String,
        /// The one asked for.
        asked: String,
    },
    /// Nobody asked the archive to hold anything yet.
    #[error("the archive was not asked to hold anything yet")]
    NotRequested,
    /// The lease was taken over.
    #[error("another writer has taken over the archive")]
    StaleFence,
    /// An incident waits for an operator.
    #[error(
        "incident {id} waits for an operator: look at `annals incidents list`, then `annals incidents resolve {id}`"
    )]
    IncidentOpen {
        /// The oldest open incident.
        id: u64,
    },
    /// The batch contradicts what is stored; the incident was recorded and the batch was not.
    #[error(
        "incident {id}: a source contradicts the stored {what} of ledger {ledger}: look at `annals incidents list`, then `annals incidents resolve {id}`"
    )]
    Incident {
        /// The recorded incident.
        id: u64,
        /// `hash`, or the event's id.
        what: String,
        /// The ledger.
        ledger: LedgerSeq,
        /// The event, where one was contradicted.
        position: Option<Position>,
    },
    /// The batch does not link to a stored neighbour.
    #[error("ledger {seq} does not link to the stored ledger {stored}")]
    DoesNotLink {
        /// The batch's ledger.
        seq: LedgerSeq,
        /// The stored neighbour.
        stored: LedgerSeq,
    },
    /// Nothing ties the batch to the network.
    #[error(
        "nothing ties ledger {seq} to the network: it begins a run without a transaction; pin one of its ledgers with --pin LEDGER:HASH"
    )]
    NetworkUnproven {
        /// The batch's first ledger.
        seq: LedgerSeq,
    },
    /// The registry has no such schema.
    #[error("{0}: name one of the registry's schemas")]
    UnknownSchema(RegistryError),
    /// A ledger without a row was to be confirmed.
    #[error("ledger {ledger} is not stored, so that its hash cannot be confirmed")]
    LedgerNotStored {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// Somebody beside the source gives a stored ledger another hash.
    #[error("ledger {ledger} is stored with the hash {stored} and {said_by} gives it {said}")]
    AnchorContradicted {
        /// The ledger.
        ledger: LedgerSeq,
        /// The stored hash.
        stored: String,
        /// The other one.
        said: String,
        /// Who gives it.
        said_by: String,
    },
    /// No open incident has this number.
    #[error("there is no open incident {id}")]
    UnknownIncident {
        /// The number.
        id: u64,
    },
    /// A reader was promised a later state of the archive than the one at hand.
    #[error(
        "the page was begun at feed position {asked} and the archive stands at {held}: it lags behind, or an older copy was restored"
    )]
    BehindCursor {
        /// The feed position that the first page fixed.
        asked: u64,
        /// The archive's.
        held: u64,
    },
    /// The archive's own rows contradict each other.
    #[error("the archive is damaged: {what}")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoArchive { .. } => "NO_ARCHIVE",
            Self::ForeignDatabase { .. } => "FOREIGN_DATABASE",
            Self::NewerSchema { .. } => "NEWER_SCHEMA",
            Self::OlderSchema { .. } => "OLDER_SCHEMA",
            Self::WriterBusy => "WRITER_BUSY",
            Self::ReadOnly { .. } => "READ_ONLY",
            Self::Unreadable { .. } => "UNREADABLE",
            Self::Replaced { .. } => "REPLACED",
            Self::Full => DISK_FULL,
            Self::NetworkMismatch { .. } => "NETWORK_MISMATCH",
            Self::PolicyMismatch { .. } => "POLICY_MISMATCH",
            Self::PinContradicted { .. } => "PIN_CONTRADICTED",
            Self::PinnedOtherwise { .. } => "PINNED_OTHERWISE",
            Self::NotRequested => "NOT_REQUESTED",
            Self::StaleFence => "STALE_FENCE",
            Self::IncidentOpen { .. } => "INCIDENT_OPEN",
            Self::Incident { .. } => "INCIDENT",
            Self::DoesNotLink { .. } => "DOES_NOT_LINK",
            Self::NetworkUnproven { .. } => "NETWORK_UNPROVEN",
            Self::UnknownSchema(_) => "UNKNOWN_SCHEMA",
            Self::LedgerNotStored { .. } => "LEDGER_NOT_STORED",
            Self::AnchorContradicted { .. } => "ANCHOR_CONTRADICTED",
            Self::UnknownIncident { .. } => "UNKNOWN_INCIDENT",
            Self::BehindCursor { .. } => "BEHIND_CURSOR",
            Self::Damaged { .. } => "DAMAGED",
            Self::Database(_) => "DATABASE",
        }
    }

    /// Whether something contradicts the chain, rather than just failing.
    #[must_use]
    pub fn contradicts_chain(&self) -> bool {
        matches!(
            self,
            Self::NetworkMismatch { .. }
                | Self::PinContradicted { .. }
                | Self::PinnedOtherwise { .. }
                | Self::AnchorContradicted { .. }
                | Self::IncidentOpen { .. }
                | Self::Incident { .. }
                | Self::DoesNotLink { .. }
                | Self::Damaged { .. }
        )
    }
}
