//! What an event leaves out and its invocation carries.

use stellar_xdr::{
    FeeBumpTransactionInnerTx, HostFunction, InvokeContractArgs, Limits, OperationBody, ReadXdr, ScAddress, ScVal,
    Transaction, TransactionEnvelope,
};

use super::shape::PayloadRule;
use super::{Schema, Shape};
use crate::address::Address;
use crate::check::transaction_hash;
use crate::decode::{DEPTH_MAX, EnvelopeView, EventView};
use crate::event::{Event, EventKind, ProofClass};
use crate::hash::ContractId;
use crate::network::NetworkId;
use crate::position::Stage;

/// What an event leaves out and its invocation carries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The event leaves nothing out.
    NotApplicable,
    /// It may be found once the archive knows more: the transaction's envelope, or a shape that the event fits.
    Pending,
    /// No argument can be said to be the event's: another contract made the call, or several.
    Unavailable,
    /// The content of the argument.
    Present(Vec<u8>),
}

impl Payload {
    /// The word on the wire.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self {
            Self::NotApplicable => "not_applicable",
            Self::Pending => "pending",
            Self::Unavailable => "unavailable",
            Self::Present(_) => "present",
        }
    }

    /// The content of the argument; none in every other state.
    #[must_use]
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Present(content) => Some(content),
            Self::NotApplicable | Self::Pending | Self::Unavailable => None,
        }
    }
}

impl Schema {
    /// The payload of an event: the content of the argument, of type Bytes, that its shape registers.
    ///
    /// It is the event's only if `envelope_xdr` (a `TransactionEnvelope`) hashes under `network` to the event's own
    /// transaction, and if that transaction (the inner one of a fee bump) invokes the registered function of the event's
    /// own contract with the very addresses that stand in the event's topics. `alone` says that the operation emitted no
    /// second event of this contract with the same topics, whose argument it might be as well.
    #[must_use]
    pub fn payload(&self, network: NetworkId, event: &Event, envelope_xdr: Option<&[u8]>, alone: bool) -> Payload {
        if event.kind == EventKind::System || !self.has_payloads() {
            return Payload::NotApplicable;
        }
        let Ok(view) = EventView::parse(&event.xdr) else { return Payload::Pending };
        let Ok(shape) = self.shape_of(&view) else { return Payload::Pending };
        let Some(rule) = &shape.payload else { return Payload::NotApplicable };
        if !alone {
            return Payload::Unavailable;
        }
        match envelope_xdr {
            Some(xdr) => argument(network, event, xdr, |call| rule.of_call(shape, &view, call))
                .map_or(Payload::Unavailable, Payload::Present),
            None if event.proof == ProofClass::Unverified => Payload::Pending,
            None => Payload::Unavailable,
        }
    }
}

impl PayloadRule {
    /// The content of the registered argument, if the call is the one that the event tells of.
    fn of_call(&self, shape: &Shape, event: &EventView<'_>, call: &InvokeContractArgs) -> Option<Vec<u8>> {
        let own = |contract: ContractId| call.contract_address == ScAddress::Contract(xdr_contract(contract));
        if !event.contract_id.is_some_and(own) || call.function_name.as_slice() != self.function.as_bytes() {
            return None;
        }
        for (place, role) in self.roles.iter().enumerate() {
            let named = call.args.get(place).and_then(Address::of_value)?;
            if shape.address_of(event, role) != Some(named) {
                return None;
            }
        }
        match call.args.get(self.argument)? {
            ScVal::Bytes(bytes) => Some(bytes.as_slice().to_vec()),
            _ => None,
        }
    }
}

fn xdr_contract(contract: ContractId) -> stellar_xdr::ContractId {
    stellar_xdr::ContractId(stellar_xdr::Hash(contract.0))
}

/// Asks `of_call` for the argument, if `envelope_xdr` is the envelope of the event's transaction and that does nothing
/// but call a contract.
fn argument(
    network: NetworkId,
    event: &Event,
    envelope_xdr: &[u8],
    of_call: impl FnOnce(&InvokeContractArgs) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let envelope = EnvelopeView::parse(envelope_xdr).ok()?;
    let in_operation = event.position.stage() == Stage::Op && event.position.operation() == 0;
    if !in_operation || transaction_hash(&envelope, network) != event.tx_hash {
        return None;
    }
    let limits = Limits { depth: DEPTH_MAX, len: envelope_xdr.len() };
    match TransactionEnvelope::from_xdr(envelope_xdr, limits).ok()? {
        TransactionEnvelope::Tx(envelope) => of_call(only_call(&envelope.tx)?),
        TransactionEnvelope::TxFeeBump(bump) => {
            let FeeBumpTransactionInnerTx::Tx(envelope) = &bump.tx.inner_tx;
            of_call(only_call(&envelope.tx)?)
        }
        TransactionEnvelope::TxV0(_) => None,
    }
}

/// The call of a transaction whose only operation is one.
fn only_call(transaction: &Transaction) -> Option<&InvokeContractArgs> {
    let [operation] = transaction.operations.as_slice() else { return None };
    let OperationBody::InvokeHostFunction(invocation) = &operation.body else { return None };
    match &invocation.host_function {
        HostFunction::InvokeContract(call) => Some(call),
        _ => None,
    }
}
