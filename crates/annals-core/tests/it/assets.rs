//! Every event of every asset contract in the real ledgers, read with the schema that reads asset contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;

use annals_core::decode::EventView;
use annals_core::{
    CheckedLedger, ContractId, Event, Executable, Network, Registry, Schema, ShapeFault, check_ledger,
};

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

fn lake(name: &str) -> Option<Reading> {
    let network = Network::preset("pubnet").unwrap();
    let ledgers = shared::lake(&shared::ledgers()?.join(name));
    let checked: Vec<_> = ledgers.iter().map(|bytes| check_ledger(bytes, &network).unwrap()).collect();
    Some(read(&checked, &network))
}

#[test]
fn every_event_of_pubnets_asset_contracts_fits_the_schema() {
    let Some(reading) = lake("pubnet-p26-lake") else { return };
    assert_eq!(reading.faults, []);
    assert_eq!((reading.contracts.len(), count(&reading)), (0, vec![]));
}

#[test]
fn so_do_the_originals_and_the_rewritten_forms_of_protocol_22() {
    let Some(reading) = lake("pubnet-p22-rewritten-lake") else { return };
    assert_eq!(reading.faults, []);
    assert_eq!((reading.contracts.len(), count(&reading)), (0, vec![]));
}

#[test]
fn so_does_every_event_of_the_cores_own_tests_in_each_protocol() {
    let Some(folder) = shared::ledgers() else { return };
    let network = Network::new("(V) (;,,;) (V)");
    let archive = fs::File::open(folder.join("core-corpus/test-lcm-current.tar.zst")).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    let mut created: BTreeMap<(u32, Executable), usize> = BTreeMap::new();
    let mut whole = Reading::default();
    let mut protocols: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().extension().is_none_or(|extension| extension != "xdr") {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let ledgers: Vec<_> =
            shared::frames(&bytes).iter().map(|bytes| check_ledger(bytes, &network).unwrap()).collect();
        let reading = read(&ledgers, &network);
        for ledger in &ledgers {
            ledger.creations.iter().for_each(|creation| {
                *created.entry((ledger.protocol, creation.executable)).or_default() += 1;
            });
            *protocols.entry(ledger.protocol).or_default() += ledger
                .events
                .iter()
                .filter(|event| event.contract_id.is_some_and(|id| reading.contracts.contains(&id)))
                .count() as u64;
        }
        whole.contracts.extend(reading.contracts);
        whole.faults.extend(reading.faults);
        reading.events.into_iter().for_each(|(name, count)| *whole.events.entry(name).or_default() += count);
    }
    println!("{created:?}\n{protocols:?}");
    assert_eq!(whole.faults, []);
    assert_eq!((whole.contracts.len(), count(&whole)), (0, vec![]));
}

#[test]
fn p25() {
    let Some(folder) = shared::ledgers() else { return };
    let network = Network::new("Standalone Network ; February 2017");
    let bytes = zstd::decode_all(fs::File::open(folder.join("load/p25-30-ledgers.framed.xdr.zst")).unwrap()).unwrap();
    let ledgers: Vec<_> = shared::frames(&bytes).iter().map(|bytes| check_ledger(bytes, &network).unwrap()).collect();
    println!("{:?}", ledgers.iter().map(|ledger| ledger.creations.len()).collect::<Vec<_>>());
    let reading = read(&ledgers, &network);
    assert_eq!(reading.faults, []);
    assert_eq!((reading.contracts.len(), count(&reading)), (0, vec![]));
}
