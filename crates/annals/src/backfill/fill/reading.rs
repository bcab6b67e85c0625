//! One reading of a source over neighbouring gaps.

use std::collections::VecDeque;

use annals_core::chain::{Neighbours, Verdict};
use annals_core::{Chain, CheckedLedger, Coverage, LedgerHash, LedgerRange, LedgerSeq, NetworkProof};

use super::Filler;
use super::failures::{Failures, UNJOINED};
use super::forks::Tops;
use super::rivals::{Choice, Rivals};
use crate::backfill::pipeline::{Checked, Outcome};
use crate::backfill::{BackfillError, commit, whole_chain};
use crate::source::ObjectFault;
use crate::store::StoreError;

/// A commit takes at most so many ledgers …
const BATCH_LEDGERS_MAX: usize = 64;
/// … and is closed once its events and proofs take so many bytes.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A run without any transaction is held back for so many ledgers before it counts as unproven.
const UNPROVEN_LEDGERS_MAX: usize = 4096;

/// What a reading came to.
#[derive(Default)]
pub(super) struct Found {
    /// The ledgers that were stored.
    pub stored: Coverage,
    /// Ledgers that came after later ones.
    pub late: Coverage,
    /// Ledgers that nothing tied to the network; what is stored beside them may do so now.
    pub unproven: Coverage,
    /// What was wrong.
    pub failures: Failures,
}

/// Takes a source's objects while they come.
pub(super) struct Reading<'a> {
    filler: &'a Filler<'a>,
    wanted: &'a Coverage,
    /// What the source was judged by.
    tops: &'a Tops,
    /// The gaps that no ledger has reached yet.
    ahead: VecDeque<LedgerRange>,
    current: Option<Line<'a>>,
    run: Run,
    /// The ledger that was refused last.
    refused: Option<LedgerSeq>,
    found: Found,
}

/// The ledgers of one gap.
struct Line<'a> {
    gap: LedgerRange,
    chain: Chain<String>,
    rivals: Rivals<'a>,
    /// Whether a stored or pinned ledger below the gap ties its first ledger to the network.
    follows: bool,
    /// The hash of the gap's last ledger, where it is known.
    after: Option<LedgerHash>,
}

/// Accepted ledgers that wait for their commit.
#[derive(Default)]
struct Run {
    ledgers: Vec<CheckedLedger>,
    bytes: usize,
    /// Whether the run is tied to the network, by a transaction or by what was committed before it.
    proven: bool,
    /// Whether nothing below says that it is of the chain around it.
    floats: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn new(filler: &'a Filler<'a>, wanted: &'a Coverage, tops: &'a Tops) -> Self {
        let ahead = wanted.ranges().iter().copied().collect();
        Self { filler, wanted, tops, ahead, current: None, run: Run::default(), refused: None, found: Found::default() }
    }

    /// Takes one object.
    pub(super) fn take(&mut self, object: Result<Checked, ObjectFault>) -> Result<(), BackfillError> {
        match object {
            Ok(checked) => {
                for outcome in checked.ledgers {
                    self.take_ledger(&checked.object, outcome)?;
                }
            }
            Err(fault) => self.fail(fault.range, fault.code(), whole_chain(&fault)),
        }
        Ok(())
    }

    /// Ends the reading.
    pub(super) fn finish(mut self) -> Result<Found, BackfillError> {
        self.close_gap()?;
        Ok(self.found)
    }

    fn take_ledger(&mut self, object: &str, outcome: Outcome) -> Result<(), BackfillError> {
        let named = outcome.named;
        let ledger = match outcome.ledger {
            Ok(ledger) => ledger,
            Err(fault) => {
                self.fail(named.map(LedgerRange::single), fault.code(), format!("{object}: {fault}"));
                return Ok(());
            }
        };
        let seq = ledger.seq;
        if let Some(named) = named.filter(|named| *named != seq) {
            let message = format!("{object}: it holds ledger {seq} in the place of ledger {named}");
            self.fail(Some(LedgerRange::single(named)), "MISNAMED_OBJECT", message);
            return Ok(());
        }
        if !self.wanted.contains(seq) {
            return Ok(());
        }
        self.reach(seq)?;
        let mut choices = Vec::new();
        let line = self.current.as_mut().filter(|line| line.gap.contains(seq));
        if !line.is_some_and(|line| line.rivals.push((ledger, object.to_owned()), &mut choices)) {
            self.found.late.insert(LedgerRange::single(seq));
        }
        self.carry_out(choices)
    }

    /// Makes the gap that holds `seq` the current one, unless its turn is over.
    fn reach(&mut self, seq: LedgerSeq) -> Result<(), BackfillError> {
        if self.current.as_ref().is_some_and(|line| seq <= line.gap.to_inclusive()) {
            return Ok(());
        }
        self.close_gap()?;
        while let Some(gap) = self.ahead.pop_front() {
            if gap.contains(seq) {
                self.current = Some(self.open_gap(gap)?);
                break;
            }
        }
        Ok(())
    }

    fn open_gap(&self, gap: LedgerRange) -> Result<Line<'a>, BackfillError> {
        let stored = self.demanded(gap)?;
        let pins = self.filler.job.pins.as_slice();
        let below = gap.from_inclusive().previous();
        let pinned = pins.iter().find(|pin| Some(pin.seq) == below).map(|pin| pin.hash);
        let neighbours = Neighbours { before: stored.before.or(pinned), after: stored.after };
        let (chain, rivals) = (Chain::new(gap, neighbours), Rivals::new(gap, neighbours, pins));
        Ok(Line { gap, chain, rivals, follows: neighbours.before.is_some(), after: neighbours.after })
    }

    /// The links that are demanded of `gap`. Where the source was judged by others, a ledger was stored above the gap
    /// meanwhile, and it has to be judged again.
    fn demanded(&self, gap: LedgerRange) -> Result<Neighbours, BackfillError> {
        let neighbours = self.filler.neighbours(gap)?;
        match self.tops.still_hold(gap.to_inclusive(), neighbours.after) {
            true => Ok(neighbours),
            false => Err(BackfillError::Stopped),
        }
    }

    fn close_gap(&mut self) -> Result<(), BackfillError> {
        let mut choices = Vec::new();
        if let Some(line) = &mut self.current {
            line.rivals.finish(&mut choices);
        }
        self.carry_out(choices)?;
        let mut verdicts = Vec::new();
        if let Some(line) = &mut self.current {
            line.chain.finish(&mut verdicts);
        }
        self.settle(verdicts)?;
        let joins = self.current.as_ref().filter(|line| line.after.is_some()).map(|line| line.gap.to_inclusive());
        let (first, last) = (self.run.ledgers.first(), self.run.ledgers.last().map(|last| last.seq));
        let is_disputed = first.is_some_and(|first| self.refused.is_some() && self.refused == first.seq.previous());
        if is_disputed && joins != last {
            self.drop_floating();
        }
        self.commit_run()?;
        self.current = None;
        Ok(())
    }

    /// Hands the chain what was chosen.
    fn carry_out(&mut self, choices: Vec<Choice>) -> Result<(), BackfillError> {
        let mut verdicts = Vec::new();
        for choice in choices {
            match (choice, &mut self.current) {
                (Choice::Taken((ledger, object)), Some(line)) => line.chain.push(ledger, object, &mut verdicts),
                (Choice::Undecided(seq, objects), _) => {
                    let message = format!("{}: they hold different ledgers {seq}", objects.join(", "));
                    self.fail(Some(LedgerRange::single(seq)), "RIVAL_LEDGERS", message);
                }
                (Choice::Taken(_), None) => {}
            }
        }
        self.settle(verdicts)
    }

    /// Carries out what the chain has decided.
    fn settle(&mut self, verdicts: Vec<Verdict<String>>) -> Result<(), BackfillError> {
        for verdict in verdicts {
            match verdict {
                Verdict::Accepted(ledger, _) => self.accept(*ledger)?,
                Verdict::Refused(seq, fault, object) => {
                    if self.run.ledgers.last().is_some_and(|last| last.seq.next() == Some(seq)) {
                        self.drop_floating();
                    }
                    self.refused = Some(seq);
                    self.fail(Some(LedgerRange::single(seq)), fault.code(), format!("{object}: {fault}"));
                }
                Verdict::Severed(found) => {
                    let Filler { store, source_name, fence, .. } = self.filler;
                    store.record_severance(&found, source_name, *fence)?;
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self, ledger: CheckedLedger) -> Result<(), BackfillError> {
        let continues = self.run.ledgers.last().is_none_or(|last| last.seq.next() == Some(ledger.seq));
        if !continues {
            self.commit_run()?;
        }
        if self.run.ledgers.is_empty() {
            let begins_followed =
                self.current.as_ref().is_some_and(|line| line.follows && line.gap.from_inclusive() == ledger.seq);
            let follows = ledger.seq.previous().is_some_and(|previous| self.found.stored.contains(previous));
            self.run.proven = follows || begins_followed;
            self.run.floats = self.filler.is_strict && !self.run.proven;
        }
        self.run.proven |= ledger.network_proof == NetworkProof::Proven;
        self.run.bytes += weight(&ledger);
        self.run.ledgers.push(ledger);
        let count = self.run.ledgers.len();
        let full = count >= BATCH_LEDGERS_MAX || self.run.bytes >= BATCH_BYTES_MAX;
        // What is so long is no slip of one server's.
        self.run.floats &= !full;
        if full && (self.run.proven || count >= UNPROVEN_LEDGERS_MAX) {
            self.commit_run()?;
        }
        Ok(())
    }

    /// Leaves a short run to others where its neighbours were refused on both sides: a server may have given all of it
    /// from another chain.
    fn drop_floating(&mut self) {
        if !self.run.floats {
            return;
        }
        for ledger in std::mem::take(&mut self.run).ledgers {
            let message = format!("{}: it links to no ledger beside its own few", self.filler.source_name);
            self.fail(Some(LedgerRange::single(ledger.seq)), UNJOINED, message);
        }
    }

    fn commit_run(&mut self) -> Result<(), BackfillError> {
        let run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.ledgers.first(), run.ledgers.last()) else { return Ok(()) };
        let range = LedgerRange::new(first.seq, last.seq).expect("a run's ledgers ascend");
        let Filler { job, store, fence, source_name, progress, .. } = self.filler;
        if !progress.may_go_on() {
            return Err(BackfillError::Stopped);
        }
        if let Some(line) = &self.current {
            self.demanded(line.gap)?;
        }
        match commit(job, *store, *fence, source_name, run.ledgers) {
            Ok(events) => {
                self.found.stored.insert(range);
                progress.advance(range.count(), events);
                Ok(())
            }
            Err(BackfillError::Store(error @ StoreError::NetworkUnproven { .. })) => {
                self.found.unproven.insert(range);
                self.fail(Some(range), error.code(), error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn fail(&mut self, range: Option<LedgerRange>, code: &'static str, message: String) {
        if range.is_none_or(|range| self.wanted.overlaps(range)) {
            self.found.failures.add(range, code, message);
        }
    }
}

fn weight(ledger: &CheckedLedger) -> usize {
    let events = ledger.events.iter().map(|event| event.xdr.len() + size_of_val(event)).sum::<usize>();
    let invocations = ledger.proof.invocations.iter();
    let proofs = invocations.map(|invocation| invocation.pre_image_xdr.len() + invocation.envelope_xdr.len());
    events + ledger.proof.results_xdr.len() + proofs.sum::<usize>() + ledger.header_xdr.len()
}
