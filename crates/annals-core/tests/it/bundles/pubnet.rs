//! Bundles of real ledgers.

use std::collections::BTreeSet;
use std::io::Write as _;

use annals_core::{ContractId, LedgerHash, LedgerSeq, Network, ProofClass, ProofVerdict, Stage, check_proof};
use annals_sim::Rng;

use super::forge::{Archive, is_proved, word};
use crate::shared;

/// A bundle of a dense ledger stays below, compressed as HTTP does.
const GZIP_BYTES_MAX: usize = 40_000;

pub fn lake(name: &str) -> Option<Archive> {
    let folder = shared::ledgers()?.join(name);
    Some(Archive::new(&Network::preset("pubnet").unwrap(), shared::lake(&folder)))
}

fn gzip(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn every_committed_event_of_pubnet_ledgers_is_proved_up_to_the_checkpoint() {
    let Some(archive) = lake("pubnet-p26-lake") else { return };
    // Ledger 63092991 is a checkpoint: history archives hold this hash.
    let checkpoint = archive.name(9);
    let mut largest = 0;
    let mut proved = 0;
    for ledger in &archive.ledgers {
        for (number, event) in ledger.events.iter().filter(|event| event.proof.is_proven()).enumerate() {
            let bundle = archive.prove(event, 64);
            assert_eq!(word(&bundle, Some(checkpoint)), "proved");
            assert_eq!(word(&bundle, Some((checkpoint.0, LedgerHash([0; 32])))), "ANCHOR_CONTRADICTED");
            // Bundles of one ledger differ by their invocation alone.
            if number < 3 {
                largest = largest.max(gzip(&bundle));
            }
            proved += 1;
        }
    }
    assert_eq!(proved, 99);
    assert!(largest < GZIP_BYTES_MAX, "{largest} bytes");
}

#[test]
fn rewritten_events_of_pubnet_are_proved_as_they_were_emitted() {
    let Some(archive) = lake("pubnet-p22-rewritten-lake") else { return };
    for (class, count) in [(ProofClass::Committed, 19), (ProofClass::Rewritten, 7)] {
        let events: Vec<_> = archive.events(class).collect();
        assert_eq!(events.len(), count);
        for event in events {
            let ProofVerdict::Proved(proved) = check_proof(&archive.prove(event, 0), None) else { panic!() };
            assert_eq!(proved.events[0].xdr, event.xdr);
            assert_eq!(proved.events[0].rewritten_xdr, event.rewritten_xdr);
        }
    }
    let fees = archive.events(ProofClass::Uncommitted).step_by(20);
    assert!(fees.map(|event| assert_eq!(word(&archive.explain(event, true), None), "NOT_COMMITTED")).count() > 20);
}

#[test]
fn all_events_of_each_contract_of_pubnet_ledgers_are_proved_and_nothing_of_another() {
    let Some(archive) = lake("pubnet-p26-lake") else { return };
    let of_events = archive.events(ProofClass::Committed).filter_map(|event| event.contract_id);
    let contracts: BTreeSet<ContractId> = of_events.collect();
    let mut listed = 0;
    for contract in &contracts {
        let ProofVerdict::Proved(proved) = check_proof(&archive.prove_all(*contract, 2..3, 1), None) else { panic!() };
        listed += proved.events.len();
    }
    let expected = archive.at(2).events.iter().filter(|event| event.proof.is_proven()).count();
    assert_eq!(listed, expected);
    let busiest = contracts.iter().max_by_key(|contract| {
        archive.events(ProofClass::Committed).filter(|event| event.contract_id == Some(**contract)).count()
    });
    let busiest = *busiest.unwrap();
    // Ledger 63092988 holds no committed event, and an archive keeps nothing of it that could prove so.
    let whole = archive.prove_all(busiest, 0..6, 4);
    let ProofVerdict::Proved(proved) = check_proof(&whole, Some(archive.name(9))) else { panic!() };
    let events = archive.ledgers[..6].iter().flat_map(|ledger| &ledger.events);
    let expected = events.filter(|event| event.proof.is_proven() && event.contract_id == Some(busiest)).count();
    assert_eq!(proved.events.len(), expected);
    // A contract that nobody ever saw has no event in these ledgers, which is proved as well.
    let ProofVerdict::Proved(proved) = check_proof(&archive.prove_all(ContractId([9; 32]), 0..6, 0), None) else {
        panic!()
    };
    assert!(proved.events.is_empty());
}

#[test]
fn uncommitted_events_of_pubnet_are_explained_by_their_fees() {
    let Some(archive) = lake("pubnet-p26-lake") else { return };
    let events: Vec<_> = archive.events(ProofClass::Uncommitted).step_by(97).collect();
    assert!(events.len() > 50);
    for event in events {
        let kept = archive.material(event.position.ledger()).material.is_some();
        let shown = kept || event.position.stage() != Stage::Op;
        let expected = if shown { "NOT_COMMITTED" } else { "SAID_UNCOMMITTED" };
        assert_eq!(word(&archive.explain(event, true), None), expected);
    }
}

#[test]
fn a_pubnet_bundle_holds_against_changes_drawn_by_chance() {
    let Some(archive) = lake("pubnet-p26-lake") else { return };
    let event = archive.at(3).events.iter().find(|event| event.proof.is_proven()).unwrap();
    let anchor = Some((LedgerSeq::new(63_092_991).unwrap(), archive.name(9).1));
    for bundle in [archive.prove(event, 64), archive.prove_all(event.contract_id.unwrap(), 3..4, 64)] {
        assert!(is_proved(&bundle, anchor));
        let mut rng = Rng::new(2026);
        for _ in 0..400 {
            let at = rng.below(u32::try_from(bundle.len()).unwrap()) as usize;
            let mut changed = bundle.clone();
            match rng.below(3) {
                0 => changed[at] ^= 1 << rng.below(8),
                1 => drop(changed.remove(at)),
                _ => changed.insert(at, b'A'),
            }
            // An insertion beside the same character changes nothing that could be told from another place.
            if changed != bundle {
                assert!(!is_proved(&changed, anchor) && !is_proved(&changed, None), "byte {at}");
            }
        }
    }
}
