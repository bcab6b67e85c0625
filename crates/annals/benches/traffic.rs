//! A made-up contract's traffic: ledgers with as many events as wanted, seven in ten of one busy contract and the rest of a
//! thousand quiet ones. No hash in them holds, which no store looks at.

use annals_core::{
    Census, CheckedLedger, ClassicEvents, ContractId, Event, EventKind, EventsDigest, LedgerHash, LedgerSeq, Network,
    NetworkProof, Position, ProofClass, ProofMaterial, TxHash,
};
use annals_sim::{EventPlan, Rng, value};

const QUIET_CONTRACTS: u32 = 1_000;

pub fn network() -> Network {
    Network::new("Annals Bench Network")
}

pub fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

pub fn busy() -> ContractId {
    value::contract(0)
}

/// Any of the others.
pub fn quiet(rng: &mut Rng) -> ContractId {
    value::contract(1 + rng.below(QUIET_CONTRACTS))
}

/// Makes ledgers, each of so many events.
pub struct Traffic {
    rng: Rng,
    events_per_ledger: u32,
    /// The XDR of a transfer; that of another contract differs in the contract's id alone.
    transfer: Vec<u8>,
}

impl Traffic {
    pub fn new(events_per_ledger: u32) -> Self {
        let transfer = EventPlan::transfer(busy(), value::account(1), value::account(2), 5).xdr();
        Self { rng: Rng::new(1), events_per_ledger, transfer }
    }

    pub fn ledger(&mut self, number: u32) -> CheckedLedger {
        let events: Vec<Event> = (0..self.events_per_ledger).map(|index| self.event(number, index)).collect();
        CheckedLedger {
            seq: seq(number),
            hash: hash(number),
            previous_hash: hash(number - 1),
            close_time_ms: u64::from(number) * 5000,
            protocol: 26,
            header_xdr: vec![0; 400],
            network_proof: NetworkProof::Proven,
            classic_events: ClassicEvents::Present,
            census: Census::of(&events),
            digest: EventsDigest::of(&events),
            creations: Vec::new(),
            events,
            proof: ProofMaterial { results_xdr: Vec::new(), invocations: Vec::new() },
        }
    }

    fn event(&mut self, number: u32, index: u32) -> Event {
        let contract = if self.rng.chance(70) { busy() } else { quiet(&mut self.rng) };
        let mut xdr = self.transfer.clone();
        xdr[8..40].copy_from_slice(&contract.0);
        Event {
            position: Position::op(seq(number), 1 + index / 10, 0, index % 10).unwrap(),
            tx_hash: TxHash(hash(number ^ (index / 10) << 20).0),
            tx_order: 1 + index / 10,
            successful: true,
            close_time_ms: u64::from(number) * 5000,
            contract_id: Some(contract),
            kind: EventKind::Contract,
            xdr,
            proof: ProofClass::Uncommitted,
            rewritten_xdr: None,
        }
    }
}

fn hash(number: u32) -> LedgerHash {
    LedgerHash(annals_core::hash::sha256(&[&number.to_be_bytes()]))
}
