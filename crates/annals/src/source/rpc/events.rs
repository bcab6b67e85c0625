//! Stellar RPC: events alone, by `getEvents`, or by `queryEvents` where that is all there is.
//!
//! Nothing here but an envelope proves anything: what is scanned is what the endpoint says that it scanned. A page may end inside a
//! ledger; that ledger counts once the endpoint has gone past its end. An empty page says how far it scanned, and that
//! counts. Between two ledgers every request names the ledger it begins with, so that any endpoint can go on where
//! another ended; a cursor is only ever given back to the endpoint that it came from, inside one step.

mod entry;
mod envelopes;
mod page;
mod scan;
mod size;
mod step;
mod transaction;

use std::collections::VecDeque;
use std::sync::Arc;

use annals_core::{Coverage, Event, LedgerRange, LedgerSeq, Scope};

pub use self::envelopes::EnvelopeReader;
use self::scan::Pass;
use self::step::{Step, Stepper};
use super::RpcSource;
use super::pool::{Pool, Unserved};
use crate::source::{LedgerSource as _, ObjectFault, ObjectFaultKind};

/// Ledgers that an endpoint scanned, and every event that it gives of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// The ledgers, each to its end.
    pub range: LedgerRange,
    /// Their events, in canonical order, each of class `unverified`. Of one whose `tx_order` is 0 the endpoint does not
    /// say where in the ledger its transaction was applied.
    pub events: Vec<Event>,
}

impl RpcSource {
    /// The events of `scope` in `range`, ascending and in pieces of whole ledgers. What is not scanned, and each ledger
    /// with an event that does not decode, is told as a fault with its reason.
    pub fn scan(&self, range: LedgerRange, scope: &Scope) -> impl Iterator<Item = Result<Scanned, ObjectFault>> {
        let stepper = Stepper::new(Pass::all_of(scope), self.pool.endpoints.len());
        let (pool, name) = (Arc::clone(&self.pool), self.name());
        ScanStream { pool, name, wanted: Some(range), stepper, ready: VecDeque::new(), lost_in_a_row: 0 }
    }
}

/// A range of ledgers, step by step.
struct ScanStream {
    pool: Arc<Pool>,
    name: String,
    /// What is still to be asked for.
    wanted: Option<LedgerRange>,
    stepper: Stepper,
    ready: VecDeque<Result<Scanned, ObjectFault>>,
    lost_in_a_row: u32,
}

impl ScanStream {
    /// What is wanted above `last`.
    fn above(wanted: LedgerRange, last: LedgerSeq) -> Option<LedgerRange> {
        LedgerRange::new(last.next()?, wanted.to_inclusive()).ok()
    }

    /// Hands out a step: the ledgers that were scanned, without those that hold a bad event.
    fn take(&mut self, wanted: LedgerRange, step: Step) {
        self.lost_in_a_row = 0;
        self.wanted = Self::above(wanted, step.range.to_inclusive());
        let mut sound = Coverage::from_iter([step.range]);
        step.bad.keys().for_each(|seq| sound.remove(LedgerRange::single(*seq)));
        let mut events = step.events;
        let faults = step.bad.into_iter().map(|(seq, wrong)| {
            let range = Some(LedgerRange::single(seq));
            Err(ObjectFault { object: step.endpoint.clone(), range, kind: ObjectFaultKind::BadEvent { wrong } })
        });
        self.ready.extend(faults);
        for range in sound.ranges() {
            let rest =
                events.split_off(events.partition_point(|event| event.position.ledger() <= range.to_inclusive()));
            events.retain(|event| range.contains(event.position.ledger()));
            self.ready.push_back(Ok(Scanned { range: *range, events }));
            events = rest;
        }
    }

    /// Says that what is wanted up to and with a ledger is not served, and goes on above it.
    fn lose(&mut self, wanted: LedgerRange, unserved: Unserved) -> ObjectFault {
        let through = unserved.given_up_through(wanted, &mut self.lost_in_a_row);
        self.wanted = Self::above(wanted, through);
        let kind = match unserved.kind {
            ObjectFaultKind::BelowRetention { oldest } => ObjectFaultKind::AtRetention { from: oldest },
            kind => kind,
        };
        let range = LedgerRange::new(wanted.from_inclusive(), through).ok();
        ObjectFault { object: self.name.clone(), range, kind }
    }
}

impl Iterator for ScanStream {
    type Item = Result<Scanned, ObjectFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            let wanted = self.wanted?;
            let (pool, stepper) = (Arc::clone(&self.pool), &mut self.stepper);
            let step = pool.ask(|place, endpoint| stepper.step(&pool.passphrase, place, endpoint, wanted));
            match step {
                Ok(step) => self.take(wanted, step),
                Err(unserved) => return Some(Err(self.lose(wanted, unserved))),
            }
        }
    }
}
