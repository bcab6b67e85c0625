//! Filling an archive from a source of history.
//!
//! The store's durable list of gaps is what there is to do; each gap is read, checked and linked, and committed
//! in batches. A bad object is named and its ledgers stay a listed gap while the rest goes on, so a crash or a
//! bad object loses nothing, and a restart fetches only what is missing.

mod budget;
mod envelopes;
mod events;
mod fill;
mod pipeline;

use annals_core::{
    Batch, BatchError, Census, CheckedLedger, ClassicPolicy, ContractId, Coverage, LedgerHash, LedgerRange, LedgerSeq,
    Network, Scope, check_ledger,
};
use serde::Serialize;

pub use self::events::{check_event_source, run_events};
use self::fill::Filler;
pub(crate) use self::fill::{Demand, worst};
use crate::source::{LedgerSource, OtherNetwork, SourceError};
use crate::store::{Fence, GapFailure, Pin, Request, Status, Store, StoreError};

/// What is to be filled.
#[derive(Debug, Clone)]
pub struct Job {
    /// The network.
    pub network: Network,
    /// Whose events.
    pub scope: Scope,
    /// Whether classic and fee events are kept.
    pub classic: ClassicPolicy,
    /// Which ledgers.
    pub range: LedgerRange,
    /// Hashes that the operator vouches for.
    pub pins: Vec<Pin>,
}

/// Who is told how a backfill gets on.
pub trait Progress {
    /// It begins: so many ledgers were asked for, and so many of them are stored already.
    fn begin(&self, ledgers: u64, already: u64);

    /// So many more ledgers with so many events were stored.
    fn advance(&self, ledgers: u64, events: u64);

    /// So many more transactions were asked for their envelopes.
    fn advance_envelopes(&self, asked: u64) {
        let _ = asked;
    }

    /// Ledgers could not be stored.
    fn fault(&self, failure: &GapFailure);

    /// It ends.
    fn end(&self);

    /// Asked before each commit: whether it may go on. What was not committed stays a gap.
    fn may_go_on(&self) -> bool {
        true
    }
}

/// Why a backfill stopped. What it had committed stays.
#[derive(Debug, thiserror::Error)]
pub enum BackfillError {
    /// The source says that it is of another network.
    #[error(transparent)]
    SourceNetwork(#[from] OtherNetwork),
    /// The source's ledger has another hash than the operator vouches for.
    #[error("{source_name} gives ledger {seq} the hash {found} and not the pinned {pinned}")]
    PinContradicted {
        /// The source.
        source_name: String,
        /// The pinned ledger.
        seq: LedgerSeq,
        /// The pinned hash.
        pinned: String,
        /// The source's.
        found: String,
    },
    /// The source cannot be read.
    #[error("the source failed")]
    Source(#[from] SourceError),
    /// The store refused or failed.
    #[error("the archive did not take the ledgers")]
    Store(#[from] StoreError),
    /// Whoever is told how it gets on asked it to end.
    #[error("it was stopped")]
    Stopped,
    /// Checked ledgers made no batch.
    #[error("the checked ledgers make no batch")]
    Batch(#[from] BatchError),
}

/// Ledgers that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedRange {
    /// The first.
    pub from: u32,
    /// The last.
    pub to: u32,
}

impl AskedRange {
    fn all(coverage: &Coverage) -> Vec<Self> {
        let ranges = coverage.ranges().iter();
        ranges.map(|range| Self { from: range.from_inclusive().get(), to: range.to_inclusive().get() }).collect()
    }
}

/// How a backfill ended. Counts of events are of what is stored in the asked-for range and scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Ledgers asked for.
    pub ledgers: u64,
    /// Ledgers that this run took from the source and stored.
    pub fetched: u64,
    /// Events of every class.
    pub events: u64,
    /// Events of class `committed`.
    pub committed: u64,
    /// Events of class `uncommitted`.
    pub uncommitted: u64,
    /// Events of class `rewritten`.
    pub rewritten: u64,
    /// Events of class `unverified`.
    pub unverified: u64,
    /// The watermark of verified ledgers from the archive's start; null while the start is not verified.
    pub verified_through: Option<u32>,
    /// The watermark of covered ledgers from the archive's start; null while the start is not covered.
    pub ingested_through: Option<u32>,
    /// The asked-for ledgers that are missing.
    pub gaps: Vec<AskedRange>,
    /// The asked-for ledgers that are covered by events alone, so that nothing of them is verified.
    pub unverified_ranges: Vec<AskedRange>,
    /// The contracts whose events were not all read with their schema yet; see [`Store::reattribute`].
    pub unattributed: Vec<String>,
    /// Envelopes that this run brought for events whose ledgers are not verified.
    pub envelopes_fetched: u64,
    /// Those that it could not: payloads of their events stay `pending`.
    pub envelopes_lacking: u64,
    /// Of those, the ones for which the source gave others.
    #[serde(skip)]
    pub wrong_envelopes: u64,
    /// What was wrong with them; bad objects, and ledgers that the source does not hold.
    #[serde(skip)]
    pub failures: Vec<GapFailure>,
}

impl Summary {
    /// Whether something contradicts the chain, rather than being absent or unreadable.
    #[must_use]
    pub fn contradicts_chain(&self) -> bool {
        self.wrong_envelopes > 0 || self.failures.iter().any(|failure| !fill::is_absence(&failure.code))
    }
}

/// Refuses a source that contradicts the job before anything is written: another network, a range that the network
/// has not come to, or another hash for a pinned ledger of the range.
///
/// # Errors
/// [`BackfillError::SourceNetwork`], [`BackfillError::PinContradicted`], [`BackfillError::Source`].
pub fn check_source(job: &Job, source: &dyn LedgerSource) -> Result<(), BackfillError> {
    OtherNetwork::check(source, &job.network)?;
    source.check_range(job.range)?;
    job.pins.iter().try_for_each(|pin| check_pin(job, source, *pin))
}

/// Compares a pin with what the source gives for its ledger or, where it gives nothing or the ledger lies below the
/// range, with the hash by which the next ledger names it.
fn check_pin(job: &Job, source: &dyn LedgerSource, pin: Pin) -> Result<(), BackfillError> {
    let mut given = said_of_pin(job, source, pin)?;
    if !given.is_empty() && !given.contains(&pin.hash) {
        for server in source.servers() {
            given.extend(said_of_pin(job, server.as_ref(), pin)?);
        }
    }
    match given.first() {
        // Where objects overlap, or servers differ, one that agrees is enough: filling the gap passes the others over.
        Some(found) if !given.contains(&pin.hash) => Err(BackfillError::PinContradicted {
            source_name: source.name(),
            seq: pin.seq,
            pinned: pin.hash.to_string(),
            found: found.to_string(),
        }),
        _ => Ok(()),
    }
}

fn said_of_pin(job: &Job, source: &dyn LedgerSource, pin: Pin) -> Result<Vec<LedgerHash>, BackfillError> {
    let given = sound_ledgers(job, source, Some(pin.seq), |ledger| ledger.hash)?;
    match given.is_empty() {
        true => sound_ledgers(job, source, pin.seq.next(), |ledger| ledger.previous_hash),
        false => Ok(given),
    }
}

/// Says of each sound version of ledger `seq` that the source holds what `tell` says. An object that cannot be read
/// says nothing here; filling the gap names it.
fn sound_ledgers(
    job: &Job,
    source: &dyn LedgerSource,
    seq: Option<LedgerSeq>,
    tell: impl Fn(&CheckedLedger) -> LedgerHash,
) -> Result<Vec<LedgerHash>, BackfillError> {
    let Some(seq) = seq.filter(|seq| job.range.contains(*seq)) else { return Ok(Vec::new()) };
    let objects = source.open(LedgerRange::single(seq))?.filter_map(Result::ok);
    let raw = objects.filter_map(|object| object.into_ledgers().ok()).flatten();
    let of_seq = raw.filter(|raw| raw.seq.is_none_or(|named| named == seq));
    let checked = of_seq.filter_map(|raw| check_ledger(&raw.bytes, &job.network).ok());
    Ok(checked.filter(|ledger| ledger.seq == seq).map(|ledger| tell(&ledger)).collect())
}

/// Fills what the job asks for and the store lacks, and reads again what it has from a source that gave events alone:
/// those ledgers are verified now, and their events take the class that the ledger proves.
///
/// # Errors
/// [`BackfillError`]; a bad object is none: it is in [`Summary::failures`].
pub fn run(
    job: &Job,
    store: &dyn Store,
    source: &dyn LedgerSource,
    progress: &dyn Progress,
) -> Result<Summary, BackfillError> {
    // What was pinned before holds for every later job, too.
    let mut job = job.clone();
    let earlier = store.status()?.pins;
    job.pins.extend(earlier.into_iter().filter(|pin| !job.pins.contains(pin)).collect::<Vec<_>>());
    let job = &job;
    check_source(job, source)?;
    let (fence, missing) = ask(job, store)?;
    let status = store.status()?;
    let unverified = unverified(&status, &job.scope, job.range);
    let wanted = missing.union(&unverified);
    progress.begin(job.range.count(), job.range.count() - wanted.count());
    let mut failures = fill(job, store, fence, source, &wanted, Demand::default(), progress)?;
    // A ledger that is covered lacks nothing for being absent from another source.
    failures = failures.into_iter().flat_map(|failure| lacking(failure, &missing)).collect();
    finish(job, store, fence, &missing, &unverified, failures, progress)
}

/// What a failure says of ledgers that are missing; of all its ledgers where it contradicts the chain.
fn lacking(failure: GapFailure, missing: &Coverage) -> Vec<GapFailure> {
    if !fill::is_absence(&failure.code) {
        return vec![failure];
    }
    let rest = missing.within(failure.range);
    rest.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }).collect()
}

/// Takes the lease and records what the job asks for; gives the ledgers that are not covered.
fn ask(job: &Job, store: &dyn Store) -> Result<(Fence, Coverage), BackfillError> {
    let fence = store.acquire()?;
    let request = Request {
        network: job.network.clone(),
        scope: job.scope.clone(),
        classic: job.classic,
        range: job.range,
        pins: job.pins.clone(),
    };
    let plan = store.request(&request, fence)?;
    if let Some(old) = plan.lowered_start_from {
        let start = job.range.from_inclusive();
        tracing::info!("the archive's start was lowered from ledger {old} to {start}: its marks count from there now");
    }
    tell_waiting(&store.adopt(fence)?);
    Ok((fence, plan.missing))
}

/// Records and tells what failed, and sums up.
fn finish(
    job: &Job,
    store: &dyn Store,
    fence: Fence,
    missing: &Coverage,
    unverified: &Coverage,
    failures: Vec<GapFailure>,
    progress: &dyn Progress,
) -> Result<Summary, BackfillError> {
    store.record_failures(&failures, fence)?;
    failures.iter().for_each(|failure| progress.fault(failure));
    progress.end();
    summarize(job, store, missing, unverified, failures)
}

/// Stores what `source` has of `missing` under a fence that the caller holds, and tells of all the rest, once, why it was
/// not stored. Nothing is recorded of what fails. The range of the job holds `missing`.
///
/// # Errors
/// [`BackfillError`]; a bad object is none. [`BackfillError::Stopped`] where ledgers were stored beside `missing` meanwhile,
/// too.
pub(crate) fn fill(
    job: &Job,
    store: &dyn Store,
    fence: Fence,
    source: &dyn LedgerSource,
    missing: &Coverage,
    demand: Demand,
    progress: &dyn Progress,
) -> Result<Vec<GapFailure>, BackfillError> {
    Filler { job, store, fence, source, source_name: source.name(), demand, is_strict: false, progress }.fill(missing)
}

/// Says once that contracts wait for an operator; their events are archived all the same.
pub(crate) fn tell_waiting(contracts: &[ContractId]) {
    const NAMED_MAX: usize = 10;
    if contracts.is_empty() {
        return;
    }
    let named: Vec<String> = contracts.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = contracts.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    tracing::warn!(
        "not all events were read with the schema of {}{more}: account answers say unattributed_events until \
         `annals reattribute` ran",
        named.join(", ")
    );
}

fn summarize(
    job: &Job,
    store: &dyn Store,
    asked: &Coverage,
    unverified: &Coverage,
    failures: Vec<GapFailure>,
) -> Result<Summary, BackfillError> {
    let status = store.status()?;
    let census: Census = store.tally(&job.scope, job.range)?;
    let covered = covered_by(&status, &job.scope);
    let missing = covered.missing(job.range);
    Ok(Summary {
        ledgers: job.range.count(),
        // A ledger that was fetched and is still not covered, for being poorer than the stored one, does not count.
        fetched: asked.count() - asked.intersection(&missing).count()
            + unverified.intersection(&status.verified).count(),
        events: census.total(),
        committed: census.committed,
        uncommitted: census.uncommitted,
        rewritten: census.rewritten,
        unverified: census.unverified,
        verified_through: watermark(&status, &covered.intersection(&status.verified)),
        ingested_through: watermark(&status, &covered),
        gaps: AskedRange::all(&missing),
        unverified_ranges: AskedRange::all(&self::unverified(&status, &job.scope, job.range)),
        unattributed: status.unattributed.iter().map(ToString::to_string).collect(),
        envelopes_fetched: 0,
        envelopes_lacking: 0,
        wrong_envelopes: 0,
        failures,
    })
}

/// The ledgers of `range` that are covered for every contract of `scope` and known by events alone.
pub(crate) fn unverified(status: &Status, scope: &Scope, range: LedgerRange) -> Coverage {
    covered_by(status, scope).within(range).difference(&status.verified)
}

/// The ledgers that are covered for every contract of `scope`.
fn covered_by(status: &Status, scope: &Scope) -> Coverage {
    let mut keys = scope.keys().into_iter().map(|key| status.covered(key));
    let first = keys.next().unwrap_or_default();
    keys.fold(first, |both, other| both.intersection(&other))
}

fn watermark(status: &Status, coverage: &Coverage) -> Option<u32> {
    status.start.and_then(|start| coverage.watermark(start)).map(LedgerSeq::get)
}

/// Commits one batch of a job.
fn commit(
    job: &Job,
    store: &dyn Store,
    fence: Fence,
    source_name: &str,
    ledgers: Vec<CheckedLedger>,
) -> Result<u64, BackfillError> {
    let batch = Batch::checked(job.network.clone(), job.scope.clone(), job.classic, source_name, ledgers)?;
    Ok(store.commit(&batch, fence)?.events_added)
}

/// The error's sentence and those of its causes: the list of gaps keeps one text.
pub(crate) fn whole_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
