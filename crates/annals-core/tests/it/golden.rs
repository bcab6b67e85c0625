//! Events of pubnet ledgers equal those that an independent decoder (Python) found.

use std::fs;
use std::path::Path;

use annals_core::hash::sha256;
use annals_core::registry::Payload;
use annals_core::wire::ExportedEvent;
use annals_core::{CheckedLedger, ClassicEvents, EventsDigest, Network, check_ledger};
use serde_json::{Value, json};

use crate::shared;

fn check_chain(ledgers: &[Vec<u8>], network: &Network) -> Vec<CheckedLedger> {
    let checked: Vec<CheckedLedger> =
        ledgers.iter().map(|bytes| check_ledger(bytes, network).unwrap_or_else(|fault| panic!("{fault}"))).collect();
    for pair in checked.windows(2) {
        assert_eq!(pair[0].seq.next(), Some(pair[1].seq));
        assert_eq!(pair[0].hash, pair[1].previous_hash);
    }
    checked
}

/// The mapping of an exported event to the independent decoder's fields (`ledgers/README.md`).
fn as_expected(ledger: &CheckedLedger) -> impl Iterator<Item = Value> {
    ledger.events.iter().map(|event| {
        let exported = ExportedEvent::new(event, &Payload::NotApplicable).unwrap();
        let (published, topics, value, commitment) = match (&event.rewritten_xdr, &exported.rewritten) {
            (Some(xdr), Some(form)) => {
                (xdr, form.topics_xdr.clone(), form.data_xdr.clone(), "rewritten,original-in-diagnostics")
            }
            _ => (&event.xdr, exported.topics_xdr.clone(), exported.data_xdr.clone(), exported.proof),
        };
        json!({
            "id": exported.id, "ledger": exported.ledger_seq, "txHash": exported.tx_hash, "tx": exported.tx_order,
            "op": (exported.stage == "op").then_some(exported.operation_index), "stage": exported.stage,
            "type": exported.kind, "contractId": exported.contract_id, "topics": topics, "value": value,
            "eventXdrSha256": annals_core::LedgerHash(sha256(&[published])).to_string(),
            "commitment": commitment, "txSuccessful": exported.successful,
        })
    })
}

fn golden(name: &str) -> Option<Vec<CheckedLedger>> {
    let folder = shared::ledgers()?;
    let checked = check_chain(&shared::lake(&folder.join(name)), &Network::preset("pubnet").unwrap());
    let expected = folder.join("expected").join(format!("{name}.events.jsonl.gz"));
    if expected.is_file() {
        let found: Vec<Value> = checked.iter().flat_map(as_expected).collect();
        let expected = shared::json_lines(&expected);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
    }
    Some(checked)
}

#[test]
fn ten_protocol_26_ledgers_give_6591_events_as_the_independent_decoder_does() {
    let Some(ledgers) = golden("pubnet-p26-lake") else { return };
    assert_eq!(ledgers.len(), 10);
    assert_eq!(ledgers.iter().map(|ledger| ledger.census.committed).sum::<u64>(), 99);
    assert_eq!(ledgers.iter().map(|ledger| ledger.census.uncommitted).sum::<u64>(), 6492);
    assert!(ledgers.iter().all(|ledger| ledger.classic_events == ClassicEvents::Present));
}

#[test]
fn seven_rewritten_events_of_ledger_57500008_keep_the_hashed_original() {
    let Some(ledgers) = golden("pubnet-p22-rewritten-lake") else { return };
    let [ledger] = ledgers.as_slice() else { panic!("one ledger") };
    assert_eq!((ledger.census.committed, ledger.census.uncommitted, ledger.census.rewritten), (19, 475, 7));
    for event in ledger.events.iter().filter(|event| event.rewritten_xdr.is_some()) {
        let exported = ExportedEvent::new(event, &Payload::NotApplicable).unwrap();
        assert_eq!(exported.topics_xdr.len(), 4, "the original mint has an admin topic");
        assert_eq!(exported.rewritten.unwrap().topics_xdr.len(), 3);
        assert_ne!(Some(&event.xdr), event.rewritten_xdr.as_ref());
    }
}

#[test]
fn ledgers_without_events_verify_and_say_that_classic_events_are_absent() {
    let Some(ledgers) = golden("pubnet-p22-lake") else { return };
    assert!(ledgers[0].events.is_empty());
    assert_eq!(ledgers[0].classic_events, ClassicEvents::Absent);
    assert_eq!(ledgers[0].digest, EventsDigest::of([]));
    let Some(folder) = shared::ledgers() else { return };
    let object = shared::single_ledger_object(&folder.join("sep54-object/FCD285FF--53312000.xdr.zstd"));
    let ledger = check_ledger(&object, &Network::preset("pubnet").unwrap()).unwrap();
    assert_eq!((ledger.seq.get(), ledger.protocol, ledger.events.len()), (53_312_000, 21, 0));
}

#[test]
fn ledgers_before_soroban_verify_and_give_no_event() {
    let Some(folder) = shared::ledgers() else { return };
    let mut count = 0;
    for name in ["ttp-ledgers-base64.txt", "xlm-mint-bug-ledger-9652679"] {
        for line in fs::read_to_string(folder.join("pre-soroban").join(name)).unwrap().lines() {
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, line.trim()).unwrap();
            let ledger = check_ledger(&bytes, &Network::preset("pubnet").unwrap())
                .unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert!(ledger.protocol < 20 && ledger.events.is_empty(), "{name}");
            let view = annals_core::decode::decode(&bytes).unwrap();
            annals_core::check::check_tx_set(&view, ledger.seq).unwrap();
            count += 1;
        }
    }
    assert!(count >= 6);
}

fn framed(path: &Path) -> Vec<Vec<u8>> {
    shared::frames(&zstd::decode_all(fs::File::open(path).unwrap()).unwrap())
}

#[test]
fn thirty_load_ledgers_hold_37200_events_that_are_all_committed() {
    let Some(folder) = shared::ledgers() else { return };
    let network = Network::new("Standalone Network ; February 2017");
    let ledgers = check_chain(&framed(&folder.join("load/p25-30-ledgers.framed.xdr.zst")), &network);
    assert_eq!(ledgers.len(), 30);
    assert_eq!(ledgers.iter().map(|ledger| ledger.census.committed).sum::<u64>(), 37_200);
    assert_eq!(ledgers.iter().map(|ledger| ledger.census.total()).sum::<u64>(), 37_200);
    for ledger in &ledgers {
        assert_eq!(ledger.classic_events, ClassicEvents::Absent);
        let header = annals_core::decode::HeaderView::parse(&ledger.header_xdr).unwrap();
        let proven = annals_core::check::prove_stored(&header, &ledger.proof, &network).unwrap();
        let kept: Vec<_> = ledger.events.iter().map(|event| (event.position, event.xdr.as_slice())).collect();
        assert_eq!(proven.iter().map(|event| (event.position, event.xdr)).collect::<Vec<_>>(), kept);
    }
}

#[test]
fn a_merged_ledger_is_refused_for_its_results() {
    let Some(folder) = shared::ledgers() else { return };
    let network = Network::new("load test network");
    let ledgers = framed(&folder.join("load/p23-merged-must-fail.framed.xdr.zst"));
    let outcomes: Vec<_> = ledgers
        .iter()
        .map(|bytes| check_ledger(bytes, &network).map(|ledger| ledger.seq.get()).map_err(|fault| fault.code()))
        .collect();
    assert_eq!(outcomes, [Ok(93), Ok(94), Err("RESULTS_HASH_MISMATCH")]);
}
