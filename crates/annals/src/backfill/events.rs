//! Filling gaps from a source that gives events alone.
//!
//! What it scanned is covered and nothing of it is verified: no ledger row is written, and every event is of class
//! `unverified` until a source of whole ledgers is read over the same range. It works on the same list of gaps as any
//! backfill; each commit takes whole ledgers, and the coverage and the events of a commit come together, with the
//! envelopes of transactions whose events leave a payload out.

use annals_core::{Batch, Coverage, LedgerRange, TransactionKey};

use super::envelopes::{Envelopes, PER_COMMIT};
use super::{BackfillError, Job, Progress, Summary, ask, finish, whole_chain};
use crate::source::{LedgerSource as _, OtherNetwork, RpcSource, Scanned};
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
    let mut envelopes = Envelopes::new(source, progress);
    // What is stored is nearer to the end of the endpoint's retention than what is not.
    envelopes.catch_up(job, store, fence)?;
    let failures = fill(job, store, fence, source, &missing, &mut envelopes, progress)?;
    let summary = finish(job, store, fence, &missing, &Coverage::new(), failures, progress)?;
    Ok(envelopes.report(summary))
}

fn fill(
    job: &Job,
    store: &dyn Store,
    fence: Fence,
    source: &RpcSource,
    missing: &Coverage,
    envelopes: &mut Envelopes<'_>,
    progress: &dyn Progress,
) -> Result<Vec<GapFailure>, BackfillError> {
    let mut failures = Vec::new();
    for gap in missing.ranges() {
        for scanned in source.scan(*gap, &job.scope) {
            let mut scanned = match scanned {
                Ok(scanned) => scanned,
                Err(fault) => {
                    let (range, code) = (fault.range.unwrap_or(*gap), fault.code().to_owned());
                    failures.push(GapFailure { range, code, message: whole_chain(&fault) });
                    continue;
                }
            };
            scanned.events.retain(|event| job.scope.takes(event));
            let wanted = store.wanted_by(&scanned.events)?;
            for (Scanned { range, events }, wanted) in pieces(scanned, &wanted) {
                let brought = envelopes.bring(wanted);
                if !progress.may_go_on() {
                    return Err(BackfillError::Stopped);
                }
                let (network, scope) = (job.network.clone(), job.scope.clone());
                let batch = Batch::unverified(network, scope, source.name(), range, events)?.with_envelopes(brought)?;
                let committed = store.commit(&batch, fence)?;
                progress.advance(range.count(), committed.events_added);
            }
        }
    }
    failures.sort_by_key(|failure| failure.range);
    Ok(failures)
}

/// Cuts what was scanned between two ledgers wherever a commit would wait for more envelopes than it should.
fn pieces(scanned: Scanned, wanted: &[TransactionKey]) -> Vec<(Scanned, &[TransactionKey])> {
    let (Scanned { mut range, mut events }, mut wanted) = (scanned, wanted);
    let mut pieces = Vec::new();
    while wanted.len() > PER_COMMIT {
        let last = wanted[PER_COMMIT - 1].ledger;
        let (Ok(own), Some(above)) = (LedgerRange::new(range.from_inclusive(), last), last.next()) else { break };
        let Ok(rest) = LedgerRange::new(above, range.to_inclusive()) else { break };
        let later = events.split_off(events.partition_point(|event| event.position.ledger() <= last));
        let (of_own, of_rest) = wanted.split_at(wanted.partition_point(|wanted| wanted.ledger <= last));
        pieces.push((Scanned { range: own, events }, of_own));
        (range, events, wanted) = (rest, later, of_rest);
    }
    pieces.push((Scanned { range, events }, wanted));
    pieces
}
