//! Where following begins, and whether it may.

use std::time::Duration;

use annals_core::{LedgerRange, LedgerSeq, PROTOCOL_KNOWN_MAX};

use super::confirm::{Doubt, Reason};
use super::live::{Live, Step, Then};
use super::state::Why;
use super::{FollowError, FollowJob};
use crate::source::{SourceError, Tip};
use crate::store::{FollowStateName, INCIDENT_OPEN, Request, Status, StoreError};

/// An archive that is so many ledgers ahead of the network is of another one; an endpoint lags less.
pub const AHEAD_LEDGERS_MAX: u32 = 5_000;

/// How often nodes are asked which protocol they know.
const LOOK_AHEAD_EVERY: Duration = Duration::from_secs(3_600);

/// Refuses a start above the tip, and an archive that is far ahead of the network.
pub(super) fn judge(job: &FollowJob, status: Option<&Status>, source_name: &str, tip: Tip) -> Result<(), FollowError> {
    let stored = status.and_then(|status| status.latest_ledger.max(status.verified.latest()));
    let Some(stored) = stored else {
        let from = job.from.or(status.and_then(|status| status.start));
        return match from.filter(|from| *from > tip.latest) {
            Some(from) => {
                let source_name = source_name.to_owned();
                Err(SourceError::AboveTip { source_name, from, latest: tip.latest }.into())
            }
            None => Ok(()),
        };
    };
    if let Some(from) = job.from.filter(|from| *from > tip.latest.max(stored)) {
        return Err(SourceError::AboveTip { source_name: source_name.to_owned(), from, latest: tip.latest }.into());
    }
    if stored.get().saturating_sub(tip.latest.get()) > AHEAD_LEDGERS_MAX {
        return Err(FollowError::AheadOfNetwork { source_name: source_name.to_owned(), stored, tip: tip.latest });
    }
    Ok(())
}

impl Live<'_> {
    pub(super) fn begin(&mut self) -> Result<Step, FollowError> {
        let status = self.store.status()?;
        if status.open_incidents > 0 {
            return self.stopped_by_incident();
        }
        self.backed = status.verified.latest();
        let (found, backed) = match self.find_tip()? {
            Ok(found) => found,
            Err(step) => return Ok(step),
        };
        self.voice.heard(found);
        if let Some(tip) = found.filter(|_| !self.has_begun) {
            judge(self.job, Some(&status), &self.source.name(), tip)?;
            self.has_begun = true;
        }
        match self.place(&status, backed) {
            Ok(next) => self.next = next,
            Err(error) => return self.not_taken(error),
        }
        self.look_ahead()?;
        let tip = found.map_or(backed, |tip| tip.latest);
        let newest = newest_up_to(&status, tip);
        self.stored = status.verified.latest();
        self.is_behind = tip >= self.next;
        self.held.clear();
        self.shared.set_boundary(self.next);
        self.gaps.wake();
        self.voice.state(FollowStateName::CatchingUp, None)?;
        Ok(newest.map_or(Step::Ask, |stored| Step::Confirm(Doubt { stored, reason: Reason::Start })))
    }

    /// Records what is asked for and where ledgers are missing, and says which ledger comes next.
    fn place(&self, status: &Status, backed: LedgerSeq) -> Result<LedgerSeq, StoreError> {
        let keys = self.job.scope.keys();
        let ends = || keys.iter().filter_map(|key| status.covered(*key).latest());
        let (Some(lowest), Some(highest)) = (ends().min(), ends().max()) else {
            let first = self.job.from.or(status.start).unwrap_or(backed);
            self.request(first, first)?;
            return self.pass_to_boundary(first, backed);
        };
        let from = self.job.from.filter(|from| status.start.is_none_or(|start| *from < start));
        self.request(from.unwrap_or(highest).min(highest), highest)?;
        if let Some(above) = lowest.next().filter(|above| *above <= highest) {
            self.request(above, highest)?;
        }
        self.pass_to_boundary(highest.next().unwrap_or(highest), backed)
    }

    /// The boundary: `next`, unless that is too far below; then what lies between is recorded.
    fn pass_to_boundary(&self, next: LedgerSeq, backed: LedgerSeq) -> Result<LedgerSeq, StoreError> {
        if !self.is_far(next) {
            return Ok(next);
        }
        self.request(next, backed)?;
        Ok(backed.next().unwrap_or(backed))
    }

    /// Whether what is known to be there is too far above `next` for taking one ledger after the other.
    pub(super) fn is_far(&self, next: LedgerSeq) -> bool {
        let ahead = self.backed.map_or(0, |backed| backed.get().saturating_sub(next.get()));
        ahead >= self.options.catch_up_max.max(1)
    }

    /// Records that ledgers are wanted; those that are not stored are durable gaps from then on.
    pub(super) fn request(&self, from: LedgerSeq, to: LedgerSeq) -> Result<(), StoreError> {
        let FollowJob { network, scope, classic, pins, .. } = self.job;
        let Ok(range) = LedgerRange::new(from, to) else { return Ok(()) };
        let (network, scope, pins) = (network.clone(), scope.clone(), pins.clone());
        let plan =
            self.store.request(&Request { network, scope, classic: *classic, range, pins }, self.shared.fence)?;
        if let Some(old) = plan.lowered_start_from {
            tracing::info!(
                "the archive's start was lowered from ledger {old} to {from}: its marks count from there now"
            );
        }
        Ok(())
    }

    /// Asks now and then which protocol the nodes know: it is a later one before the network changes to it.
    pub(super) fn look_ahead(&mut self) -> Result<(), FollowError> {
        let now = self.clock.monotonic();
        if self.looked_ahead.is_some_and(|looked| now.saturating_sub(looked) < LOOK_AHEAD_EVERY) {
            return Ok(());
        }
        self.looked_ahead = Some(now);
        if let Some(protocol) = self.ask_protocol()? {
            self.announce_protocol(protocol, "a node of the network knows");
        }
        Ok(())
    }

    pub(super) fn announce_protocol(&mut self, protocol: u32, by: &str) {
        if protocol > PROTOCOL_KNOWN_MAX {
            self.voice.announce(format!(
                "{by} protocol {protocol}, and this version reads up to {PROTOCOL_KNOWN_MAX}: use a newer Annals before the \
                 network changes to it, from when on no ledger is stored"
            ));
        }
    }

    /// Waits until an operator has resolved what was found.
    pub(super) fn stopped_by_incident(&self) -> Result<Step, FollowError> {
        let incidents = self.store.incidents()?;
        let open = incidents.iter().find(|incident| incident.resolved_at_ms.is_none());
        let id = open.map_or(String::new(), |open| format!(" {}", open.id));
        let message = format!(
            "incident{id} waits for an operator, and nothing is stored until it is resolved: look at `annals incidents list`"
        );
        Ok(Step::Rest(Why { code: INCIDENT_OPEN, message }, self.options.rest, Then::Begin))
    }
}

/// The newest stored ledger that is not above `tip`.
pub(super) fn newest_up_to(status: &Status, tip: LedgerSeq) -> Option<LedgerSeq> {
    let all = LedgerRange::new(LedgerSeq::MIN, tip).ok()?;
    status.verified.within(all).latest()
}
