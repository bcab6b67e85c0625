//! Several endpoints in order, of which the first that can serves.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use annals_core::{LedgerRange, LedgerSeq};

use super::endpoint::{Endpoint, Page, Verdict};
use super::fault::{NextStep, RequestFault, RequestFaultKind};
use super::page::PageSize;
use crate::clock::Clock;
use crate::source::ObjectFaultKind;
use crate::source::http::Jitter;

/// An endpoint that fails is asked for the same ledger so often, over about a minute and a half.
const FAILED_TRIES: u32 = 8;
/// An endpoint that lags or leaves a ledger out is asked so often: another replica may answer.
const LAGGING_TRIES: u32 = 4;

/// After so many ledgers in a row that endpoints fail for, the rest is not asked for.
pub(super) const LOST_IN_A_ROW_MAX: u32 = 3;

/// Endpoints of one network.
pub(super) struct Pool {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) passphrase: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) jitter: Mutex<Jitter>,
}

/// Ledgers that no endpoint gives.
pub(super) struct Unserved {
    /// The last of them before those that an endpoint says it has; none for all that were asked for.
    through: Option<LedgerSeq>,
    pub(super) kind: ObjectFaultKind,
    /// Whether it may be the first ledger alone that an endpoint fails for which serves others.
    is_loss: bool,
}

impl Unserved {
    /// The last ledger of `wanted` that is given up, where so many before it were lost in a row, which is counted on.
    pub(super) fn given_up_through(&self, wanted: LedgerRange, lost_in_a_row: &mut u32) -> LedgerSeq {
        *lost_in_a_row = if self.is_loss { *lost_in_a_row + 1 } else { 0 };
        let (first, last) = (wanted.from_inclusive(), wanted.to_inclusive());
        if self.is_loss && *lost_in_a_row < LOST_IN_A_ROW_MAX {
            return first;
        }
        self.through.map_or(last, |through| through.clamp(first, last))
    }
}

/// What came of asking one endpoint for one ledger.
#[derive(Default)]
struct Trial {
    tries: u32,
    last: Option<Verdict>,
}

impl Trial {
    fn is_over(&self) -> bool {
        let tries_max = match &self.last {
            // Not to be asked at all, or not yet asked.
            None => return self.tries > 0,
            Some(Verdict::BelowOldest(_) | Verdict::Lacks(_)) => 1,
            Some(Verdict::Behind(_) | Verdict::LeavesOut { .. }) => LAGGING_TRIES,
            Some(Verdict::Failed(fault)) if fault.kind.next_step() == NextStep::Never => 1,
            Some(Verdict::Failed(fault)) if matches!(fault.kind, RequestFaultKind::Unserved { .. }) => LAGGING_TRIES,
            Some(Verdict::Failed(_)) => FAILED_TRIES,
        };
        self.tries >= tries_max
    }
}

impl Pool {
    /// A page that begins with the first ledger of `wanted`, from the first endpoint that can, or from the one in place
    /// `only`.
    pub(super) fn page(&self, wanted: LedgerRange, only: Option<usize>, size: &mut PageSize) -> Result<Page, Unserved> {
        let at = wanted.from_inclusive();
        self.ask_one(only, |_, endpoint| {
            let ledgers = size.ledgers(wanted.count());
            let page = endpoint.page(&self.passphrase, at, ledgers);
            match &page {
                Ok(page) => size.served(page.objects.len(), page.bytes),
                Err(Verdict::Failed(fault)) => size.failed(ledgers, &fault.kind),
                Err(_) => {}
            }
            page
        })
    }

    /// What `ask` brings from the first endpoint that can; it is told the endpoint's place.
    ///
    /// Ends: each endpoint is asked a bounded number of times, and every wait is bounded and none is zero.
    pub(super) fn ask<T>(&self, ask: impl FnMut(usize, &Endpoint) -> Result<T, Verdict>) -> Result<T, Unserved> {
        self.ask_one(None, ask)
    }

    /// The same of the endpoint in place `only`, where there is one.
    fn ask_one<T>(
        &self,
        only: Option<usize>,
        mut ask: impl FnMut(usize, &Endpoint) -> Result<T, Verdict>,
    ) -> Result<T, Unserved> {
        let begin = |(place, endpoint)| match only {
            Some(only) if only != place => Trial { tries: u32::MAX, last: None },
            _ => self.begin(endpoint),
        };
        let mut trials: Vec<Trial> = self.endpoints.iter().enumerate().map(begin).collect();
        while let Some(place) = self.next(&trials).filter(|_| !self.clock.is_stopped()) {
            let (endpoint, trial) = (&self.endpoints[place], &mut trials[place]);
            let now = self.clock.monotonic();
            let ready = endpoint.aside_until();
            if ready > now {
                self.clock.sleep(ready - now);
            }
            match ask(place, endpoint) {
                Ok(served) => {
                    endpoint.succeeded();
                    return Ok(served);
                }
                Err(verdict) => {
                    self.set_aside(endpoint, &verdict);
                    trial.tries += 1;
                    trial.last = Some(verdict);
                }
            }
        }
        Err(give_up(trials))
    }

    pub(super) fn set_aside(&self, endpoint: &Endpoint, verdict: &Verdict) {
        let mut jitter = self.jitter.lock().unwrap_or_else(PoisonError::into_inner);
        endpoint.set_aside(verdict, self.clock.monotonic(), &mut jitter);
    }

    /// An endpoint that takes an operator counts as tried.
    fn begin(&self, endpoint: &Endpoint) -> Trial {
        let refused = endpoint.refused(self.clock.monotonic());
        Trial { tries: u32::from(refused.is_some()), last: refused.map(Verdict::Failed) }
    }

    /// The endpoint to ask: the first that is not set aside, or the one whose time comes first.
    fn next(&self, trials: &[Trial]) -> Option<usize> {
        let now = self.clock.monotonic();
        let open = (0..trials.len()).filter(|at| !trials[*at].is_over());
        open.min_by_key(|at| self.endpoints[*at].aside_until().saturating_sub(now).max(Duration::ZERO))
    }
}

/// What is to be said where every endpoint was asked.
fn give_up(trials: Vec<Trial>) -> Unserved {
    let (mut oldest, mut next, mut latest) = (None::<LedgerSeq>, None::<LedgerSeq>, None::<LedgerSeq>);
    let (mut failed, mut refused) = (None::<Arc<RequestFault>>, None::<Arc<RequestFault>>);
    for verdict in trials.into_iter().filter_map(|trial| trial.last) {
        match verdict {
            Verdict::BelowOldest(seq) => oldest = Some(oldest.map_or(seq, |oldest| oldest.min(seq))),
            Verdict::LeavesOut { next: seq } => next = Some(next.map_or(seq, |next| next.min(seq))),
            Verdict::Behind(tip) => latest = latest.max(Some(tip.latest)),
            Verdict::Lacks(fault) => _ = refused.get_or_insert(fault),
            Verdict::Failed(fault) if fault.kind.next_step() == NextStep::Never => _ = refused.get_or_insert(fault),
            Verdict::Failed(fault) => _ = failed.get_or_insert(fault),
        }
    }
    let goes_on = [oldest, next].into_iter().flatten().min().and_then(LedgerSeq::previous);
    if let Some(fault) = failed {
        // Where another endpoint goes on says nothing of what this one has before that.
        let is_loss = fault.kind.is_about_the_ledger();
        return Unserved { through: goes_on, kind: ObjectFaultKind::NotServed(fault), is_loss };
    }
    let kind = match (oldest, next, latest, refused) {
        (_, Some(_), ..) => ObjectFaultKind::LeftOut,
        (Some(oldest), ..) => ObjectFaultKind::BelowRetention { oldest },
        (_, _, Some(latest), _) => ObjectFaultKind::AboveTip { latest },
        (.., Some(fault)) => ObjectFaultKind::NotServed(fault),
        // A pool has an endpoint, and each was asked.
        (None, None, None, None) => ObjectFaultKind::LeftOut,
    };
    Unserved { through: goes_on, kind, is_loss: false }
}
