//! Where ledgers go: the store's verbs and their contract.
//!
//! Each verb of [`Store`] is one transaction. A write takes a [`Fence`] and checks it inside its transaction, so
//! that whoever lost the lease cannot write any more. A read sees one snapshot.

use annals_core::chain::{Neighbours, Severance};
use annals_core::registry::Payload;
use annals_core::{
    Batch, Census, CheckedEnvelope, ClassicEvents, ClassicPolicy, ContractId, Coverage, Event, EventsDigest,
    LedgerHash, LedgerRange, LedgerSeq, Network, Position, ProofMaterial, Scope, ScopeKey, TransactionKey,
};

mod account;
mod anchor;
mod envelope;
mod error;
mod freshness;
mod history;
mod incident;
mod page;
pub mod sqlite;

pub use account::{Audited, CheckpointAnswer, CheckpointQuery, JudgedWindow, PageEvent, Reattributed, Unattributed};
pub use anchor::{Anchor, AnchorKind};
pub use envelope::{AuditedEnvelopes, Wanted, WantedQuery};
pub use error::StoreError;
pub use freshness::{
    DISK_FULL, DISK_NEARLY_FULL, FollowStateName, Freshness, INCIDENT_OPEN, Latency, SeenTip, TIP_UNREADABLE,
    TIP_UNSERVED, UNKNOWN_PROTOCOL,
};
pub use history::{AuditedDigests, DigestAnswer, DigestQuery, Digested, Sealed};
pub use incident::{Incident, IncidentKind};
pub use page::{Bound, Contract, ContractKind, ContractView, EventFilter, EventLookup, Order, Page, PageQuery};
pub use sqlite::{ArchiveBytes, SqliteStore};

pub use annals_core::registry::NO_SCHEMA;

/// The right to write archive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Raised whenever the lease is taken; only the latest may write.
    pub number: u64,
    /// Raised by each rollback.
    pub epoch: u64,
}

/// A number that grows with every commit, in commit order. Each event has one of its own; each commit uses one
/// more for itself, so that a commit without events has a position too. So does an operator's act that changes what
/// later pages may say of ledgers that are stored already: resolving an incident, declaring a contract's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedPosition(pub u64);

/// A ledger hash that the operator vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// The ledger.
    pub seq: LedgerSeq,
    /// Its hash.
    pub hash: LedgerHash,
}

/// What an operator asks an archive to hold.
#[derive(Debug, Clone)]
pub struct Request {
    /// The network; recorded by the first request, compared by each later one.
    pub network: Network,
    /// Whose events.
    pub scope: Scope,
    /// Whether classic and fee events are kept; recorded by the first request, compared by each later one.
    pub classic: ClassicPolicy,
    /// Which ledgers.
    pub range: LedgerRange,
    /// Hashes that the operator vouches for; kept from then on.
    pub pins: Vec<Pin>,
}

/// What a request leaves to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The asked-for ledgers that at least one scope key does not cover yet.
    pub missing: Coverage,
    /// The start, where the request lowered it from another one.
    pub lowered_start_from: Option<LedgerSeq>,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Events that were not stored before.
    pub events_added: u64,
    /// Events that were stored already with the same bytes, repetitions inside the batch included.
    pub events_known: u64,
    /// Ledgers whose row was made or replaced by a richer one.
    pub ledgers_written: u64,
    /// The position of the commit itself; every row it wrote lies at or below it.
    pub feed_position: FeedPosition,
}

/// Why asked-for ledgers could not be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GapFailure {
    /// The ledgers.
    pub range: LedgerRange,
    /// The stable code.
    pub code: String,
    /// One sentence; names the object, holds no payload.
    pub message: String,
}

/// Asked-for ledgers that are not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The coverage in which they are missing.
    pub key: ScopeKey,
    /// The ledgers.
    pub range: LedgerRange,
    /// How often filling them failed.
    pub attempts: u32,
    /// The last failure's code; none before the first.
    pub last_code: Option<String>,
    /// The last failure's sentence; none before the first.
    pub last_error: Option<String>,
}

/// One ledger's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLedger {
    /// Its sequence number.
    pub seq: LedgerSeq,
    /// sha256 of `header_xdr`.
    pub hash: LedgerHash,
    /// The hash it gives for the ledger before it.
    pub previous_hash: LedgerHash,
    /// Close time, Unix milliseconds.
    pub close_time_ms: u64,
    /// The protocol version.
    pub protocol: u32,
    /// XDR of the `LedgerHeader`.
    pub header_xdr: Vec<u8>,
    /// Whether classic and fee events are there.
    pub classic_events: ClassicEvents,
    /// Events by proof class, whatever the scope.
    pub census: Census,
    /// The digest over all its events, whatever the scope.
    pub digest: EventsDigest,
    /// The version of the digest's construction.
    pub digest_version: u8,
    /// Where it came from.
    pub source: String,
}

/// Which events a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuery {
    /// Only positions above this one; none begins at the start.
    pub after: Option<Position>,
    /// Only ledgers up to this one.
    pub to_inclusive: LedgerSeq,
    /// Only rows committed at or before this feed position.
    pub as_of: FeedPosition,
    /// At most so many events; at least 1.
    pub limit: u32,
}

/// What an archive holds, in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The network; none before the first request.
    pub passphrase: Option<String>,
    /// Whether classic and fee events are kept.
    pub classic: ClassicPolicy,
    /// The lowest ledger ever asked for.
    pub start: Option<LedgerSeq>,
    /// Coverage by scope key.
    pub coverage: Vec<(ScopeKey, Coverage)>,
    /// Ledgers that have a row, and so were verified.
    pub verified: Coverage,
    /// The highest ledger that is covered under any key.
    pub latest_ledger: Option<LedgerSeq>,
    /// When the archive last grew by a higher ledger than any before, Unix milliseconds; none before the first, and
    /// at least so long ago where only later commits are remembered.
    pub grown_ms: Option<u64>,
    /// Stored events by proof class.
    pub events: Census,
    /// Asked-for ledgers that are missing.
    pub gaps: Vec<Gap>,
    /// Incidents that wait for an operator.
    pub open_incidents: u64,
    /// The last commit's feed position; 0 before the first.
    pub feed_position: FeedPosition,
    /// Counts rollbacks.
    pub epoch: u64,
    /// The hashes that operators vouched for.
    pub pins: Vec<Pin>,
    /// The highest confirmation of each kind within each range of `verified`.
    pub anchors: Vec<Anchor>,
    /// Events that fit no shape of their contract's schema, of the contracts that have one.
    pub quarantined: u64,
    /// The contracts whose events were not all read with their schema yet; see [`Store::reattribute`].
    pub unattributed: Vec<ContractId>,
    /// What whoever follows the network last said of itself; none where nobody ever did.
    pub freshness: Option<Freshness>,
}

impl Status {
    /// The ledgers that are covered for `key`: its own coverage, and that of everything.
    #[must_use]
    pub fn covered(&self, key: ScopeKey) -> Coverage {
        let held = self.coverage.iter().filter(|(held, _)| *held == key || *held == ScopeKey::All);
        held.fold(Coverage::new(), |covered, (_, coverage)| covered.union(coverage))
    }
}

/// The archive's store. All methods block; implementations are chosen by URL at start-up.
pub trait Store: Send + Sync {
    /// Takes the ingest lease: raises the fence, so that no earlier fence can write any more.
    ///
    /// # Errors
    /// [`StoreError`].
    fn acquire(&self) -> Result<Fence, StoreError>;

    /// Records what an operator asks for: network, policy and pins (recorded by the first request, compared
    /// after), the lowest start (lowering is journalled), and as durable gaps the asked-for ledgers that are
    /// not covered. Nothing is written when anything is refused. While nothing is stored, a
    /// request of another network or policy replaces the earlier ones.
    ///
    /// # Errors
    /// [`StoreError::NetworkMismatch`], [`StoreError::PolicyMismatch`], [`StoreError::PinContradicted`] (a stored
    /// ledger has another hash), [`StoreError::PinnedOtherwise`], [`StoreError::IncidentOpen`],
    /// [`StoreError::StaleFence`].
    fn request(&self, request: &Request, fence: Fence) -> Result<Plan, StoreError>;

    /// Stores a batch: events, ledger rows, proof material, coverage of each of its scope's keys, cursor and feed
    /// position, all or nothing. Committing the same again changes nothing and is no error. A richer batch
    /// upgrades what is stored: a ledger row and proof classes over unverified coverage, and a ledger without
    /// classic events by one with them (`absent` < `inconsistent` < `present`); a poorer one changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Incident`] when another hash or other bytes stand under a stored ledger or position (the
    /// incident is recorded, the batch is not), [`StoreError::IncidentOpen`] while one waits,
    /// [`StoreError::DoesNotLink`] when the batch contradicts a stored neighbour's link,
    /// [`StoreError::NetworkUnproven`] when nothing ties it to the network (no transaction, no stored neighbour,
    /// no pin), [`StoreError::PinContradicted`], [`StoreError::NetworkMismatch`], [`StoreError::PolicyMismatch`],
    /// [`StoreError::NotRequested`] before the first request, [`StoreError::StaleFence`].
    fn commit(&self, batch: &Batch, fence: Fence) -> Result<Committed, StoreError>;

    /// Counts a failed attempt on the gaps that `failure.range` touches, under each key; splits them where they
    /// reach beyond it.
    ///
    /// # Errors
    /// [`StoreError`].
    fn record_failure(&self, failure: &GapFailure, fence: Fence) -> Result<(), StoreError> {
        self.record_failures(core::slice::from_ref(failure), fence)
    }

    /// [`Store::record_failure`] for several at once, in one transaction.
    ///
    /// # Errors
    /// [`StoreError`].
    fn record_failures(&self, failures: &[GapFailure], fence: Fence) -> Result<(), StoreError>;

    /// Records that two stored ledgers are not of one chain, as an incident of the lower one; what was fetched between them
    /// proves it. Does nothing where the stored ledgers are others by now, and where an operator has resolved this very
    /// incident before.
    ///
    /// # Errors
    /// [`StoreError::Incident`] when it was recorded, [`StoreError::PinContradicted`] when the lower ledger is pinned and
    /// not stored, [`StoreError::IncidentOpen`], [`StoreError::StaleFence`].
    fn record_severance(&self, found: &Severance, source: &str, fence: Fence) -> Result<(), StoreError>;

    /// Marks an open incident as resolved; what is stored stays.
    ///
    /// # Errors
    /// [`StoreError::UnknownIncident`] when there is no open incident of this number.
    fn resolve_incident(&self, id: u64, note: Option<&str>, fence: Fence) -> Result<(), StoreError>;

    /// Notes what a follower says of itself, in place of what was said before. The tip's age goes on from where the
    /// same ledger was first noted, and no time but that of a close is kept behind the sign of life. Uses no feed
    /// position.
    ///
    /// # Errors
    /// [`StoreError::StaleFence`].
    fn note_freshness(&self, freshness: &Freshness, fence: Fence) -> Result<(), StoreError>;

    /// Records that somebody beside the source confirmed a stored ledger's hash. What was confirmed before in the same
    /// way stays as it was. Uses no feed position.
    ///
    /// # Errors
    /// [`StoreError::AnchorContradicted`] when the ledger is stored with another hash, [`StoreError::LedgerNotStored`],
    /// [`StoreError::IncidentOpen`], [`StoreError::StaleFence`].
    fn record_anchor(&self, anchor: &Anchor, fence: Fence) -> Result<(), StoreError>;

    /// Up to `limit` recorded confirmations of a kind from `from_inclusive` on, ascending, those too that count for
    /// nothing since the ledger is not stored with that hash.
    ///
    /// # Errors
    /// [`StoreError`].
    fn anchors(&self, kind: AnchorKind, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<Anchor>, StoreError>;

    /// All incidents, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn incidents(&self) -> Result<Vec<Incident>, StoreError>;

    /// What the archive holds.
    ///
    /// # Errors
    /// [`StoreError`].
    fn status(&self) -> Result<Status, StoreError>;

    /// The links that stored ledgers on both sides demand of `range`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn neighbours(&self, range: LedgerRange) -> Result<Neighbours, StoreError>;

    /// Up to `limit` ledger rows from `from_inclusive` on, ascending.
    ///
    /// # Errors
    /// [`StoreError`].
    fn ledgers(&self, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<StoredLedger>, StoreError>;

    /// A page of events in canonical order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn events(&self, query: &EventQuery) -> Result<Vec<Event>, StoreError>;

    /// The proof material of a ledger; none where it holds no committed event in scope.
    ///
    /// # Errors
    /// [`StoreError`].
    fn proof(&self, seq: LedgerSeq) -> Result<Option<ProofMaterial>, StoreError>;

    /// Counts the stored events of `scope` in `range` by proof class.
    ///
    /// # Errors
    /// [`StoreError`].
    fn tally(&self, scope: &Scope, range: LedgerRange) -> Result<Census, StoreError>;

    /// One page of a contract's events, or of those that belong to one account, together with the coverage that judges
    /// it, all of one snapshot and one feed position (INV-1, INV-5). A first page takes the snapshot's own feed position
    /// and resolves the window; a later one shows only what was committed, and attributed, at or before the first page's
    /// position. An event in which the account has several roles is there once.
    ///
    /// # Errors
    /// [`StoreError`].
    fn page(&self, query: &PageQuery) -> Result<Page, StoreError>;

    /// The latest checkpoint of an account, and from where on its events are replayed.
    ///
    /// # Errors
    /// [`StoreError`].
    fn checkpoint(&self, query: &CheckpointQuery) -> Result<CheckpointAnswer, StoreError>;

    /// The digest of a contract's history, or of one account's, over the window that a page of the same events would
    /// have, with what judges it; all of one snapshot (INV-1).
    ///
    /// # Errors
    /// [`StoreError`].
    fn digest(&self, query: &DigestQuery) -> Result<DigestAnswer, StoreError>;

    /// What each of `events`, which are stored ones, leaves out and its invocation carries.
    ///
    /// # Errors
    /// [`StoreError`].
    fn payloads(&self, events: &[Event]) -> Result<Vec<Payload>, StoreError>;

    /// The transactions that emitted some of `events`, of class `unverified` and stored or not, whose envelopes would
    /// tell what the events leave out: their contracts' schemas say that it stands in the invocation. Ascending, without
    /// those whose envelope is stored and those of verified ledgers.
    ///
    /// # Errors
    /// [`StoreError`].
    fn wanted_by(&self, events: &[Event]) -> Result<Vec<TransactionKey>, StoreError>;

    /// The same of stored events, page by page.
    ///
    /// # Errors
    /// [`StoreError`].
    fn wanted_envelopes(&self, query: &WantedQuery<'_>) -> Result<Wanted, StoreError>;

    /// Stores envelopes of transactions that emitted stored events of class `unverified`, those of others not, and
    /// returns how many were not stored before.
    ///
    /// # Errors
    /// [`StoreError::IncidentOpen`], [`StoreError::StaleFence`].
    fn add_envelopes(&self, envelopes: &[CheckedEnvelope], fence: Fence) -> Result<u64, StoreError>;

    /// Compares up to `limit` of the stored envelopes behind `after` with the transactions that they are stored for.
    ///
    /// # Errors
    /// [`StoreError`].
    fn audit_envelopes(&self, after: Option<TransactionKey>, limit: u32) -> Result<AuditedEnvelopes, StoreError>;

    /// Compares up to `limit` stored events behind a feed position with what their contracts' schemas say of them, but
    /// for contracts that wait for [`Store::reattribute`] or were read with other schemas than this store's.
    ///
    /// # Errors
    /// [`StoreError`].
    fn audit(&self, after: FeedPosition, limit: u32) -> Result<Audited, StoreError>;

    /// Compares the digests that are kept of up to `blocks` blocks of ledgers behind `after` with the stored events.
    ///
    /// # Errors
    /// [`StoreError`].
    fn audit_digests(&self, after: Option<LedgerSeq>, blocks: u32) -> Result<AuditedDigests, StoreError>;

    /// What the archive knows of a contract now.
    ///
    /// # Errors
    /// [`StoreError`].
    fn contract(&self, id: ContractId) -> Result<ContractView, StoreError>;

    /// The contracts that somebody named to the archive, by id, with what was found of them where nobody said otherwise.
    ///
    /// # Errors
    /// [`StoreError`].
    fn contracts(&self) -> Result<Vec<Contract>, StoreError>;

    /// The same contracts, with what was said of them alone.
    ///
    /// # Errors
    /// [`StoreError`].
    fn declared(&self) -> Result<Vec<Contract>, StoreError>;

    /// How many of a contract's events fit no shape of its schema.
    ///
    /// # Errors
    /// [`StoreError`].
    fn quarantined(&self, id: ContractId) -> Result<u64, StoreError>;

    /// Names a contract to the archive, or says more of one; what is none is left as it was, and the schema
    /// [`NO_SCHEMA`] takes an earlier one back. Opens no coverage. A contract whose events are stored already waits from
    /// then on for [`Store::reattribute`] to read them with its schema.
    ///
    /// # Errors
    /// [`StoreError::NotRequested`] in an archive of no network yet, [`StoreError::UnknownSchema`],
    /// [`StoreError::StaleFence`].
    fn declare(&self, contract: &Contract, fence: Fence) -> Result<(), StoreError>;

    /// Takes the registry that the store was opened with for the one whose schemas attribute events, and says which
    /// contracts wait for [`Store::reattribute`]: those whose schema attributes otherwise than the one that their events
    /// were read with, and those that waited before. To be called by whoever opens a store for ingestion.
    ///
    /// # Errors
    /// [`StoreError::StaleFence`].
    fn adopt(&self, fence: Fence) -> Result<Vec<ContractId>, StoreError>;

    /// Reads up to `limit` of a contract's stored events behind `after` with its schema, and corrects whom they belong
    /// to. A contract that waits goes on where its last step ended, whatever `after` says; the step behind which nothing
    /// follows makes it wait no longer.
    ///
    /// # Errors
    /// [`StoreError::StaleFence`].
    fn reattribute(
        &self,
        contract: ContractId,
        after: Option<Position>,
        limit: u32,
        fence: Fence,
    ) -> Result<Reattributed, StoreError>;

    /// Digests up to `limit` blocks of ledgers that were covered before the store kept digests. What a digest answers
    /// does not depend on it, but how soon. Commits do the same, a little at a time.
    ///
    /// # Errors
    /// [`StoreError::StaleFence`].
    fn seal(&self, limit: u32, fence: Fence) -> Result<Sealed, StoreError>;

    /// The event at a position.
    ///
    /// # Errors
    /// [`StoreError`].
    fn event(&self, position: Position) -> Result<EventLookup, StoreError>;

    /// The archive's own secret, made at its creation: what it signs cursors with.
    ///
    /// # Errors
    /// [`StoreError`].
    fn cursor_key(&self) -> Result<[u8; 32], StoreError>;
}
