//! Whether one event is committed.

use super::anchor::Links;
use super::invocation::Ledger;
use super::parts::{EventBundle, undecodable};
use super::verdict::{Proved, ProvedClaim};
use super::{BundleFault, Halt};
use crate::check::may_be_rewritten;
use crate::decode::{EventView, HeaderView};
use crate::hash::LedgerHash;
use crate::ledger_seq::LedgerSeq;
use crate::network::Network;

pub(super) fn prove(bundle: EventBundle, given: Option<(LedgerSeq, LedgerHash)>) -> Result<Proved, Halt> {
    let mut links = Links::default();
    let (seq, header) = links.claim(&bundle.ledger.header.0)?;
    let ledger = Ledger { seq, header };
    let id = bundle.event.id.0;
    let results = ledger.results(&bundle.ledger.results)?;
    let invocation = ledger.invocation(&results, id.tx())?;
    let events = invocation.events(&bundle.invocation)?;
    let event = events.iter().find(|(position, event)| *position == id && event.xdr == bundle.event.event_xdr.0);
    let (position, event) = event.ok_or(BundleFault::NoSuchEvent { id })?;
    let network = Network::new(bundle.network_passphrase);
    invocation.is_of_network(&bundle.transaction, &network)?;
    let mut proved = invocation.proved(*position, event);
    if let Some(rewritten) = bundle.rewritten_xdr {
        check_form(event, &rewritten.0, &header)?;
        proved.rewritten_xdr = Some(rewritten.0);
    }
    let anchor = links.anchor(&bundle.above, given)??;
    let network_passphrase = network.passphrase().to_owned();
    Ok(Proved { network_passphrase, claim: ProvedClaim::Event, events: vec![proved], anchor })
}

/// Checks what can be known of a rewritten form: it is another event of the same contract and kind, in a protocol whose
/// events sources rewrite. Nothing tells whether it is the form that the source gave.
fn check_form(original: &EventView<'_>, rewritten: &[u8], header: &HeaderView<'_>) -> Result<(), BundleFault> {
    let form = EventView::parse(rewritten).map_err(undecodable("rewritten form"))?;
    let same = form.contract_id == original.contract_id && form.kind == original.kind;
    if same && form.xdr != original.xdr && may_be_rewritten(header) { Ok(()) } else { Err(BundleFault::RewrittenForm) }
}
