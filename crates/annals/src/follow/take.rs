//! Taking what a source gave: read, checked, linked, committed.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::time::Duration;

use annals_core::{Batch, CheckedLedger, LedgerSeq, Network, NetworkProof, PROTOCOL_KNOWN_MAX, check_ledger};

use super::confirm::{Doubt, Reason};
use super::live::{Live, PAGE_LEDGERS_MAX, Step, Then};
use super::start::newest_up_to;
use super::state::Why;
use super::{FollowError, Visible};
use crate::source::{LedgerObject, Poll, RequestFault, Tip};
use crate::store::{DISK_FULL, DISK_NEARLY_FULL, FollowStateName, StoreError, UNKNOWN_PROTOCOL};

/// One commit takes at most so many ledgers: a page of small ones, which is bounded by its bytes.
const BATCH_LEDGERS_MAX: usize = 200;
/// So many threads at most read the ledgers of one page.
const READERS_MAX: usize = 8;
/// So many ledgers that nothing ties to the network are held back; older ones are left to the gaps.
const HELD_LEDGERS_MAX: usize = 4_096;
/// A ledger that so many announced ones lie above is no longer one that is only just closing.
const WITHHELD_AHEAD_MIN: u32 = 8;
/// A ledger that every endpoint leaves out is asked for so often before it is left to the gaps.
const LEFT_OUT_TRIES: u32 = 4;
/// The longest rest before what could not be used is asked for again.
const UNUSABLE_REST_MAX: Duration = Duration::from_secs(300);

/// Why a ledger cannot be used.
pub(super) struct Unusable {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Live<'_> {
    pub(super) fn take(&mut self, poll: Poll) -> Result<Step, FollowError> {
        match poll {
            Poll::Ledgers(objects, tip) => self.take_page(objects, tip),
            Poll::AtTip(tip) => self.at_tip(tip),
            Poll::BelowRetention { oldest } => {
                self.voice.heard(None);
                self.leave_to_gaps(oldest, "kept no more")
            }
            Poll::LeftOut { next } => {
                self.voice.heard(None);
                self.left_out(next)
            }
            Poll::NotServed { fault, retry_after } => Ok(self.not_served(&fault, retry_after, Then::Ask)),
        }
    }

    fn take_page(&mut self, objects: Vec<LedgerObject>, tip: Tip) -> Result<Step, FollowError> {
        let counts = self.weigh(tip)?.is_ok();
        if let Some(backed) = self.backed.filter(|_| self.is_far(self.next)) {
            return self.leave_to_gaps(backed.next().unwrap_or(backed), "too far below the tip to be taken in order");
        }
        let seen = self.clock.monotonic();
        self.ask_ahead(objects.len(), tip)?;
        let held = self.held.len();
        let mut run = std::mem::take(&mut self.held);
        let mut unusable = None;
        for read in self.read_page(objects) {
            match read {
                Ok(ledger) if run.last().is_none_or(|last| last.hash == ledger.previous_hash) => run.push(ledger),
                // The rest of the page is asked for anew, and if its first ledger does not link then, it is looked into.
                Ok(ledger) => {
                    let message = format!("ledger {} does not link to the one before it", ledger.seq);
                    unusable = Some(Unusable { code: "DOES_NOT_LINK", message });
                    break;
                }
                Err(fault) => {
                    unusable = Some(fault);
                    break;
                }
            }
        }
        if run.len() == held {
            // What was held back may be at fault as well: it is asked for again.
            self.next = run.first().map_or(self.next, |first| first.seq);
            let what = "the source gives no ledger that can be used".to_owned();
            let unusable = unusable.unwrap_or(Unusable { code: "UNUSABLE", message: what });
            return Ok(self.unusable(unusable));
        }
        let taken = u32::try_from(run.len() - held).unwrap_or(u32::MAX);
        while !run.is_empty() {
            let rest = run.split_off(run.len().min(Self::batch_len(&run)));
            let batch = std::mem::replace(&mut run, rest);
            if let Some(step) = self.commit(batch, seen, tip)? {
                return Ok(step);
            }
        }
        self.is_behind = tip.latest >= self.next && unusable.is_none();
        self.keep_time(taken);
        let doing = if self.is_behind && counts { FollowStateName::CatchingUp } else { FollowStateName::Following };
        if self.held.is_empty() {
            self.voice.state(doing, None)?;
        }
        Ok(Step::Ask)
    }

    /// What nothing but a later ledger may tie to the network goes into one commit with that, whatever its length.
    fn batch_len(run: &[CheckedLedger]) -> usize {
        let is_proven = |ledger: &CheckedLedger| ledger.network_proof == NetworkProof::Proven;
        let proven_by = run.iter().position(is_proven).map_or(run.len(), |at| at + 1);
        BATCH_LEDGERS_MAX.max(proven_by)
    }

    fn keep_time(&mut self, taken: u32) {
        if self.is_behind {
            self.pace.interrupted();
        } else {
            self.pace.served(self.clock.monotonic(), taken);
        }
    }

    /// Begins to fetch what comes after this page, if more is announced.
    fn ask_ahead(&mut self, ledgers: usize, tip: Tip) -> Result<(), FollowError> {
        let after = u32::try_from(ledgers).ok().and_then(|ledgers| self.next.get().checked_add(ledgers));
        match after.and_then(|after| LedgerSeq::new(after).ok()).filter(|after| *after <= tip.latest) {
            Some(after) => self.asker.poll_ahead(after, PAGE_LEDGERS_MAX),
            None => Ok(()),
        }
    }

    /// Reads the objects of a page, of which each is to hold the ledger that comes next, on all cores.
    fn read_page(&self, objects: Vec<LedgerObject>) -> Vec<Result<CheckedLedger, Unusable>> {
        let next = std::iter::successors(Some(self.next), |seq| seq.next());
        let mut page: Vec<(LedgerObject, LedgerSeq)> = objects.into_iter().zip(next).collect();
        let network = &self.job.network;
        let read = |part: Vec<(LedgerObject, LedgerSeq)>| -> Vec<_> {
            part.into_iter().map(|(object, expected)| read(object, expected, network)).collect()
        };
        let readers = std::thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MAX);
        let each = page.len().div_ceil(readers).max(1);
        if page.len() <= each {
            return read(page);
        }
        std::thread::scope(|scope| {
            let mut readers = Vec::new();
            while !page.is_empty() {
                let rest = page.split_off(each.min(page.len()));
                let part = std::mem::replace(&mut page, rest);
                readers.push(scope.spawn(move || read(part)));
            }
            let outcomes = readers.into_iter().map(|reader| reader.join().unwrap_or_else(|panic| resume_unwind(panic)));
            outcomes.flatten().collect()
        })
    }

    /// Stores ledgers that link to each other; says what is to be done where it did not come to that.
    fn commit(&mut self, ledgers: Vec<CheckedLedger>, seen: Duration, tip: Tip) -> Result<Option<Step>, FollowError> {
        let (Some(first), Some(last)) = (ledgers.first(), ledgers.last()) else { return Ok(None) };
        let (first, last) = (first.seq, last.seq);
        // What is not stored now is asked for again, what was held back included.
        self.next = first;
        let closed: Vec<(LedgerSeq, u64)> = ledgers.iter().map(|ledger| (ledger.seq, ledger.close_time_ms)).collect();
        let protocol = ledgers.iter().map(|ledger| ledger.protocol).max().unwrap_or_default();
        let is_proven = ledgers.iter().any(|ledger| ledger.network_proof == NetworkProof::Proven);
        let kept = if is_proven { Vec::new() } else { ledgers.clone() };
        match self.store_batch(ledgers)? {
            Ok(()) => {}
            Err(Refusal::Rest(step)) => return Ok(Some(step)),
            Err(Refusal::Store(StoreError::NetworkUnproven { .. })) if !kept.is_empty() => {
                return self.hold_back(kept);
            }
            Err(Refusal::Store(StoreError::DoesNotLink { stored, .. })) if stored < first => {
                return Ok(Some(Step::Confirm(Doubt { stored, reason: Reason::NoLink { seq: first } })));
            }
            Err(Refusal::Store(error)) => return self.not_taken(error).map(Some),
        }
        (self.stored, self.next) = (Some(last), last.next().unwrap_or(last));
        self.backed = self.backed.max(Some(last));
        (self.unusable, self.receded) = (0, None);
        let is_live = !self.is_behind && last == tip.latest;
        let latest_closed_unix_ms = closed.last().map(|(_, closed_unix_ms)| *closed_unix_ms);
        self.voice.heard(Some(Tip { latest: last, oldest: None, latest_closed_unix_ms }));
        for (seq, closed_unix_ms) in closed {
            self.tell(seq, closed_unix_ms, seen, is_live);
        }
        self.announce_protocol(protocol, "with the next ledger the network changes to");
        Ok(None)
    }

    /// Commits, if there is room on the disk.
    pub(super) fn store_batch(&mut self, ledgers: Vec<CheckedLedger>) -> Result<Result<(), Refusal>, FollowError> {
        if let Some(why) = self.nearly_full() {
            return Ok(Err(Refusal::Rest(Step::Rest(why, self.options.rest, Then::Ask))));
        }
        let job = self.job;
        let (network, scope, name) = (job.network.clone(), job.scope.clone(), self.source.name());
        let lowest = ledgers.first().map(|lowest| (lowest.seq, lowest.previous_hash));
        let batch = match Batch::checked(network, scope, job.classic, name, ledgers) {
            Ok(batch) => batch,
            Err(error) => {
                let unusable = Unusable { code: "BAD_BATCH", message: error.to_string() };
                return Ok(Err(Refusal::Rest(self.unusable(unusable))));
            }
        };
        let fence = self.shared.fence;
        let committed = self.shared.at_the_tip(|| self.store.commit(&batch, fence));
        // A ledger that is held back tells as well what is to lie below it.
        let is_taken = matches!(committed, Ok(_) | Err(StoreError::NetworkUnproven { .. }));
        if lowest.is_some_and(|lowest| is_taken && self.shared.has_come(lowest)) {
            self.gaps.wake();
        }
        Ok(committed.map(|_| ()).map_err(Refusal::Store))
    }

    fn nearly_full(&self) -> Option<Why> {
        let reserve = self.options.disk_reserve_bytes;
        let free = (self.options.free_bytes)().filter(|free| *free < reserve)?;
        let message = format!(
            "{} MiB are free where the archive is, and nothing is stored below {} MiB: make room, and it goes on by itself",
            free >> 20,
            reserve >> 20
        );
        Some(Why { code: DISK_NEARLY_FULL, message })
    }

    fn tell(&mut self, seq: LedgerSeq, closed_unix_ms: u64, seen: Duration, is_live: bool) {
        self.ended.ledgers += 1;
        self.ended.last = Some(seq);
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let after_seen_ms = millis(self.clock.monotonic().saturating_sub(seen));
        let after_closed_ms = self.clock.now_unix_ms().checked_sub(closed_unix_ms).filter(|_| is_live);
        self.voice.committed(&Visible { seq, closed_unix_ms, after_seen_ms, after_closed_ms });
    }

    fn hold_back(&mut self, ledgers: Vec<CheckedLedger>) -> Result<Option<Step>, FollowError> {
        self.next = ledgers.last().and_then(|last| last.seq.next()).unwrap_or(self.next);
        self.held = ledgers;
        let over = self.held.len().saturating_sub(HELD_LEDGERS_MAX);
        if let (Some(dropped), Some(boundary)) = (self.held.first().filter(|_| over > 0), self.held.get(over)) {
            let (from, boundary) = (dropped.seq, boundary.seq);
            if let Err(error) = self.request(from, boundary.previous().unwrap_or(from)) {
                return self.not_taken(error).map(Some);
            }
            self.shared.set_boundary(boundary);
            self.held.drain(..over);
        }
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else { return Ok(None) };
        let message = format!(
            "ledgers {} to {} hold no transaction that ties them to the network, and are held back until a later one does: \
             --pin LEDGER:HASH of one of them would do so, too",
            first.seq, last.seq
        );
        self.voice.state(FollowStateName::Waiting, Some(Why { code: "NETWORK_UNPROVEN", message }))?;
        Ok(None)
    }

    fn at_tip(&mut self, tip: Tip) -> Result<Step, FollowError> {
        if let Err(unusable) = self.weigh(tip)? {
            return Ok(self.doubt(unusable));
        }
        self.is_behind = false;
        let Some(stored) = self.stored.filter(|stored| tip.latest < *stored) else {
            self.receded = None;
            if self.is_withheld(tip) {
                return self.leave_to_gaps(self.next.next().unwrap_or(self.next), "announced and not served");
            }
            self.look_ahead()?;
            if self.held.is_empty() && self.unusable == 0 {
                self.voice.state(FollowStateName::Following, None)?;
            }
            return Ok(Step::Ask);
        };
        let now = self.clock.monotonic();
        let since = *self.receded.get_or_insert(now);
        if now.saturating_sub(since) < self.options.behind_max {
            return Ok(Step::Ask);
        }
        self.receded = Some(now);
        let reason = Reason::Receded { tip: tip.latest };
        Ok(match newest_up_to(&self.store.status()?, tip.latest) {
            Some(compared) => Step::Confirm(Doubt { stored: compared, reason }),
            None => self.behind(stored, tip.latest),
        })
    }

    /// Whether the source has come well above the next ledger, and has not given that for long.
    fn is_withheld(&mut self, tip: Tip) -> bool {
        if tip.latest.get().saturating_sub(self.next.get()) < WITHHELD_AHEAD_MIN {
            self.withheld = None;
            return false;
        }
        self.waited_for_next() >= self.options.behind_max && self.backed > Some(self.next)
    }

    /// For how long the next ledger has not been served, while later ones were announced.
    pub(super) fn waited_for_next(&mut self) -> Duration {
        let now = self.clock.monotonic();
        let since = match self.withheld {
            Some((ledger, since)) if ledger == self.next => since,
            _ => self.withheld.insert((self.next, now)).1,
        };
        now.saturating_sub(since)
    }

    /// The source stays below what is stored, and what it has is the same.
    pub(super) fn behind(&self, stored: LedgerSeq, tip: LedgerSeq) -> Step {
        let message = format!(
            "{} is at ledger {tip} and the archive at {stored}: it lags, or is of another network; nothing is taken back, and \
             it goes on once there is something new",
            self.source.name()
        );
        Step::Rest(Why { code: "SOURCE_BEHIND", message }, self.options.rest, Then::Ask)
    }

    fn left_out(&mut self, goes_on: LedgerSeq) -> Result<Step, FollowError> {
        self.unusable += 1;
        if self.unusable > LEFT_OUT_TRIES {
            self.unusable = 0;
            return self.leave_to_gaps(goes_on, "left out by every endpoint");
        }
        let message = format!("{} leaves out what is before ledger {goes_on}", self.source.name());
        Ok(Step::Rest(Why { code: "NOT_IN_SOURCE", message }, self.options.rest, Then::Ask))
    }

    /// Records what lies below `boundary` as a gap, and goes on there, once the network is known to have come so far.
    fn leave_to_gaps(&mut self, boundary: LedgerSeq, why: &str) -> Result<Step, FollowError> {
        let from = self.held.first().map_or(self.next, |first| first.seq);
        let Some(to) = boundary.previous().filter(|to| *to >= from) else { return Ok(Step::Ask) };
        if self.backed < Some(to)
            && let Err(unusable) = self.prove(boundary)?
        {
            return Ok(self.doubt(unusable));
        }
        tracing::warn!("ledgers {from} to {to} are {why}: they are a gap now");
        if let Err(error) = self.request(from, to) {
            return self.not_taken(error);
        }
        self.held.clear();
        self.next = boundary;
        self.shared.set_boundary(boundary);
        self.gaps.wake();
        self.is_behind = true;
        Ok(Step::Ask)
    }

    pub(super) fn not_served(&mut self, fault: &RequestFault, retry_after: Duration, then: Then) -> Step {
        self.is_behind = false;
        let message = format!("the source does not serve: {fault}");
        Step::Rest(Why { code: "NOT_SERVED", message }, retry_after, then)
    }

    /// Another endpoint is asked, the first time at once.
    pub(super) fn unusable(&mut self, unusable: Unusable) -> Step {
        self.is_behind = false;
        self.source.pass_over();
        let Unusable { code, message } = unusable;
        let doubled = self.options.rest.saturating_mul(1 << self.unusable.saturating_sub(1).min(16));
        let rest = match (code, self.unusable) {
            (UNKNOWN_PROTOCOL, 1..) => self.options.unknown_protocol_rest,
            (_, 0) => self.options.poll_min,
            _ => doubled.min(UNUSABLE_REST_MAX.max(self.options.rest)),
        };
        self.unusable = self.unusable.saturating_add(1);
        let message = match code {
            UNKNOWN_PROTOCOL => format!(
                "the network has come to a protocol that this version does not read (it knows {PROTOCOL_KNOWN_MAX}), and \
                 nothing more is stored: use a newer Annals; {message}"
            ),
            _ => format!("ledger {} cannot be used and is asked for again: {message}", self.next),
        };
        Step::Rest(Why { code, message }, rest, Then::Ask)
    }

    /// What to do where the store refused.
    pub(super) fn not_taken(&mut self, error: StoreError) -> Result<Step, FollowError> {
        match error {
            StoreError::Incident { .. } | StoreError::IncidentOpen { .. } => self.stopped_by_incident(),
            StoreError::Full => {
                let message = error.to_string();
                Ok(Step::Rest(Why { code: DISK_FULL, message }, self.options.rest, Then::Begin))
            }
            StoreError::PinContradicted { .. }
            | StoreError::DoesNotLink { .. }
            | StoreError::NetworkUnproven { .. } => {
                Ok(self.unusable(Unusable { code: error.code(), message: error.to_string() }))
            }
            error => Err(error.into()),
        }
    }
}

/// Reads one object, which is to hold ledger `expected` alone.
pub(super) fn read(object: LedgerObject, expected: LedgerSeq, network: &Network) -> Result<CheckedLedger, Unusable> {
    let name = object.name.clone();
    let fault = |code, message: String| Unusable { code, message: format!("{name}: {message}") };
    let raw = object.into_ledgers().map_err(|error| fault(error.code(), error.kind.to_string()))?;
    let bytes = raw.first().map(|raw| raw.bytes.as_slice()).unwrap_or_default();
    let ledger = check_ledger(bytes, network).map_err(|error| fault(error.code(), error.to_string()))?;
    if raw.len() != 1 || ledger.seq != expected {
        return Err(fault("MISNAMED_OBJECT", format!("it holds ledger {} in the place of another", ledger.seq)));
    }
    Ok(ledger)
}

/// Why a batch was not stored.
pub(super) enum Refusal {
    /// It is not the time for it, or it is none.
    Rest(Step),
    /// The store refused.
    Store(StoreError),
}
