//! Whether listed events are all committed events of a contract.

use super::anchor::Links;
use super::invocation::{Invocation, Ledger};
use super::parts::{EventPart, LedgersBundle, WholeLedgerPart};
use super::text::Base85;
use super::verdict::{Proved, ProvedClaim, ProvedEvent};
use super::{BundleFault, Halt, LEDGERS_MAX, Undecided};
use crate::decode::ResultView;
use crate::hash::{ContractId, LedgerHash};
use crate::ledger_seq::{LedgerRange, LedgerSeq};
use crate::network::Network;

pub(super) fn prove(bundle: LedgersBundle, given: Option<(LedgerSeq, LedgerHash)>) -> Result<Proved, Halt> {
    let (found, at_most) = (bundle.ledgers.len(), LEDGERS_MAX);
    if found == 0 || found > at_most {
        return Err(BundleFault::Count { what: "ledgers", found, at_least: 1, at_most }.into());
    }
    let contract = bundle.contract_id.0;
    let network = Network::new(bundle.network_passphrase);
    let mut walk = Walk { contract, network, transaction: bundle.transaction, bound: false, events: Vec::new() };
    let mut links = Links::default();
    let mut range: Option<LedgerRange> = None;
    for part in &bundle.ledgers {
        let (seq, header) = links.claim(&part.header.0)?;
        walk.ledger(Ledger { seq, header }, part)?;
        let from = range.map_or(seq, LedgerRange::from_inclusive);
        range = LedgerRange::new(from, seq).ok();
    }
    if walk.transaction.is_some() && !walk.bound {
        return Err(BundleFault::Transaction.into());
    }
    check_list(&bundle.events, &walk.events)?;
    let anchor = links.anchor(&bundle.above, given)?;
    if !walk.bound {
        return Err(Undecided::NetworkUnproven.into());
    }
    let range = range.expect("there is a ledger, and those that follow are consecutive");
    Ok(Proved {
        network_passphrase: walk.network.passphrase().to_owned(),
        claim: ProvedClaim::AllOfContract { contract, range },
        events: walk.events,
        anchor: anchor?,
    })
}

/// The way through the ledgers' invocations.
struct Walk {
    contract: ContractId,
    network: Network,
    /// The first invocation's transaction.
    transaction: Option<Base85>,
    /// Whether it was found to be of the network.
    bound: bool,
    /// The contract's events so far.
    events: Vec<ProvedEvent>,
}

impl Walk {
    fn ledger(&mut self, ledger: Ledger<'_>, part: &WholeLedgerPart) -> Result<(), BundleFault> {
        let results = ledger.results(&part.results)?;
        let invocations = invocations(ledger, &results)?;
        let (expected, found) = (invocations.len(), part.invocations.len());
        if expected != found {
            return Err(BundleFault::Invocations { ledger: ledger.seq, expected, found });
        }
        for (invocation, part) in invocations.iter().zip(&part.invocations) {
            // One transaction ties all ledgers to the network: they link to each other.
            if !self.bound {
                let transaction = self.transaction.as_ref().ok_or(BundleFault::Transaction)?;
                invocation.is_of_network(transaction, &self.network)?;
                self.bound = true;
            }
            let events = invocation.events(part)?;
            let of_contract = events.iter().filter(|(_, event)| event.contract_id == Some(self.contract));
            self.events.extend(of_contract.map(|(position, event)| invocation.proved(*position, event)));
        }
        Ok(())
    }
}

/// Every successful invocation of a ledger, in apply order.
fn invocations<'a, 'b>(
    ledger: Ledger<'a>,
    results: &'b [ResultView<'b>],
) -> Result<Vec<Invocation<'a, 'b>>, BundleFault> {
    let numbered = (1_u32..).zip(results).filter(|(_, result)| !result.success_hashes.is_empty());
    numbered.map(|(tx_order, _)| ledger.invocation(results, tx_order)).collect()
}

/// Compares the listed events with those of the invocations, one by one.
fn check_list(listed: &[EventPart], proved: &[ProvedEvent]) -> Result<(), BundleFault> {
    let equal = |at: usize| match (listed.get(at), proved.get(at)) {
        (Some(listed), Some(proved)) => listed.id.0 == proved.position && listed.event_xdr.0 == proved.xdr,
        _ => false,
    };
    match (0..listed.len().max(proved.len())).find(|at| !equal(*at)) {
        Some(at) => Err(BundleFault::Listed { at }),
        None => Ok(()),
    }
}
