//! What a reader of one contract must be told, by plain sets of numbers.

use std::collections::BTreeSet;

use annals::store::{Contract, ContractKind};
use annals_core::{ClassicEvents, ContractId, Event, LedgerSeq, ScopeKey};

use super::Oracle;

/// What all pages of one window must say, whatever is committed after it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub from: Option<u32>,
    pub to: Option<u32>,
    pub scanned: BTreeSet<u32>,
    pub verified: BTreeSet<u32>,
    /// In canonical order.
    pub events: Vec<Event>,
    pub missing: BTreeSet<u32>,
    pub complete: bool,
}

impl Oracle {
    pub fn declare(&mut self, said: &Contract) {
        let known =
            self.declared.entry(said.id).or_insert(Contract { id: said.id, origin: None, kind: None, schema: None });
        known.origin = said.origin.or(known.origin);
        known.kind = said.kind.or(known.kind);
        self.read_with(said);
    }

    /// What must be told of `contract` now.
    pub fn answer(&self, contract: ContractId, asked_from: Option<LedgerSeq>, asked_to: Option<LedgerSeq>) -> Answer {
        let mut scanned = BTreeSet::new();
        for key in [ScopeKey::Contract(contract), ScopeKey::All] {
            scanned.extend(self.scanned.get(&key).into_iter().flatten().copied());
        }
        let verified = scanned.iter().copied().filter(|number| self.verified.contains(number)).collect();
        let declared = self.declared.get(&contract);
        let origin = declared.and_then(|declared| declared.origin).map(LedgerSeq::get);
        let origin = origin.or(self.found_origin(contract));
        let from = asked_from.map(LedgerSeq::get).or(origin);
        let end_of_run = |mut number: u32| {
            let mut end = None;
            while scanned.contains(&number) {
                end = Some(number);
                number += 1;
            }
            end
        };
        let kind = declared.and_then(|declared| declared.kind);
        let found_asset = self.found_origin(contract).is_some();
        let is_asset = found_asset || kind == Some(ContractKind::Asset);
        let first = if is_asset { origin.max(self.start) } else { origin.or(self.start) };
        let watermark = end_of_run(first.unwrap_or(0));
        let first_run = if from.is_none() { scanned.first().and_then(|first| end_of_run(*first)) } else { None };
        let to = asked_to.map(LedgerSeq::get).or(watermark).or(first_run);

        let first = from.or(scanned.first().copied());
        let ledgers: Vec<u32> = match (first, to) {
            (Some(first), Some(to)) => (first..=to).collect(),
            _ => Vec::new(),
        };
        let shown =
            |event: &&Event| event.contract_id == Some(contract) && ledgers.contains(&event.position.ledger().get());
        let events = self.events.iter().filter(shown).cloned().collect();
        let wasm = kind == Some(ContractKind::Wasm) && !found_asset;
        let whole = |number: &u32| {
            let row = self.ledgers.get(number).filter(|_| self.verified.contains(number));
            scanned.contains(number) && (wasm || row.is_some_and(|row| row.classic_events == ClassicEvents::Present))
        };
        let complete = self.open_incidents == 0 && from.is_some() && !ledgers.is_empty() && ledgers.iter().all(whole);
        let missing = ledgers.iter().copied().filter(|number| !scanned.contains(number)).collect();
        Answer { from, to, scanned, verified, events, missing, complete }
    }
}
