//! One step: what one endpoint gives of the next window, for all contracts that are asked for.

use std::collections::BTreeMap;

use annals_core::{Event, LedgerRange, LedgerSeq};

use super::super::endpoint::{Endpoint, Verdict};
use super::super::fault::RequestFaultKind;
use super::super::tip::Tip;
use super::page::Method;
use super::scan::{Failed, Part, Pass, Scan};
use super::size::ScanSize;
use super::transaction;

/// Ledgers that one endpoint scanned, to the end of the last.
pub(super) struct Step {
    pub(super) endpoint: String,
    pub(super) range: LedgerRange,
    pub(super) events: Vec<Event>,
    /// Ledgers with an event that does not decode, and what of it does not.
    pub(super) bad: BTreeMap<LedgerSeq, &'static str>,
}

/// Makes steps.
pub(super) struct Stepper {
    passes: Vec<Pass>,
    size: ScanSize,
    /// By endpoint: how it gives events.
    methods: Vec<Method>,
    /// By endpoint: what it said that it holds.
    tips: Vec<Option<Tip>>,
}

impl Stepper {
    pub(super) fn new(passes: Vec<Pass>, endpoints: usize) -> Self {
        let (methods, tips) = (vec![Method::Get; endpoints], vec![None; endpoints]);
        Self { passes, size: ScanSize::new(), methods, tips }
    }

    /// Scans the beginning of `wanted`, at least one ledger.
    pub(super) fn step(
        &mut self,
        passphrase: &str,
        place: usize,
        endpoint: &Endpoint,
        wanted: LedgerRange,
    ) -> Result<Step, Verdict> {
        endpoint.check_network(passphrase)?;
        let window = self.window(place, endpoint, wanted)?;
        let scanned = match self.scan(place, endpoint, window) {
            Err(Failed { verdict, .. }) if lacks_method(&verdict) && self.methods[place] == Method::Get => {
                self.methods[place] = Method::Query;
                let again = self.scan(place, endpoint, window);
                if again.as_ref().is_err_and(|failed| lacks_method(&failed.verdict)) {
                    // It has neither; what an operator is told of is the method that every endpoint should have.
                    self.methods[place] = Method::Get;
                    return Err(verdict);
                }
                again
            }
            scanned => scanned,
        };
        let filled = scanned.and_then(|mut part| match transaction::fill_in(endpoint, &mut part.events) {
            Ok(()) => Ok(part),
            Err(verdict) => Err(Failed { verdict, behind_cursor: false }),
        });
        let part = filled.map_err(|Failed { verdict, behind_cursor }| {
            if let Verdict::Failed(fault) = &verdict {
                self.size.failed(window.count(), &fault.kind, behind_cursor);
            }
            verdict
        })?;
        self.size.served();
        let range = LedgerRange::new(window.from_inclusive(), part.through).unwrap_or(window);
        let events = part.events.into_iter().map(|given| given.event).collect();
        Ok(Step { endpoint: endpoint.name(), range, events, bad: part.bad })
    }

    /// The window to ask for: no more than the endpoint says that it has.
    fn window(&mut self, place: usize, endpoint: &Endpoint, wanted: LedgerRange) -> Result<LedgerRange, Verdict> {
        let from = wanted.from_inclusive();
        let tip = match self.tips[place] {
            Some(tip) if from <= tip.latest => tip,
            _ => *self.tips[place].insert(endpoint.tip()?),
        };
        if tip.latest < from {
            return Err(Verdict::Behind(tip));
        }
        if let Some(oldest) = tip.oldest.filter(|oldest| from < *oldest) {
            self.tips[place] = None;
            return Err(Verdict::BelowOldest(oldest));
        }
        let last = LedgerSeq::new(from.get().saturating_add(self.size.ledgers - 1)).unwrap_or(LedgerSeq::MAX);
        let last = last.min(wanted.to_inclusive()).min(tip.latest);
        Ok(LedgerRange::new(from, last).unwrap_or(LedgerRange::single(from)))
    }

    /// Scans a window once for each pass; what is whole for all of them counts.
    fn scan(&self, place: usize, endpoint: &Endpoint, window: LedgerRange) -> Result<Part, Failed> {
        let mut whole = Part { through: window.to_inclusive(), events: Vec::new(), bad: BTreeMap::new() };
        for pass in &self.passes {
            let window = LedgerRange::new(window.from_inclusive(), whole.through).unwrap_or(window);
            let (method, events) = (self.methods[place], self.size.events);
            let part = Scan { endpoint, method, pass, window, events }.run()?;
            whole.through = part.through;
            whole.events.extend(part.events);
            whole.bad.extend(part.bad);
        }
        let through = whole.through;
        whole.events.retain(|given| given.event.position.ledger() <= through);
        whole.events.sort_by_key(|given| given.event.position);
        whole.bad.retain(|ledger, _| *ledger <= through);
        Ok(whole)
    }
}

fn lacks_method(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed(fault) if matches!(fault.kind, RequestFaultKind::Error { code: -32601, .. }))
}
