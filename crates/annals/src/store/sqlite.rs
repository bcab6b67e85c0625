//! The store in one SQLite file.
//!
//! One connection writes, a few read. The writer holds a lock on a file beside the database for as long as it
//! lives, so that a second writer is told at once; readers of any process run beside it. The database is in WAL
//! mode with `synchronous=FULL`: what a commit returned for survives a power cut. A commit that failed may, as with
//! any database, have taken effect and only its answer was lost; committing the same again then changes nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use annals_core::chain::{Neighbours, Severance};
use annals_core::registry::Payload;
use annals_core::{
    Batch, Census, CheckedEnvelope, ContractId, Event, LedgerRange, LedgerSeq, Position, ProofMaterial, Registry,
    Scope, ScopeKey, TransactionKey,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::commit::Halt;
use self::open::WriterLock;
use self::readers::ReaderPool;
use crate::clock::Clock;
use crate::store::{
    Anchor, AnchorKind, Audited, AuditedDigests, AuditedEnvelopes, CheckpointAnswer, CheckpointQuery, Committed,
    Contract, ContractView, DigestAnswer, DigestQuery, EventLookup, EventQuery, FeedPosition, Fence, Freshness,
    GapFailure, Incident, Page, PageQuery, Plan, Reattributed, Request, Sealed, Status, Store, StoreError,
    StoredLedger, Wanted, WantedQuery,
};

mod anchors;
mod attribution;
mod commit;
mod contracts;
mod envelopes;
mod events;
mod failure;
mod found;
mod freshness;
mod gaps;
mod grants;
mod history;
mod incidents;
mod ledgers;
mod open;
mod pages;
mod proofs;
mod ranges;
mod readers;
mod request;
mod schema;
mod schemas;
mod severance;
mod state;
#[cfg(test)]
mod tests;
mod topics;
mod versions;
mod view;

/// The schema's version before and after an archive was opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version found; 0 for an archive that was just made.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// How many bytes an archive's files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveBytes {
    /// Those of the database.
    pub database: u64,
    /// Those of its write-ahead log, which does not grow with the archive.
    pub log: u64,
}

/// An archive in a folder: `annals.db`, and `annals.lock` for its writer.
pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    registry: Arc<Registry>,
    migrated: Option<Migrated>,
    // Fields are dropped in this order: the writer closes last among the connections and cleans the log up, and
    // only then the lock is let go.
    readers: ReaderPool,
    writer: Option<Mutex<Connection>>,
    _lock: Option<WriterLock>,
}

impl SqliteStore {
    /// Opens the archive in `dir` for writing; makes the folder and the archive where there is none. Migrates.
    ///
    /// # Errors
    /// [`StoreError::ForeignDatabase`], [`StoreError::NewerSchema`], [`StoreError::WriterBusy`],
    /// [`StoreError::ReadOnly`], [`StoreError::Full`].
    pub fn create_or_open(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::writer(dir, clock, true)
    }

    /// Opens an archive that exists for writing. Migrates.
    ///
    /// # Errors
    /// [`StoreError::NoArchive`], and those of [`SqliteStore::create_or_open`].
    pub fn open_writer(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::writer(dir, clock, false)
    }

    /// Opens an archive that exists for reading; creates nothing. The verbs that write answer
    /// [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// [`StoreError::NoArchive`], [`StoreError::ForeignDatabase`], [`StoreError::NewerSchema`],
    /// [`StoreError::OlderSchema`], [`StoreError::Unreadable`].
    pub fn open_reader(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        open::check_reader(dir)?;
        let path = open::database_path(dir);
        let readers = ReaderPool::new(path.clone());
        Ok(Self { path, clock, registry: builtin(), migrated: None, readers, writer: None, _lock: None })
    }

    fn writer(dir: &Path, clock: Arc<dyn Clock>, create: bool) -> Result<Self, StoreError> {
        let opened = open::open_writer(dir, create)?;
        let path = open::database_path(dir);
        let readers = ReaderPool::new(path.clone());
        let migrated = Some(Migrated { from: opened.schema_before, to: schema::known() });
        let writer = Some(Mutex::new(opened.connection));
        Ok(Self { path, clock, registry: builtin(), migrated, readers, writer, _lock: Some(opened.lock) })
    }

    /// Marks an open incident as resolved beside the archive's writer. Everybody's commits wait for that, so that it takes
    /// no lease: whoever holds it goes on.
    ///
    /// # Errors
    /// [`StoreError::UnknownIncident`], and those of [`SqliteStore::open_reader`].
    pub fn resolve_beside(dir: &Path, id: u64, note: Option<&str>, clock: &dyn Clock) -> Result<(), StoreError> {
        open::check_reader(dir)?;
        let path = open::database_path(dir);
        let resolve = || -> Result<(), StoreError> {
            let mut connection = open::connect_beside(&path)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            incidents::resolve(&transaction, id, note, clock.now_unix_ms())?;
            Ok(transaction.commit()?)
        };
        resolve().map_err(|error| failure::at(&path, error))
    }

    /// The same store, whose events are read with these schemas instead of those that are shipped; see
    /// [`Store::adopt`].
    #[must_use]
    pub fn with_registry(self, registry: Arc<Registry>) -> Self {
        Self { registry, ..self }
    }

    /// The schemas that its events are read with.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The database's file.
    #[must_use]
    pub fn database_path(&self) -> &Path {
        &self.path
    }

    /// How many bytes the archive takes.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`].
    pub fn bytes(&self) -> Result<ArchiveBytes, StoreError> {
        open::bytes(&self.path).map_err(open::while_reading)
    }

    /// What opening for writing did to the schema; none for a reader.
    #[must_use]
    pub fn migrated(&self) -> Option<Migrated> {
        self.migrated
    }

    /// Runs `read` on one snapshot.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let outcome = self.readers.read(|snapshot| read(snapshot));
        outcome.map_err(|error| open::while_reading(failure::at(&self.path, error)))
    }

    /// Runs `write` in one transaction that holds the database's write lock from its first statement on; undone
    /// unless `write` succeeds.
    fn write<T, E: From<StoreError>>(&self, write: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let named = |error: rusqlite::Error| E::from(failure::at(&self.path, error.into()));
        let Some(writer) = &self.writer else { return Err(StoreError::ReadOnly { path: self.path.clone() }.into()) };
        // A panic while the lock was held has undone its transaction.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        // A failure at the very begin or end of a transaction can leave it open; it must not carry the next one.
        if !writer.is_autocommit() {
            writer.execute_batch("ROLLBACK").map_err(named)?;
        }
        let transaction: Transaction<'_> =
            writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(named)?;
        let value = write(&transaction)?;
        transaction.commit().map_err(named)?;
        // What was committed stays committed when the log cannot be emptied.
        if let Err(error) = open::bound_log(&writer, &self.path) {
            tracing::warn!(error = &error as &dyn std::error::Error, "the write-ahead log could not be emptied");
        }
        Ok(value)
    }

    /// [`SqliteStore::write`] for the holder of `fence` alone.
    fn write_fenced<T, E: From<StoreError>>(
        &self,
        fence: Fence,
        write: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.write(|connection| {
            state::check_fence(connection, fence)?;
            write(connection)
        })
    }

    /// Names the database in the errors that name one.
    fn named<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        outcome.map_err(|error| failure::at(&self.path, error))
    }
}

fn builtin() -> Arc<Registry> {
    Arc::new(Registry::builtin())
}

impl Store for SqliteStore {
    fn acquire(&self) -> Result<Fence, StoreError> {
        self.named(self.write(state::acquire))
    }

    fn request(&self, request: &Request, fence: Fence) -> Result<Plan, StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(self.write_fenced(fence, |connection| request::record(connection, request, now_ms)))
    }

    fn commit(&self, batch: &Batch, fence: Fence) -> Result<Committed, StoreError> {
        let now_ms = self.clock.now_unix_ms();
        match self.write_fenced(fence, |connection| commit::apply(connection, batch, &self.registry, now_ms)) {
            Ok(committed) => Ok(committed),
            Err(Halt::Refused(error)) => self.named(Err(error)),
            Err(Halt::Contradicted(found)) => {
                // The batch is undone; its incident is a transaction of its own.
                let record = |connection: &Connection| incidents::record(connection, &found, batch.source(), now_ms);
                let id = self.named(self.write_fenced(fence, record))?;
                Err(found.into_error(id))
            }
        }
    }

    fn record_failures(&self, failures: &[GapFailure], fence: Fence) -> Result<(), StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(self.write_fenced(fence, |connection| {
            failures.iter().try_for_each(|failure| request::record_failure(connection, failure, now_ms))
        }))
    }

    fn record_severance(&self, found: &Severance, source: &str, fence: Fence) -> Result<(), StoreError> {
        let now_ms = self.clock.now_unix_ms();
        let record = |connection: &Connection| severance::record(connection, found, source, now_ms);
        // An incident is an error to whoever asks, and is committed all the same.
        self.named(self.write_fenced(fence, record))?.map_or(Ok(()), Err)
    }

    fn resolve_incident(&self, id: u64, note: Option<&str>, fence: Fence) -> Result<(), StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(self.write_fenced(fence, |connection| incidents::resolve(connection, id, note, now_ms)))
    }

    fn note_freshness(&self, freshness: &Freshness, fence: Fence) -> Result<(), StoreError> {
        self.named(self.write_fenced(fence, |connection| freshness::note(connection, freshness)))
    }

    fn record_anchor(&self, anchor: &Anchor, fence: Fence) -> Result<(), StoreError> {
        self.named(self.write_fenced(fence, |connection| anchors::record(connection, anchor)))
    }

    fn anchors(&self, kind: AnchorKind, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<Anchor>, StoreError> {
        self.read(|connection| anchors::page(connection, kind, from_inclusive, limit))
    }

    fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        self.read(incidents::all)
    }

    fn status(&self) -> Result<Status, StoreError> {
        self.read(|connection| {
            let meta = state::meta(connection)?;
            let state = state::indexer_state(connection)?;
            let (coverage, verified) = ranges::all(connection)?;
            let anchors = anchors::highest(connection, &verified)?;
            Ok(Status {
                passphrase: meta.passphrase,
                classic: meta.classic.unwrap_or(annals_core::ClassicPolicy::Keep),
                start: meta.start,
                latest_ledger: coverage.iter().filter_map(|(_, coverage)| coverage.latest()).max(),
                coverage,
                verified,
                grown_ms: state::grown_ms(connection)?,
                events: state.events,
                gaps: gaps::all(connection)?,
                open_incidents: incidents::open_count(connection)?,
                feed_position: FeedPosition(state.feed_position),
                epoch: state.epoch,
                pins: ledgers::pins(connection)?,
                anchors,
                quarantined: attribution::quarantined_count(connection)?,
                unattributed: schemas::waiting(connection)?,
                freshness: freshness::get(connection)?,
            })
        })
    }

    fn neighbours(&self, range: LedgerRange) -> Result<Neighbours, StoreError> {
        self.read(|connection| ledgers::neighbours(connection, range))
    }

    fn ledgers(&self, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<StoredLedger>, StoreError> {
        self.read(|connection| ledgers::page(connection, from_inclusive, limit))
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        self.read(|connection| events::page(connection, query))
    }

    fn proof(&self, seq: LedgerSeq) -> Result<Option<ProofMaterial>, StoreError> {
        self.read(|connection| proofs::get(connection, seq))
    }

    fn tally(&self, scope: &Scope, range: LedgerRange) -> Result<Census, StoreError> {
        self.read(|connection| {
            // Counting the events of a long history one by one takes minutes, and their sum is kept.
            if scope.keys() == [ScopeKey::All] && events::all_lie_in(connection, range)? {
                return Ok(state::indexer_state(connection)?.events);
            }
            events::tally(connection, scope, range)
        })
    }

    fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        self.read(|connection| pages::read(connection, &self.registry, query))
    }

    fn checkpoint(&self, query: &CheckpointQuery) -> Result<CheckpointAnswer, StoreError> {
        self.read(|connection| pages::checkpoint::read(connection, &self.registry, query))
    }

    fn digest(&self, query: &DigestQuery) -> Result<DigestAnswer, StoreError> {
        self.read(|connection| history::read(connection, query, history::ROWS_TAKEN_MAX))
    }

    fn payloads(&self, events: &[Event]) -> Result<Vec<Payload>, StoreError> {
        self.read(|connection| view::payloads(connection, &self.registry, events))
    }

    fn wanted_by(&self, events: &[Event]) -> Result<Vec<TransactionKey>, StoreError> {
        self.read(|connection| envelopes::wanted_by(connection, &self.registry, events))
    }

    fn wanted_envelopes(&self, query: &WantedQuery<'_>) -> Result<Wanted, StoreError> {
        self.read(|connection| envelopes::wanted(connection, &self.registry, query))
    }

    fn add_envelopes(&self, envelopes: &[CheckedEnvelope], fence: Fence) -> Result<u64, StoreError> {
        self.named(self.write_fenced(fence, |connection| envelopes::add(connection, envelopes)))
    }

    fn audit_envelopes(&self, after: Option<TransactionKey>, limit: u32) -> Result<AuditedEnvelopes, StoreError> {
        self.read(|connection| envelopes::audit(connection, after, limit))
    }

    fn audit(&self, after: FeedPosition, limit: u32) -> Result<Audited, StoreError> {
        self.read(|connection| attribution::audit(connection, &self.registry, after, limit))
    }

    fn audit_digests(&self, after: Option<LedgerSeq>, blocks: u32) -> Result<AuditedDigests, StoreError> {
        self.read(|connection| history::audit::audit(connection, after, blocks))
    }

    fn contract(&self, id: ContractId) -> Result<ContractView, StoreError> {
        self.read(|connection| Ok(view::read(connection, id, None)?.view))
    }

    fn contracts(&self) -> Result<Vec<Contract>, StoreError> {
        self.read(contracts::all)
    }

    fn declared(&self) -> Result<Vec<Contract>, StoreError> {
        self.read(contracts::declared)
    }

    fn quarantined(&self, id: ContractId) -> Result<u64, StoreError> {
        self.read(|connection| attribution::quarantined_of(connection, id))
    }

    fn declare(&self, contract: &Contract, fence: Fence) -> Result<(), StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(
            self.write_fenced(fence, |connection| contracts::declare(connection, contract, &self.registry, now_ms)),
        )
    }

    fn adopt(&self, fence: Fence) -> Result<Vec<ContractId>, StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(self.write_fenced(fence, |connection| attribution::adopt(connection, &self.registry, now_ms)))
    }

    fn reattribute(
        &self,
        contract: ContractId,
        after: Option<Position>,
        limit: u32,
        fence: Fence,
    ) -> Result<Reattributed, StoreError> {
        let now_ms = self.clock.now_unix_ms();
        self.named(self.write_fenced(fence, |connection| {
            attribution::reattribute(connection, &self.registry, contract, after, limit, now_ms)
        }))
    }

    fn seal(&self, limit: u32, fence: Fence) -> Result<Sealed, StoreError> {
        self.named(self.write_fenced(fence, |connection| history::seals::seal(connection, limit)))
    }

    fn event(&self, position: Position) -> Result<EventLookup, StoreError> {
        self.read(|connection| view::event(connection, &self.registry, position))
    }

    fn cursor_key(&self) -> Result<[u8; 32], StoreError> {
        self.read(state::cursor_key)
    }
}
