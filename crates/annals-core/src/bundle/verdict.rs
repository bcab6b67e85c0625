//! What a checker says of a bundle.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::{BundleFault, Undecided, is_checkpoint};
use crate::hash::{ContractId, LedgerHash, TxHash};
use crate::ledger_seq::{LedgerRange, LedgerSeq};
use crate::position::Position;

/// What a checker says of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofVerdict {
    /// The claim holds, relative to the anchor named.
    Proved(Box<Proved>),
    /// Something in the bundle does not hold.
    Refuted(BundleFault),
    /// Nothing in the bundle is wrong, and it proves nothing here.
    Undecided(Undecided),
}

/// What was proved, and relative to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The network, by its passphrase.
    pub network_passphrase: String,
    /// What the events are.
    pub claim: ProvedClaim,
    /// The events, in canonical order.
    pub events: Vec<ProvedEvent>,
    /// The ledger that it all hangs on.
    pub anchor: Anchor,
}

/// What proved events are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvedClaim {
    /// One committed event.
    Event,
    /// All committed events of one contract in consecutive ledgers, and so the absence of any other.
    AllOfContract {
        /// The contract.
        contract: ContractId,
        /// The ledgers.
        range: LedgerRange,
    },
}

/// One event that was proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedEvent {
    /// Where it stands.
    pub position: Position,
    /// Its transaction; the outer one of a fee bump.
    pub tx_hash: TxHash,
    /// XDR of the `ContractEvent`.
    pub xdr: Vec<u8>,
    /// The form that a source rewrote it into: the source's word, proven by nothing.
    pub rewritten_xdr: Option<Vec<u8>>,
    /// Whether the position's index is the source's word: protocol 23 could put events in front of those that it
    /// hashed. Which events the invocation emitted, and in which order, is proved all the same.
    pub index_is_the_sources: bool,
}

/// The ledger that a proof hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The ledger.
    pub ledger: LedgerSeq,
    /// Its hash.
    pub hash: LedgerHash,
    /// Whether the caller gave it; else it is the bundle's own last header, which the caller has to compare.
    pub given: bool,
}

/// That the fee events of a transaction sum to what its result, which is hashed, says that it was charged. Consistency,
/// no proof: other events could sum to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeEvidence {
    /// The transaction.
    pub tx_hash: TxHash,
    /// Its apply order, 1-based.
    pub tx_order: u32,
    /// How many fee events sum to the charge.
    pub events: usize,
    /// What was charged in the end, stroops.
    pub charged: i64,
    /// The ledger that the result hangs on.
    pub anchor: Anchor,
}

impl ProofVerdict {
    /// The verdict as compact JSON, as the command line and the wasm module write it.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&VerdictForm::of(self)).expect("a verdict's keys are strings, and its numbers whole")
    }
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
enum VerdictForm<'a> {
    Proved {
        claim: &'static str,
        network_passphrase: &'a str,
        contract_id: Option<String>,
        from_ledger: Option<u32>,
        to_ledger: Option<u32>,
        anchor: AnchorForm,
        events: Vec<EventForm>,
    },
    Refuted {
        code: &'static str,
        message: String,
    },
    Undecided {
        code: &'static str,
        message: String,
        fee: Option<FeeForm>,
    },
}

#[derive(Serialize)]
struct AnchorForm {
    ledger: u32,
    hash: String,
    given: bool,
    checkpoint: bool,
}

#[derive(Serialize)]
struct EventForm {
    id: String,
    tx_hash: String,
    event_xdr: String,
    rewritten_xdr: Option<String>,
    index_is_the_sources: bool,
}

#[derive(Serialize)]
struct FeeForm {
    tx_hash: String,
    tx_order: u32,
    events: usize,
    charged: String,
    anchor: AnchorForm,
}

impl<'a> VerdictForm<'a> {
    fn of(verdict: &'a ProofVerdict) -> Self {
        match verdict {
            ProofVerdict::Proved(proved) => {
                let (claim, contract, range) = match proved.claim {
                    ProvedClaim::Event => ("event", None, None),
                    ProvedClaim::AllOfContract { contract, range } => ("all_of_contract", Some(contract), Some(range)),
                };
                Self::Proved {
                    claim,
                    network_passphrase: &proved.network_passphrase,
                    contract_id: contract.map(|contract| contract.to_string()),
                    from_ledger: range.map(|range| range.from_inclusive().get()),
                    to_ledger: range.map(|range| range.to_inclusive().get()),
                    anchor: AnchorForm::of(proved.anchor),
                    events: proved.events.iter().map(EventForm::of).collect(),
                }
            }
            ProofVerdict::Refuted(fault) => Self::Refuted { code: fault.code(), message: fault.to_string() },
            ProofVerdict::Undecided(reason) => {
                let fee = if let Undecided::NotCommitted { fee, .. } = reason { *fee } else { None };
                let fee = fee.map(FeeForm::of);
                Self::Undecided { code: reason.code(), message: reason.to_string(), fee }
            }
        }
    }
}

impl AnchorForm {
    fn of(anchor: Anchor) -> Self {
        let (ledger, hash) = (anchor.ledger.get(), anchor.hash.to_string());
        Self { ledger, hash, given: anchor.given, checkpoint: is_checkpoint(anchor.ledger) }
    }
}

impl EventForm {
    fn of(event: &ProvedEvent) -> Self {
        Self {
            id: event.position.to_string(),
            tx_hash: event.tx_hash.to_string(),
            event_xdr: STANDARD.encode(&event.xdr),
            rewritten_xdr: event.rewritten_xdr.as_ref().map(|xdr| STANDARD.encode(xdr)),
            index_is_the_sources: event.index_is_the_sources,
        }
    }
}

impl FeeForm {
    fn of(fee: FeeEvidence) -> Self {
        let FeeEvidence { tx_hash, tx_order, events, charged, anchor } = fee;
        let anchor = AnchorForm::of(anchor);
        Self { tx_hash: tx_hash.to_string(), tx_order, events, charged: charged.to_string(), anchor }
    }
}
