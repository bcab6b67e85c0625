//! Whom events belong to, event by event, by what their schema itself says of each.

use std::sync::Arc;

use annals::store::{Contract, NO_SCHEMA, PageEvent, Reattributed, Unattributed};
use annals_core::decode::EventView;
use annals_core::registry::Payload;
use annals_core::{
    Address, ContractId, Event, LedgerSeq, Mark, Network, Position, Registry, Schema, SchemaChoice, ShapeFault,
};

use super::{Answer, Oracle};

/// Stands for what a registry does not know.
const NOTHING: [u8; 32] = [0; 32];

/// With what a contract's events are read, and which of them were.
#[derive(Clone)]
pub struct Reading {
    declared: Option<SchemaChoice>,
    is_asset: bool,
    digest: [u8; 32],
    waits: bool,
    pass: Option<Position>,
}

/// Whom one event belongs to, in the order of its topics; none where that is unknown.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Owners {
    pub parties: Vec<(Address, String, Option<Mark>)>,
    pub fault: Option<ShapeFault>,
}

/// What all pages of one account's window must say beside its coverage.
#[derive(Clone)]
pub struct Owned {
    pub answer: Answer,
    pub events: Vec<PageEvent>,
    pub unattributed: Option<Unattributed>,
}

impl Reading {
    fn choice(&self) -> Option<SchemaChoice> {
        let asset = || self.is_asset.then(|| "asset".parse().unwrap());
        self.declared.clone().or_else(asset)
    }
}

impl Oracle {
    pub fn with_registry(&mut self, registry: Arc<Registry>) {
        self.registry = Some(registry);
    }

    fn schema(&self, contract: ContractId) -> Option<Schema> {
        let choice = self.readings.get(&contract)?.choice()?;
        self.registry.as_ref()?.schema(&choice).ok()
    }

    /// An asset contract emits from the network's first ledger on.
    pub(super) fn found_origin(&self, contract: ContractId) -> Option<u32> {
        self.readings.get(&contract).filter(|reading| reading.is_asset).map(|_| 2)
    }

    /// Every contract whose schema is another one now waits; those that wait.
    pub fn adopt(&mut self) -> Vec<ContractId> {
        for contract in self.readings.keys().copied().collect::<Vec<_>>() {
            self.touch(contract);
        }
        self.waiting()
    }

    pub fn waiting(&self) -> Vec<ContractId> {
        let waiting = self.readings.iter().filter(|(_, reading)| reading.waits && reading.choice().is_some());
        waiting.map(|(contract, _)| *contract).collect()
    }

    fn touch(&mut self, contract: ContractId) {
        let digest = self.schema(contract).map_or(NOTHING, |schema| schema.digest());
        if let Some(reading) = self.readings.get(&contract)
            && reading.choice().is_some()
            && reading.digest != digest
        {
            let before = reading.clone();
            self.begin(contract, before.clone(), Some(&before));
        }
    }

    /// Begins to read a contract otherwise than before.
    fn begin(&mut self, contract: ContractId, new: Reading, before: Option<&Reading>) {
        let has_events = self
            .events
            .iter()
            .any(|event| event.contract_id == Some(contract) && self.owners.contains_key(&event.position));
        self.readings.insert(contract, new);
        let digest = self.schema(contract).map_or(NOTHING, |schema| schema.digest());
        let alike = before.is_some_and(|before| before.choice().is_some() && before.digest == digest && !before.waits);
        let reading = self.readings.get_mut(&contract).unwrap();
        reading.digest = digest;
        reading.waits = digest == NOTHING || (has_events && !alike);
        reading.pass = None;
    }

    pub(super) fn read_with(&mut self, said: &Contract) {
        let Some(schema) = &said.schema else { return };
        let declared = Some(schema.clone()).filter(|schema| schema.name() != NO_SCHEMA);
        let before = self.readings.get(&said.id).cloned();
        let is_asset = before.as_ref().is_some_and(|before| before.is_asset);
        let new = Reading { declared, is_asset, digest: NOTHING, waits: false, pass: None };
        if before.as_ref().and_then(Reading::choice) == new.choice() {
            if let Some(reading) = self.readings.get_mut(&said.id) {
                reading.declared = new.declared;
            }
            return;
        }
        self.begin(said.id, new, before.as_ref());
    }

    /// Attributes what a commit added and replaced: `before` is what was stored.
    pub(super) fn attribute(&mut self, before: &[Event], network: &Network) {
        for event in self.events.clone() {
            let Some(contract) = event.contract_id else { continue };
            let former = before.iter().find(|former| former.position == event.position);
            if former.is_some_and(|former| former.xdr == event.xdr) {
                continue;
            }
            self.touch(contract);
            if former.is_none() {
                self.recognise(contract, &event, network);
            }
            self.own(contract, &event);
        }
    }

    fn recognise(&mut self, contract: ContractId, event: &Event, network: &Network) {
        let topics = EventView::parse(&event.xdr).map(|view| view.topics).unwrap_or_default();
        let known = self.readings.get(&contract);
        let names_itself = topics.last().and_then(|topic| network.asset_contract(topic)) == Some(contract);
        if !names_itself || event.kind == annals_core::EventKind::System || known.is_some_and(|known| known.is_asset) {
            return;
        }
        let declared = known.and_then(|known| known.declared.clone());
        let found = Reading { declared, is_asset: true, digest: NOTHING, waits: false, pass: None };
        match known.filter(|known| known.declared.is_some()) {
            Some(known) => {
                let known = Reading { is_asset: true, ..known.clone() };
                self.readings.insert(contract, known);
            }
            None => self.begin(contract, found, None),
        }
    }

    fn own(&mut self, contract: ContractId, event: &Event) -> bool {
        let said = self.schema(contract);
        let said = said.as_ref().map(|schema| schema.attribute(&event.xdr));
        let owners = match said {
            None => Owners::default(),
            Some(Err(fault)) => Owners { parties: Vec::new(), fault: Some(fault) },
            Some(Ok(parties)) => {
                let parties = parties.iter().map(|party| (party.address, party.role.to_owned(), party.mark));
                Owners { parties: parties.collect(), fault: None }
            }
        };
        self.owners.insert(event.position, owners.clone()) != Some(owners)
    }

    pub fn reattribute(&mut self, contract: ContractId, after: Option<Position>, limit: u32) -> Reattributed {
        self.touch(contract);
        let mut done = Reattributed { next: None, events: 0, changed: 0, quarantined: 0 };
        let reading = self.readings.get(&contract).filter(|reading| reading.choice().is_some()).cloned();
        if reading.as_ref().is_some_and(|reading| reading.digest == NOTHING) {
            return done;
        }
        let waits = reading.as_ref().is_some_and(|reading| reading.waits);
        let after = if waits { reading.and_then(|reading| reading.pass) } else { after };
        let own = |event: &&Event| event.contract_id == Some(contract);
        let mut rest = self.events.clone();
        rest.retain(|event| own(&event) && after.is_none_or(|after| event.position > after));
        rest.truncate(limit as usize);
        for event in &rest {
            done.events += 1;
            done.changed += u64::from(self.own(contract, event));
            done.quarantined += u64::from(self.owners[&event.position].fault.is_some());
        }
        let last = rest.last().map(|event| event.position);
        done.next = last.filter(|_| rest.len() == limit as usize);
        if let Some(reading) = self.readings.get_mut(&contract).filter(|_| waits) {
            reading.pass = done.next;
            reading.waits = done.next.is_some();
        }
        done
    }

    /// How many events of contracts with a schema fit none of its shapes.
    pub fn quarantined(&self) -> u64 {
        let has_schema = |contract| self.readings.get(&contract).is_some_and(|known| known.choice().is_some());
        let quarantined =
            |event: &&Event| self.owners.get(&event.position).is_some_and(|owners| owners.fault.is_some());
        let counted = self.events.iter().filter(quarantined);
        counted.filter(|event| event.contract_id.is_some_and(has_schema)).count() as u64
    }

    /// The account's own events and its roles in them, in canonical order.
    pub fn owned(&self, contract: ContractId, account: Address) -> Vec<(PageEvent, Vec<Mark>)> {
        let has_schema = self.readings.get(&contract).is_some_and(|known| known.choice().is_some());
        let own = self.events.iter().filter(|event| has_schema && event.contract_id == Some(contract));
        let shown = own.filter_map(|event| {
            let owners = self.owners.get(&event.position)?;
            let own = || owners.parties.iter().filter(|(address, ..)| *address == account);
            let roles: Vec<String> = own().map(|(_, role, _)| role.clone()).collect();
            let marks = own().filter_map(|(.., mark)| *mark).collect();
            (!roles.is_empty())
                .then(|| (PageEvent { event: event.clone(), roles, payload: Payload::NotApplicable }, marks))
        });
        shown.collect()
    }

    /// Why the ledgers of a window cannot all be told whose they are.
    pub fn unattributed(&self, contract: ContractId, ledgers: impl Fn(u32) -> bool) -> Option<Unattributed> {
        let reading = self.readings.get(&contract).filter(|reading| reading.choice().is_some());
        let Some(reading) = reading else { return Some(Unattributed::NoSchema) };
        let quarantined = self.owners.iter().any(|(position, owners)| {
            let of_contract =
                self.events.iter().any(|event| event.position == *position && event.contract_id == Some(contract));
            owners.fault.is_some() && of_contract && ledgers(position.ledger().get())
        });
        (reading.waits || quarantined).then_some(Unattributed::Events)
    }

    /// What must be told of an account's window now.
    pub fn account(
        &self,
        contract: ContractId,
        account: Address,
        asked_from: Option<LedgerSeq>,
        asked_to: Option<LedgerSeq>,
    ) -> Owned {
        let answer = self.answer(contract, asked_from, asked_to);
        let inside = |number: u32| {
            let first = answer.from.or(answer.scanned.first().copied());
            first.is_some_and(|first| first <= number) && answer.to.is_some_and(|to| number <= to)
        };
        let shown = self.owned(contract, account).into_iter().map(|(shown, _)| shown);
        let events = shown.filter(|shown| inside(shown.event.position.ledger().get())).collect();
        let unattributed = self.unattributed(contract, inside);
        let complete = answer.complete && unattributed.is_none();
        Owned { answer: Answer { complete, ..answer }, events, unattributed }
    }
}
