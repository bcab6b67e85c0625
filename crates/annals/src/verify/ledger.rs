//! Verifying one ledger.

use std::collections::BTreeMap;

use annals_core::check::{ProvenEvent, prove_stored};
use annals_core::decode::{EventView, HeaderView, ResultView, result_pairs};
use annals_core::hash::sha256;
use annals_core::{
    Census, ClassicPolicy, ContractId, Event, EventsDigest, LedgerHash, LedgerSeq, Network, Position, ProofClass,
    ProofMaterial, ScopeKey,
};

use super::{Fault, FaultKind};
use crate::store::{EventQuery, Status, Store, StoreError, StoredLedger};

/// How many events are asked for at once.
const PAGE_EVENTS: u32 = 5000;

/// What judges ledgers: the network and what the archive says of itself.
pub(super) struct Judge {
    pub network: Network,
    pub status: Status,
}

/// What one ledger holds and what of it does not hold.
pub(super) struct Verified {
    pub events: Census,
    pub faults: Vec<Fault>,
    /// Whether an uncommitted event that is gone would not be noticed.
    pub undigested: bool,
}

impl Judge {
    /// Verifies one ledger with its events and its proof material.
    pub fn verify(
        &self,
        store: &dyn Store,
        row: &StoredLedger,
        before: Option<&StoredLedger>,
    ) -> Result<Verified, StoreError> {
        let mut faults = Faults { ledger: row.seq, found: Vec::new() };
        let header = check_row(row, &mut faults);
        if before.is_some_and(|before| before.seq.next() == Some(row.seq) && before.hash != row.previous_hash) {
            faults.note(None, FaultKind::BrokenLink);
        }
        for pin in self.status.pins.iter().filter(|pin| pin.seq == row.seq && pin.hash != row.hash) {
            faults.note(None, FaultKind::PinContradicted { pinned: pin.hash });
        }
        let events = self.read_events(store, row.seq)?;
        for event in &events {
            check_event(event, row, &mut faults);
        }
        let material = store.proof(row.seq)?;
        if let Some(header) = &header {
            check_proof(header, material.as_ref(), &events, &self.scope(row.seq), &self.network, &mut faults);
        }
        self.check_counts(row, &events, &mut faults);
        let undigested = self.status.classic == ClassicPolicy::Keep
            && row.census.uncommitted > 0
            && !self.scope(row.seq).contains(&ScopeKey::All);
        Ok(Verified { events: Census::of(&events), faults: faults.found, undigested })
    }

    fn read_events(&self, store: &dyn Store, seq: LedgerSeq) -> Result<Vec<Event>, StoreError> {
        let mut events: Vec<Event> = Vec::new();
        let mut after = seq.previous().map(Position::last_of);
        loop {
            let as_of = self.status.feed_position;
            let page = store.events(&EventQuery { after, to_inclusive: seq, as_of, limit: PAGE_EVENTS })?;
            let Some(last) = page.last() else { return Ok(events) };
            after = Some(last.position);
            let is_last = page.len() < PAGE_EVENTS as usize;
            events.extend(page);
            if is_last {
                return Ok(events);
            }
        }
    }

    /// Whose events of a ledger the archive says it holds.
    fn scope(&self, seq: LedgerSeq) -> Vec<ScopeKey> {
        let held = self.status.coverage.iter().filter(|(_, coverage)| coverage.contains(seq));
        held.map(|(key, _)| *key).collect()
    }

    /// Compares the events with what was counted and digested when the ledger was checked, as far as the archive
    /// keeps what was counted then.
    fn check_counts(&self, row: &StoredLedger, events: &[Event], faults: &mut Faults) {
        let counted = Census::of(events);
        if !self.scope(row.seq).contains(&ScopeKey::All) {
            let beyond = counted.committed > row.census.committed || counted.rewritten > row.census.rewritten;
            if beyond || counted.uncommitted > row.census.uncommitted {
                faults.note(None, FaultKind::Census);
            }
            return;
        }
        let expected = match self.status.classic {
            ClassicPolicy::Keep => row.census,
            ClassicPolicy::Drop => Census { uncommitted: 0, ..row.census },
        };
        if counted != expected {
            faults.note(None, FaultKind::Census);
        }
        if row.digest_version != EventsDigest::VERSION {
            faults.note(None, FaultKind::UnknownDigest { version: row.digest_version });
        } else if expected == row.census && EventsDigest::of(events) != row.digest {
            faults.note(None, FaultKind::Digest);
        }
    }
}

/// The faults of one ledger.
struct Faults {
    ledger: LedgerSeq,
    found: Vec<Fault>,
}

impl Faults {
    fn note(&mut self, position: Option<Position>, kind: FaultKind) {
        self.found.push(Fault { ledger: self.ledger, position, kind });
    }
}

/// Hashes the header and compares the row with it; none where the header says nothing that could be relied on.
fn check_row<'a>(row: &'a StoredLedger, faults: &mut Faults) -> Option<HeaderView<'a>> {
    let computed = LedgerHash(sha256(&[&row.header_xdr]));
    if computed != row.hash {
        faults.note(None, FaultKind::HeaderHash { stored: row.hash, computed });
    }
    let header = match HeaderView::parse(&row.header_xdr) {
        Ok(header) => header,
        Err(error) => {
            faults.note(None, FaultKind::HeaderUndecodable(error));
            return None;
        }
    };
    let columns = [
        ("sequence number", header.seq == row.seq.get()),
        ("previous hash", header.previous_hash == row.previous_hash.0),
        ("close time", header.close_time_ms == row.close_time_ms),
        ("protocol", header.protocol == row.protocol),
    ];
    for (column, _) in columns.into_iter().filter(|(_, holds)| !holds) {
        faults.note(None, FaultKind::RowContradictsHeader { column });
    }
    (computed == row.hash).then_some(header)
}

/// Compares an event's columns with its bytes and its ledger.
fn check_event(event: &Event, row: &StoredLedger, faults: &mut Faults) {
    let at = Some(event.position);
    match EventView::parse(&event.xdr) {
        Ok(view) => {
            let columns = [
                ("contract", view.contract_id == event.contract_id),
                ("kind", view.kind == Some(event.kind)),
                ("close time", event.close_time_ms == row.close_time_ms || is_whole_second_of(event, row)),
            ];
            for (column, _) in columns.into_iter().filter(|(_, holds)| !holds) {
                faults.note(at, FaultKind::EventContradictsBytes { column });
            }
        }
        Err(error) => faults.note(at, FaultKind::EventUndecodable(error)),
    }
    let has_form = event.rewritten_xdr.is_some();
    if has_form != (event.proof == ProofClass::Rewritten) {
        faults.note(at, FaultKind::RewrittenForm { class: event.proof, has_form });
    }
    if let Some(Err(error)) = event.rewritten_xdr.as_deref().map(EventView::parse) {
        faults.note(at, FaultKind::EventUndecodable(error));
    }
}

/// Whether an event's source, which gave nothing to verify it by, knew the ledger's close time to the second alone.
fn is_whole_second_of(event: &Event, row: &StoredLedger) -> bool {
    event.proof == ProofClass::Unverified && event.close_time_ms == row.close_time_ms / 1000 * 1000
}

/// Proves the material from the header on, and compares what it proves with what is stored.
fn check_proof(
    header: &HeaderView<'_>,
    material: Option<&ProofMaterial>,
    events: &[Event],
    scope: &[ScopeKey],
    network: &Network,
    faults: &mut Faults,
) {
    let Some(material) = material else {
        if events.iter().any(|event| event.proof.is_proven()) {
            faults.note(None, FaultKind::NoProofMaterial);
        }
        return;
    };
    let proven = match prove_stored(header, material, network) {
        Ok(proven) => proven,
        Err(fault) => return faults.note(None, FaultKind::Proof(fault)),
    };
    let results = match result_pairs(&material.results_xdr) {
        Ok(results) => results,
        Err(error) => return faults.note(None, FaultKind::Proof(error.into())),
    };
    let mut due: BTreeMap<Position, &ProvenEvent<'_>> = proven.iter().map(|event| (event.position, event)).collect();
    for event in events {
        let mismatch = compare_with_proof(event, due.remove(&event.position));
        if let Some(kind) = mismatch.or_else(|| compare_with_results(event, &results)) {
            faults.note(Some(event.position), kind);
        }
    }
    let takes = |contract: Option<ContractId>| {
        let of_contract = contract.is_some_and(|contract| scope.contains(&ScopeKey::Contract(contract)));
        of_contract || scope.contains(&ScopeKey::All)
    };
    for (position, missing) in due {
        match EventView::parse(missing.xdr) {
            Ok(view) if takes(view.contract_id) => faults.note(Some(position), FaultKind::MissingEvent),
            Ok(_) => {}
            Err(error) => faults.note(Some(position), FaultKind::EventUndecodable(error)),
        }
    }
}

/// What is wrong with a stored event beside what the header commits to in its place.
fn compare_with_proof(event: &Event, proven: Option<&ProvenEvent<'_>>) -> Option<FaultKind> {
    let class = event.proof;
    match proven {
        None => class.is_proven().then_some(FaultKind::NotCommitted { class }),
        Some(proven) if proven.xdr != event.xdr => Some(FaultKind::OtherBytes),
        Some(proven) if proven.tx_hash != event.tx_hash => Some(FaultKind::OtherTransaction),
        Some(_) if !class.is_proven() => Some(FaultKind::ClassTooLow { class }),
        Some(_) => None,
    }
}

/// What is wrong with a stored event, of any class, beside its transaction's result, which the header commits to.
fn compare_with_results(event: &Event, results: &[ResultView<'_>]) -> Option<FaultKind> {
    let is_of_event = |result: &&ResultView<'_>| result.tx_hash == event.tx_hash;
    let at = event.tx_order.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    let result = match at {
        Some(at) => results.get(at).filter(is_of_event),
        // The order is one thing that the source of an unverified event need not know.
        None if event.proof == ProofClass::Unverified => results.iter().find(is_of_event),
        None => None,
    };
    let Some(result) = result else { return Some(FaultKind::OtherTransaction) };
    let in_place = [0, event.tx_order, Position::TX_AFTER_ALL].contains(&event.position.tx());
    let columns = [("success", result.successful == event.successful), ("transaction order", in_place)];
    let wrong = columns.into_iter().find(|(_, holds)| !holds);
    wrong.map(|(column, _)| FaultKind::EventContradictsBytes { column })
}
