//! An export, held against the network's own list of events.

use std::collections::BTreeMap;
use std::io::{self, Write};

use annals::export;
use annals::store::Store;
use annals_core::hash::sha256;
use annals_core::{ContractId, Coverage, EventsDigest, Position};
use annals_sim::SimNetwork;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Takes the lines of an export apart, and keeps of each ledger what its digest is made of.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    last: Option<Position>,
    ledgers: BTreeMap<u32, Hashed>,
}

#[derive(Default)]
struct Hashed {
    events: usize,
    bytes: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take(&serde_json::from_slice(&line)?);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn take(&mut self, line: &Value) {
        let position: Position = line["id"].as_str().unwrap().parse().unwrap();
        assert!(self.last.is_none_or(|last| last < position), "{position} is behind {:?}", self.last);
        self.last = Some(position);
        let ledger = self.ledgers.entry(position.ledger().get()).or_default();
        ledger.events += 1;
        ledger.bytes.extend(position.toid().to_be_bytes());
        ledger.bytes.extend(position.index().to_be_bytes());
        ledger.bytes.extend(sha256(&[&contract_event(line)]));
    }
}

/// The XDR of the `ContractEvent` that a line tells of (CAP-46, `Stellar-contract-events.x`).
fn contract_event(line: &Value) -> Vec<u8> {
    let decode = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    let number = |number: u32| number.to_be_bytes();
    let mut xdr = number(0).to_vec();
    match line["contract_id"].as_str() {
        None => xdr.extend(number(0)),
        Some(contract) => {
            xdr.extend(number(1));
            xdr.extend(contract.parse::<ContractId>().unwrap().0);
        }
    }
    xdr.extend(number(u32::from(line["kind"] == "contract")));
    xdr.extend(number(0));
    let topics = line["topics_xdr"].as_array().unwrap();
    xdr.extend(number(u32::try_from(topics.len()).unwrap()));
    topics.iter().for_each(|topic| xdr.extend(decode(topic)));
    xdr.extend(decode(&line["data_xdr"]));
    xdr
}

/// Checks that an export holds the network's events of the ledgers in `covered`, digest for digest, and no other; tells
/// how many they are.
#[track_caller]
pub fn assert_exports(store: &dyn Store, network: &SimNetwork, covered: &Coverage) -> u64 {
    let mut lines = Lines::default();
    let exported = export::run(store, &mut lines).unwrap();
    let mut ledgers = lines.ledgers;
    for record in network.records().filter(|record| covered.contains(record.seq)) {
        let hashed = ledgers.remove(&record.seq.get()).unwrap_or_default();
        let found = (hashed.events, EventsDigest(sha256(&[&hashed.bytes])));
        assert_eq!(found, (record.events, record.digest), "ledger {}", record.seq);
    }
    assert!(ledgers.is_empty(), "ledgers that are not covered: {:?}", ledgers.keys());
    exported.events
}
