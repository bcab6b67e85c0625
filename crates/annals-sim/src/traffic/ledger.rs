//! One planned ledger and what is true of it.

use std::collections::BTreeMap;

use annals_core::{LedgerSeq, Position};
use stellar_xdr::ScAddress;

use crate::plan::{Body, EventPlan, LedgerPlan, TxPlan};
use crate::shape::Misshape;
use crate::token::{Openings, TokenCall, WalletEvent};

/// A ledger of traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficLedger {
    /// What to push on a chain.
    pub plan: LedgerPlan,
    /// Every event of the token in it, in canonical order.
    pub events: Vec<TrafficEvent>,
    /// The openings of every registered account after it.
    pub openings: BTreeMap<ScAddress, Openings>,
}

/// An event of the token, and what an archive should say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficEvent {
    /// Its transaction's apply order, 1-based.
    pub tx_order: u32,
    /// Its index in the only operation of its transaction.
    pub index: u32,
    /// The event.
    pub event: EventPlan,
    /// Who its address topics name, each with its role, in the order of the topics; nobody in an event of
    /// configuration.
    pub parties: Vec<(&'static str, ScAddress)>,
    /// Whose checkpoint it is.
    pub checkpoint_of: Option<ScAddress>,
    /// What its envelope carries.
    pub payload: Payload,
}

/// What the envelope of an event carries of its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// The event is no transfer.
    NotApplicable,
    /// The content of the Bytes argument of the token's own function.
    Carried(Vec<u8>),
    /// The envelope calls another contract, so that nothing ties an argument to the event.
    Unavailable,
}

impl TrafficLedger {
    /// Changes the shape of the event number `index` of `events`, in the plan too. The openings stay those of the
    /// token, so that no wallet finds them again from what is published.
    ///
    /// # Panics
    /// When there is no such event, or nothing in it to change.
    pub fn misshape(&mut self, index: usize, misshape: Misshape) {
        let noted = &mut self.events[index];
        let tx = usize::try_from(noted.tx_order).expect("a planned ledger is small") - 1;
        let committed = match &mut self.plan.transactions[tx].body {
            Body::Invocation(call) => &mut call.events,
            Body::Creation(creation) => &mut creation.events,
            Body::Restoration(_) | Body::Payments(_) => panic!("the token's events are a call's"),
        };
        let event = &mut committed[usize::try_from(noted.index).expect("a planned ledger is small")];
        *event = misshape.of(event.clone());
        noted.event = event.clone();
        noted.parties.clear();
        noted.checkpoint_of = None;
        noted.payload = Payload::NotApplicable;
    }

    /// The token's events as an archive of ledger `seq` serves them.
    #[must_use]
    pub fn wallet_events(&self, seq: LedgerSeq) -> Vec<WalletEvent> {
        self.events.iter().map(|event| event.wallet_event(seq)).collect()
    }
}

impl TrafficEvent {
    /// Where it stands in ledger `seq`.
    #[must_use]
    pub fn position(&self, seq: LedgerSeq) -> Position {
        Position::op(seq, self.tx_order, 0, self.index).expect("a planned ledger is small")
    }

    /// Whether `account` is one of its parties.
    #[must_use]
    pub fn names(&self, account: &ScAddress) -> bool {
        self.parties.iter().any(|(_, party)| party == account)
    }

    fn wallet_event(&self, seq: LedgerSeq) -> WalletEvent {
        let payload = match &self.payload {
            Payload::Carried(payload) => Some(payload.clone()),
            Payload::NotApplicable | Payload::Unavailable => None,
        };
        WalletEvent::new(self.position(seq), &self.event, payload)
    }
}

/// A ledger while it is planned.
#[derive(Debug, Default)]
pub(super) struct LedgerDraft {
    pub(super) transactions: Vec<TxPlan>,
    pub(super) events: Vec<TrafficEvent>,
}

impl LedgerDraft {
    /// Appends a transaction that has nothing to do with the token.
    pub(super) fn push(&mut self, tx: TxPlan) {
        self.transactions.push(tx);
    }

    /// Appends a transaction in which the token emits events of no party.
    pub(super) fn push_settings(&mut self, tx: TxPlan, settings: &[EventPlan]) {
        self.transactions.push(tx);
        for event in settings {
            self.note(event, &[], None, Payload::NotApplicable);
        }
    }

    /// Appends a transaction that calls the token: directly, so that it carries the payload, or not.
    pub(super) fn push_calls(&mut self, tx: TxPlan, calls: &[TokenCall], is_direct: bool) {
        self.transactions.push(tx);
        for call in calls {
            let payload = match &call.payload {
                None => Payload::NotApplicable,
                Some(payload) if is_direct => Payload::Carried(payload.clone()),
                Some(_) => Payload::Unavailable,
            };
            self.note(&call.event, &call.parties, call.checkpoint_of.clone(), payload);
        }
    }

    /// Notes an event of the last transaction, which stands behind those noted before.
    fn note(
        &mut self,
        event: &EventPlan,
        parties: &[(&'static str, ScAddress)],
        checkpoint_of: Option<ScAddress>,
        payload: Payload,
    ) {
        let tx_order = u32::try_from(self.transactions.len()).expect("a planned ledger is small");
        let noted = self.events.iter().rev().find(|noted| noted.tx_order == tx_order);
        let from = noted.map_or(0, |noted| noted.index + 1);
        let emitted = self.transactions.last().map_or(&[][..], |tx| tx.body.committed_events());
        let index = (from..)
            .zip(emitted.iter().skip(from as usize))
            .find_map(|(index, emitted)| (emitted == event).then_some(index))
            .expect("a noted event is in its transaction");
        self.events.push(TrafficEvent {
            tx_order,
            index,
            event: event.clone(),
            parties: parties.to_vec(),
            checkpoint_of,
            payload,
        });
    }
}
