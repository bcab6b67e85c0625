//! Filling gaps.
//!
//! Gaps that lie close together are filled from one reading of the source: to open it again for each would list a
//! lake's partition, or go through a whole file, once a gap. What a reading brought out of order, or could not tie
//! to the network yet, is read again as long as that gets anywhere.

mod failures;
mod reading;
mod rivals;

use annals_core::{ChainFault, Coverage, LedgerRange};

use self::failures::Failures;
pub(super) use self::failures::is_absence;
use self::reading::{Found, Reading};
use super::{BackfillError, Job, Progress, pipeline, sound_ledgers};
use crate::source::LedgerSource;
use crate::store::{Fence, GapFailure, Store};

/// Gaps at most so many ledgers apart are filled from one reading.
const APART_MAX: u64 = 1024;
/// A source is read at most so often for the same ledgers in one run.
const READINGS_MAX: usize = 16;

/// What fills gaps, and from where.
pub(super) struct Filler<'a> {
    pub job: &'a Job,
    pub store: &'a dyn Store,
    pub fence: Fence,
    pub source: &'a dyn LedgerSource,
    pub source_name: String,
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
        let forks = self.forks(wanted)?;
        let mut missing =
            forks.iter().fold(wanted.clone(), |rest, fork| rest.difference(&Coverage::from_iter([fork.range])));
        if missing.is_empty() {
            return Ok(forks);
        }
        let mut again = missing.clone();
        let mut explained: Vec<GapFailure> = Vec::new();
        for reading in 1..=READINGS_MAX {
            let Found { stored, late, unproven, failures } = self.read(&again)?;
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

    /// The gaps that the source would fill with another chain than the stored one above them.
    ///
    /// A gap is filled upwards, so a chain that nothing ties to the archive from below would be stored up to the
    /// stored ledger before it is seen not to link. The gap's last ledger tells beforehand.
    fn forks(&self, wanted: &Coverage) -> Result<Vec<GapFailure>, BackfillError> {
        let mut forks = Vec::new();
        // The chain itself refuses the last ledger, which is all of a gap of one.
        for gap in wanted.ranges().iter().filter(|gap| gap.count() > 1) {
            let stored = self.store.neighbours(*gap)?;
            let is_pinned =
                self.job.pins.iter().any(|pin| gap.contains(pin.seq) || pin.seq.next() == Some(gap.from_inclusive()));
            let (None, Some(after), false) = (stored.before, stored.after, is_pinned) else { continue };
            let last = gap.to_inclusive();
            let given = sound_ledgers(self.job, self.source, Some(last), |ledger| ledger.hash)?;
            let Some(above) = last.next().filter(|_| !given.is_empty() && !given.contains(&after)) else { continue };
            let fault = ChainFault::ContradictsStored { stored: above };
            let message = format!("{}: ledger {last}: {fault}", self.source_name);
            forks.push(GapFailure { range: *gap, code: fault.code().to_owned(), message });
        }
        Ok(forks)
    }

    fn explain(&self, failures: Failures, open: &Coverage, late: &Coverage) -> Vec<GapFailure> {
        failures.explain(open, late, &self.source_name)
    }

    fn read(&self, wanted: &Coverage) -> Result<Found, BackfillError> {
        let mut reading = Reading::new(self, wanted);
        pipeline::run(self.source, wanted, &self.job.network, |object| reading.take(object))?;
        reading.finish()
    }
}

/// What `failure` says of ledgers that are not read again.
fn outside(failure: &GapFailure, again: &Coverage) -> Vec<GapFailure> {
    let rest = again.missing(failure.range);
    rest.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }).collect()
}
