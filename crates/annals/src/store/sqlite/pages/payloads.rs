//! What events leave out and their transactions' envelopes carry.

use std::collections::HashMap;
use std::rc::Rc;

use annals_core::decode::EventView;
use annals_core::hash::sha256;
use annals_core::registry::Payload;
use annals_core::{
    ContractId, Event, EventKind, Network, NetworkId, ProofClass, Registry, Schema, SchemaChoice, TransactionKey,
};
use rusqlite::{Connection, params};

use crate::store::sqlite::events::{COLUMNS, stored_event};
use crate::store::sqlite::schemas::{self, Reading};
use crate::store::sqlite::{envelopes, proofs, state, versions};
use crate::store::{FeedPosition, StoreError};

/// The payloads of one page. Events of one transaction stand together, so that only its envelope is kept.
pub(in crate::store::sqlite) struct Payloads<'c> {
    connection: &'c Connection,
    registry: &'c Registry,
    network: Option<NetworkId>,
    as_of: FeedPosition,
    schemas: HashMap<SchemaChoice, Option<Rc<Schema>>>,
    readings: HashMap<ContractId, Option<Reading>>,
    envelope: Option<Envelope>,
    operation: Option<Operation>,
}

/// The envelope that events of one transaction are read with, or that there is none.
struct Envelope {
    transaction: TransactionKey,
    is_verified: bool,
    xdr: Option<Vec<u8>>,
}

/// One contract's events in one operation, counted by their topics.
struct Operation {
    contract: ContractId,
    toid: u64,
    counts: HashMap<[u8; 32], u32>,
}

impl<'c> Payloads<'c> {
    /// The payloads of events as they were at the feed position `as_of`.
    pub(in crate::store::sqlite) fn new(
        connection: &'c Connection,
        registry: &'c Registry,
        as_of: FeedPosition,
    ) -> Self {
        let (schemas, readings) = (HashMap::new(), HashMap::new());
        Self { connection, registry, network: None, as_of, schemas, readings, envelope: None, operation: None }
    }

    /// The payload of an event whose contract is read with the schema that it has at the page's feed position.
    pub(in crate::store::sqlite) fn look_up(&mut self, event: &Event) -> Result<Payload, StoreError> {
        let reading = self.reading(event)?;
        self.of(event, reading.as_ref())
    }

    /// The payload of an event of a contract that is read with `reading`.
    pub(in crate::store::sqlite) fn of(
        &mut self,
        event: &Event,
        reading: Option<&Reading>,
    ) -> Result<Payload, StoreError> {
        let Some((reading, contract)) = reading.zip(event.contract_id) else { return Ok(Payload::NotApplicable) };
        if event.kind == EventKind::System {
            return Ok(Payload::NotApplicable);
        }
        // A schema that this program was not given may say where a payload stands.
        let Some(schema) = self.schema(&reading.choice) else { return Ok(Payload::Pending) };
        let network = self.network()?;
        let told = schema.payload(network, event, None, true);
        if told == Payload::NotApplicable || self.envelope(event)?.is_none() {
            return Ok(told);
        }
        let alone = self.is_alone(contract, event)?;
        let envelope = self.envelope(event)?;
        Ok(schema.payload(network, event, envelope, alone))
    }

    /// Whether the envelope of the event's transaction would tell more of its payload, and is not there.
    pub(in crate::store::sqlite) fn waits(&mut self, event: &Event) -> Result<bool, StoreError> {
        let Some(reading) = self.reading(event)? else { return Ok(false) };
        let Some(schema) = self.schema(&reading.choice) else { return Ok(false) };
        let waits = event.proof == ProofClass::Unverified
            && schema.payload(self.network()?, event, None, true) == Payload::Pending;
        Ok(waits && !envelopes::exists(self.connection, event.transaction())?)
    }

    fn reading(&mut self, event: &Event) -> Result<Option<Reading>, StoreError> {
        let Some(contract) = event.contract_id else { return Ok(None) };
        if let Some(reading) = self.readings.get(&contract) {
            return Ok(reading.clone());
        }
        let reading = schemas::at(self.connection, contract, self.as_of)?;
        self.readings.insert(contract, reading.clone());
        Ok(reading)
    }

    fn schema(&mut self, choice: &SchemaChoice) -> Option<Rc<Schema>> {
        let registry = self.registry;
        let known = self.schemas.entry(choice.clone());
        known.or_insert_with_key(|choice| registry.schema(choice).ok().map(Rc::new)).clone()
    }

    fn network(&mut self) -> Result<NetworkId, StoreError> {
        if let Some(network) = self.network {
            return Ok(network);
        }
        let network = Network::new(state::meta(self.connection)?.passphrase.unwrap_or_default()).id();
        Ok(*self.network.insert(network))
    }

    /// The envelope that the event is read with: of one that is not verified at the page's feed position none but what
    /// was stored beside it by then.
    fn envelope(&mut self, event: &Event) -> Result<Option<&[u8]>, StoreError> {
        let (transaction, is_verified) = (event.transaction(), event.proof != ProofClass::Unverified);
        let is_of_event = |kept: &Envelope| (kept.transaction, kept.is_verified) == (transaction, is_verified);
        if !self.envelope.as_ref().is_some_and(is_of_event) {
            let xdr = match is_verified {
                true => proofs::envelope(self.connection, transaction.ledger, event.tx_order)?,
                false => envelopes::get(self.connection, transaction, self.as_of)?,
            };
            self.envelope = Some(Envelope { transaction, is_verified, xdr });
        }
        Ok(self.envelope.as_ref().and_then(|kept| kept.xdr.as_deref()))
    }

    /// Whether the operation emitted no second event of the contract with the same topics.
    fn is_alone(&mut self, contract: ContractId, event: &Event) -> Result<bool, StoreError> {
        let toid = event.position.toid();
        if self.operation.as_ref().is_none_or(|kept| (kept.contract, kept.toid) != (contract, toid)) {
            self.operation = Some(Operation { contract, toid, counts: self.count_topics(contract, toid)? });
        }
        let kept = self.operation.as_ref();
        let own = topics_digest(event);
        Ok(own.is_some_and(|own| kept.is_some_and(|kept| kept.counts.get(&own) == Some(&1))))
    }

    /// How many of the contract's events in one operation have the same topics.
    fn count_topics(&self, contract: ContractId, toid: u64) -> Result<HashMap<[u8; 32], u32>, StoreError> {
        let sql = format!(
            "/* payloads::count_topics */ SELECT {COLUMNS} FROM events INDEXED BY events_by_contract \
             WHERE contract_id = ?1 AND toid = ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![contract.0, toid])?;
        let mut counts = HashMap::new();
        while let Some(row) = rows.next()? {
            let stored = stored_event(row)?;
            if stored.feed_position > self.as_of.0 {
                continue;
            }
            let event = versions::as_of(self.connection, stored, self.as_of.0)?;
            if let Some(digest) = topics_digest(&event) {
                *counts.entry(digest).or_insert(0) += 1;
            }
        }
        Ok(counts)
    }
}

/// Names an event's topics; each begins with its own length in its encoding, so that no two lists are alike.
fn topics_digest(event: &Event) -> Option<[u8; 32]> {
    EventView::parse(&event.xdr).ok().map(|view| sha256(&view.topics))
}
