//! What comes next, asked for once and without waiting.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_core::LedgerSeq;

use super::endpoint::{Endpoint, Verdict};
use super::fault::{NextStep, RequestFault, RequestFaultKind};
use super::page::PageSize;
use super::pool::Pool;
use super::tip::Tip;
use crate::source::{LedgerObject, Poll};

/// Of so many askings in a row that bring nothing new one goes to another endpoint.
const LOOK_ELSEWHERE: u32 = 4;
/// After so long with another endpoint the first in order is asked again.
const RETURN: Duration = Duration::from_secs(30);
/// An endpoint whose ledgers cannot be used comes last for so long.
const PASSED_OVER: Duration = Duration::from_secs(60);

const _: () = assert!(LOOK_ELSEWHERE > 1, "most askings go to the endpoint that served last");

/// The endpoints as the tip is asked of them. What they fail at is theirs alone, so that a gap that nobody can fill
/// holds up no new ledger; what they ask to be left alone for is shared.
pub(super) struct Live {
    pool: Pool,
    state: Mutex<State>,
}

struct State {
    /// The endpoint that served last.
    lead: usize,
    /// The endpoint that was asked last.
    asked: usize,
    /// Whose turn it is when another than the lead is asked.
    elsewhere: usize,
    /// When the first in order is asked again.
    returns_at: Duration,
    /// Askings in a row that brought nothing new.
    quiet: u32,
    /// Until when each endpoint comes last.
    passed_over_until: Vec<Duration>,
    size: PageSize,
}

/// What endpoints lacked that have something newer.
#[derive(Default)]
struct Lacking {
    oldest: Option<LedgerSeq>,
    next: Option<LedgerSeq>,
    fault: Option<Arc<RequestFault>>,
}

impl Live {
    pub(super) fn new(pool: Pool) -> Self {
        let passed_over_until = vec![Duration::ZERO; pool.endpoints.len()];
        let (returns_at, size) = (Duration::ZERO, PageSize::new());
        let state = State { lead: 0, asked: 0, elsewhere: 0, returns_at, quiet: 0, passed_over_until, size };
        Self { pool, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks endpoints until one has ledgers or says that there are none yet, each at most once.
    pub(super) fn poll(&self, next: LedgerSeq, ledgers_max: u32) -> Poll {
        let mut lacking = Lacking::default();
        for at in self.order() {
            self.state().asked = at;
            let endpoint = &self.pool.endpoints[at];
            let ledgers = self.state().size.ledgers(u64::from(ledgers_max));
            match endpoint.page(&self.pool.passphrase, next, ledgers) {
                Ok(page) => {
                    endpoint.succeeded();
                    let mut state = self.state();
                    state.size.served(page.objects.len(), page.bytes);
                    (state.lead, state.quiet) = (at, 0);
                    return Poll::Ledgers(page.objects, page.tip);
                }
                Err(Verdict::BelowOldest(oldest)) => _ = lacking.oldest.replace(oldest),
                Err(Verdict::LeavesOut { next }) => _ = lacking.next.replace(next),
                Err(Verdict::Behind(tip)) if lacking.is_empty() => {
                    endpoint.answered(tip, next);
                    self.state().quiet += 1;
                    return Poll::AtTip(tip);
                }
                Err(Verdict::Behind(_)) => {}
                Err(Verdict::Lacks(fault) | Verdict::Failed(fault)) => {
                    if let Some(tip) = announced(endpoint, &fault).filter(|_| lacking.is_empty()) {
                        let mut state = self.state();
                        state.quiet += 1;
                        // The page may have been too long for the endpoint, and not its first ledger too new.
                        state.size.too_large(ledgers);
                        return Poll::AtTip(tip);
                    }
                    self.state().size.failed(ledgers, &fault.kind);
                    self.pool.set_aside(endpoint, &Verdict::Failed(Arc::clone(&fault)));
                    lacking.fault = Some(fault);
                }
            }
        }
        lacking.told(self)
    }

    /// Whom to ask, in which order: the one that served last, now and then another, and last who gave what cannot be
    /// used; nobody who is to be left alone.
    fn order(&self) -> Vec<usize> {
        let now = self.pool.clock.monotonic();
        let endpoints = &self.pool.endpoints;
        let mut state = self.state();
        let is_ready = |at: &usize| endpoints[*at].aside_until() <= now;
        let mut order: Vec<usize> = (0..endpoints.len()).filter(is_ready).collect();
        let looks_elsewhere = state.quiet % LOOK_ELSEWHERE == LOOK_ELSEWHERE - 1 && order.len() > 1;
        let returns = state.lead != 0 && now >= state.returns_at;
        if returns || state.lead == 0 {
            state.returns_at = now.saturating_add(RETURN);
        }
        let first = if returns {
            0
        } else if looks_elsewhere {
            state.elsewhere = state.elsewhere.wrapping_add(1);
            let others: Vec<usize> = order.iter().copied().filter(|at| *at != state.lead).collect();
            others.get(state.elsewhere % others.len().max(1)).copied().unwrap_or(state.lead)
        } else {
            state.lead
        };
        order.sort_by_key(|at| (state.passed_over_until[*at] > now, *at != first, *at));
        order
    }

    /// How long until somebody may be asked again; zero where somebody may be now.
    fn ready_in(&self) -> Duration {
        let ready = self.pool.endpoints.iter().map(Endpoint::aside_until).min().unwrap_or_default();
        ready.saturating_sub(self.pool.clock.monotonic())
    }

    pub(super) fn pass_over(&self) {
        let asked = self.state().asked;
        self.comes_last(asked);
        tracing::warn!("{}: what it gave cannot be used, others are asked first", self.pool.endpoints[asked].name());
    }

    fn comes_last(&self, at: usize) {
        self.state().passed_over_until[at] = self.pool.clock.monotonic().saturating_add(PASSED_OVER);
    }

    /// Asks those that say they have ledger `seq` for it alone, each at most once.
    pub(super) fn serve(&self, seq: LedgerSeq) -> Result<LedgerObject, Option<Arc<RequestFault>>> {
        let now = self.pool.clock.monotonic();
        let has_it = |endpoint: &Endpoint| endpoint.aside_until() <= now && endpoint.latest() >= Some(seq);
        let mut who: Vec<usize> =
            (0..self.pool.endpoints.len()).filter(|at| has_it(&self.pool.endpoints[*at])).collect();
        who.sort_by_key(|at| self.state().passed_over_until[*at] > now);
        let mut why = None;
        for at in who {
            let endpoint = &self.pool.endpoints[at];
            match endpoint.page(&self.pool.passphrase, seq, 1) {
                Ok(page) => {
                    endpoint.succeeded();
                    let mut state = self.state();
                    state.passed_over_until[at] = Duration::ZERO;
                    state.asked = at;
                    return page.objects.into_iter().next().ok_or(None);
                }
                Err(verdict) => {
                    self.comes_last(at);
                    let Verdict::Failed(fault) = &verdict else { continue };
                    if !is_ordinary(fault) {
                        self.pool.set_aside(endpoint, &verdict);
                    }
                    why = Some(Arc::clone(fault));
                }
            }
        }
        Err(why)
    }

    pub(super) fn announced(&self) -> Vec<Result<Tip, Arc<RequestFault>>> {
        let now = self.pool.clock.monotonic();
        let ask = |endpoint: &Endpoint| match endpoint.last_fault() {
            Some(fault) if endpoint.aside_until() > now => Err(fault),
            _ => endpoint.tip().map_err(Arc::new),
        };
        self.pool.endpoints.iter().map(ask).collect()
    }

    pub(super) fn protocol(&self) -> Option<u32> {
        let now = self.pool.clock.monotonic();
        let ready = self.pool.endpoints.iter().filter(|endpoint| endpoint.aside_until() <= now);
        ready.filter_map(|endpoint| endpoint.protocol().ok()).max()
    }
}

/// The tip of an endpoint that says that it has a ledger and does not serve it yet: replicas that rotate behind one
/// address may do so from one request to the next.
fn announced(endpoint: &Endpoint, fault: &RequestFault) -> Option<Tip> {
    let latest = endpoint.latest().filter(|_| is_ordinary(fault))?;
    Some(Tip { latest, oldest: None, latest_closed_unix_ms: None })
}

/// Whether a ledger was refused as one that is not there, or not yet.
fn is_ordinary(fault: &RequestFault) -> bool {
    matches!(fault.kind, RequestFaultKind::Unserved { .. }) || fault.kind.next_step() == NextStep::AskRange
}

impl Lacking {
    fn is_empty(&self) -> bool {
        self.oldest.is_none() && self.next.is_none()
    }

    fn told(self, live: &Live) -> Poll {
        let last = || live.pool.endpoints.iter().find_map(Endpoint::last_fault);
        match (self.oldest, self.next, self.fault.or_else(last)) {
            (_, Some(next), _) => Poll::LeftOut { next },
            (Some(oldest), None, _) => Poll::BelowRetention { oldest },
            (None, None, Some(fault)) => Poll::NotServed { fault, retry_after: live.ready_in() },
            (None, None, None) => unreachable!("an endpoint is only left alone after a fault"),
        }
    }
}
