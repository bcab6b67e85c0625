//! Filling one gap.

use annals_core::chain::Verdict;
use annals_core::{Chain, CheckedLedger, Coverage, LedgerFault, LedgerRange, LedgerSeq, NetworkProof};

use super::pipeline::{self, Checked};
use super::{BackfillError, Job, Progress, commit};
use crate::source::{LedgerSource, ObjectFault};
use crate::store::{Fence, GapFailure, Store, StoreError};

/// A commit takes at most so many ledgers …
const BATCH_LEDGERS_MAX: usize = 64;
/// … and is closed once its events and proofs take so many bytes.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A run without any transaction is held back for so many ledgers before it counts as unproven.
const UNPROVEN_LEDGERS_MAX: usize = 4096;
/// Neighbouring ledgers that fail alike are listed one by one up to so many failures, and as ranges above.
const FAILURES_LISTED_SINGLY: usize = 1000;

/// The code of ledgers that the source does not hold.
pub(super) const NOT_IN_SOURCE: &str = "NOT_IN_SOURCE";
/// The code of an object that could not be read at all.
const UNREADABLE: &str = "UNREADABLE_OBJECT";

/// Whether a failure's code says that ledgers are absent or unreadable, and not that they contradict the chain.
pub(super) fn is_absence(code: &str) -> bool {
    [NOT_IN_SOURCE, UNREADABLE, "NETWORK_UNPROVEN"].contains(&code)
}

/// What became of one gap.
pub(super) struct Filled {
    /// The ledgers that were stored.
    pub stored: Coverage,
    /// Why the others were not; together they are exactly the rest of the gap.
    pub failures: Vec<GapFailure>,
}

struct Filling<'a> {
    job: &'a Job,
    gap: LedgerRange,
    store: &'a dyn Store,
    fence: Fence,
    source_name: String,
    progress: &'a dyn Progress,
    chain: Chain<String>,
    /// Whether the stored ledger below the gap ties its first ledger to the network.
    follows_stored: bool,
    verdicts: Vec<Verdict<String>>,
    run: Run,
    stored: Coverage,
    failures: Vec<GapFailure>,
    /// Faults of objects that do not tell which ledgers they hold.
    unplaced: Vec<(&'static str, String)>,
}

/// Accepted ledgers that wait for their commit.
#[derive(Default)]
struct Run {
    ledgers: Vec<CheckedLedger>,
    bytes: usize,
    /// Whether the run is tied to the network, by a transaction or by what was committed before it.
    proven: bool,
}

pub(super) fn fill_gap(
    job: &Job,
    gap: LedgerRange,
    store: &dyn Store,
    fence: Fence,
    source: &dyn LedgerSource,
    progress: &dyn Progress,
) -> Result<Filled, BackfillError> {
    let neighbours = store.neighbours(gap)?;
    let mut filling = Filling {
        job,
        gap,
        store,
        fence,
        source_name: source.name(),
        progress,
        chain: Chain::new(gap, neighbours),
        follows_stored: neighbours.before.is_some(),
        verdicts: Vec::new(),
        run: Run::default(),
        stored: Coverage::new(),
        failures: Vec::new(),
        unplaced: Vec::new(),
    };
    pipeline::run(source, gap, &job.network, |object| filling.take(object))?;
    filling.finish()
}

impl Filling<'_> {
    fn take(&mut self, object: Result<Checked, ObjectFault>) -> Result<(), BackfillError> {
        match object {
            Ok(checked) => {
                for (named, ledger) in checked.ledgers {
                    self.take_ledger(&checked.object, named, ledger)?;
                }
                Ok(())
            }
            Err(fault) => {
                self.fail(fault.range, fault.code(), fault.to_string());
                Ok(())
            }
        }
    }

    fn take_ledger(
        &mut self,
        object: &str,
        named: Option<LedgerSeq>,
        ledger: Result<Box<CheckedLedger>, LedgerFault>,
    ) -> Result<(), BackfillError> {
        let ledger = match ledger {
            Ok(ledger) => ledger,
            Err(fault) => {
                self.fail(named.map(LedgerRange::single), fault.code(), format!("{object}: {fault}"));
                return Ok(());
            }
        };
        if let Some(named) = named.filter(|named| *named != ledger.seq) {
            let message = format!("{object}: it holds ledger {} in the place of ledger {named}", ledger.seq);
            self.fail(Some(LedgerRange::single(named)), "MISNAMED_OBJECT", message);
            return Ok(());
        }
        // An overlapping object brings again what was taken already.
        if self.gap.contains(ledger.seq) && self.chain.expected().is_some_and(|expected| expected <= ledger.seq) {
            self.chain.push(ledger, object.to_owned(), &mut self.verdicts);
            return self.settle();
        }
        Ok(())
    }

    /// Carries out what the chain has decided.
    fn settle(&mut self) -> Result<(), BackfillError> {
        for verdict in std::mem::take(&mut self.verdicts) {
            match verdict {
                Verdict::Accepted(ledger, _) => self.accept(*ledger)?,
                Verdict::Refused(seq, fault, object) => {
                    self.fail(Some(LedgerRange::single(seq)), fault.code(), format!("{object}: {fault}"));
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
            let begins_gap = ledger.seq == self.gap.from_inclusive();
            let follows = ledger.seq.previous().is_some_and(|previous| self.stored.contains(previous));
            self.run.proven = follows || (begins_gap && self.follows_stored);
        }
        self.run.proven |= ledger.network_proof == NetworkProof::Proven;
        self.run.bytes += weight(&ledger);
        self.run.ledgers.push(ledger);
        let count = self.run.ledgers.len();
        let full = count >= BATCH_LEDGERS_MAX || self.run.bytes >= BATCH_BYTES_MAX;
        if full && (self.run.proven || count >= UNPROVEN_LEDGERS_MAX) {
            self.commit_run()?;
        }
        Ok(())
    }

    fn commit_run(&mut self) -> Result<(), BackfillError> {
        let run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.ledgers.first(), run.ledgers.last()) else { return Ok(()) };
        let range = LedgerRange::new(first.seq, last.seq).expect("a run's ledgers ascend");
        match commit(self.job, self.store, self.fence, &self.source_name, run.ledgers) {
            Ok(events) => {
                self.stored.insert(range);
                self.progress.advance(range.count(), events);
                Ok(())
            }
            Err(BackfillError::Store(error @ StoreError::NetworkUnproven { .. })) => {
                self.fail(Some(range), error.code(), error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn fail(&mut self, range: Option<LedgerRange>, code: &'static str, message: String) {
        let Some(range) = range else {
            self.unplaced.push((code, message));
            return;
        };
        let Some(range) = range.intersection(self.gap) else { return };
        let listed = self.failures.len();
        if let Some(last) = self.failures.last_mut()
            && listed >= FAILURES_LISTED_SINGLY
            && last.code == code
            && last.range.to_inclusive().next() == Some(range.from_inclusive())
        {
            let from = last.range.from_inclusive();
            last.range = LedgerRange::new(from, range.to_inclusive()).expect("the range was extended upwards");
            return;
        }
        self.failures.push(GapFailure { range, code: code.to_owned(), message });
    }

    fn finish(mut self) -> Result<Filled, BackfillError> {
        self.chain.finish(&mut self.verdicts);
        self.settle()?;
        self.commit_run()?;
        // Another object may have brought what a bad one lacked, so only what is still missing has failed.
        let mut unexplained = self.stored.missing(self.gap);
        let mut failures = Vec::new();
        for failure in self.failures {
            let rest = Coverage::from_iter([failure.range]).intersection(&unexplained);
            unexplained.remove(failure.range);
            failures.extend(rest.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }));
        }
        let (code, message) = self
            .unplaced
            .into_iter()
            .next()
            .unwrap_or_else(|| (NOT_IN_SOURCE, format!("{} does not hold it", self.source_name)));
        failures.extend(unexplained.ranges().iter().map(|range| GapFailure {
            range: *range,
            code: code.to_owned(),
            message: message.clone(),
        }));
        failures.sort_by_key(|failure| failure.range);
        Ok(Filled { stored: self.stored, failures })
    }
}

fn weight(ledger: &CheckedLedger) -> usize {
    let events = ledger.events.iter().map(|event| event.xdr.len() + size_of_val(event)).sum::<usize>();
    let invocations = ledger.proof.invocations.iter();
    let proofs = invocations.map(|invocation| invocation.pre_image_xdr.len() + invocation.envelope_xdr.len());
    events + ledger.proof.results_xdr.len() + proofs.sum::<usize>() + ledger.header_xdr.len()
}
