//! What a store must hold after any operations, told with plain sets of numbers and a sorted vector. It shares no
//! query and no coverage code with a store, and is as slow as it is plain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use annals::store::{Contract, Fence, GapFailure, Request, Store};
use annals_core::{
    Batch, BatchLedgers, CheckedLedger, ClassicEvents, ContractId, Event, LedgerHash, LedgerRange, LedgerSeq,
    NetworkProof, Position, ProofClass, Registry, Scope, ScopeKey, Stage,
};

use super::fixtures::all_events;

mod accounts;
mod pages;

pub use accounts::Owned;
use accounts::{Owners, Reading};
pub use pages::Answer;

/// How one missing ledger failed so far.
type History = (u32, Option<String>);

#[derive(Clone, Default)]
pub struct Oracle {
    fence: u64,
    requested: bool,
    start: Option<u32>,
    pins: BTreeMap<u32, LedgerHash>,
    scanned: BTreeMap<ScopeKey, BTreeSet<u32>>,
    missing: BTreeMap<(ScopeKey, u32), History>,
    ledgers: BTreeMap<u32, CheckedLedger>,
    verified: BTreeSet<u32>,
    events: Vec<Event>,
    proofs: BTreeSet<u32>,
    declared: BTreeMap<ContractId, Contract>,
    open_incidents: u64,
    readings: BTreeMap<ContractId, Reading>,
    owners: BTreeMap<Position, Owners>,
    registry: Option<Arc<Registry>>,
}

/// A refusal, by its stable code.
pub type Refusal = &'static str;

/// Whether both are one event: of the same bytes, or one is the form that a source rewrote the other into.
fn same_event(one: &Event, other: &Event) -> bool {
    let form = |unproven: &Event, proven: &Event| {
        unproven.proof == ProofClass::Unverified && proven.rewritten_xdr.as_ref() == Some(&unproven.xdr)
    };
    one.xdr == other.xdr || form(one, other) || form(other, one)
}

fn numbers(range: LedgerRange) -> impl Iterator<Item = u32> {
    range.from_inclusive().get()..=range.to_inclusive().get()
}

impl Oracle {
    pub fn acquire(&mut self) {
        self.fence += 1;
    }

    fn check_fence(&self, fence: Fence) -> Result<(), Refusal> {
        if fence.number == self.fence { Ok(()) } else { Err("STALE_FENCE") }
    }

    fn scanned_for(&self, key: ScopeKey, number: u32) -> bool {
        let holds = |key| self.scanned.get(&key).is_some_and(|scanned| scanned.contains(&number));
        holds(key) || holds(ScopeKey::All)
    }

    pub fn request(&mut self, request: &Request, fence: Fence) -> Result<(), Refusal> {
        self.check_fence(fence)?;
        if self.open_incidents > 0 {
            return Err("INCIDENT_OPEN");
        }
        for pin in &request.pins {
            let number = pin.seq.get();
            let own = self.ledgers.get(&number).map(|ledger| ledger.hash);
            let above = self.ledgers.get(&(number + 1)).map(|ledger| ledger.previous_hash);
            let known = self.pins.get(&number).copied().or(own).or(above);
            if known.is_some_and(|known| known != pin.hash) {
                return Err("PIN_CONTRADICTED");
            }
        }
        self.pins.extend(request.pins.iter().map(|pin| (pin.seq.get(), pin.hash)));
        self.requested = true;
        let from = request.range.from_inclusive().get();
        self.start = Some(self.start.map_or(from, |start| start.min(from)));
        for key in request.scope.keys() {
            for number in numbers(request.range) {
                if !self.scanned_for(key, number) {
                    self.missing.entry((key, number)).or_default();
                }
            }
        }
        Ok(())
    }

    pub fn record_failure(&mut self, failure: &GapFailure, fence: Fence) -> Result<(), Refusal> {
        self.check_fence(fence)?;
        for ((_, number), history) in &mut self.missing {
            if numbers(failure.range).any(|failed| failed == *number) {
                *history = (history.0 + 1, Some(failure.code.clone()));
            }
        }
        Ok(())
    }

    pub fn resolve_all(&mut self) {
        self.open_incidents = 0;
    }

    pub fn commit(&mut self, batch: &Batch, fence: Fence) -> Result<(), Refusal> {
        self.check_fence(fence)?;
        if self.open_incidents > 0 {
            return Err("INCIDENT_OPEN");
        }
        if !self.requested {
            return Err("NOT_REQUESTED");
        }
        let mut next = self.clone();
        let outcome = match batch.ledgers() {
            BatchLedgers::Checked(ledgers) => next.take_checked(batch, ledgers),
            BatchLedgers::Unverified { range, events, .. } => next.take_unverified(batch, *range, events),
        };
        match outcome {
            Ok(()) => {
                next.attribute(&self.events, batch.network());
                *self = next;
            }
            Err("INCIDENT") => self.open_incidents += 1,
            Err(_) => {}
        }
        outcome
    }

    fn take_checked(&mut self, batch: &Batch, ledgers: &[CheckedLedger]) -> Result<(), Refusal> {
        let known = |number: u32| self.ledgers.get(&number);
        let (first, last) = (&ledgers[0], &ledgers[ledgers.len() - 1]);
        if ledgers.iter().any(|ledger| self.pins.get(&ledger.seq.get()).is_some_and(|pin| *pin != ledger.hash)) {
            return Err("PIN_CONTRADICTED");
        }
        let pinned_below = self.pins.get(&(first.seq.get() - 1));
        if pinned_below.is_some_and(|pin| *pin != first.previous_hash) {
            return Err("PIN_CONTRADICTED");
        }
        if ledgers.iter().any(|ledger| known(ledger.seq.get()).is_some_and(|stored| stored.hash != ledger.hash)) {
            return Err("INCIDENT");
        }
        let below = known(first.seq.get() - 1);
        let above = known(last.seq.get() + 1);
        if below.is_some_and(|below| below.hash != first.previous_hash)
            || above.is_some_and(|above| above.previous_hash != last.hash)
        {
            return Err("DOES_NOT_LINK");
        }
        let tied = |ledger: &CheckedLedger| {
            ledger.network_proof == NetworkProof::Proven
                || known(ledger.seq.get()).is_some()
                || self.pins.contains_key(&ledger.seq.get())
        };
        if below.is_none() && above.is_none() && pinned_below.is_none() && !ledgers.iter().any(tied) {
            return Err("NETWORK_UNPROVEN");
        }
        for ledger in ledgers {
            self.take_ledger(batch.scope(), ledger)?;
        }
        Ok(())
    }

    fn take_ledger(&mut self, scope: &Scope, offered: &CheckedLedger) -> Result<(), Refusal> {
        let number = offered.seq.get();
        let stored = self.ledgers.get(&number).cloned();
        let rank = |ledger: &CheckedLedger| match ledger.classic_events {
            ClassicEvents::Absent => 0,
            ClassicEvents::Inconsistent => 1,
            ClassicEvents::Present => 2,
        };
        let richer = stored.as_ref().is_some_and(|stored| rank(stored) < rank(offered));
        let poorer = stored.as_ref().is_some_and(|stored| rank(stored) > rank(offered));
        if stored.as_ref().is_some_and(|stored| rank(stored) == rank(offered) && stored.digest != offered.digest) {
            return Err("INCIDENT");
        }
        for event in self.events.iter().filter(|event| event.position.ledger() == offered.seq && scope.takes(event)) {
            let same_place = offered.events.iter().find(|other| other.position == event.position);
            let judged = richer || (!poorer && event.proof == ProofClass::Unverified);
            let invoked = offered.proof.invocations.iter().any(|invocation| invocation.tx_order == event.tx_order);
            let excused =
                offered.classic_events != ClassicEvents::Present && !(event.position.stage() == Stage::Op && invoked);
            match same_place {
                Some(other) if !same_event(other, event) => return Err("INCIDENT"),
                None if judged && !excused => return Err("INCIDENT"),
                _ => {}
            }
        }
        if !poorer {
            self.put_events(&offered.events, richer);
            if offered.events.iter().any(|event| event.proof.is_proven()) {
                self.proofs.insert(number);
            }
        }
        let others_covered = self
            .scanned
            .iter()
            .any(|(key, scanned)| scanned.contains(&number) && *scope != Scope::All && !scope.keys().contains(key));
        if stored.is_none() || (richer && !others_covered) {
            self.ledgers.insert(number, offered.clone());
        }
        if !poorer && !others_covered {
            self.verified.insert(number);
        }
        for key in scope.keys() {
            if poorer && !self.scanned_for(key, number) {
                if let Some(history) = self.missing.get_mut(&(key, number)) {
                    *history = (history.0 + 1, Some("CLASSIC_EVENTS_ABSENT".to_owned()));
                }
            } else {
                self.cover(key, number);
            }
        }
        Ok(())
    }

    fn take_unverified(&mut self, batch: &Batch, range: LedgerRange, events: &[Event]) -> Result<(), Refusal> {
        for event in events {
            let number = event.position.ledger().get();
            match self.events.iter().find(|stored| stored.position == event.position) {
                Some(stored) if !same_event(stored, event) => return Err("INCIDENT"),
                Some(_) => continue,
                None => {}
            }
            let key = event.contract_id.map_or(ScopeKey::All, ScopeKey::Contract);
            match self.ledgers.get(&number) {
                Some(ledger) if self.verified.contains(&number) => {
                    if self.scanned_for(key, number) && ledger.classic_events == ClassicEvents::Present {
                        return Err("INCIDENT");
                    }
                }
                _ => self.put_events(std::slice::from_ref(event), false),
            }
        }
        for key in batch.scope().keys() {
            for number in numbers(range) {
                if self.verified.contains(&number) && !self.scanned_for(key, number) {
                    if let Some(history) = self.missing.get_mut(&(key, number)) {
                        *history = (history.0 + 1, Some("UNVERIFIED".to_owned()));
                    }
                } else {
                    self.cover(key, number);
                }
            }
        }
        Ok(())
    }

    fn put_events(&mut self, offered: &[Event], all: bool) {
        for event in offered {
            match self.events.iter_mut().find(|stored| stored.position == event.position) {
                Some(stored) if all || stored.proof == ProofClass::Unverified => *stored = event.clone(),
                Some(_) => {}
                None => self.events.push(event.clone()),
            }
        }
        self.events.sort_by_key(|event| event.position);
    }

    fn cover(&mut self, key: ScopeKey, number: u32) {
        self.scanned.entry(key).or_default().insert(number);
        self.missing.retain(|(listed, missing), _| !(*missing == number && (key == ScopeKey::All || *listed == key)));
    }

    /// Compares everything that a reader of `store` can see.
    pub fn check(&self, store: &dyn Store, limit: u32) {
        let status = store.status().unwrap();
        let mut scanned: BTreeMap<ScopeKey, BTreeSet<u32>> = BTreeMap::new();
        for (key, coverage) in &status.coverage {
            scanned.insert(*key, coverage.ranges().iter().flat_map(|range| numbers(*range)).collect());
        }
        assert_eq!(scanned, self.scanned, "coverage");
        let verified: BTreeSet<u32> = status.verified.ranges().iter().flat_map(|range| numbers(*range)).collect();
        assert_eq!(verified, self.verified, "verified ledgers");
        let mut missing = BTreeMap::new();
        for gap in &status.gaps {
            for number in numbers(gap.range) {
                let twice = missing.insert((gap.key, number), (gap.attempts, gap.last_code.clone()));
                assert_eq!(twice, None, "gaps overlap at {number}");
            }
        }
        assert_eq!(missing, self.missing, "gaps");
        assert_eq!(all_events(store, limit), self.events, "events");
        let count = |class| self.events.iter().filter(|event| event.proof == class).count() as u64;
        assert_eq!(
            [status.events.unverified, status.events.uncommitted, status.events.rewritten, status.events.committed],
            ProofClass::ALL.map(count),
            "event counts"
        );
        let rows = store.ledgers(LedgerSeq::MIN, u32::MAX).unwrap();
        let facts: Vec<_> = rows.iter().map(|row| (row.seq, row.hash, row.classic_events, row.digest)).collect();
        let expected =
            self.ledgers.values().map(|ledger| (ledger.seq, ledger.hash, ledger.classic_events, ledger.digest));
        assert_eq!(facts, expected.collect::<Vec<_>>(), "ledger rows");
        for number in self.ledgers.keys() {
            let proof = store.proof(LedgerSeq::new(*number).unwrap()).unwrap();
            assert_eq!(proof.is_some(), self.proofs.contains(number), "proof of {number}");
        }
        assert_eq!(status.open_incidents, self.open_incidents, "open incidents");
        assert_eq!(status.start.map(LedgerSeq::get), self.start, "start");
        let highest = self.scanned.values().filter_map(|scanned| scanned.last()).max().copied();
        assert_eq!(status.latest_ledger.map(LedgerSeq::get), highest, "latest ledger");
    }
}
