//! Working off the store's list of gaps, beside the tip.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use annals_core::{Coverage, LedgerRange, LedgerSeq, ScopeKey};

use super::shared::Shared;
use super::{FollowError, FollowJob, FollowOptions, FollowSources};
use crate::backfill::{self, BackfillError, Demand, Job, Progress};
use crate::clock::Stop;
use crate::source::{LedgerSource, OtherNetwork};
use crate::store::{GapFailure, Store, StoreError};

/// The longest rest between two rounds while something is missing.
const ROUNDS_APART_MAX: Duration = Duration::from_secs(3_600);
/// After so many rounds in a row that stored nothing the rest is not doubled any more.
const DOUBLINGS_MAX: u32 = 10;

/// The thread that works gaps off, as the tip's loop sees it.
pub(super) struct GapWorker {
    doorbell: SyncSender<()>,
    ended: Receiver<Result<(), FollowError>>,
}

impl GapWorker {
    pub(super) fn start(
        job: &FollowJob,
        store: &Arc<dyn Store>,
        sources: &FollowSources,
        options: &FollowOptions,
        stop: &Stop,
        shared: &Arc<Shared>,
    ) -> std::io::Result<Self> {
        let (doorbell, rung) = sync_channel(1);
        let (told, ended) = sync_channel(1);
        let worker = Worker {
            job: job.clone(),
            store: Arc::clone(store),
            sources: sources.clone(),
            options: options.clone(),
            stop: stop.clone(),
            shared: Arc::clone(shared),
        };
        let work = move || {
            let outcome = worker.run(&rung);
            // Whoever hears of the end may open the archive anew.
            drop(worker);
            // Nobody may be waiting any more.
            let _gone = told.send(outcome);
        };
        std::thread::Builder::new().name("follow: gaps".to_owned()).spawn(work)?;
        Ok(Self { doorbell, ended })
    }

    /// Says that there may be a new gap.
    pub(super) fn wake(&self) {
        // A bell that rings already is as good.
        let _ringing = self.doorbell.try_send(());
    }

    /// Whether it is still at work.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn check(&self) -> Result<(), FollowError> {
        match self.ended.try_recv() {
            Err(TryRecvError::Empty) => Ok(()),
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) | Err(TryRecvError::Disconnected) => Err(FollowError::Broken("the filling of gaps")),
        }
    }

    /// Waits until it has ended, and no longer than `at_most`: it commits nothing any more.
    pub(super) fn end(self, at_most: Duration) {
        let Self { doorbell, ended } = self;
        drop(doorbell);
        if matches!(ended.recv_timeout(at_most), Err(RecvTimeoutError::Timeout)) {
            tracing::warn!("a source hangs and is left behind");
        }
    }
}

/// Whether a source has to show that it is of the chain that is followed: the tip's own is.
#[derive(Debug, Clone, Copy)]
struct Tied(bool);

struct Worker {
    job: FollowJob,
    store: Arc<dyn Store>,
    sources: FollowSources,
    options: FollowOptions,
    stop: Stop,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(&self, rung: &Receiver<()>) -> Result<(), FollowError> {
        let mut idle_rounds = 0;
        // The tip's loop rings once it knows where the boundary is.
        let mut rest = ROUNDS_APART_MAX;
        loop {
            match rung.recv_timeout(rest) {
                Ok(()) => idle_rounds = 0,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let (stored, wanted) = self.round()?;
            if self.must_end() {
                // The bell is let go next.
                rest = ROUNDS_APART_MAX;
                continue;
            }
            idle_rounds = if stored > 0 { 0 } else { u32::min(idle_rounds + 1, DOUBLINGS_MAX) };
            rest = match wanted {
                0 => ROUNDS_APART_MAX,
                _ => self.options.gaps_rest.saturating_mul(1 << idle_rounds.saturating_sub(1)).min(ROUNDS_APART_MAX),
            };
            if stored > 0 {
                tracing::info!("{stored} ledgers of the past were stored or verified, {wanted} are still to be");
            }
        }
    }

    /// Asks each source for what is wanted; says how many ledgers were stored or verified, and how many are wanted still.
    fn round(&self) -> Result<(u64, u64), FollowError> {
        let before = self.wanted()?;
        if !before.is_empty() {
            // What each of several endpoints keeps: below, another may give what nothing judges.
            let oldest = self.sources.tip.announced().into_iter().flatten().filter_map(|tip| tip.oldest).max();
            let tip = (self.sources.tip.as_ref() as &dyn LedgerSource, Tied(false));
            let lakes = self.sources.history.iter().map(|lake| (&**lake as &dyn LedgerSource, Tied(true)));
            let mut told = Vec::new();
            // What lakes have of the rest is compared with what the tip's source keeps.
            self.fill_from([tip].into_iter(), &kept(&before, oldest), &mut told)?;
            let judged = self.judged(self.wanted()?.intersection(&before))?;
            self.fill_from(lakes.chain([tip]), &judged, &mut told)?;
        }
        let after = self.wanted()?;
        Ok((before.difference(&after).count(), after.count()))
    }

    /// What anybody may be asked for. Of ledgers right under the boundary a source may have any chain while neither the
    /// boundary's ledger has come nor anything is stored below them: they wait for that ledger.
    fn judged(&self, wanted: Coverage) -> Result<Coverage, FollowError> {
        let boundary = self.shared.boundary().filter(|boundary| boundary.below.is_none());
        let is_open = |gap: &&LedgerRange| boundary.map(|boundary| boundary.ledger) == gap.to_inclusive().next();
        let Some(open) = wanted.ranges().last().filter(is_open) else { return Ok(wanted) };
        let stored = self.store.neighbours(*open)?;
        let waits = stored.before.is_none() && stored.after.is_none();
        Ok(if waits { wanted.difference(&Coverage::from_iter([*open])) } else { wanted })
    }

    fn fill_from<'a>(
        &self,
        sources: impl Iterator<Item = (&'a dyn LedgerSource, Tied)>,
        wanted: &Coverage,
        told: &mut Vec<GapFailure>,
    ) -> Result<(), FollowError> {
        for (source, tied) in sources {
            let missing = self.wanted()?.intersection(wanted);
            if missing.is_empty() || self.must_end() {
                break;
            }
            self.fill(source, tied, &missing, told)?;
        }
        Ok(())
    }

    /// Fills what it can, and records the worst that was told in this round of what it cannot.
    fn fill(
        &self,
        source: &dyn LedgerSource,
        Tied(tied): Tied,
        missing: &Coverage,
        told: &mut Vec<GapFailure>,
    ) -> Result<(), FollowError> {
        let Some(range) = span(missing) else { return Ok(()) };
        let FollowJob { network, scope, classic, pins, .. } = self.job.clone();
        let job = Job { network, scope, classic, range, pins };
        let fence = self.shared.fence;
        let named = self.shared.boundary().and_then(|boundary| Some((boundary.ledger.previous()?, boundary.below?)));
        let demand = Demand { named, tied };
        let failures = match backfill::fill(&job, self.store.as_ref(), fence, source, missing, demand, &Going(self)) {
            Ok(failures) => failures,
            Err(error) => match Self::judge(error)? {
                Some((code, message)) => {
                    let failure = |range: &LedgerRange| GapFailure {
                        range: *range,
                        code: code.clone(),
                        message: message.clone(),
                    };
                    self.wanted()?.intersection(missing).ranges().iter().map(failure).collect()
                }
                None => return Ok(()),
            },
        };
        if let Some(failure) = failures.first().filter(|_| !self.must_end()) {
            tracing::warn!("{} of the gaps: {} ({})", failure.range, failure.message, failure.code);
            let failures = backfill::worst(told, failures);
            if let Err(error) = self.store.record_failures(&failures, fence) {
                _ = Self::judge(error.into())?;
            }
            told.extend(failures);
        }
        Ok(())
    }

    /// What is to be recorded of a failure; none where the next round will see.
    fn judge(error: BackfillError) -> Result<Option<(String, String)>, FollowError> {
        let told = |code: &str, error: &dyn std::error::Error| Some((code.to_owned(), backfill::whole_chain(error)));
        Ok(match error {
            BackfillError::Stopped => None,
            BackfillError::Source(error) => told(error.code(), &error),
            BackfillError::SourceNetwork(_) => told(OtherNetwork::CODE, &error),
            BackfillError::PinContradicted { .. } => told("PIN_CONTRADICTED", &error),
            BackfillError::Batch(_) => told("BAD_BATCH", &error),
            BackfillError::Store(error) => match error {
                StoreError::Incident { .. } | StoreError::IncidentOpen { .. } | StoreError::Full => None,
                // A neighbour was stored meanwhile; the next reading knows it.
                StoreError::DoesNotLink { .. } => None,
                StoreError::PinContradicted { .. } => told(error.code(), &error),
                error => return Err(FollowError::Gaps(Box::new(error.into()))),
            },
        })
    }

    /// What is missing below the boundary; where nothing is, what is known there by events alone. Nothing while an incident
    /// waits.
    fn wanted(&self) -> Result<Coverage, FollowError> {
        let status = self.store.status()?;
        let below = self.shared.boundary().and_then(|boundary| boundary.ledger.previous());
        let Some(last) = below.filter(|_| status.open_incidents == 0) else { return Ok(Coverage::new()) };
        let Ok(below) = LedgerRange::new(LedgerSeq::MIN, last) else { return Ok(Coverage::new()) };
        let keys = self.job.scope.keys();
        let gaps = status.gaps.iter().filter(|gap| keys.contains(&gap.key)).map(|gap| gap.range);
        let missing = gaps.collect::<Coverage>().within(below);
        if !missing.is_empty() {
            return Ok(missing);
        }
        // What another key covers, too, is not verified by these alone.
        let takes_all = keys.contains(&ScopeKey::All);
        let others = status.coverage.iter().filter(|(key, _)| !takes_all && !keys.contains(key));
        let unverified = backfill::unverified(&status, &self.job.scope, below);
        Ok(others.fold(unverified, |unverified, (_, covered)| unverified.difference(covered)))
    }

    fn must_end(&self) -> bool {
        self.stop.is_stopped() || self.shared.is_ended()
    }
}

/// Asked before each commit of a gap's ledgers.
struct Going<'a>(&'a Worker);

impl Progress for Going<'_> {
    fn begin(&self, _: u64, _: u64) {}

    fn advance(&self, ledgers: u64, _: u64) {
        (self.0.options.filled)(ledgers);
    }

    fn fault(&self, _: &GapFailure) {}

    fn end(&self) {}

    fn may_go_on(&self) -> bool {
        self.0.shared.after_the_tip();
        let options = &self.0.options;
        let has_room = (options.free_bytes)().is_none_or(|free| free >= options.disk_reserve_bytes);
        has_room && !self.0.must_end()
    }
}

/// The ledgers from `oldest` on; all where nobody says what is kept.
fn kept(wanted: &Coverage, oldest: Option<LedgerSeq>) -> Coverage {
    let below = oldest.and_then(LedgerSeq::previous).and_then(|last| LedgerRange::new(LedgerSeq::MIN, last).ok());
    below.map_or_else(|| wanted.clone(), |below| wanted.difference(&Coverage::from_iter([below])))
}

fn span(missing: &Coverage) -> Option<LedgerRange> {
    let (first, last) = (missing.ranges().first()?, missing.ranges().last()?);
    LedgerRange::new(first.from_inclusive(), last.to_inclusive()).ok()
}
