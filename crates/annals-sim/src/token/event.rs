//! The token's events and calls in the words of each version.

use annals_core::ContractId;
use stellar_xdr::{ScAddress, ScVal};

use super::version::TokenVersion;
use crate::plan::{EventPlan, InvocationPlan, ReturnValue};
use crate::value::{self, bytes, symbol, symbol_map};

/// One successful call of the token: the event it emits, and how an envelope calls it directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCall {
    /// The token.
    pub contract: ContractId,
    /// What it emits.
    pub event: EventPlan,
    /// The function.
    pub function: &'static str,
    /// The function's arguments.
    pub args: Vec<ScVal>,
    /// Who the event's address topics name, each with its role, in the order of the topics.
    pub parties: Vec<(&'static str, ScAddress)>,
    /// Whose checkpoint the event is.
    pub checkpoint_of: Option<ScAddress>,
    /// The content of the Bytes argument of a transfer.
    pub payload: Option<Vec<u8>>,
}

impl TokenCall {
    /// The call as an envelope makes it directly.
    #[must_use]
    pub fn invocation(&self) -> InvocationPlan {
        InvocationPlan {
            function: self.function.to_owned(),
            args: self.args.clone(),
            ..InvocationPlan::new(self.contract, vec![self.event.clone()])
        }
    }

    /// Several calls as an envelope makes them through `router`, whose own function and arguments are all that it
    /// shows: `batch(calls: Vec<Vec<Val>>)`.
    #[must_use]
    pub fn routed(router: ContractId, calls: &[Self]) -> InvocationPlan {
        let arg = |call: &Self| {
            let front = [value::contract_address(call.contract), symbol(call.function)];
            value::vec(front.into_iter().chain(call.args.iter().cloned()).collect())
        };
        InvocationPlan {
            function: "batch".to_owned(),
            args: vec![value::vec(calls.iter().map(arg).collect())],
            return_value: ReturnValue::Value(value::vec(vec![ScVal::Void; calls.len()])),
            ..InvocationPlan::new(router, calls.iter().map(|call| call.event.clone()).collect())
        }
    }

    /// The call as `imposter` forwards it under the token's own function name and arguments. The envelope invokes
    /// another contract, so its argument vouches for nothing.
    #[must_use]
    pub fn forwarded(&self, imposter: ContractId) -> InvocationPlan {
        InvocationPlan { contract: imposter, ..self.invocation() }
    }
}

/// An event's name, parties and data, in the words of July until it is finished.
#[derive(Debug)]
pub(super) struct Draft {
    version: TokenVersion,
    name: &'static str,
    parties: Vec<(&'static str, ScAddress)>,
    fields: Vec<(&'static str, ScVal)>,
}

impl Draft {
    pub(super) fn new(version: TokenVersion, name: &'static str, parties: &[(&'static str, &ScAddress)]) -> Self {
        let parties = parties.iter().map(|(role, address)| (version.name(role), (*address).clone())).collect();
        Self { version, name, parties, fields: Vec::new() }
    }

    pub(super) fn with(mut self, field: &'static str, value: ScVal) -> Self {
        self.fields.push((self.version.field(field), value));
        self
    }

    pub(super) fn with_bytes(self, field: &'static str, value: &[u8]) -> Self {
        self.with(field, bytes(value))
    }

    /// Topics are the name and the parties; data is a map, an empty one where there is nothing to say.
    pub(super) fn call(self, contract: ContractId, function: &'static str, args: Vec<ScVal>) -> TokenCall {
        let addresses = self.parties.iter().map(|(_, address)| ScVal::Address(address.clone()));
        let topics = [symbol(self.version.name(self.name))].into_iter().chain(addresses).collect();
        TokenCall {
            contract,
            event: EventPlan::new(contract, topics, symbol_map(self.fields)),
            function: self.version.name(function),
            args,
            parties: self.parties,
            checkpoint_of: None,
            payload: None,
        }
    }
}
