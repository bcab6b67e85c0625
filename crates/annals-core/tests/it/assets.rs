//! Every event of every asset contract in the real ledgers, read with the schema that reads asset contracts.

use std::collections::{BTreeMap, BTreeSet};

use annals_core::decode::EventView;
use annals_core::{CheckedLedger, ContractId, Event, Network, Registry, Schema, ShapeFault, check_ledger};

use crate::shared;

/// What was read of a corpus.
#[derive(Default)]
struct Reading {
    contracts: BTreeSet<ContractId>,
    /// How many events there are of each name, with how many parties.
    events: BTreeMap<(String, usize), u64>,
    faults: Vec<(ShapeFault, String)>,
}

fn schema() -> Schema {
    Registry::builtin().schema(&"asset".parse().unwrap()).unwrap()
}

/// Whether an event's last topic names the contract that emitted it.
fn names_itself(event: &Event, network: &Network) -> bool {
    let view = EventView::parse(&event.xdr).unwrap();
    let named = view.topics.last().and_then(|topic| network.asset_contract(topic));
    event.contract_id.is_some() && named == event.contract_id
}

fn read(ledgers: &[CheckedLedger], network: &Network) -> Reading {
    let (schema, mut reading) = (schema(), Reading::default());
    reading.contracts.insert(network.native_contract());
    let events = || ledgers.iter().flat_map(|ledger| &ledger.events);
    reading
        .contracts
        .extend(events().filter(|event| names_itself(event, network)).filter_map(|event| event.contract_id));
    for event in events().filter(|event| event.contract_id.is_some_and(|id| reading.contracts.contains(&id))) {
        for xdr in [Some(&event.xdr), event.rewritten_xdr.as_ref()].into_iter().flatten() {
            let name = EventView::parse(xdr).unwrap().event_type().unwrap_or_default();
            match schema.attribute(xdr) {
                Ok(parties) => *reading.events.entry((name, parties.len())).or_default() += 1,
                Err(fault) => reading.faults.push((fault, format!("{} {name} of {}", event.position, event.tx_hash))),
            }
        }
    }
    reading
}

/// One line for each name and number of parties.
fn count(reading: &Reading) -> Vec<String> {
    reading.events.iter().map(|((name, parties), count)| format!("{name}/{parties} {count}")).collect()
}

fn check(ledgers: &[Vec<u8>], network: &Network) -> Reading {
    let checked: Vec<_> = ledgers.iter().map(|bytes| check_ledger(bytes, network).unwrap()).collect();
    read(&checked, network)
}

fn pubnet() -> Network {
    Network::preset("pubnet").unwrap()
}

#[test]
fn every_event_of_pubnets_asset_contracts_fits_the_schema() {
    let Some(folder) = shared::ledgers() else { return };
    let reading = check(&shared::lake(&folder.join("pubnet-p26-lake")), &pubnet());
    assert_eq!(reading.faults, []);
    let expected = ["burn/1 10", "fee/1 2905", "mint/1 48", "set_authorized/1 16", "transfer/2 3570"];
    assert_eq!((reading.contracts.len(), count(&reading)), (292, expected.map(str::to_owned).to_vec()));
}

#[test]
fn so_do_the_originals_and_the_rewritten_forms_of_protocol_22() {
    let Some(folder) = shared::ledgers() else { return };
    let reading = check(&shared::lake(&folder.join("pubnet-p22-rewritten-lake")), &pubnet());
    assert_eq!(reading.faults, []);
    let expected = ["burn/1 7", "fee/1 312", "mint/1 10", "mint/2 7", "transfer/2 169"];
    assert_eq!((reading.contracts.len(), count(&reading)), (90, expected.map(str::to_owned).to_vec()));
}

#[test]
fn so_does_every_event_of_the_cores_own_tests_in_protocols_20_to_27() {
    let (mut whole, network) = (Reading::default(), shared::core_network());
    let found = shared::core_corpus(|_, ledgers| {
        let reading = check(ledgers, &network);
        whole.contracts.extend(reading.contracts);
        whole.faults.extend(reading.faults);
        reading.events.into_iter().for_each(|(name, count)| *whole.events.entry(name).or_default() += count);
    });
    if !found {
        return;
    }
    assert_eq!(whole.faults, []);
    let expected = ["burn/1 4", "clawback/1 4", "fee/1 592", "mint/1 17", "transfer/2 150"];
    assert_eq!((whole.contracts.len(), count(&whole)), (3, expected.map(str::to_owned).to_vec()));
}
