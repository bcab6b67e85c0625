//! Bundles of checked ledgers.

use annals_core::bundle::{Above, LedgerMaterial, event_bundle, ledgers_bundle, unproven_bundle};
use annals_core::{
    CheckedLedger, ContractId, Event, LedgerHash, LedgerSeq, Network, ProofClass, ProofVerdict, check_ledger,
    check_proof,
};
use annals_sim::{BuiltLedger, ChainBuilder, Format, LedgerPlan};

/// Consecutive ledgers, as an archive keeps them.
pub struct Archive {
    pub network: Network,
    pub ledgers: Vec<CheckedLedger>,
}

impl Archive {
    pub fn new<T: AsRef<[u8]>>(network: &Network, ledgers: impl IntoIterator<Item = T>) -> Self {
        let ledgers = ledgers.into_iter().map(|xdr| check_ledger(xdr.as_ref(), network).unwrap()).collect();
        Self { network: network.clone(), ledgers }
    }

    /// The ledgers that the plans make, from 100 on.
    pub fn planned(format: Format, plans: &[LedgerPlan]) -> Self {
        let network = super::super::built::network();
        let mut chain = ChainBuilder::new(&network, super::super::built::first(), 7, format);
        let built: Vec<BuiltLedger> = plans.iter().map(|plan| chain.push(plan)).collect();
        Self::new(&network, built.iter().map(|ledger| &ledger.xdr))
    }

    pub fn ledger(&self, seq: LedgerSeq) -> &CheckedLedger {
        self.ledgers.iter().find(|ledger| ledger.seq == seq).unwrap()
    }

    /// The number-th ledger.
    pub fn at(&self, number: usize) -> &CheckedLedger {
        &self.ledgers[number]
    }

    pub fn material(&self, seq: LedgerSeq) -> LedgerMaterial {
        let ledger = self.ledger(seq);
        let provable = ledger.events.iter().any(|event| event.proof.is_proven());
        let material = provable.then(|| ledger.proof.clone());
        LedgerMaterial { seq, header_xdr: ledger.header_xdr.clone(), material }
    }

    /// The headers above `seq`, at most `count` of them.
    pub fn above(&self, seq: LedgerSeq, count: usize) -> Above {
        let headers = self.ledgers.iter().filter(|ledger| ledger.seq > seq).take(count);
        Above { headers_xdr: headers.map(|ledger| ledger.header_xdr.clone()).collect(), unreached: None }
    }

    /// The bundle of an event under `count` headers.
    pub fn prove(&self, event: &Event, count: usize) -> Vec<u8> {
        let seq = event.position.ledger();
        event_bundle(&self.network, event, &self.material(seq), &self.above(seq, count)).unwrap()
    }

    /// The bundle of a contract's events in `ledgers`, by number, under `count` headers.
    pub fn prove_all(&self, contract: ContractId, ledgers: core::ops::Range<usize>, count: usize) -> Vec<u8> {
        let materials: Vec<_> = self.ledgers[ledgers].iter().map(|ledger| self.material(ledger.seq)).collect();
        let above = self.above(materials.last().unwrap().seq, count);
        ledgers_bundle(&self.network, contract, &materials, &above).unwrap()
    }

    /// The bundle of an event that nothing proves.
    pub fn explain(&self, event: &Event, with_material: bool) -> Vec<u8> {
        let seq = event.position.ledger();
        let ledger = with_material.then(|| self.material(seq));
        let siblings: Vec<_> =
            self.ledger(seq).events.iter().filter(|other| other.tx_hash == event.tx_hash).cloned().collect();
        unproven_bundle(&self.network, event, &siblings, ledger.as_ref(), &self.above(seq, 1)).unwrap()
    }

    pub fn events(&self, class: ProofClass) -> impl Iterator<Item = &Event> {
        self.ledgers.iter().flat_map(|ledger| &ledger.events).filter(move |event| event.proof == class)
    }

    pub fn name(&self, number: usize) -> (LedgerSeq, LedgerHash) {
        (self.ledgers[number].seq, self.ledgers[number].hash)
    }
}

/// The verdict's word or code.
pub fn word(bundle: &[u8], anchor: Option<(LedgerSeq, LedgerHash)>) -> &'static str {
    match check_proof(bundle, anchor) {
        ProofVerdict::Proved(_) => "proved",
        ProofVerdict::Refuted(fault) => fault.code(),
        ProofVerdict::Undecided(reason) => reason.code(),
    }
}

pub fn is_proved(bundle: &[u8], anchor: Option<(LedgerSeq, LedgerHash)>) -> bool {
    word(bundle, anchor) == "proved"
}
