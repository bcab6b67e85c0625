//! Reading, decoding and checking side by side, handed over in the source's order.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use annals_core::{CheckedLedger, Coverage, LedgerFault, LedgerRange, LedgerSeq, Network, check_ledger};

use super::budget::Budget;
use crate::source::{LedgerObject, LedgerSource, ObjectEncoding, ObjectFault, ObjectStream, RawLedger, SourceError};

/// Bytes of ledgers that may be under way between reader and writer.
const IN_FLIGHT_BYTES_MAX: u64 = 256 << 20;
/// Objects that may be under way, whatever their size.
const IN_FLIGHT_OBJECTS_MAX: usize = 512;
/// How many bytes a compressed byte is taken for (pubnet ledgers: 7 to 16).
const INFLATION: u64 = 16;

/// One object after decoding and checking.
pub(super) struct Checked {
    /// The object's name.
    pub object: String,
    /// What became of its ledgers.
    pub ledgers: Vec<Outcome>,
}

/// What became of one ledger of an object.
pub(super) struct Outcome {
    /// The number that the object gives it.
    pub named: Option<LedgerSeq>,
    /// The ledger, or what is wrong with it.
    pub ledger: Result<Box<CheckedLedger>, LedgerFault>,
}

struct Task {
    object: LedgerObject,
    done: SyncSender<Result<Checked, ObjectFault>>,
}

struct Ticket {
    bytes: u64,
    result: Receiver<Result<Checked, ObjectFault>>,
}

/// Opens the source once over all of `wanted` and hands every object that may hold some of it over to `consume`, in
/// order, until that fails. Of an object's ledgers only the wanted ones are checked.
pub(super) fn run<E: From<SourceError>>(
    source: &dyn LedgerSource,
    wanted: &Coverage,
    network: &Network,
    mut consume: impl FnMut(Result<Checked, ObjectFault>) -> Result<(), E>,
) -> Result<(), E> {
    let Some(span) = span(wanted) else { return Ok(()) };
    let stream = source.open(span)?;
    let budget = Budget::new(IN_FLIGHT_BYTES_MAX);
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (order, tickets) = sync_channel(IN_FLIGHT_OBJECTS_MAX);
    let (queue, tasks) = sync_channel(IN_FLIGHT_OBJECTS_MAX);
    // The queue ends with its workers: were they all to panic, the reader must not wait on it for ever.
    let tasks = Arc::new(Mutex::new(tasks));
    thread::scope(|scope| {
        scope.spawn(|| read(stream, wanted, &budget, order, queue));
        for _ in 0..workers {
            let tasks = Arc::clone(&tasks);
            scope.spawn(|| work(tasks, wanted, &budget, network));
        }
        drop(tasks);
        // Whatever ends this function must let the reader go, which in turn ends the workers.
        let _closing = Closing(&budget);
        hand_over(tickets, &budget, &mut consume)
    })
}

fn span(wanted: &Coverage) -> Option<LedgerRange> {
    let (first, last) = (wanted.ranges().first()?, wanted.ranges().last()?);
    LedgerRange::new(first.from_inclusive(), last.to_inclusive()).ok()
}

struct Closing<'a>(&'a Budget);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn hand_over<E>(
    tickets: Receiver<Ticket>,
    budget: &Budget,
    consume: &mut impl FnMut(Result<Checked, ObjectFault>) -> Result<(), E>,
) -> Result<(), E> {
    for ticket in tickets {
        let result = ticket.result.recv().expect("a worker answers each task, or its panic ends the scope");
        consume(result)?;
        budget.release(ticket.bytes);
    }
    Ok(())
}

fn read(stream: ObjectStream, wanted: &Coverage, budget: &Budget, order: SyncSender<Ticket>, queue: SyncSender<Task>) {
    for object in stream {
        let named = object.as_ref().map_or_else(|fault| fault.range, |object| object.named);
        if named.is_some_and(|named| !wanted.overlaps(named)) {
            if budget.is_closed() {
                return;
            }
            continue;
        }
        let (done, result) = sync_channel(1);
        let bytes = object.as_ref().map_or(0, weight);
        if !budget.claim(bytes) || order.send(Ticket { bytes, result }).is_err() {
            return;
        }
        let sent = match object {
            Ok(object) => queue.send(Task { object, done }).is_ok(),
            Err(fault) => done.send(Err(fault)).is_ok(),
        };
        if !sent {
            return;
        }
    }
}

fn weight(object: &LedgerObject) -> u64 {
    let bytes = object.bytes.len() as u64;
    match object.encoding {
        ObjectEncoding::ZstdBatch => bytes.saturating_mul(INFLATION),
        ObjectEncoding::Ledger => bytes,
    }
}

// The queue is taken by value so that it ends with its last worker.
#[allow(clippy::needless_pass_by_value, reason = "each worker owns a part of the queue")]
fn work(tasks: Arc<Mutex<Receiver<Task>>>, wanted: &Coverage, budget: &Budget, network: &Network) {
    loop {
        let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { object, done }) = next else { return };
        if budget.is_closed() {
            continue;
        }
        // The writer may have stopped listening; then there is nothing left to do with the answer.
        let _gone = done.send(check(object, wanted, network));
    }
}

fn check(object: LedgerObject, wanted: &Coverage, network: &Network) -> Result<Checked, ObjectFault> {
    let name = object.name.clone();
    let raw = object.into_ledgers()?;
    let outcome = |raw: RawLedger| Outcome { named: raw.seq, ledger: check_ledger(&raw.bytes, network).map(Box::new) };
    let is_wanted = |raw: &RawLedger| raw.seq.is_none_or(|seq| wanted.contains(seq));
    let ledgers = raw.into_iter().filter(is_wanted).map(outcome).collect();
    Ok(Checked { object: name, ledgers })
}
