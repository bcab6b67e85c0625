//! Objects fetched side by side and handed over in order.
//!
//! The stream itself hands out the work, each time it is asked for an object, so what is under way is bounded by what
//! was taken: a reader that stops taking stops the fetching.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use annals_core::LedgerRange;

use super::RemoteObjects;
use crate::source::lake::grid::{Grid, Slot};
use crate::source::lake::objects::OBJECT_BYTES_MAX;
use crate::source::{LedgerObject, ObjectEncoding, ObjectFault, ObjectFaultKind};

/// Objects that are fetched at once.
const FETCHERS_MAX: usize = 16;
/// Objects that may be under way or wait for their turn …
const AHEAD_MAX: usize = 64;
/// … and the bytes that they may take, as far as the largest object so far tells.
const AHEAD_BYTES_MAX: u64 = 64 << 20;
/// What an object is taken for before one came, bytes.
const OBJECT_BYTES_FIRST: u64 = 1 << 20;
/// Of an object that is fetched before its turn no more is taken than this, or than twice the largest so far, bytes. What
/// is larger is fetched again in its turn, alone.
const AHEAD_OBJECT_BYTES_MAX: u64 = 16 << 20;
/// After so many objects in a row that the server fails for, the rest is not asked for.
const LOST_IN_A_ROW_MAX: u32 = 8;

type Fetched = Result<Option<(String, Vec<u8>)>, ObjectFaultKind>;

struct Task {
    slot: Slot,
    bytes_max: u64,
    done: SyncSender<Fetched>,
}

/// An object that was asked for.
struct Ticket {
    slot: Slot,
    fetched: Receiver<Fetched>,
    /// What it was taken for, bytes.
    reserved: u64,
}

pub(super) struct RemoteStream {
    objects: Arc<RemoteObjects>,
    slots: Box<dyn Iterator<Item = Slot> + Send>,
    range: LedgerRange,
    tasks: Sender<Task>,
    queue: Arc<Mutex<Receiver<Task>>>,
    dropped: Arc<AtomicBool>,
    fetchers: usize,
    ahead: VecDeque<Ticket>,
    reserved: u64,
    object_bytes: u64,
    lost_in_a_row: u32,
    ended: bool,
}

impl RemoteStream {
    pub(super) fn new(objects: Arc<RemoteObjects>, grid: Grid, range: LedgerRange) -> Self {
        let (tasks, queue) = channel();
        Self {
            objects,
            slots: Box::new(grid.slots(range)),
            range,
            tasks,
            queue: Arc::new(Mutex::new(queue)),
            dropped: Arc::default(),
            fetchers: 0,
            ahead: VecDeque::new(),
            reserved: 0,
            object_bytes: OBJECT_BYTES_FIRST,
            lost_in_a_row: 0,
            ended: false,
        }
    }

    /// Asks for as many objects as there is room for; for one at least.
    fn fetch_ahead(&mut self) {
        while self.ahead.len() < AHEAD_MAX
            && (self.ahead.is_empty() || self.reserved + self.object_bytes <= AHEAD_BYTES_MAX)
        {
            let Some(slot) = self.slots.next() else { return };
            if self.fetchers < FETCHERS_MAX.min(self.ahead.len() + 1) {
                self.fetchers += 1;
                let (objects, queue) = (Arc::clone(&self.objects), Arc::clone(&self.queue));
                let dropped = Arc::clone(&self.dropped);
                thread::spawn(move || fetch(&objects, &queue, &dropped));
            }
            let (done, fetched) = sync_channel(1);
            let bytes_max = AHEAD_OBJECT_BYTES_MAX.max(self.object_bytes.saturating_mul(2)).min(OBJECT_BYTES_MAX);
            self.tasks.send(Task { slot: slot.clone(), bytes_max, done }).expect("the queue is held here");
            self.reserved += self.object_bytes;
            self.ahead.push_back(Ticket { slot, fetched, reserved: self.object_bytes });
        }
    }

    /// Says that an object cannot be read; after several in a row that it and all that follow cannot.
    fn lose(&mut self, slot: &Slot, kind: ObjectFaultKind) -> ObjectFault {
        self.lost_in_a_row += u32::from(matches!(kind, ObjectFaultKind::Unreadable(_)));
        self.ended = self.lost_in_a_row >= LOST_IN_A_ROW_MAX;
        let last = if self.ended { self.range.to_inclusive() } else { slot.claim.to_inclusive() };
        let range = LedgerRange::new(slot.claim.from_inclusive(), last.max(slot.claim.to_inclusive())).ok();
        ObjectFault { object: slot.stem.clone(), range, kind }
    }
}

impl Iterator for RemoteStream {
    type Item = Result<LedgerObject, ObjectFault>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.fetch_ahead();
            let Ticket { slot, fetched, reserved } = self.ahead.pop_front()?;
            let mut fetched = fetched.recv().expect("a fetcher answers each task, or its panic has been told");
            self.reserved -= reserved;
            if matches!(fetched, Err(ObjectFaultKind::TooLarge { bytes_max }) if bytes_max < OBJECT_BYTES_MAX) {
                fetched = self.objects.read(&slot, OBJECT_BYTES_MAX);
            }
            match fetched {
                Ok(found) => {
                    self.lost_in_a_row = 0;
                    let Some((name, bytes)) = found else { continue };
                    self.object_bytes = self.object_bytes.max(bytes.len() as u64);
                    let encoding = ObjectEncoding::ZstdBatch;
                    return Some(Ok(LedgerObject { name, named: Some(slot.claim), encoding, bytes }));
                }
                Err(kind) => return Some(Err(self.lose(&slot, kind))),
            }
        }
        None
    }
}

impl Drop for RemoteStream {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

/// Fetches until the stream is dropped.
fn fetch(objects: &RemoteObjects, queue: &Mutex<Receiver<Task>>, dropped: &AtomicBool) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { slot, bytes_max, done }) = next else { return };
        if dropped.load(Ordering::Relaxed) {
            return;
        }
        // The stream may have been dropped meanwhile; then nobody is left to be told.
        let _gone = done.send(objects.read(&slot, bytes_max));
    }
}
