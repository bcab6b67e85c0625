//! One endpoint: what it was found to hold, and whether it is to be asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_core::LedgerSeq;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::answer::{HealthAnswer, LatestAnswer, LedgerEntry, LedgersAnswer, NetworkAnswer, Number, VersionAnswer};
use super::caller::Caller;
use super::fault::{NextStep, RequestFault, RequestFaultKind};
use super::page::PageSize;
use super::tip::Tip;
use crate::source::http::{Backoff, Jitter, RETRY_AFTER_MAX};
use crate::source::{LedgerObject, ObjectEncoding, is_passphrase};

/// The most of an answer that holds no ledger, bytes.
const SMALL_BYTES_MAX: u64 = 64 << 10;
/// An endpoint that takes an operator is asked again after so long.
const REFUSED_ASIDE: Duration = Duration::from_secs(600);

/// Why an endpoint gave no ledger.
#[derive(Debug, Clone)]
pub(super) enum Verdict {
    /// It keeps nothing below its oldest ledger.
    BelowOldest(LedgerSeq),
    /// Its page begins with a later ledger.
    LeavesOut { next: LedgerSeq },
    /// It has not come to that ledger.
    Behind(Tip),
    /// It lacks what was asked for, or has something else in its place, which asking again does not change.
    Lacks(Arc<RequestFault>),
    /// The request failed.
    Failed(Arc<RequestFault>),
}

/// Ledgers in ascending order without a hole, at least one.
pub(super) struct Page {
    pub(super) objects: Vec<LedgerObject>,
    pub(super) last: LedgerSeq,
    /// What the endpoint says that it holds.
    pub(super) tip: Tip,
    /// How many bytes of JSON it took.
    pub(super) bytes: u64,
}

pub(super) struct Endpoint {
    pub(super) caller: Caller,
    state: Mutex<State>,
    throttle: Throttle,
}

/// Until when a server asks to be left alone, for all who ask it, and how it said so.
pub(super) type Throttle = Arc<Mutex<Option<(Duration, Arc<RequestFault>)>>>;

#[derive(Default)]
struct State {
    backoff: Backoff,
    /// It is not asked before this moment of the clock's.
    aside_until: Duration,
    /// Why it takes an operator.
    refused: Option<Arc<RequestFault>>,
    /// Whether it said that it is of the source's network.
    network_known: bool,
    latest: Option<LedgerSeq>,
    /// What went wrong last.
    last_fault: Option<Arc<RequestFault>>,
    /// Whether it was told that the endpoint is behind what it has served.
    told_behind: bool,
}

impl Endpoint {
    pub(super) fn new(caller: Caller, throttle: Throttle) -> Self {
        Self { caller, state: Mutex::default(), throttle }
    }

    pub(super) fn name(&self) -> String {
        self.caller.address.to_string()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it may be asked again.
    pub(super) fn aside_until(&self) -> Duration {
        let asked_for = self.throttled().map_or(Duration::ZERO, |(until, _)| until);
        self.state().aside_until.max(asked_for)
    }

    fn throttled(&self) -> Option<(Duration, Arc<RequestFault>)> {
        self.throttle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest ledger that it said it has; none before it said so.
    pub(super) fn latest(&self) -> Option<LedgerSeq> {
        self.state().latest
    }

    /// What it failed at last; none of an endpoint that never failed, whoever asked it.
    pub(super) fn last_fault(&self) -> Option<Arc<RequestFault>> {
        let own = self.state().last_fault.clone();
        own.or_else(|| self.throttled().map(|(_, fault)| fault))
    }

    /// Why it is not to be asked before an operator has seen to it.
    pub(super) fn refused(&self, now: Duration) -> Option<Arc<RequestFault>> {
        let state = self.state();
        state.refused.clone().filter(|_| state.aside_until > now)
    }

    /// The passphrase of its network.
    pub(super) fn network(&self) -> Result<String, RequestFault> {
        let NetworkAnswer { passphrase } = self.ask("getNetwork")?;
        if is_passphrase(&passphrase) {
            return Ok(passphrase);
        }
        let cause = serde::de::Error::custom("its passphrase is no short line of text");
        Err(self.caller.fault("getNetwork", RequestFaultKind::BadResult(cause)))
    }

    /// The highest protocol that its node knows.
    pub(super) fn protocol(&self) -> Result<u32, RequestFault> {
        let answer = self.ask::<VersionAnswer>("getVersionInfo")?;
        Ok(u32::try_from(answer.protocol_version.0).unwrap_or(u32::MAX))
    }

    /// Takes note that it is of the source's network.
    pub(super) fn network_is_known(&self) {
        self.state().network_known = true;
    }

    /// What it holds.
    ///
    /// A node that lags says that it is unhealthy and no more; then its latest ledger is asked for.
    pub(super) fn tip(&self) -> Result<Tip, RequestFault> {
        let tip = match self.ask::<HealthAnswer>("getHealth") {
            Ok(health) => (health.latest_ledger, health.oldest_ledger, health.latest_ledger_close_time),
            Err(fault) if matches!(fault.kind, RequestFaultKind::Error { .. }) => {
                // Since stellar-rpc 25 it holds the ledger too.
                let latest = self.ask_within::<LatestAnswer>("getLatestLedger", PageSize::bytes_max(1))?;
                (latest.sequence, None, latest.close_time)
            }
            Err(fault) => return Err(fault),
        };
        let (latest, oldest, closed) = tip;
        let latest = latest.seq().ok_or_else(|| self.no_ledger("getHealth"))?;
        self.state().latest = Some(latest);
        let oldest = oldest.and_then(Number::seq);
        Ok(Tip { latest, oldest, latest_closed_unix_ms: closed.map(to_ms) })
    }

    /// A page of at most `ledgers` from `at` on.
    pub(super) fn page(&self, passphrase: &str, at: LedgerSeq, ledgers: u32) -> Result<Page, Verdict> {
        self.check_network(passphrase)?;
        let known = self.state().latest;
        if known.is_none_or(|latest| latest < at) {
            // A server refuses a start above its latest ledger, so it is not asked for one.
            let tip = self.tip()?;
            if tip.latest < at {
                return Err(Verdict::Behind(tip));
            }
        }
        let params = json!({"startLedger": at.get(), "pagination": {"limit": ledgers}, "xdrFormat": "base64"});
        let answered = self.caller.call("getLedgers", &params, PageSize::bytes_max(ledgers));
        let read = answered.and_then(|answer| {
            let page = self.caller.result::<LedgersAnswer<'_>>("getLedgers", &answer)?;
            Ok(self.take(at, &page, ledgers, answer.1.len()))
        });
        match read {
            Ok(page) => page,
            Err(fault) if fault.kind.next_step() == NextStep::AskRange => Err(self.outside(at, fault)),
            Err(fault) => Err(fault.into()),
        }
    }

    pub(super) fn check_network(&self, passphrase: &str) -> Result<(), Verdict> {
        if self.state().network_known {
            return Ok(());
        }
        let claimed = self.network()?;
        if claimed != passphrase {
            return Err(self.caller.fault("getNetwork", RequestFaultKind::OtherNetwork { claimed }).into());
        }
        self.network_is_known();
        Ok(())
    }

    /// Why the endpoint refused a page that begins with `at`, by what it says that it holds now.
    pub(super) fn outside(&self, at: LedgerSeq, refusal: RequestFault) -> Verdict {
        match self.tip() {
            Err(fault) => fault.into(),
            Ok(Tip { oldest: Some(oldest), .. }) if at < oldest => Verdict::BelowOldest(oldest),
            Ok(tip) if tip.latest < at => Verdict::Behind(tip),
            Ok(_) => refusal.into(),
        }
    }

    /// Takes a page up to the first ledger that does not follow or cannot be read, and no more than was asked for; the
    /// next page begins there.
    fn take(&self, at: LedgerSeq, page: &LedgersAnswer<'_>, ledgers: u32, bytes: u64) -> Result<Page, Verdict> {
        let latest = page.latest_ledger.seq().ok_or_else(|| self.no_ledger("getLedgers"))?;
        self.state().latest = Some(latest);
        let tip = Tip {
            latest,
            oldest: page.oldest_ledger.and_then(Number::seq),
            latest_closed_unix_ms: page.latest_ledger_close_time.map(to_ms),
        };
        let mut objects = Vec::new();
        let mut last = None;
        let mut next = Some(at);
        for entry in page.ledgers.iter().take(ledgers as usize) {
            let Some(seq) = next.filter(|next| entry.sequence.seq() == Some(*next)) else { break };
            let Ok(bytes) = STANDARD.decode(entry.metadata_xdr.as_bytes()) else { break };
            objects.push(LedgerObject {
                name: format!("{} ledger {seq}", self.caller.address),
                named: Some(annals_core::LedgerRange::single(seq)),
                encoding: ObjectEncoding::Ledger,
                bytes,
            });
            (last, next) = (Some(seq), seq.next());
        }
        match last {
            Some(last) => Ok(Page { objects, last, tip, bytes }),
            None => Err(self.no_first(at, tip, page)),
        }
    }

    /// Why a page does not begin with `at`.
    fn no_first(&self, at: LedgerSeq, tip: Tip, page: &LedgersAnswer<'_>) -> Verdict {
        let kind = match page.ledgers.first().map(LedgerEntry::seq) {
            None if tip.latest < at => return Verdict::Behind(tip),
            None => RequestFaultKind::Unserved { asked: at.get(), latest: tip.latest.get() },
            Some(Some(first)) if first == at => RequestFaultKind::NotBase64 { seq: at.get() },
            Some(Some(next)) if next > at => {
                return match tip.oldest {
                    Some(oldest) if at < oldest && oldest <= next => Verdict::BelowOldest(next),
                    _ => Verdict::LeavesOut { next },
                };
            }
            Some(first) => RequestFaultKind::Astray { asked: at.get(), first: first.map_or(0, LedgerSeq::get) },
        };
        self.caller.fault("getLedgers", kind).into()
    }

    fn no_ledger(&self, method: &'static str) -> RequestFault {
        let cause = serde::de::Error::custom("its latest ledger has a number that no ledger has");
        self.caller.fault(method, RequestFaultKind::BadResult(cause))
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, method: &'static str) -> Result<T, RequestFault> {
        self.ask_within(method, SMALL_BYTES_MAX)
    }

    fn ask_within<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        bytes_max: u64,
    ) -> Result<T, RequestFault> {
        let answer = self.caller.call(method, &Value::Null, bytes_max)?;
        self.caller.result(method, &answer)
    }

    /// Takes note of a page.
    pub(super) fn succeeded(&self) {
        let mut state = self.state();
        if state.backoff.has_failed() {
            tracing::info!("{}: it serves again", self.caller.address);
        }
        state.backoff.succeeded();
        state.refused = None;
        state.aside_until = Duration::ZERO;
    }

    /// Takes note that it answered with `tip` where `next` was asked for. One that says less than it has served is
    /// told once, until it says as much again.
    pub(super) fn answered(&self, tip: Tip, next: LedgerSeq) {
        let is_behind = tip.latest.next().is_some_and(|above| above < next);
        let was_told = std::mem::replace(&mut self.state().told_behind, is_behind);
        if is_behind && !was_told {
            tracing::warn!("{}", self.told(&Verdict::Behind(tip)));
        }
    }

    /// Sets the endpoint aside for a while. What is ordinary is told once, until it serves again.
    pub(super) fn set_aside(&self, verdict: &Verdict, now: Duration, jitter: &mut Jitter) {
        let mut state = self.state();
        let is_first = !state.backoff.has_failed();
        let asked = match verdict {
            // What an endpoint does not keep is no fault of its, and what it lacks no reason to ask it for nothing else.
            Verdict::BelowOldest(_) | Verdict::Lacks(_) => return,
            Verdict::Failed(fault) => fault.kind.retry_after(),
            Verdict::Behind(_) | Verdict::LeavesOut { .. } => None,
        };
        let mut wait = state.backoff.failed(asked, jitter);
        state.refused = None;
        if let Verdict::Failed(fault) = verdict
            && fault.kind.next_step() == NextStep::Never
        {
            state.refused = Some(Arc::clone(fault));
            // Another network may be a server that was set up anew.
            state.network_known = false;
            wait = REFUSED_ASIDE;
        }
        state.aside_until = now.saturating_add(wait);
        if let Verdict::Failed(fault) = verdict {
            state.last_fault = Some(Arc::clone(fault));
        }
        drop(state);
        if let (Some(asked), Verdict::Failed(fault)) = (asked, verdict) {
            let until = now.saturating_add(asked.min(RETRY_AFTER_MAX));
            let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
            if throttle.as_ref().is_none_or(|(earlier, _)| *earlier < until) {
                *throttle = Some((until, Arc::clone(fault)));
            }
        }
        if is_first {
            tracing::warn!("{}, set aside for {:.1} s", self.told(verdict), wait.as_secs_f64());
        } else {
            tracing::debug!("{}, set aside for {:.1} s", self.told(verdict), wait.as_secs_f64());
        }
    }

    fn told(&self, verdict: &Verdict) -> String {
        let name = &self.caller.address;
        match verdict {
            Verdict::BelowOldest(oldest) => format!("{name}: it keeps nothing below ledger {oldest}"),
            Verdict::LeavesOut { next } => format!("{name}: it leaves out what is before ledger {next}"),
            Verdict::Behind(tip) => format!("{name}: endpoint behind, at ledger {}", tip.latest),
            Verdict::Lacks(fault) | Verdict::Failed(fault) => fault.to_string(),
        }
    }
}

fn to_ms(seconds: Number) -> u64 {
    seconds.0.saturating_mul(1000)
}

impl LedgerEntry<'_> {
    fn seq(&self) -> Option<LedgerSeq> {
        self.sequence.seq()
    }
}

impl From<RequestFault> for Verdict {
    fn from(fault: RequestFault) -> Self {
        Self::Failed(Arc::new(fault))
    }
}
