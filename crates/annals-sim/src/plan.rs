//! What happens in a ledger, as a test says it.

use annals_core::{ClassicEvents, ContractId, EventKind};
use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ExtensionPoint, ScAddress, ScSymbol, ScVal,
};

use crate::format::Format;
use crate::instance::{CreationPlan, InstanceChange, RestoredInstance};
use crate::value;
use crate::xdr::{encode, list};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPlan {
    /// The emitting contract.
    pub contract: Option<ContractId>,
    /// Contract or system.
    pub kind: EventKind,
    /// Any number of topics.
    pub topics: Vec<ScVal>,
    /// The data.
    pub data: ScVal,
}

impl EventPlan {
    /// A contract event.
    #[must_use]
    pub fn new(contract: ContractId, topics: Vec<ScVal>, data: ScVal) -> Self {
        Self { contract: Some(contract), kind: EventKind::Contract, topics, data }
    }

    /// A SEP-41 `transfer` of `amount` between two accounts.
    #[must_use]
    pub fn transfer(contract: ContractId, from: [u8; 32], to: [u8; 32], amount: i128) -> Self {
        let topics = vec![value::symbol("transfer"), value::account_address(from), value::account_address(to)];
        Self::new(contract, topics, value::i128(amount))
    }

    /// An asset contract's `mint` as protocols 20–22 emitted it, with its administrator as a topic.
    #[must_use]
    pub fn mint_with_admin(contract: ContractId, admin: [u8; 32], to: [u8; 32], asset: &str, amount: i128) -> Self {
        let addresses = [admin, to].map(value::account_address);
        let topics = [value::symbol("mint")].into_iter().chain(addresses).chain([value::string(asset.as_bytes())]);
        Self::new(contract, topics.collect(), value::i128(amount))
    }

    /// The host's system event of an in-place upgrade from one Wasm executable to another (CAP-46-05).
    #[must_use]
    pub fn executable_update(contract: ContractId, old_wasm: [u8; 32], new_wasm: [u8; 32]) -> Self {
        let wasm = |hash: [u8; 32]| value::vec(vec![value::symbol("Wasm"), value::bytes(&hash)]);
        let topics = vec![value::symbol("executable_update"), wasm(old_wasm), wasm(new_wasm)];
        Self { kind: EventKind::System, ..Self::new(contract, topics, value::vec(Vec::new())) }
    }

    /// The form into which a backfilling exporter rewrites an asset contract's event: the administrator
    /// goes (CAP-67). None for an event that it leaves alone.
    #[must_use]
    pub fn backfilled(&self) -> Option<Self> {
        let [ScVal::Symbol(ScSymbol(name)), ScVal::Address(ScAddress::Account(_)), subject, asset @ ScVal::String(_)] =
            self.topics.as_slice()
        else {
            return None;
        };
        let administrative: [&[u8]; 3] = [b"mint", b"clawback", b"set_authorized"];
        administrative
            .contains(&name.as_slice())
            .then(|| Self { topics: vec![self.topics[0].clone(), subject.clone(), asset.clone()], ..self.clone() })
    }

    /// XDR of the `ContractEvent`.
    #[must_use]
    pub fn xdr(&self) -> Vec<u8> {
        encode(&self.to_event())
    }

    pub(crate) fn to_event(&self) -> ContractEvent {
        ContractEvent {
            ext: ExtensionPoint::V0,
            contract_id: self.contract.map(value::xdr_contract),
            type_: match self.kind {
                EventKind::Contract => ContractEventType::Contract,
                EventKind::System => ContractEventType::System,
            },
            body: ContractEventBody::V0(ContractEventV0 { topics: list(self.topics.clone()), data: self.data.clone() }),
        }
    }
}

/// What an invocation gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnValue {
    /// The meta leaves it out and it hashes as void; `TransactionMeta` V3, which has no way to, says void.
    Absent,
    /// This value.
    Value(ScVal),
}

/// A call of a contract's function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvocationPlan {
    /// The contract that is called.
    pub contract: ContractId,
    /// Its function.
    pub function: String,
    /// The arguments.
    pub args: Vec<ScVal>,
    /// What it emits, and the ledger commits to.
    pub events: Vec<EventPlan>,
    /// What it gives back.
    pub return_value: ReturnValue,
    /// Asset events that protocol 23 put in front of the committed ones, after hashing.
    pub reconciliation: Vec<EventPlan>,
    /// What calls inside it emitted that failed; only diagnostics show them.
    pub failed_calls: Vec<EventPlan>,
}

impl InvocationPlan {
    /// A call that takes nothing, emits `events` and gives void back.
    #[must_use]
    pub fn new(contract: ContractId, events: Vec<EventPlan>) -> Self {
        Self {
            contract,
            function: "act".to_owned(),
            args: Vec::new(),
            events,
            return_value: ReturnValue::Value(ScVal::Void),
            reconciliation: Vec::new(),
            failed_calls: Vec::new(),
        }
    }
}

/// What a transaction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// One contract invocation.
    Invocation(Box<InvocationPlan>),
    /// The creation of a contract.
    Creation(Box<CreationPlan>),
    /// The restoration of archived contract instances (`RestoreFootprint`), which emits nothing.
    Restoration(Vec<RestoredInstance>),
    /// Payments, one operation each, with the uncommitted events of each.
    Payments(Vec<Vec<EventPlan>>),
}

impl Body {
    /// Whether the transaction is of the Soroban phase.
    #[must_use]
    pub fn is_soroban(&self) -> bool {
        !matches!(self, Self::Payments(_))
    }

    /// The events that the ledger commits to if the transaction succeeds.
    #[must_use]
    pub fn committed_events(&self) -> &[EventPlan] {
        match self {
            Self::Invocation(invocation) => &invocation.events,
            Self::Creation(creation) => &creation.events,
            Self::Restoration(_) | Self::Payments(_) => &[],
        }
    }
}

/// In which envelope a transaction comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnvelopeForm {
    /// `TransactionV0`, which is hashed as a `Transaction`; has no room for an invocation.
    V0,
    /// `Transaction`.
    V1,
    /// A `FeeBumpTransaction` around a `Transaction`.
    FeeBump,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxPlan {
    /// What it does.
    pub body: Body,
    /// Whether it succeeds. Of one that fails, only fee events are published.
    pub succeeds: bool,
    /// Its envelope.
    pub envelope: EnvelopeForm,
    /// The fee taken before all transactions, in stroops.
    pub charge: i64,
    /// What is given back of it, in stroops; 0 for no refund and no event of one.
    pub refund: i64,
    /// Whether diagnostic events are exported.
    pub diagnostics: bool,
    /// Events after the operations, uncommitted.
    pub after_tx: Vec<EventPlan>,
    /// What happens to contract instances in its first operation, beside what its body does to them.
    pub instance_changes: Vec<InstanceChange>,
}

impl TxPlan {
    fn new(body: Body, charge: i64, refund: i64) -> Self {
        let envelope = EnvelopeForm::V1;
        Self {
            body,
            succeeds: true,
            envelope,
            charge,
            refund,
            diagnostics: false,
            after_tx: Vec::new(),
            instance_changes: Vec::new(),
        }
    }

    /// A successful invocation, some of whose fee is given back.
    #[must_use]
    pub fn invoking(invocation: InvocationPlan) -> Self {
        Self::new(Body::Invocation(Box::new(invocation)), 50_000, 12_345)
    }

    /// A successful invocation of `contract` that emits `events` and gives void back.
    #[must_use]
    pub fn invocation(contract: ContractId, events: Vec<EventPlan>) -> Self {
        Self::invoking(InvocationPlan::new(contract, events))
    }

    /// A successful creation of a contract.
    #[must_use]
    pub fn creating(creation: CreationPlan) -> Self {
        Self::new(Body::Creation(Box::new(creation)), 80_000, 4_321)
    }

    /// A successful restoration of archived instances.
    #[must_use]
    pub fn restoring(instances: Vec<RestoredInstance>) -> Self {
        Self::new(Body::Restoration(instances), 60_000, 1_234)
    }

    /// Successful payments: one operation for each list of events.
    #[must_use]
    pub fn payments(operations: Vec<Vec<EventPlan>>) -> Self {
        let charge = 100 * i64::try_from(operations.len()).expect("a transaction has at most 100 operations");
        Self::new(Body::Payments(operations), charge, 0)
    }

    /// The same, but failing.
    #[must_use]
    pub fn failing(self) -> Self {
        Self { succeeds: false, ..self }
    }

    /// The same in another envelope.
    #[must_use]
    pub fn in_envelope(self, envelope: EnvelopeForm) -> Self {
        Self { envelope, ..self }
    }

    /// The same with a change of a contract's instance.
    #[must_use]
    pub fn changing(mut self, change: InstanceChange) -> Self {
        self.instance_changes.push(change);
        self
    }

    /// The same with diagnostic events.
    #[must_use]
    pub fn with_diagnostics(self) -> Self {
        Self { diagnostics: true, ..self }
    }
}

/// How a ledger says when it closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseTime {
    /// In whole seconds.
    Seconds,
    /// In milliseconds as well (protocol 30).
    Milliseconds,
}

/// One ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPlan {
    /// Its transactions, in apply order.
    pub transactions: Vec<TxPlan>,
    /// The protocol that its transactions run under; none for the format's default. One that is not known yet comes
    /// in the newest form.
    pub protocol: Option<u32>,
    /// The protocol that it upgrades the network to: `LEDGER_UPGRADE_VERSION` among the upgrades of its header, whose
    /// `ledgerVersion` says this already (upgrades are applied last, and before the header is hashed).
    pub upgrade_to: Option<u32>,
    /// Time since the ledger before, in milliseconds.
    pub elapsed_ms: u32,
    /// How its header says when it closed.
    pub close_time: CloseTime,
    /// Whether consensus fell back to an empty transaction set, whose hash is zero (CAP-83, protocol 28).
    pub empty_tx_set: bool,
    /// Whether the exporter writes fee events and events of classic operations; `Inconsistent` gets each charge wrong.
    pub classic_events: ClassicEvents,
}

impl LedgerPlan {
    /// A ledger of the format's default protocol, five seconds after the one before, with classic events.
    #[must_use]
    pub fn new(transactions: Vec<TxPlan>) -> Self {
        Self {
            transactions,
            protocol: None,
            upgrade_to: None,
            elapsed_ms: 5000,
            close_time: CloseTime::Seconds,
            empty_tx_set: false,
            classic_events: ClassicEvents::Present,
        }
    }

    /// The same, of this protocol.
    #[must_use]
    pub fn of_protocol(self, protocol: u32) -> Self {
        Self { protocol: Some(protocol), ..self }
    }

    /// Panics on what no network could run.
    pub(crate) fn assert_possible(&self, format: Format) {
        let protocol = self.protocol.unwrap_or(format.default_protocol());
        assert!(
            format.carries(protocol.min(Format::NEWEST_PROTOCOL)),
            "ledgers of protocol {protocol} are not handed out as {format:?}"
        );
        assert!(!self.empty_tx_set || protocol >= 28, "empty transaction sets came with protocol 28");
        assert!(!self.empty_tx_set || self.transactions.is_empty(), "an empty transaction set holds no transaction");
        let milliseconds = self.close_time == CloseTime::Milliseconds;
        assert!(!milliseconds || protocol >= 30, "close times in milliseconds came with protocol 30");
        for tx in &self.transactions {
            let bumped = tx.envelope == EnvelopeForm::FeeBump;
            assert!(protocol >= 13 || tx.envelope == EnvelopeForm::V0, "before protocol 13 all envelopes were V0");
            assert!(!bumped || protocol >= 13, "fee bumps came with protocol 13 (CAP-15)");
            if !tx.body.is_soroban() {
                continue;
            }
            assert!(format.has_contracts(), "contracts came with protocol 20");
            assert!(tx.envelope != EnvelopeForm::V0, "a V0 envelope has no room for an invocation");
            match &tx.body {
                Body::Invocation(call) => {
                    assert!(call.reconciliation.is_empty() || protocol == 23, "only protocol 23 reconciled");
                }
                Body::Creation(creation) => {
                    let constructs = creation.constructor_args.is_some();
                    assert!(!constructs || protocol >= 22, "constructors came with protocol 22 (CAP-58)");
                }
                Body::Restoration(_) | Body::Payments(_) => {}
            }
        }
    }
}
