//! What sound bundles prove, and relative to what.

use annals_core::bundle::{
    Above, BuildFault, ProvedClaim, Undecided, event_bundle, is_checkpoint, ledgers_bundle, unproven_bundle,
};
use annals_core::{Event, LedgerHash, LedgerRange, LedgerSeq, ProofClass, ProofVerdict, Stage, check_proof};
use annals_sim::value::contract;
use annals_sim::{EventPlan, Format, LedgerPlan, TxPlan, random_chain};

use super::forge::{Archive, is_proved, word};
use crate::built::{first, mixes, network};

fn transfer(number: u32, amount: i128) -> EventPlan {
    EventPlan::transfer(contract(number), [1; 32], [2; 32], amount)
}

fn proved(bundle: &[u8], anchor: Option<(LedgerSeq, LedgerHash)>) -> annals_core::bundle::Proved {
    match check_proof(bundle, anchor) {
        ProofVerdict::Proved(proved) => *proved,
        other => panic!("{other:?}"),
    }
}

/// Random chains of every form.
fn archives() -> impl Iterator<Item = Archive> {
    mixes().into_iter().map(|mix| {
        let built = random_chain(&network(), first(), 5, 12, mix);
        Archive::new(&network(), built.map(|ledger| ledger.xdr))
    })
}

#[test]
fn every_committed_event_of_random_chains_is_proved_with_both_of_its_forms() {
    let (mut rewritten, mut shifted) = (0, 0);
    for archive in archives() {
        for event in archive.ledgers.iter().flat_map(|ledger| &ledger.events).filter(|event| event.proof.is_proven()) {
            let protocol = archive.ledger(event.position.ledger()).protocol;
            let proved = proved(&archive.prove(event, 3), None);
            assert_eq!(proved.network_passphrase, network().passphrase());
            assert_eq!(proved.claim, ProvedClaim::Event);
            let [found] = proved.events.as_slice() else { panic!("{proved:?}") };
            assert_eq!((found.position, found.tx_hash), (event.position, event.tx_hash));
            assert_eq!((&found.xdr, &found.rewritten_xdr), (&event.xdr, &event.rewritten_xdr));
            assert_eq!(found.index_is_the_sources, protocol == 23, "no hash covers what protocol 23 put in front");
            rewritten += usize::from(event.rewritten_xdr.is_some());
            shifted += usize::from(found.index_is_the_sources);
        }
    }
    assert!(rewritten > 10 && shifted > 10, "{rewritten} {shifted}");
}

#[test]
fn all_events_of_a_contract_are_proved_over_every_range_and_so_is_their_absence() {
    let (mut events, mut absences) = (0, 0);
    for archive in archives() {
        for number in 0..9 {
            let contract = contract(number);
            for range in [0..1, 2..4, 3..8] {
                let ledgers = &archive.ledgers[range.clone()];
                let kept = ledgers.iter().all(|ledger| {
                    archive.material(ledger.seq).material.is_some()
                        || annals_core::decode::HeaderView::parse(&ledger.header_xdr).unwrap().tx_set_result_hash
                            == annals_core::hash::sha256(&[&[0; 4]])
                });
                let any = ledgers.iter().any(|ledger| !ledger.proof.invocations.is_empty());
                if !kept || !any {
                    continue;
                }
                let expected: Vec<&Event> = ledgers
                    .iter()
                    .flat_map(|ledger| &ledger.events)
                    .filter(|event| event.proof.is_proven() && event.contract_id == Some(contract))
                    .collect();
                let proved = proved(&archive.prove_all(contract, range, 2), None);
                let (from, to) = (ledgers.first().unwrap().seq, ledgers.last().unwrap().seq);
                let range = LedgerRange::new(from, to).unwrap();
                assert_eq!(proved.claim, ProvedClaim::AllOfContract { contract, range });
                let found: Vec<_> = proved.events.iter().map(|event| (event.position, &event.xdr)).collect();
                assert_eq!(found, expected.iter().map(|event| (event.position, &event.xdr)).collect::<Vec<_>>());
                events += found.len();
                absences += usize::from(found.is_empty());
            }
        }
    }
    assert!(events > 100 && absences > 10, "{events} {absences}");
}

#[test]
fn an_anchor_counts_at_or_above_the_claim_alone() {
    let plans: Vec<_> = (0..6)
        .map(|amount| LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, amount)])]))
        .collect();
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let event = archive.at(2).events.iter().find(|event| event.proof.is_proven()).unwrap();
    let bundles = [archive.prove(event, 2), archive.prove_all(contract(1), 1..3, 2)];
    for bundle in bundles {
        assert_eq!(proved(&bundle, None).anchor.hash, archive.name(4).1);
        assert!(!proved(&bundle, None).anchor.given);
        for number in 2..5 {
            let anchor = archive.name(number);
            let proved = proved(&bundle, Some(anchor)).anchor;
            assert_eq!((proved.ledger, proved.hash, proved.given), (anchor.0, anchor.1, true));
            assert_eq!(word(&bundle, Some((anchor.0, LedgerHash([7; 32])))), "ANCHOR_CONTRADICTED");
        }
        for number in [0, 1, 5] {
            // Whoever trusts a ledger below knows nothing of those above it.
            assert_eq!(word(&bundle, Some(archive.name(number))), "ANCHOR_NOT_HERE", "{number}");
        }
    }
    let inside = archive.prove_all(contract(1), 1..3, 2);
    assert_eq!(word(&inside, Some((archive.name(1).0, LedgerHash([7; 32])))), "ANCHOR_CONTRADICTED");
}

#[test]
fn a_bundle_that_ends_below_the_pinned_ledger_proves_nothing_without_another_anchor() {
    let plans = [LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 5)])]), LedgerPlan::new(vec![])];
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let pinned = (LedgerSeq::new(900).unwrap(), LedgerHash([3; 32]));
    let above = Above { unreached: Some(pinned), ..archive.above(event.position.ledger(), 1) };
    let bundle = event_bundle(&network(), event, &archive.material(event.position.ledger()), &above).unwrap();
    let (to, hash) = archive.name(1);
    let reason = Undecided::Unreached { from: archive.name(0).0, to, hash, unreached: 900 };
    assert_eq!(check_proof(&bundle, None), ProofVerdict::Undecided(reason));
    assert!(is_proved(&bundle, Some((to, hash))));
    assert_eq!(word(&bundle, Some(pinned)), "ANCHOR_NOT_HERE");
    assert_eq!(word(&bundle, Some((pinned.0, LedgerHash([4; 32])))), "ANCHOR_CONTRADICTED");
    let within = Above { unreached: Some(archive.name(1)), ..archive.above(event.position.ledger(), 1) };
    let bundle = event_bundle(&network(), event, &archive.material(event.position.ledger()), &within).unwrap();
    assert_eq!(word(&bundle, None), "UNREACHED_REACHED");
}

#[test]
fn an_event_that_the_protocol_does_not_commit_to_is_never_proved_and_its_fees_are_shown() {
    let (mut with_fees, mut without, mut said) = (0, 0, 0);
    for archive in archives() {
        for event in archive.events(ProofClass::Uncommitted) {
            let kept = archive.material(event.position.ledger()).material.is_some();
            let protocol = archive.ledger(event.position.ledger()).protocol;
            let operation = event.position.stage() == Stage::Op;
            match check_proof(&archive.explain(event, true), None) {
                ProofVerdict::Undecided(Undecided::NotCommitted { id, fee: Some(fee) }) => {
                    assert_eq!((id, fee.tx_hash), (event.position, event.tx_hash));
                    assert!(fee.events > 0 && fee.charged > 0 && !operation);
                    with_fees += 1;
                }
                ProofVerdict::Undecided(Undecided::NotCommitted { fee: None, .. }) => without += 1,
                ProofVerdict::Undecided(Undecided::SaidUncommitted { .. }) => {
                    assert!(operation && (!kept || protocol == 23));
                    said += 1;
                }
                other => panic!("{other:?}"),
            }
            let bare = if operation { "SAID_UNCOMMITTED" } else { "NOT_COMMITTED" };
            assert_eq!(word(&archive.explain(event, false), None), bare);
        }
    }
    assert!(with_fees > 100 && without > 100 && said > 4, "{with_fees} {without} {said}");
}

#[test]
fn an_unverified_event_is_said_to_be_so() {
    let plans = [LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 5)])])];
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let committed = archive.events(ProofClass::Committed).next().unwrap();
    let unverified = Event { proof: ProofClass::Unverified, ..committed.clone() };
    let bundle = archive.explain(&unverified, true);
    assert_eq!(check_proof(&bundle, None), ProofVerdict::Undecided(Undecided::Unverified { id: committed.position }));
    let fault = unproven_bundle(&network(), committed, &[], None, &Above::default());
    let id = committed.position;
    assert_eq!(fault, Err(BuildFault::EventNotHeld { ledger: id.ledger(), id }));
}

#[test]
fn a_ledger_proof_is_refused_where_the_archive_keeps_less_than_all_invocations() {
    let silent = TxPlan::invocation(contract(2), vec![]);
    let plans = [
        LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 5)]), silent.clone()]),
        LedgerPlan::new(vec![silent]),
        LedgerPlan::new(vec![]),
    ];
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let of = |numbers: &[usize], edit: &dyn Fn(&mut annals_core::bundle::LedgerMaterial)| {
        let mut materials: Vec<_> = numbers.iter().map(|number| archive.material(archive.name(*number).0)).collect();
        materials.iter_mut().for_each(edit);
        ledgers_bundle(&network(), contract(1), &materials, &Above::default())
    };
    assert!(is_proved(&of(&[0], &|_| ()).unwrap(), None));
    let before = of(&[0], &|ledger| ledger.material.as_mut().unwrap().invocations.truncate(1));
    assert_eq!(before, Err(BuildFault::InvocationsNotKept { ledger: first(), kept: 1, needed: 2 }));
    assert_eq!(of(&[0, 1], &|_| ()), Err(BuildFault::NoMaterial { ledger: archive.name(1).0 }));
    assert_eq!(of(&[], &|_| ()), Err(BuildFault::Ledgers { found: 0 }));
    assert_eq!(of(&[0; 65], &|_| ()), Err(BuildFault::Ledgers { found: 65 }));
    // A header alone says that its ledger holds no transaction, but not of which network it is.
    assert_eq!(word(&of(&[2], &|_| ()).unwrap(), None), "NETWORK_UNPROVEN");
}

#[test]
fn a_ledger_without_transactions_is_proved_beside_one_that_names_the_network() {
    let plans = [
        LedgerPlan::new(vec![]),
        LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 5)])]),
        LedgerPlan::new(vec![]),
    ];
    let archive = Archive::planned(Format::V2Meta4, &plans);
    assert_eq!(proved(&archive.prove_all(contract(1), 0..3, 0), None).events.len(), 1);
    assert_eq!(proved(&archive.prove_all(contract(2), 0..3, 0), None).events.len(), 0);
}

#[test]
fn the_verdict_is_written_as_the_documents_say() {
    let plans = [LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 5)])])];
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let json = |bundle: &[u8]| serde_json::from_str::<serde_json::Value>(&check_proof(bundle, None).to_json()).unwrap();
    let verdict = json(&archive.prove(event, 0));
    assert_eq!(verdict["verdict"], "proved");
    assert_eq!(verdict["events"][0]["id"], event.position.to_string());
    let anchor = serde_json::json!({
        "ledger": 100, "hash": archive.name(0).1.to_string(), "given": false, "checkpoint": false,
    });
    assert_eq!(verdict["anchor"], anchor);
    assert_eq!(json(b"{}")["code"], "UNREADABLE");
    assert_eq!(json(br#"{"format":"annals-proof/2"}"#)["code"], "UNKNOWN_FORMAT");
    assert_eq!(json(br#"{"format":"annals-proof/1"}"#)["code"], "UNKNOWN_KIND");
    let fee = archive.events(ProofClass::Uncommitted).next().unwrap();
    let verdict = json(&archive.explain(fee, true));
    assert_eq!((&verdict["verdict"], &verdict["code"]), (&"undecided".into(), &"NOT_COMMITTED".into()));
    assert_eq!(verdict["fee"]["tx_hash"], fee.tx_hash.to_string());
    let (ledger, hash) = archive.name(0);
    let said = verdict["message"].as_str().unwrap();
    assert!(said.contains(&format!("relative to ledger {ledger} {hash}, ")), "{said}");
    assert!(is_checkpoint(LedgerSeq::new(63).unwrap()) && !is_checkpoint(LedgerSeq::new(64).unwrap()));
}
