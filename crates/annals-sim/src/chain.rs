//! Ledger after ledger, each linked to the one before.

use annals_core::hash::sha256;
use annals_core::{ClassicEvents, Event, LedgerHash, LedgerSeq, Network};
use stellar_xdr::{Hash, LedgerCloseMeta};

use crate::close::{Closing, close};
use crate::expect;
use crate::fault::Fault;
use crate::format::Format;
use crate::plan::{CloseTime, LedgerPlan};
use crate::rng::Rng;
use crate::transaction::{Surroundings, build};
use crate::xdr::encode;

/// A ledger as an exporter hands it out, and what is true of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltLedger {
    /// Its sequence number.
    pub seq: LedgerSeq,
    /// The hash it calls its own.
    pub hash: LedgerHash,
    /// XDR of its `LedgerCloseMeta`.
    pub xdr: Vec<u8>,
    /// Close time, Unix milliseconds.
    pub close_time_ms: u64,
    /// Every event that a right extraction finds, in canonical order, with its proof class; counted from the plan.
    pub events: Vec<Event>,
    /// What its fees tell of its exporter.
    pub classic_events: ClassicEvents,
}

/// Builds the ledgers of one chain. A clone goes on from the same ledger: pushing another plan forks the chain.
#[derive(Debug, Clone)]
pub struct ChainBuilder {
    network: Network,
    format: Format,
    next: Option<LedgerSeq>,
    previous_hash: LedgerHash,
    /// Time of the last ledger, Unix milliseconds.
    clock_ms: u64,
    tx_number: u64,
    fee_pool: i64,
}

impl ChainBuilder {
    /// Begins a chain with `first_ledger`. The seed decides what lies before it and who signs, so that chains of
    /// two seeds share no hash.
    #[must_use]
    pub fn new(network: &Network, first_ledger: LedgerSeq, seed: u64, format: Format) -> Self {
        let first = first_ledger.get();
        Self {
            network: network.clone(),
            format,
            next: Some(first_ledger),
            previous_hash: LedgerHash(sha256(&[b"before", &seed.to_be_bytes(), &first.to_be_bytes()])),
            clock_ms: (1_500_000_000 + 5 * (u64::from(first) - 1)) * 1000,
            tx_number: Rng::new(seed).bits() >> 2,
            fee_pool: 0,
        }
    }

    /// The same chain, the next ledger of which closes about `unix_ms`, plus the time that its plan lets pass.
    #[must_use]
    pub fn resuming_at(self, unix_ms: u64) -> Self {
        Self { clock_ms: unix_ms, ..self }
    }

    /// The hash that the next ledger will link to.
    #[must_use]
    pub fn tip_hash(&self) -> LedgerHash {
        self.previous_hash
    }

    /// The same chain, exported in another form from the next ledger on.
    #[must_use]
    pub fn upgraded(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Builds the next ledger.
    ///
    /// # Panics
    /// When no network could run the plan, and after ledger 2³¹−1.
    pub fn push(&mut self, plan: &LedgerPlan) -> BuiltLedger {
        self.build(plan, None)
    }

    /// Builds the next ledger with a builder's fault in it. `events` still holds what is true.
    ///
    /// # Panics
    /// As [`Self::push`], and when the plan holds nothing to plant the fault in.
    pub fn push_faulty(&mut self, plan: &LedgerPlan, fault: Fault) -> BuiltLedger {
        self.build(plan, Some(fault))
    }

    fn build(&mut self, plan: &LedgerPlan, fault: Option<Fault>) -> BuiltLedger {
        plan.assert_possible(self.format);
        let seq = self.next.expect("a chain ends with ledger 2147483647");
        let protocol = plan.protocol.unwrap_or(self.format.default_protocol());
        let classic_events = plan.classic_events;
        let around =
            Surroundings { network: &self.network, format: self.format, seq: seq.get(), protocol, classic_events };
        let target = fault.and_then(|fault| fault.target(plan));
        let mut transactions = Vec::with_capacity(plan.transactions.len());
        for (index, tx) in plan.transactions.iter().enumerate() {
            self.tx_number += 1;
            let fault = fault.filter(|_| target == Some(index));
            transactions.push(build(tx, self.tx_number, &around, fault));
            self.fee_pool += tx.charge - tx.refund;
        }
        self.clock_ms += u64::from(plan.elapsed_ms);
        let close_time_ms = match plan.close_time {
            CloseTime::Seconds => self.clock_ms / 1000 * 1000,
            CloseTime::Milliseconds => self.clock_ms,
        };
        let closing = Closing {
            seq: seq.get(),
            protocol,
            upgrade_to: plan.upgrade_to,
            previous_hash: Hash(self.previous_hash.0),
            close_time_ms,
            close_time: plan.close_time,
            empty_tx_set: plan.empty_tx_set,
            fee_pool: self.fee_pool,
            format: self.format,
        };
        let meta = close(&closing, &transactions, fault);
        let hash = LedgerHash(own_hash(&meta).0);
        self.previous_hash = hash;
        self.next = seq.next();
        BuiltLedger {
            seq,
            hash,
            xdr: encode(&meta),
            close_time_ms,
            events: expect::events(seq, close_time_ms, &transactions),
            classic_events: expect::classic_events(plan, self.format),
        }
    }
}

fn own_hash(meta: &LedgerCloseMeta) -> &Hash {
    match meta {
        LedgerCloseMeta::V0(meta) => &meta.ledger_header.hash,
        LedgerCloseMeta::V1(meta) => &meta.ledger_header.hash,
        LedgerCloseMeta::V2(meta) => &meta.ledger_header.hash,
    }
}
