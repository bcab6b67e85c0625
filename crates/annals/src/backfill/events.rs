//! Filling gaps from a source that gives events alone.
//!
//! What it scanned is covered and nothing of it is verified: no ledger row is written, and every event is of class
//! `unverified` until a source of whole ledgers is read over the same range. It works on the same list of gaps as any
//! backfill; each commit takes whole ledgers, and the coverage and the events of a commit come together.

use annals_core::{Batch, Coverage};

use super::{BackfillError, Job, Progress, Summary, ask, finish, whole_chain};
use crate::source::{LedgerSource as _, OtherNetwork, RpcSource};
use crate::store::{Fence, GapFailure, Store};

/// Refuses a source that contradicts the job before anything is written: another network, or a range that the network
/// has not come to. Pins are kept for a source that they can be compared with.
///
/// # Errors
/// [`BackfillError::SourceNetwork`], [`BackfillError::Source`].
pub fn check_event_source(job: &Job, source: &RpcSource) -> Result<(), BackfillError> {
    OtherNetwork::check(source, &job.network)?;
    Ok(source.check_range(job.range)?)
}

/// Fills what the job asks for and the store lacks with the events that the source's endpoints tell.
///
/// # Errors
/// [`BackfillError`]; ledgers that were not scanned are none: they are in [`Summary::failures`].
pub fn run_events(
    job: &Job,
    store: &dyn Store,
    source: &RpcSource,
    progress: &dyn Progress,
) -> Result<Summary, BackfillError> {
    check_event_source(job, source)?;
    let (fence, missing) = ask(job, store)?;
    progress.begin(job.range.count(), job.range.count() - missing.count());
    let failures = fill(job, store, fence, source, &missing, progress)?;
    finish(job, store, fence, &missing, &Coverage::new(), failures, progress)
}

fn fill(
    job: &Job,
    store: &dyn Store,
    fence: Fence,
    source: &RpcSource,
    missing: &Coverage,
    progress: &dyn Progress,
) -> Result<Vec<GapFailure>, BackfillError> {
    let mut failures = Vec::new();
    for gap in missing.ranges() {
        for scanned in source.scan(*gap, &job.scope) {
            let scanned = match scanned {
                Ok(scanned) => scanned,
                Err(fault) => {
                    let (range, code) = (fault.range.unwrap_or(*gap), fault.code().to_owned());
                    failures.push(GapFailure { range, code, message: whole_chain(&fault) });
                    continue;
                }
            };
            if !progress.may_go_on() {
                return Err(BackfillError::Stopped);
            }
            let (network, scope) = (job.network.clone(), job.scope.clone());
            let batch = Batch::unverified(network, scope, source.name(), scanned.range, scanned.events)?;
            let committed = store.commit(&batch, fence)?;
            progress.advance(scanned.range.count(), committed.events_added);
        }
    }
    failures.sort_by_key(|failure| failure.range);
    Ok(failures)
}
