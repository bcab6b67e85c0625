//! Events that say something: real `ContractEvent`s with topics.

use annals_core::{ContractId, Event, Position, ProofClass};
use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ExtensionPoint, Hash, Limits, ScBytes,
    ScString, ScSymbol, ScVal, WriteXdr,
};

use super::fixtures::{contract, event};

pub fn symbol(name: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(name.try_into().unwrap()))
}

pub fn string(text: &str) -> ScVal {
    ScVal::String(ScString(text.try_into().unwrap()))
}

pub fn number(value: u32) -> ScVal {
    ScVal::U32(value)
}

pub fn bytes(bytes: Vec<u8>) -> ScVal {
    ScVal::Bytes(ScBytes(bytes.try_into().unwrap()))
}

/// A topic as a filter names it.
pub fn topic_xdr(topic: &ScVal) -> Vec<u8> {
    topic.to_xdr(Limits::none()).unwrap()
}

/// XDR of an event of contract 1.
pub fn event_xdr(topics: &[ScVal], data: u32) -> Vec<u8> {
    let body = ContractEventV0 { topics: topics.to_vec().try_into().unwrap(), data: ScVal::U32(data) };
    let contract = stellar_xdr::ContractId(Hash(contract(1).0));
    let event = ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: Some(contract),
        type_: ContractEventType::Contract,
        body: ContractEventBody::V0(body),
    };
    event.to_xdr(Limits::none()).unwrap()
}

/// An event with these topics; `of` is who it is stored for.
pub fn topical(at: Position, tx_order: u32, of: ContractId, topics: &[ScVal]) -> Event {
    Event { xdr: event_xdr(topics, at.index()), ..event(at, tx_order, Some(of), ProofClass::Committed) }
}
