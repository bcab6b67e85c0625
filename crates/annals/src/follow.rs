//! Following a network: ledgers are taken as they close.
//!
//! One thread follows the tip, another works off the store's list of gaps; both write under one fence. The boundary
//! between them is wherever following began: what lies below it and is missing is a durable gap before the first ledger
//! above it is asked for. Height alone proves nothing: only another hash for a stored ledger is an incident, and only
//! the store says so.

mod asker;
mod confirm;
mod confirming;
mod error;
mod gaps;
mod latency;
mod live;
mod options;
mod pace;
mod shared;
mod start;
mod state;
mod take;
mod tip;

use std::sync::Arc;
use std::time::Duration;

use annals_core::{ClassicPolicy, LedgerSeq, Network, Scope};

use self::asker::Asker;
pub use self::confirming::Confirm;
pub use self::error::FollowError;
use self::gaps::GapWorker;
use self::live::Live;
pub use self::options::{Filled, FollowOptions, FreeBytes};
use self::pace::Pace;
use self::shared::Shared;
pub use self::start::AHEAD_LEDGERS_MAX;
use self::state::Voice;
use crate::backfill;
use crate::clock::{Clock, Stop};
use crate::source::{LedgerSource, OtherNetwork, TipSource};
use crate::store::{FollowStateName, Pin, Status, Store, StoreError};

/// What is to be followed.
#[derive(Debug, Clone)]
pub struct FollowJob {
    /// The network.
    pub network: Network,
    /// Whose events.
    pub scope: Scope,
    /// Whether classic and fee events are kept.
    pub classic: ClassicPolicy,
    /// From which ledger on all is wanted; none for what closes from now on, or from where an archive ends.
    pub from: Option<LedgerSeq>,
    /// Hashes that the operator vouches for.
    pub pins: Vec<Pin>,
}

/// Where ledgers come from.
#[derive(Clone)]
pub struct FollowSources {
    /// What gives the newest ledgers; it fills gaps, too, as far as it keeps them.
    pub tip: Arc<dyn TipSource>,
    /// What fills gaps before it, in this order.
    pub history: Vec<Arc<dyn LedgerSource>>,
}

/// What the loop is doing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowState {
    /// What.
    pub doing: FollowStateName,
    /// Why it waits: a stable code.
    pub code: Option<&'static str>,
    /// Why it waits: one sentence that says what to do.
    pub message: Option<String>,
}

/// A ledger that was just stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visible {
    /// Its number.
    pub seq: LedgerSeq,
    /// When it closed, Unix milliseconds, as its header has it.
    pub closed_unix_ms: u64,
    /// How long after the source had served it readers could see it, milliseconds.
    pub after_seen_ms: u64,
    /// How long after it closed readers could see it, milliseconds; none while catching up, and where the machine's clock
    /// contradicts the header's.
    pub after_closed_ms: Option<u64>,
}

/// Who is told how following gets on.
pub trait Watch: Send + Sync {
    /// The state changed.
    fn state(&self, state: &FollowState);

    /// A ledger was stored.
    fn committed(&self, ledger: &Visible);

    /// Something lies ahead that an operator has to prepare for, told once.
    fn announce(&self, message: &str);
}

/// How following ended without a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Ledgers that it stored at the tip.
    pub ledgers: u64,
    /// The last of them.
    pub last: Option<LedgerSeq>,
}

/// Refuses what cannot be followed, before anything is written: a source or an archive of another network, a start above
/// the tip, and an archive that is far ahead of the network.
///
/// # Errors
/// [`FollowError`].
pub fn check(job: &FollowJob, status: Option<&Status>, sources: &FollowSources) -> Result<(), FollowError> {
    let asked = job.network.passphrase();
    let history = sources.history.iter().map(|source| &**source as &dyn LedgerSource);
    for source in history.chain([sources.tip.as_ref() as &dyn LedgerSource]) {
        OtherNetwork::check(source, &job.network)?;
    }
    if let Some(status) = status.filter(|status| !status.coverage.is_empty()) {
        if let Some(stored) = status.passphrase.as_ref().filter(|stored| *stored != asked) {
            let (stored, asked) = (stored.clone(), asked.to_owned());
            return Err(StoreError::NetworkMismatch { stored, asked }.into());
        }
        if status.classic != job.classic {
            return Err(StoreError::PolicyMismatch { stored: status.classic.as_str() }.into());
        }
    }
    // Where nobody tells the tip now, it is judged as soon as somebody does.
    sources.tip.tip().map_or(Ok(()), |tip| start::judge(job, status, &sources.tip.name(), tip))
}

/// Follows the network until it is stopped; blocks.
///
/// Ends at a ledger's boundary: what was under way is committed whole or leaves no trace, and a request that hangs is
/// left behind.
///
/// # Errors
/// [`FollowError`], after which nothing more is written.
pub fn run(
    job: &FollowJob,
    store: &Arc<dyn Store>,
    sources: &FollowSources,
    options: &FollowOptions,
    clock: &Arc<dyn Clock>,
    stop: &Stop,
    watch: &dyn Watch,
) -> Result<Ended, FollowError> {
    let fence = store.acquire()?;
    backfill::tell_waiting(&store.adopt(fence)?);
    let mut job = job.clone();
    // What was pinned before holds for every later job, too.
    let earlier = store.status()?.pins;
    job.pins.extend(earlier.into_iter().filter(|pin| !job.pins.contains(pin)).collect::<Vec<_>>());
    let job = &job;
    let shared = Arc::new(Shared::new(fence));
    if let Some(confirm) = &options.confirm {
        confirming::start(Arc::clone(confirm), options.confirm_every, store, &shared, stop)?;
    }
    let mut live = Live {
        job,
        options,
        store: store.as_ref(),
        clock: clock.as_ref(),
        stop,
        source: Arc::clone(&sources.tip),
        asker: Asker::new(Arc::clone(&sources.tip))?,
        gaps: GapWorker::start(job, store, sources, options, stop, &shared)?,
        voice: Voice::new(watch, store.as_ref(), clock.as_ref(), Arc::clone(&shared), options),
        pace: Pace::new(options.poll_min, options.poll_max),
        shared: Arc::clone(&shared),
        next: LedgerSeq::MIN,
        stored: None,
        held: Vec::new(),
        is_behind: false,
        receded: None,
        backed: None,
        doubts_until: Duration::ZERO,
        withheld: None,
        unusable: 0,
        looked_ahead: None,
        has_begun: false,
        ended: Ended { ledgers: 0, last: None },
    };
    let outcome = live.run();
    shared.end();
    let Live { mut voice, gaps, .. } = live;
    gaps.end(options.end_grace);
    if outcome.is_ok() {
        voice.state(FollowStateName::Stopped, None)?;
    }
    outcome
}
