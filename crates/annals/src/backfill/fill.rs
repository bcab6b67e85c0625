//! Filling gaps.
//!
//! Gaps that lie close together are filled from one reading of the source: to open it again for each would list a
//! lake's partition, or go through a whole file, once a gap. What a reading brought out of order, or could not tie
//! to the network yet, is read again as long as that gets anywhere. What cannot be used is asked of each of the
//! source's servers alone.

mod failures;
mod forks;
mod reading;
mod rivals;

use annals_core::chain::Neighbours;
use annals_core::{Coverage, LedgerHash, LedgerRange, LedgerSeq};

pub(super) use self::failures::is_absence;
pub(crate) use self::failures::worst;
use self::failures::{Failures, UNJOINED};
use self::forks::Tops;
use self::reading::{Found, Reading};
use super::{BackfillError, Job, Progress, pipeline};
use crate::source::LedgerSource;
use crate::store::{Fence, GapFailure, Store, StoreError};

/// Gaps at most so many ledgers apart are filled from one reading.
const APART_MAX: u64 = 1024;
/// A source is read at most so often for the same ledgers in one run.
const READINGS_MAX: usize = 16;

/// What is demanded of a source before anything is taken from it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Demand {
    /// The hash of a ledger that is not stored, as the one above it gives it, which is not stored either: a source that
    /// gives another is not taken from.
    pub named: Option<(LedgerSeq, LedgerHash)>,
    /// Whether a source has to show a ledger of the stored chain above a gap that hangs on nothing below; else it is enough
    /// that it shows none of another chain.
    pub tied: bool,
}

/// What fills gaps, and from where.
#[derive(Clone)]
pub(super) struct Filler<'a> {
    pub job: &'a Job,
    pub store: &'a dyn Store,
    pub fence: Fence,
    pub source: &'a dyn LedgerSource,
    pub source_name: String,
    pub demand: Demand,
    /// Whether a few ledgers that link to each other and to none of their neighbours are left to other servers.
    pub is_strict: bool,
    pub progress: &'a dyn Progress,
}

impl Filler<'_> {
    /// Stores what the source has of `missing`; tells of all the rest, once, why it was not stored.
    pub(super) fn fill(&self, missing: &Coverage) -> Result<Vec<GapFailure>, BackfillError> {
        let mut failures = Vec::new();
        for wanted in self.groups(missing) {
            failures.extend(self.fill_group(&wanted)?);
        }
        Ok(failures)
    }

    /// Gaps that are to be filled from one reading.
    fn groups(&self, missing: &Coverage) -> Vec<Coverage> {
        let apart_max = if self.source.reads_whole() { u64::MAX } else { APART_MAX };
        let mut groups: Vec<Vec<LedgerRange>> = Vec::new();
        for gap in missing.ranges() {
            let from = u64::from(gap.from_inclusive().get());
            match groups.last_mut() {
                Some(group)
                    if group.last().is_some_and(|last| from - u64::from(last.to_inclusive().get()) <= apart_max) =>
                {
                    group.push(*gap);
                }
                _ => groups.push(vec![*gap]),
            }
        }
        groups.into_iter().map(Coverage::from_iter).collect()
    }

    fn fill_group(&self, wanted: &Coverage) -> Result<Vec<GapFailure>, BackfillError> {
        let servers = self.source.servers();
        if servers.is_empty() {
            return self.read_group(wanted);
        }
        let strict = Self { is_strict: true, ..self.clone() };
        let mut failures = strict.read_group(wanted)?;
        // It is mostly the first that serves, and so gave what cannot be used.
        for server in servers.into_iter().rev() {
            let (absent, unusable): (Vec<_>, Vec<_>) =
                failures.into_iter().partition(|failure| is_absence(&failure.code));
            let at_fault = unusable.iter().find(|failure| failure.code != UNJOINED);
            let Some(first) = at_fault.or(unusable.first()) else { return Ok(absent) };
            let source_name = server.name();
            tracing::warn!("{} ({}): {source_name} is asked for it alone", first.message, first.code);
            let asked = unusable.iter().map(|failure| failure.range).collect();
            let alone = Filler { source: server.as_ref(), source_name, ..strict.clone() };
            failures = worst(&unusable, alone.read_group(&asked)?);
            failures.extend(absent);
            failures.sort_by_key(|failure| failure.range);
        }
        let (unjoined, mut rest): (Vec<_>, Vec<_>) = failures.into_iter().partition(|failure| failure.code == UNJOINED);
        if !unjoined.is_empty() {
            // Nobody has others.
            let asked = unjoined.iter().map(|failure| failure.range).collect();
            rest.extend(worst(&unjoined, self.read_group(&asked)?));
            rest.sort_by_key(|failure| failure.range);
        }
        Ok(rest)
    }

    fn read_group(&self, wanted: &Coverage) -> Result<Vec<GapFailure>, BackfillError> {
        let tops = self.tops(wanted)?;
        let forks = self.forks(wanted, &tops)?;
        let mut missing =
            forks.iter().fold(wanted.clone(), |rest, fork| rest.difference(&Coverage::from_iter([fork.range])));
        if missing.is_empty() {
            return Ok(forks);
        }
        let mut again = missing.clone();
        let mut explained: Vec<GapFailure> = Vec::new();
        for reading in 1..=READINGS_MAX {
            let Found { stored, late, unproven, failures } = self.read(&again, &tops)?;
            missing = missing.difference(&stored);
            let open = again.difference(&stored);
            explained = explained.iter().flat_map(|failure| outside(failure, &again)).collect();
            let late = open.intersection(&late);
            let next = late.union(&open.intersection(&unproven));
            let goes_on = reading < READINGS_MAX && !stored.is_empty() && !next.is_empty();
            explained.extend(self.explain(failures, &open, &late));
            if !goes_on {
                break;
            }
            again = next;
        }
        debug_assert_eq!(explained.iter().map(|failure| failure.range.count()).sum::<u64>(), missing.count());
        explained.extend(forks);
        explained.sort_by_key(|failure| failure.range);
        Ok(explained)
    }

    fn explain(&self, failures: Failures, open: &Coverage, late: &Coverage) -> Vec<GapFailure> {
        failures.explain(open, late, &self.source_name)
    }

    fn read(&self, wanted: &Coverage, tops: &Tops) -> Result<Found, BackfillError> {
        let mut reading = Reading::new(self, wanted, tops);
        pipeline::run(self.source, wanted, &self.job.network, |object| reading.take(object))?;
        reading.finish()
    }

    /// The links that are demanded of `gap` from both sides.
    fn neighbours(&self, gap: LedgerRange) -> Result<Neighbours, StoreError> {
        let stored = self.store.neighbours(gap)?;
        let named = self.demand.named.filter(|(seq, _)| *seq == gap.to_inclusive()).map(|(_, hash)| hash);
        Ok(Neighbours { after: stored.after.or(named), ..stored })
    }
}

/// What `failure` says of ledgers that are not read again.
fn outside(failure: &GapFailure, again: &Coverage) -> Vec<GapFailure> {
    let rest = again.missing(failure.range);
    rest.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }).collect()
}
