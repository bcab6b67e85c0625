//! Reading the stored events of contracts with their schemas again.
//!
//! The store does it in steps, each a transaction; between two of them a run can end, and whoever runs it again goes on
//! there. Until the last step of a contract its account answers say `unattributed_events`.

use annals_core::{ContractId, LedgerRange, LedgerSeq, Position};

use crate::backfill::Progress;
use crate::marks;
use crate::store::{Fence, Store, StoreError};

/// How many events one step reads, mostly: so few that a transaction does not keep other writers or the reader of a
/// progress bar waiting.
pub const STEP_EVENTS: u32 = 5000;

/// Why events could not be read again.
#[derive(Debug, thiserror::Error)]
pub enum ReattributeError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody named the contract, and nothing was found of it.
    #[error("nobody named the contract {0} to this archive: `annals contracts list` shows those that were")]
    UnknownContract(ContractId),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What was done to each contract, in order; those behind the one at which the run was stopped are not there.
    pub contracts: Vec<Reread>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// The contracts that wait still, whether they were asked for or not.
    pub waiting: Vec<ContractId>,
}

/// What was done to one contract's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reread {
    /// The contract.
    pub contract: ContractId,
    /// Events that were read.
    pub events: u64,
    /// Those that belong to others than before, or fit a shape now and fitted none before, or the other way round.
    pub changed: u64,
    /// Those that fit no shape.
    pub quarantined: u64,
}

/// Reads the events of `contracts` again, or of all contracts that wait where none is named, until `stop` says so: it is
/// asked before each step of `step_events` events.
///
/// # Errors
/// [`ReattributeError`]; what was read until then is not read again.
pub fn run(
    contracts: &[ContractId],
    store: &dyn Store,
    step_events: u32,
    progress: &dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<Summary, ReattributeError> {
    for contract in contracts {
        if store.contract(*contract)?.contract.is_none() {
            return Err(ReattributeError::UnknownContract(*contract));
        }
    }
    let fence = store.acquire()?;
    let waiting = store.adopt(fence)?;
    let contracts = if contracts.is_empty() { waiting.as_slice() } else { contracts };
    let window = marks::window(&store.status()?);
    let ledgers = window.map_or(0, |window| window.count());
    progress.begin(ledgers * contracts.len() as u64, 0);
    let mut summary =
        Summary { contracts: Vec::with_capacity(contracts.len()), interrupted: false, waiting: Vec::new() };
    for contract in contracts {
        let mut reread = Reread { contract: *contract, events: 0, changed: 0, quarantined: 0 };
        let mut passed = Passed::new(progress, window);
        let mut ended = false;
        while !ended && !stop() {
            ended = step(&mut reread, store, fence, step_events, &mut passed)?;
        }
        summary.contracts.push(reread);
        if !ended {
            summary.interrupted = true;
            break;
        }
    }
    progress.end();
    summary.waiting = store.status()?.unattributed;
    Ok(summary)
}

/// Reads a contract's next events again; tells whether it came to their end.
fn step(
    reread: &mut Reread,
    store: &dyn Store,
    fence: Fence,
    step_events: u32,
    passed: &mut Passed<'_>,
) -> Result<bool, StoreError> {
    let step = store.reattribute(reread.contract, passed.after, step_events, fence)?;
    reread.events += step.events;
    reread.changed += step.changed;
    reread.quarantined += step.quarantined;
    passed.advance(step.next, step.events);
    Ok(step.next.is_none())
}

/// How far one contract's events were read, in ledgers.
struct Passed<'a> {
    progress: &'a dyn Progress,
    window: Option<LedgerRange>,
    /// Where the step before ended.
    after: Option<Position>,
    ledgers: u64,
}

impl<'a> Passed<'a> {
    fn new(progress: &'a dyn Progress, window: Option<LedgerRange>) -> Self {
        Self { progress, window, after: None, ledgers: 0 }
    }

    /// Tells of a step that went on at `next`, at the end where that is none.
    fn advance(&mut self, next: Option<Position>, events: u64) {
        self.after = next;
        let Some(window) = self.window else { return };
        let up_to = |seq: LedgerSeq| u64::from(seq.get().saturating_sub(window.from_inclusive().get()));
        let ledgers = next.map_or(window.count(), |next| up_to(next.ledger()).min(window.count()));
        self.progress.advance(ledgers.saturating_sub(self.ledgers), events);
        self.ledgers = self.ledgers.max(ledgers);
    }
}
