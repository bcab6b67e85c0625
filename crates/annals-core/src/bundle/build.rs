//! Bundles out of an archive's proof material.

use super::parts::{
    AbovePart, Class, EventBundle, EventPart, EvidencePart, InvocationPart, Kind, LedgerName, LedgerPart,
    LedgersBundle, UnprovenBundle, WholeLedgerPart,
};
use super::text::{Base64, Base85, Written, write};
use super::{FORMAT, HEADERS_ABOVE_MAX, LEDGERS_MAX};
use crate::check::{fee_sum, is_fee, tagged_transaction};
use crate::decode::{DecodeError, EnvelopeView, EventView, HeaderView, pre_image_events, result_pairs};
use crate::event::{Event, ProofClass};
use crate::hash::{ContractId, LedgerHash, sha256};
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;
use crate::position::{Position, Stage};
use crate::proof::{Invocation, ProofMaterial};

/// XDR of the `TransactionResultSet` of a ledger without transactions.
const NO_RESULTS: [u8; 4] = [0; 4];

/// What lies above the last ledger that a bundle claims something of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Above {
    /// XDR of the headers that follow it, ascending.
    pub headers_xdr: Vec<Vec<u8>>,
    /// A pinned ledger above that they do not reach.
    pub unreached: Option<(LedgerSeq, LedgerHash)>,
}

/// A ledger with its proof material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerMaterial {
    /// The ledger.
    pub seq: LedgerSeq,
    /// XDR of its `LedgerHeader`.
    pub header_xdr: Vec<u8>,
    /// Its proof material; none where the archive keeps none.
    pub material: Option<ProofMaterial>,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildFault {
    /// The archive keeps no proof material of a ledger.
    #[error(
        "the archive keeps no proof material of ledger {ledger}, only that of ledgers in which it found a committed event \
         of a contract that it scanned them for"
    )]
    NoMaterial {
        /// The ledger.
        ledger: LedgerSeq,
    },
    /// The archive keeps less of a ledger than all its invocations.
    #[error(
        "the archive keeps {kept} of the {needed} invocations of ledger {ledger}: it was committed when only those \
         with events were kept"
    )]
    InvocationsNotKept {
        /// The ledger.
        ledger: LedgerSeq,
        /// How many are kept.
        kept: usize,
        /// How many there are.
        needed: usize,
    },
    /// Too many ledgers, or none.
    #[error("a proof holds at least one ledger and at most {LEDGERS_MAX}, and {found} were asked for")]
    Ledgers {
        /// How many.
        found: usize,
    },
    /// The archive's material does not hold the event.
    #[error("the proof material of ledger {ledger} does not hold event {id}")]
    EventNotHeld {
        /// The ledger.
        ledger: LedgerSeq,
        /// The event.
        id: Position,
    },
    /// The archive's material is damaged.
    #[error("the proof material of ledger {ledger} cannot be decoded: {error}")]
    Undecodable {
        /// The ledger.
        ledger: LedgerSeq,
        /// What is wrong with it.
        error: DecodeError,
    },
}

/// Writes the bundle that proves `event`, which is committed or rewritten.
///
/// # Errors
/// [`BuildFault`].
pub fn event_bundle(
    network: &Network,
    event: &Event,
    ledger: &LedgerMaterial,
    above: &Above,
) -> Result<Vec<u8>, BuildFault> {
    let seq = ledger.seq;
    let material = ledger.material.as_ref().ok_or(BuildFault::NoMaterial { ledger: seq })?;
    let invocation = material.invocations.iter().find(|invocation| invocation.tx_order == event.tx_order);
    let invocation = invocation.ok_or(BuildFault::EventNotHeld { ledger: seq, id: event.position })?;
    Ok(write(&EventBundle {
        format: FORMAT.to_owned(),
        kind: Kind::Event,
        network_passphrase: network.passphrase().to_owned(),
        event: event_part(event.position, &event.xdr),
        rewritten_xdr: event.rewritten_xdr.clone().map(Base64),
        invocation: invocation_part(invocation),
        transaction: transaction(seq, invocation)?,
        ledger: ledger_part(ledger, material),
        above: above_part(&ledger.header_xdr, seq, above),
    }))
}

/// Writes the bundle that proves which committed events `contract` has in consecutive ledgers.
///
/// # Errors
/// [`BuildFault`]: a proof of less than all invocations of each ledger is none.
pub fn ledgers_bundle(
    network: &Network,
    contract: ContractId,
    ledgers: &[LedgerMaterial],
    above: &Above,
) -> Result<Vec<u8>, BuildFault> {
    let (Some(last), 1..=LEDGERS_MAX) = (ledgers.last(), ledgers.len()) else {
        return Err(BuildFault::Ledgers { found: ledgers.len() });
    };
    let (mut events, mut first, mut parts) = (Vec::new(), None, Vec::new());
    for ledger in ledgers {
        let empty = ProofMaterial { results_xdr: NO_RESULTS.to_vec(), invocations: Vec::new() };
        let material = match &ledger.material {
            Some(material) => material,
            None if holds_nothing(ledger)? => &empty,
            None => return Err(BuildFault::NoMaterial { ledger: ledger.seq }),
        };
        list_events(ledger.seq, material, contract, &mut events)?;
        if let (None, Some(invocation)) = (&first, material.invocations.first()) {
            first = Some(transaction(ledger.seq, invocation)?);
        }
        parts.push(whole_ledger_part(ledger, material)?);
    }
    Ok(write(&LedgersBundle {
        format: FORMAT.to_owned(),
        kind: Kind::Ledgers,
        network_passphrase: network.passphrase().to_owned(),
        contract_id: Written(contract),
        events,
        transaction: first,
        ledgers: parts,
        above: above_part(&last.header_xdr, last.seq, above),
    }))
}

/// Writes the bundle that says why `event`, which no header proves, is unproven. `siblings` are the events of the same
/// transaction, in canonical order; they and the ledger's material are the evidence, as far as they hold any.
///
/// # Errors
/// [`BuildFault::EventNotHeld`] for an event that can be proven, and [`BuildFault::Undecodable`].
pub fn unproven_bundle(
    network: &Network,
    event: &Event,
    siblings: &[Event],
    ledger: Option<&LedgerMaterial>,
    above: &Above,
) -> Result<Vec<u8>, BuildFault> {
    let seq = event.position.ledger();
    let class = Class::of(event.proof).ok_or(BuildFault::EventNotHeld { ledger: seq, id: event.position })?;
    let evidence = match ledger.and_then(|ledger| Some((ledger, ledger.material.as_ref()?))) {
        Some((ledger, material)) if class == Class::Uncommitted => Some(EvidencePart {
            tx_order: event.tx_order,
            fee_events: fee_events(network, event, siblings, material)?,
            ledger: ledger_part(ledger, material),
            above: above_part(&ledger.header_xdr, seq, above),
        }),
        _ => None,
    };
    Ok(write(&UnprovenBundle {
        format: FORMAT.to_owned(),
        kind: Kind::Unproven,
        network_passphrase: network.passphrase().to_owned(),
        class,
        event: event_part(event.position, &event.xdr),
        evidence,
    }))
}

/// The fee events of the transaction, where `event` is one of them and they sum to what it was charged.
fn fee_events(
    network: &Network,
    event: &Event,
    siblings: &[Event],
    material: &ProofMaterial,
) -> Result<Vec<EventPart>, BuildFault> {
    let undecodable = |error| BuildFault::Undecodable { ledger: event.position.ledger(), error };
    let native = network.native_contract();
    let mut fees = Vec::new();
    for sibling in siblings.iter().filter(|sibling| sibling.tx_order == event.tx_order) {
        let view = EventView::parse(&sibling.xdr).map_err(undecodable)?;
        if is_fee(&view, native) && sibling.position.stage() != Stage::Op && sibling.proof == ProofClass::Uncommitted {
            fees.push((sibling, view));
        }
    }
    let results = result_pairs(&material.results_xdr).map_err(undecodable)?;
    let at = event.tx_order.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    let charged = at.and_then(|at| results.get(at)).map(|result| i128::from(result.fee_charged));
    let (_, sum) = fee_sum(fees.iter().map(|(_, view)| view), native);
    let holds = sum.is_some() && sum == charged && fees.iter().any(|(fee, _)| fee.position == event.position);
    let fees = if holds { fees } else { Vec::new() };
    Ok(fees.into_iter().map(|(fee, _)| event_part(fee.position, &fee.xdr)).collect())
}

/// Whether the header itself says that the ledger holds no transaction.
fn holds_nothing(ledger: &LedgerMaterial) -> Result<bool, BuildFault> {
    let header = HeaderView::parse(&ledger.header_xdr);
    let header = header.map_err(|error| BuildFault::Undecodable { ledger: ledger.seq, error })?;
    Ok(header.tx_set_result_hash == sha256(&[&NO_RESULTS]))
}

fn list_events(
    seq: LedgerSeq,
    material: &ProofMaterial,
    contract: ContractId,
    events: &mut Vec<EventPart>,
) -> Result<(), BuildFault> {
    let undecodable = |error| BuildFault::Undecodable { ledger: seq, error };
    for invocation in &material.invocations {
        let committed = pre_image_events(&invocation.pre_image_xdr).map_err(undecodable)?;
        for (index, event) in (invocation.uncommitted_prefix..).zip(committed) {
            if event.contract_id == Some(contract)
                && let Ok(position) = Position::op(seq, invocation.tx_order, 0, index)
            {
                events.push(event_part(position, event.xdr));
            }
        }
    }
    Ok(())
}

fn event_part(id: Position, xdr: &[u8]) -> EventPart {
    EventPart { id: Written(id), event_xdr: Base64(xdr.to_vec()) }
}

fn invocation_part(invocation: &Invocation) -> InvocationPart {
    let pre_image = Base85(invocation.pre_image_xdr.clone());
    InvocationPart { uncommitted_prefix: invocation.uncommitted_prefix, pre_image }
}

/// What the transaction's hash is made of. Its signatures are left out: no hash in a header covers them.
fn transaction(seq: LedgerSeq, invocation: &Invocation) -> Result<Base85, BuildFault> {
    let envelope = EnvelopeView::parse(&invocation.envelope_xdr);
    let envelope = envelope.map_err(|error| BuildFault::Undecodable { ledger: seq, error })?;
    Ok(Base85(tagged_transaction(&envelope)))
}

fn ledger_part(ledger: &LedgerMaterial, material: &ProofMaterial) -> LedgerPart {
    LedgerPart { header: Base85(ledger.header_xdr.clone()), results: Base85(material.results_xdr.clone()) }
}

fn whole_ledger_part(ledger: &LedgerMaterial, material: &ProofMaterial) -> Result<WholeLedgerPart, BuildFault> {
    let seq = ledger.seq;
    let pairs = result_pairs(&material.results_xdr);
    let pairs = pairs.map_err(|error| BuildFault::Undecodable { ledger: seq, error })?;
    let needed = pairs.iter().filter(|pair| !pair.success_hashes.is_empty()).count();
    let kept = material.invocations.len();
    if kept != needed {
        return Err(BuildFault::InvocationsNotKept { ledger: seq, kept, needed });
    }
    Ok(WholeLedgerPart {
        header: Base85(ledger.header_xdr.clone()),
        results: Base85(material.results_xdr.clone()),
        invocations: material.invocations.iter().map(invocation_part).collect(),
    })
}

fn above_part(claimed_xdr: &[u8], claimed: LedgerSeq, above: &Above) -> AbovePart {
    let headers = above.headers_xdr.get(..HEADERS_ABOVE_MAX).unwrap_or(&above.headers_xdr);
    let last = headers.last().map_or(claimed_xdr, Vec::as_slice);
    let ledger = (0..headers.len()).fold(claimed.get(), |ledger, _| ledger.saturating_add(1));
    AbovePart {
        headers: headers.iter().cloned().map(Base85).collect(),
        anchor: LedgerName { ledger, hash: Written(LedgerHash(sha256(&[last]))) },
        unreached: above.unreached.map(|(ledger, hash)| LedgerName { ledger: ledger.get(), hash: Written(hash) }),
    }
}
