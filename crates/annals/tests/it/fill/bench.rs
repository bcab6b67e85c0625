//! A source and a store whose every move a test decides and counts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use annals::backfill::{self, BackfillError, Job, Progress, Summary};
use annals::clock::SystemClock;
use annals::source::{
    LedgerObject, LedgerSource, ObjectEncoding, ObjectFault, ObjectFaultKind, ObjectStream, RpcSource, SourceError,
};
use annals::store::{
    Anchor, AnchorKind, Audited, AuditedDigests, AuditedEnvelopes, CheckpointAnswer, CheckpointQuery, Committed,
    Contract, ContractView, DigestAnswer, DigestQuery, EventLookup, EventQuery, FeedPosition, Fence, Freshness,
    GapFailure, Incident, Page, PageQuery, Pin, Plan, Reattributed, Request, Sealed, SqliteStore, Status, Store,
    StoreError, StoredLedger, Wanted, WantedQuery,
};
use annals_core::chain::{Neighbours, Severance};
use annals_core::registry::Payload;
use annals_core::{
    Batch, Census, CheckedEnvelope, ClassicPolicy, ContractId, Event, LedgerRange, LedgerSeq, Network, Position,
    ProofMaterial, Scope, ScopeKey, TransactionKey,
};
use annals_sim::{BuiltLedger, ChainBuilder, EventPlan, Format, LedgerPlan, TxPlan, edit_header, value};
use tempfile::TempDir;

pub const PASSPHRASE: &str = "Annals Fill Network";

pub fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

pub fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

/// A ledger with one event of contract 1 and one of contract 2.
pub fn busy() -> LedgerPlan {
    let event = |number| EventPlan::transfer(value::contract(number), value::account(1), value::account(2), 5);
    LedgerPlan::new(vec![TxPlan::invocation(value::contract(1), vec![event(1), event(2)])])
}

/// A ledger without a transaction.
pub fn quiet() -> LedgerPlan {
    LedgerPlan::new(Vec::new())
}

/// A chain from ledger `from` on; ledgers for which `is_busy` holds have a transaction.
pub fn chain(seed: u64, from: u32, count: u32, is_busy: impl Fn(u32) -> bool) -> Vec<BuiltLedger> {
    let mut builder = ChainBuilder::new(&Network::new(PASSPHRASE), seq(from), seed, Format::V2Meta4);
    (from..from + count).map(|number| builder.push(&if is_busy(number) { busy() } else { quiet() })).collect()
}

pub fn rehashed(ledger: &BuiltLedger) -> Vec<u8> {
    edit_header(&ledger.xdr, |header| header.base_fee += 1)
}

/// What a [`ScriptedSource`] hands out.
#[derive(Clone)]
pub enum Item {
    /// An object that says it holds this one ledger, and these bytes.
    Object(u32, Vec<u8>),
    /// An object of so many zeros, made when it is read.
    Zeros(u32, usize),
    /// An object that cannot be read.
    Unreadable(u32),
    /// The reader panics.
    Panic,
}

impl Item {
    pub fn of(ledger: &BuiltLedger) -> Self {
        Self::Object(ledger.seq.get(), ledger.xdr.clone())
    }

    fn number(&self) -> u32 {
        match self {
            Self::Object(number, _) | Self::Zeros(number, _) | Self::Unreadable(number) => *number,
            Self::Panic => 0,
        }
    }
}

/// Hands items out in the order they were given.
#[derive(Clone, Default)]
pub struct ScriptedSource {
    pub items: Arc<Vec<Item>>,
    pub whole: bool,
    pub opened: Arc<AtomicU64>,
    pub handed_out: Arc<AtomicU64>,
}

impl ScriptedSource {
    pub fn new(items: impl IntoIterator<Item = Item>) -> Self {
        Self { items: Arc::new(items.into_iter().collect()), ..Self::default() }
    }

    pub fn of(ledgers: &[BuiltLedger]) -> Self {
        Self::new(ledgers.iter().map(Item::of))
    }

    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::SeqCst)
    }
}

impl LedgerSource for ScriptedSource {
    fn name(&self) -> String {
        "script".to_owned()
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        None
    }

    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let (items, handed_out) = (Arc::clone(&self.items), Arc::clone(&self.handed_out));
        let objects = (0..items.len()).filter_map(move |at| {
            let item = &items[at];
            let named = LedgerSeq::new(item.number().max(1)).unwrap();
            if !matches!(item, Item::Panic) && !range.contains(named) {
                return None;
            }
            handed_out.fetch_add(1, Ordering::SeqCst);
            let (name, named) = (format!("item {at}"), Some(LedgerRange::single(named)));
            Some(match item {
                Item::Object(_, bytes) => {
                    Ok(LedgerObject { name, named, encoding: ObjectEncoding::Ledger, bytes: bytes.clone() })
                }
                Item::Zeros(_, len) => {
                    Ok(LedgerObject { name, named, encoding: ObjectEncoding::Ledger, bytes: vec![0; *len] })
                }
                Item::Unreadable(_) => {
                    let kind = ObjectFaultKind::Unreadable(std::io::Error::other("the medium is gone"));
                    Err(ObjectFault { object: name, range: named, kind })
                }
                Item::Panic => std::panic::panic_any("the reader is broken"),
            })
        });
        Ok(Box::new(objects))
    }

    fn reads_whole(&self) -> bool {
        self.whole
    }
}

/// Called with the number of the commit before it is made.
pub type Hook = Box<dyn Fn(u64, &SqliteStore) -> Result<(), StoreError> + Send + Sync>;

/// A SQLite store that counts its transactions and fails where a test wants it to.
pub struct WatchedStore {
    pub inner: SqliteStore,
    pub before_commit: Hook,
    pub commits: AtomicU64,
    pub failures_recorded: AtomicU64,
}

impl Store for WatchedStore {
    fn acquire(&self) -> Result<Fence, StoreError> {
        self.inner.acquire()
    }

    fn request(&self, request: &Request, fence: Fence) -> Result<Plan, StoreError> {
        self.inner.request(request, fence)
    }

    fn commit(&self, batch: &Batch, fence: Fence) -> Result<Committed, StoreError> {
        (self.before_commit)(self.commits.fetch_add(1, Ordering::SeqCst), &self.inner)?;
        self.inner.commit(batch, fence)
    }

    fn record_failures(&self, failures: &[GapFailure], fence: Fence) -> Result<(), StoreError> {
        self.failures_recorded.fetch_add(1, Ordering::SeqCst);
        self.inner.record_failures(failures, fence)
    }

    fn record_severance(&self, found: &Severance, source: &str, fence: Fence) -> Result<(), StoreError> {
        self.inner.record_severance(found, source, fence)
    }

    fn resolve_incident(&self, id: u64, note: Option<&str>, fence: Fence) -> Result<(), StoreError> {
        self.inner.resolve_incident(id, note, fence)
    }

    fn note_freshness(&self, freshness: &Freshness, fence: Fence) -> Result<(), StoreError> {
        self.inner.note_freshness(freshness, fence)
    }

    fn record_anchor(&self, anchor: &Anchor, fence: Fence) -> Result<(), StoreError> {
        self.inner.record_anchor(anchor, fence)
    }

    fn anchors(&self, kind: AnchorKind, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<Anchor>, StoreError> {
        self.inner.anchors(kind, from_inclusive, limit)
    }

    fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        self.inner.incidents()
    }

    fn status(&self) -> Result<Status, StoreError> {
        self.inner.status()
    }

    fn neighbours(&self, range: LedgerRange) -> Result<Neighbours, StoreError> {
        self.inner.neighbours(range)
    }

    fn ledgers(&self, from_inclusive: LedgerSeq, limit: u32) -> Result<Vec<StoredLedger>, StoreError> {
        self.inner.ledgers(from_inclusive, limit)
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        self.inner.events(query)
    }

    fn proof(&self, seq: LedgerSeq) -> Result<Option<ProofMaterial>, StoreError> {
        self.inner.proof(seq)
    }

    fn tally(&self, scope: &Scope, range: LedgerRange) -> Result<Census, StoreError> {
        self.inner.tally(scope, range)
    }

    fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        self.inner.page(query)
    }

    fn checkpoint(&self, query: &CheckpointQuery) -> Result<CheckpointAnswer, StoreError> {
        self.inner.checkpoint(query)
    }

    fn digest(&self, query: &DigestQuery) -> Result<DigestAnswer, StoreError> {
        self.inner.digest(query)
    }

    fn payloads(&self, events: &[Event]) -> Result<Vec<Payload>, StoreError> {
        self.inner.payloads(events)
    }

    fn wanted_by(&self, events: &[Event]) -> Result<Vec<TransactionKey>, StoreError> {
        self.inner.wanted_by(events)
    }

    fn wanted_envelopes(&self, query: &WantedQuery<'_>) -> Result<Wanted, StoreError> {
        self.inner.wanted_envelopes(query)
    }

    fn add_envelopes(&self, envelopes: &[CheckedEnvelope], fence: Fence) -> Result<u64, StoreError> {
        (self.before_commit)(self.commits.fetch_add(1, Ordering::SeqCst), &self.inner)?;
        self.inner.add_envelopes(envelopes, fence)
    }

    fn audit_envelopes(&self, after: Option<TransactionKey>, limit: u32) -> Result<AuditedEnvelopes, StoreError> {
        self.inner.audit_envelopes(after, limit)
    }

    fn adopt(&self, fence: Fence) -> Result<Vec<ContractId>, StoreError> {
        self.inner.adopt(fence)
    }

    fn reattribute(
        &self,
        contract: ContractId,
        after: Option<Position>,
        limit: u32,
        fence: Fence,
    ) -> Result<Reattributed, StoreError> {
        self.inner.reattribute(contract, after, limit, fence)
    }

    fn audit(&self, after: FeedPosition, limit: u32) -> Result<Audited, StoreError> {
        self.inner.audit(after, limit)
    }

    fn audit_digests(&self, after: Option<LedgerSeq>, blocks: u32) -> Result<AuditedDigests, StoreError> {
        self.inner.audit_digests(after, blocks)
    }

    fn contract(&self, id: ContractId) -> Result<ContractView, StoreError> {
        self.inner.contract(id)
    }

    fn contracts(&self) -> Result<Vec<Contract>, StoreError> {
        self.inner.contracts()
    }

    fn declared(&self) -> Result<Vec<Contract>, StoreError> {
        self.inner.declared()
    }

    fn quarantined(&self, id: ContractId) -> Result<u64, StoreError> {
        self.inner.quarantined(id)
    }

    fn declare(&self, contract: &Contract, fence: Fence) -> Result<(), StoreError> {
        self.inner.declare(contract, fence)
    }

    fn seal(&self, limit: u32, fence: Fence) -> Result<Sealed, StoreError> {
        self.inner.seal(limit, fence)
    }

    fn event(&self, position: Position) -> Result<EventLookup, StoreError> {
        self.inner.event(position)
    }

    fn cursor_key(&self) -> Result<[u8; 32], StoreError> {
        self.inner.cursor_key()
    }
}

/// Tells nobody how it gets on.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn fault(&self, _: &GapFailure) {}
    fn end(&self) {}
}

/// An archive in a folder of its own.
pub struct Bench {
    pub store: WatchedStore,
    _folder: TempDir,
}

fn open(folder: &Path) -> WatchedStore {
    WatchedStore {
        inner: SqliteStore::create_or_open(folder, Arc::new(SystemClock::new())).unwrap(),
        before_commit: Box::new(|_, _| Ok(())),
        commits: AtomicU64::default(),
        failures_recorded: AtomicU64::default(),
    }
}

pub fn job(from: u32, to: u32) -> Job {
    Job {
        network: Network::new(PASSPHRASE),
        scope: Scope::All,
        classic: ClassicPolicy::Keep,
        range: range(from, to),
        pins: Vec::new(),
    }
}

pub fn pin(ledger: &BuiltLedger) -> Pin {
    Pin { seq: ledger.seq, hash: ledger.hash }
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { store: open(folder.path()), _folder: folder }
    }

    pub fn try_run(&self, job: &Job, source: &dyn LedgerSource) -> Result<Summary, BackfillError> {
        backfill::run(job, &self.store, source, &Silent)
    }

    pub fn try_events(&self, job: &Job, source: &RpcSource) -> Result<Summary, BackfillError> {
        backfill::run_events(job, &self.store, source, &Silent)
    }

    /// Runs a job and checks what holds after every run: fetched, held before and missing make up what was asked for;
    /// the failures are of missing ledgers, once each; and the store's list of gaps is the same as the summary's.
    #[track_caller]
    pub fn run(&self, job: &Job, source: &dyn LedgerSource) -> Summary {
        let already = self.held(job);
        let summary = self.try_run(job, source).unwrap();
        let missing: u64 = summary.gaps.iter().map(|gap| u64::from(gap.to - gap.from) + 1).sum();
        assert_eq!(summary.fetched + already + missing, summary.ledgers, "{summary:?}");
        assert_eq!(self.held(job), already + summary.fetched, "{summary:?}");
        let covered = |seq| self.store.status().unwrap().covered(ScopeKey::All).contains(seq);
        for pair in summary.failures.windows(2) {
            assert!(pair[0].range.to_inclusive() < pair[1].range.from_inclusive(), "{:?}", summary.failures);
        }
        let ends = summary.failures.iter().flat_map(|f| [f.range.from_inclusive(), f.range.to_inclusive()]).take(50);
        assert!(ends.into_iter().all(|seq| !covered(seq)), "{summary:?}");
        for gap in &summary.gaps {
            let listed = self.store.status().unwrap().gaps;
            let holds = |number| listed.iter().any(|gap| gap.range.contains(seq(number)));
            assert!(holds(gap.from) && holds(gap.to), "{gap:?} is not listed");
            if summary.gaps.len() > 20 {
                break;
            }
        }
        summary
    }

    /// How many of the asked-for ledgers every key of the scope covers.
    fn held(&self, job: &Job) -> u64 {
        let status = self.store.status().unwrap();
        let all = annals_core::Coverage::from_iter([job.range]);
        let keys = job.scope.keys().into_iter();
        keys.fold(all, |held, key| held.intersection(&status.covered(key))).count()
    }
}

/// The codes of the failures with their ledgers, as `from-to CODE`.
pub fn told(summary: &Summary) -> Vec<String> {
    summary.failures.iter().map(|failure| format!("{} {}", failure.range, failure.code)).collect()
}
