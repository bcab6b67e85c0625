//! Bundles with bytes and parts changed, and nothing made good.

use annals_core::bundle::{Above, event_bundle};
use annals_core::{LedgerHash, LedgerSeq, ProofClass};
use annals_sim::value::{self, contract};
use annals_sim::{EnvelopeForm, EventPlan, Format, LedgerPlan, Rng, TxPlan};

use super::forge::{Archive, is_proved};
use super::json_text::{nodes, part, range, rearranged, replaced, set};
use crate::built::network;

/// Three small ledgers with invocations of two contracts, one failed, and no two events alike.
fn small(format: Format, protocol: u32) -> Archive {
    let transfer = |number, amount| EventPlan::transfer(contract(number), [1; 32], [2; 32], amount);
    let plan = |amount: i128| {
        let first = TxPlan::invocation(contract(1), vec![transfer(1, amount), transfer(2, amount + 1)]);
        let second = TxPlan::invocation(contract(1), vec![transfer(1, amount + 2)]).in_envelope(EnvelopeForm::FeeBump);
        let failed = TxPlan::invocation(contract(1), vec![transfer(1, amount + 3)]).failing();
        LedgerPlan::new(vec![failed, first, TxPlan::invocation(contract(3), vec![]), second]).of_protocol(protocol)
    };
    Archive::planned(format, &[plan(10), plan(20), plan(30)])
}

fn proven_of(archive: &Archive, number: usize) -> Vec<&annals_core::Event> {
    archive.at(number).events.iter().filter(|event| event.proof.is_proven()).collect()
}

/// Small sound bundles, with the anchor under which each is checked beside its own.
fn sound() -> Vec<(Vec<u8>, (LedgerSeq, LedgerHash))> {
    let archive = small(Format::V2Meta4, 26);
    let reconciled = small(Format::V2Meta4, 23);
    vec![
        (archive.prove(proven_of(&archive, 0)[1], 1), archive.name(1)),
        (archive.prove_all(contract(1), 0..2, 1), archive.name(1)),
        (reconciled.prove(proven_of(&reconciled, 1)[0], 0), reconciled.name(1)),
    ]
}

fn assert_unproved(bundle: &[u8], anchor: (LedgerSeq, LedgerHash), what: impl Fn() -> String) {
    assert!(!is_proved(bundle, None) && !is_proved(bundle, Some(anchor)), "{}", what());
}

#[test]
fn no_byte_of_a_bundle_can_be_another() {
    for (bundle, anchor) in sound() {
        assert!(is_proved(&bundle, None) && is_proved(&bundle, Some(anchor)));
        let mut changed = bundle.clone();
        for at in 0..bundle.len() {
            let flipped = (0..8).map(|bit| bundle[at] ^ 1 << bit);
            for value in flipped.chain(*b"0A\" ").filter(|value| *value != bundle[at]) {
                changed[at] = value;
                assert!(!is_proved(&changed, None), "byte {at} as {value}");
            }
            changed[at] = bundle[at] ^ 1;
            assert_unproved(&changed, anchor, || format!("byte {at}"));
            changed[at] = bundle[at];
        }
    }
}

#[test]
fn no_byte_of_a_bundle_can_go_come_or_change_places() {
    for (bundle, anchor) in sound() {
        for at in 0..=bundle.len() {
            for added in *b" \n\t\r0A=\"\\,:{}[]\0" {
                let longer = replaced(&bundle, at..at, &[added]);
                assert_unproved(&longer, anchor, || format!("{added} at {at}"));
            }
            assert!(at == bundle.len() || !is_proved(&bundle[..at], None), "cut at {at}");
            if at < bundle.len() {
                assert_unproved(&replaced(&bundle, at..at + 1, b""), anchor, || format!("without byte {at}"));
            }
            if at + 1 < bundle.len() && bundle[at] != bundle[at + 1] {
                let swapped = replaced(&bundle, at..at + 2, &[bundle[at + 1], bundle[at]]);
                assert_unproved(&swapped, anchor, || format!("bytes {at} and the next changed places"));
            }
        }
    }
}

#[test]
fn no_element_of_a_bundle_can_go_come_twice_or_change_places() {
    let mut tried = 0;
    for (bundle, anchor) in sound() {
        for text in rearranged(&bundle) {
            assert_unproved(&text, anchor, || String::from_utf8_lossy(&text).into_owned());
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn no_part_of_a_bundle_fits_another_sound_bundle() {
    let archive = small(Format::V2Meta4, 26);
    let events: Vec<_> = (0..3).flat_map(|number| proven_of(&archive, number)).collect();
    let of_events: Vec<_> = events.iter().map(|event| archive.prove(event, 1)).collect();
    let of_ledgers =
        [1, 2, 3].map(|number| [0..1, 1..2, 0..2].map(|range| archive.prove_all(contract(number), range, 1)));
    let of_ledgers: Vec<_> = of_ledgers.into_iter().flatten().collect();
    let mut tried = 0;
    for family in [of_events, of_ledgers] {
        for (receiver, giver) in family.iter().flat_map(|a| family.iter().map(move |b| (a, b))) {
            let given = nodes(giver);
            for node in nodes(receiver) {
                let Some(other) = given.iter().find(|other| other.path == node.path) else { continue };
                let text = replaced(receiver, node.range, &giver[other.range.clone()]);
                // Two bundles that differ in one part alone turn into each other.
                if !family.contains(&text) {
                    assert!(!is_proved(&text, None), "{}: {}", node.path, String::from_utf8_lossy(&text));
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn only_what_is_said_to_be_the_sources_word_can_be_another() {
    let mint = EventPlan::mint_with_admin(contract(1), [1; 32], [2; 32], "ABC:issuer", 5);
    let plans = [LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![mint]).with_diagnostics()])];
    let archive = Archive::planned(Format::V1Meta4, &plans);
    let event = archive.events(ProofClass::Rewritten).next().unwrap();
    let seq = event.position.ledger();
    let unreached = Some((LedgerSeq::new(900).unwrap(), LedgerHash([3; 32])));
    let above = Above { unreached, ..Above::default() };
    let bundle = event_bundle(&network(), event, &archive.material(seq), &above).unwrap();
    let anchor = archive.name(0);
    assert!(is_proved(&bundle, Some(anchor)));
    let word = [range(&bundle, "/rewritten_xdr"), range(&bundle, "/above/unreached")];
    let mut elsewhere = 0;
    for at in 0..bundle.len() {
        for flip in [1, 2, 4, 0x20] {
            let mut changed = bundle.clone();
            changed[at] ^= flip;
            assert!(!is_proved(&changed, None));
            if is_proved(&changed, Some(anchor)) {
                assert!(word.iter().any(|range| range.contains(&at)), "byte {at}");
                elsewhere += 1;
            }
        }
    }
    assert!(elsewhere > 0, "the source's word is told apart because it can be changed");
    // Not every form can be a rewritten one.
    let original = part(&bundle, "/event/event_xdr");
    assert!(!is_proved(&set(&bundle, "/rewritten_xdr", original), Some(anchor)));
}

#[test]
fn a_bundle_of_many_ledgers_holds_against_changes_drawn_by_chance() {
    let plan = |amount: i128| {
        let data =
            EventPlan { data: value::bytes(&[7; 2000]), ..EventPlan::transfer(contract(1), [1; 32], [2; 32], amount) };
        let calls = (0..20).map(|call| {
            let event = EventPlan { topics: vec![value::symbol("call"), value::i128(amount + call)], ..data.clone() };
            TxPlan::invocation(contract(1), vec![event])
        });
        LedgerPlan::new(calls.collect())
    };
    let plans: Vec<_> = (0..8).map(|number| plan(number * 100)).collect();
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let bundle = archive.prove_all(contract(1), 0..6, 2);
    assert!(is_proved(&bundle, None) && bundle.len() > 500_000);
    let mut rng = Rng::new(11);
    for _ in 0..300 {
        let at = rng.below(u32::try_from(bundle.len()).unwrap()) as usize;
        let mut changed = bundle.clone();
        changed[at] ^= 1 << rng.below(7);
        assert!(!is_proved(&changed, None), "byte {at}");
    }
}
