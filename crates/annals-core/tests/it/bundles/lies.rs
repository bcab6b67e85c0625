//! Bundles that were made to deceive: right in form, with every hash made good that a liar can make good.

use annals_core::bundle::{HEADERS_ABOVE_MAX, ProvedClaim};
use annals_core::hash::sha256;
use annals_core::{Event, LedgerHash, Position, ProofClass, ProofVerdict, Stage, check_proof};
use annals_sim::value::contract;
use annals_sim::{EnvelopeForm, EventPlan, Format, InvocationPlan, LedgerPlan, TxPlan};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::base85;
use super::forge::{Archive, is_proved, word};
use super::json_text::{part, range, replaced, set};
use crate::built::first;

fn transfer(number: u32, amount: i128) -> EventPlan {
    EventPlan::transfer(contract(number), [1; 32], [2; 32], amount)
}

/// Transaction 1 fails, 2 emits for contracts 1 and 2, 3 emits nothing, 4 pays, 5 emits for contract 1; then a ledger of
/// one more event.
fn archive() -> Archive {
    let failed = TxPlan::invocation(contract(1), vec![transfer(1, 1)]).failing();
    let both = TxPlan::invocation(contract(1), vec![transfer(1, 2), transfer(2, 3), transfer(1, 4)]);
    let silent = TxPlan::invocation(contract(3), vec![]);
    let payment = TxPlan::payments(vec![vec![transfer(5, 7)], vec![transfer(5, 8)]]);
    let last = TxPlan::invocation(contract(1), vec![transfer(1, 5)]);
    let next = LedgerPlan::new(vec![TxPlan::invocation(contract(1), vec![transfer(1, 6)])]);
    Archive::planned(Format::V2Meta4, &[LedgerPlan::new(vec![failed, both, silent, payment, last]), next])
}

/// The bytes of the field at `path`.
fn decoded(bundle: &[u8], path: &str) -> Vec<u8> {
    let text = part(bundle, path);
    let text = &text[1..text.len() - 1];
    if path.ends_with("_xdr") { STANDARD.decode(text).unwrap() } else { base85::decoded(text) }
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    [b"\"", base85::encoded(bytes).as_slice(), b"\""].concat()
}

/// The bundle with other bytes in the field at `path`.
fn with_bytes(bundle: &[u8], path: &str, bytes: &[u8]) -> Vec<u8> {
    let quoted =
        if path.ends_with("_xdr") { format!("\"{}\"", STANDARD.encode(bytes)).into_bytes() } else { quoted(bytes) };
    set(bundle, path, &quoted)
}

fn claiming(bundle: &[u8], id: Position) -> Vec<u8> {
    set(bundle, "/event/id", format!("\"{id}\"").as_bytes())
}

#[test]
fn an_event_is_proved_in_its_own_place_alone() {
    let archive = archive();
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let bundle = archive.prove(event, 1);
    let own = event.position;
    assert_eq!((own.tx(), own.operation(), own.index()), (2, 0, 0));
    let ledger = first();
    let op = |tx, op, index| Position::op(ledger, tx, op, index).unwrap();
    let other_ledger = Position::op(ledger.next().unwrap(), 2, 0, 0).unwrap();
    for place in [op(2, 0, 1), op(2, 0, 2), op(2, 0, 3), op(2, 1, 0), op(2, 0, u32::MAX), other_ledger] {
        assert_eq!(word(&claiming(&bundle, place), None), "NO_SUCH_EVENT", "{place}");
    }
    // The first failed, the fourth is no invocation, the sixth is none at all; fees are no invocation's.
    let sentinels = [Position::before_all_txs(ledger, 0), Position::after_all_txs(ledger, 0)];
    for place in [op(1, 0, 0), op(4, 0, 0), op(6, 0, 0), sentinels[0], sentinels[1]] {
        assert_eq!(word(&claiming(&bundle, place), None), "NO_INVOCATION", "{place}");
    }
    assert_eq!(word(&claiming(&bundle, op(3, 0, 0)), None), "SUCCESS_HASH");
    assert_eq!(word(&claiming(&bundle, Position::after_tx(ledger, 2, 0).unwrap()), None), "NO_SUCH_EVENT");
}

#[test]
fn an_event_that_its_invocation_did_not_emit_is_refuted() {
    let archive = archive();
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let bundle = archive.prove(event, 0);
    let invented = transfer(1, 999).xdr();
    assert_eq!(word(&with_bytes(&bundle, "/event/event_xdr", &invented), None), "NO_SUCH_EVENT");
    // The pre-image invents it too: void, one event.
    let pre_image = [&[0, 0, 0, 1, 0, 0, 0, 1], invented.as_slice()].concat();
    let forged = with_bytes(&bundle, "/event/event_xdr", &invented);
    let forged = with_bytes(&forged, "/invocation/pre_image", &pre_image);
    assert_eq!(word(&forged, None), "SUCCESS_HASH");
    // So do the results, and at last the header: it hangs together, and no ledger that anybody trusts holds it.
    let in_place = |bytes: &[u8], from: [u8; 32], to: [u8; 32]| {
        hex::decode(hex::encode(bytes).replace(&hex::encode(from), &hex::encode(to))).unwrap()
    };
    let success = sha256(&[&decoded(&bundle, "/invocation/pre_image")]);
    let true_results = decoded(&bundle, "/ledger/results");
    let results = in_place(&true_results, success, sha256(&[&pre_image]));
    assert_ne!(results, true_results);
    let forged = with_bytes(&forged, "/ledger/results", &results);
    assert_eq!(word(&forged, None), "RESULTS_HASH");
    let true_header = decoded(&bundle, "/ledger/header");
    let header = in_place(&true_header, sha256(&[&true_results]), sha256(&[&results]));
    let forged = with_bytes(&forged, "/ledger/header", &header);
    assert_eq!(word(&forged, None), "ANCHOR_MISMATCH");
    let name = LedgerHash(sha256(&[&header]));
    let forged = set(&forged, "/above/anchor/hash", format!("\"{name}\"").as_bytes());
    assert!(is_proved(&forged, None), "relative to a ledger of the liar's own");
    assert_eq!(word(&forged, Some(archive.name(0))), "ANCHOR_CONTRADICTED");
    // Under the true header above, it does not link.
    let above = decoded(&archive.prove(event, 1), "/above/headers/0");
    let under = set(&forged, "/above/headers", &[b"[", quoted(&above).as_slice(), b"]"].concat());
    assert_eq!(word(&under, None), "BROKEN_LINK");
}

/// Bundles of an event and of a ledger, sound but for the outer word of the fee bump that holds the invocation: failed.
pub fn failed_bumps() -> [Vec<u8>; 2] {
    let bump = TxPlan::invocation(contract(1), vec![transfer(1, 2)]).in_envelope(EnvelopeForm::FeeBump);
    let archive = Archive::planned(Format::V2Meta4, &[LedgerPlan::new(vec![bump])]);
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let bundles = [(archive.prove(event, 0), "/ledger"), (archive.prove_all(contract(1), 0..1, 0), "/ledgers/0")];
    bundles.map(|(bundle, ledger)| {
        assert!(is_proved(&bundle, None));
        let (header, results) = (format!("{ledger}/header"), format!("{ledger}/results"));
        let sound = decoded(&bundle, &results);
        let mut failed = sound.clone();
        // Behind the count, the transaction's hash and its fee: txFEE_BUMP_INNER_SUCCESS, txFEE_BUMP_INNER_FAILED.
        let word = &mut failed[44..48];
        assert_eq!(word, 1_i32.to_be_bytes());
        word.copy_from_slice(&(-13_i32).to_be_bytes());
        let [old, new] = [&sound, &failed].map(|results| hex::encode(sha256(&[results])));
        let named = hex::decode(hex::encode(decoded(&bundle, &header)).replace(&old, &new)).unwrap();
        let hash = LedgerHash(sha256(&[&named]));
        let forged = with_bytes(&with_bytes(&bundle, &results, &failed), &header, &named);
        set(&forged, "/above/anchor/hash", format!("\"{hash}\"").as_bytes())
    })
}

#[test]
fn a_fee_bump_that_failed_commits_to_nothing_whatever_its_inner_result_says() {
    assert_eq!(failed_bumps().map(|bundle| word(&bundle, None)), ["NO_INVOCATION", "INVOCATIONS"]);
}

#[test]
fn a_contracts_events_are_proved_whole_or_not_at_all() {
    let archive = archive();
    let bundle = archive.prove_all(contract(1), 0..1, 1);
    let ProofVerdict::Proved(proved) = check_proof(&bundle, None) else { panic!("the bundle is sound") };
    assert_eq!(proved.events.len(), 3);
    assert!(matches!(proved.claim, ProvedClaim::AllOfContract { .. }));
    let events: Vec<Vec<u8>> = (0..3).map(|at| part(&bundle, &format!("/events/{at}")).to_vec()).collect();
    let listing = |events: &[&[u8]]| set(&bundle, "/events", &[b"[", events.join(&b","[..]).as_slice(), b"]"].concat());
    let [a, b, c] = [&*events[0], &*events[1], &*events[2]];
    assert!(is_proved(&listing(&[a, b, c]), None));
    let other = archive.prove_all(contract(2), 0..1, 1);
    let foreign = part(&other, "/events/0");
    for list in [&[a, b][..], &[b, c], &[a, c], &[], &[a, a, b, c], &[a, b, c, c], &[b, a, c], &[a, foreign, b, c]] {
        assert_eq!(word(&listing(list), None), "LISTED");
    }
    let renamed = set(&bundle, "/contract_id", format!("\"{}\"", contract(2)).as_bytes());
    assert_eq!(word(&renamed, None), "LISTED");
    // Absence cannot be had by leaving an invocation out, nor by giving it another's events.
    let invocations: Vec<Vec<u8>> =
        (0..3).map(|at| part(&bundle, &format!("/ledgers/0/invocations/{at}")).to_vec()).collect();
    let [x, y, z] = [&*invocations[0], &*invocations[1], &*invocations[2]];
    let holding = |list: &[&[u8]]| {
        set(&bundle, "/ledgers/0/invocations", &[b"[", list.join(&b","[..]).as_slice(), b"]"].concat())
    };
    for list in [&[x, y][..], &[x, z], &[], &[x, y, z, z]] {
        assert_eq!(word(&holding(list), None), "INVOCATIONS");
    }
    assert_eq!(word(&holding(&[x, z, y]), None), "SUCCESS_HASH");
    assert_eq!(word(&holding(&[x, x, z]), None), "SUCCESS_HASH");
}

#[test]
fn a_bundle_is_of_its_own_network_alone() {
    let archive = archive();
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let last = archive.at(0).events.iter().rfind(|event| event.proof.is_proven()).unwrap();
    for bundle in [archive.prove(event, 1), archive.prove_all(contract(1), 0..2, 0)] {
        assert_eq!(word(&set(&bundle, "/network_passphrase", b"\"another\""), None), "TRANSACTION");
        let another = decoded(&archive.prove(last, 1), "/transaction");
        assert_eq!(word(&with_bytes(&bundle, "/transaction", &another), None), "TRANSACTION");
    }
    let all = archive.prove_all(contract(1), 0..2, 0);
    assert_eq!(word(&set(&all, "/transaction", b"null"), None), "TRANSACTION");
}

#[test]
fn events_in_front_of_the_committed_ones_are_of_protocol_23_alone() {
    let mut invocation = InvocationPlan::new(contract(1), vec![transfer(1, 5)]);
    invocation.reconciliation = vec![EventPlan::mint_with_admin(contract(9), [1; 32], [2; 32], "A", 5)];
    let plan = LedgerPlan::new(vec![TxPlan::invoking(invocation)]).of_protocol(23);
    let reconciled = Archive::planned(Format::V2Meta4, &[plan]);
    let event = reconciled.events(ProofClass::Committed).next().unwrap();
    assert_eq!(event.position.index(), 1);
    let bundle = reconciled.prove(event, 0);
    let ProofVerdict::Proved(proved) = check_proof(&bundle, None) else { panic!("the bundle is sound") };
    assert!(proved.events[0].index_is_the_sources);
    let without = set(&bundle, "/invocation/uncommitted_prefix", b"0");
    assert_eq!(word(&without, None), "NO_SUCH_EVENT");
    for (prefix, verdict) in [("257", "PREFIX"), ("4294967295", "PREFIX")] {
        assert_eq!(word(&set(&bundle, "/invocation/uncommitted_prefix", prefix.as_bytes()), None), verdict);
    }
    // What was put in front is no committed event, and nothing tells that it is none.
    let front = reconciled.events(ProofClass::Uncommitted).find(|event| event.position.stage() == Stage::Op).unwrap();
    assert_eq!(word(&reconciled.explain(front, true), None), "SAID_UNCOMMITTED");

    let archive = archive();
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let shifted = set(&archive.prove(event, 0), "/invocation/uncommitted_prefix", b"1");
    let shifted = claiming(&shifted, Position::op(first(), 2, 0, 1).unwrap());
    assert_eq!(word(&shifted, None), "PREFIX");
}

#[test]
fn no_committed_event_passes_for_an_uncommitted_one() {
    let archive = archive();
    let committed = archive.events(ProofClass::Committed).next().unwrap();
    let denied = Event { proof: ProofClass::Uncommitted, ..committed.clone() };
    assert_eq!(word(&archive.explain(&denied, true), None), "COMMITTED");
    let payment = archive.events(ProofClass::Uncommitted).find(|event| event.position.stage() == Stage::Op).unwrap();
    let bundle = archive.explain(payment, true);
    assert_eq!(word(&bundle, None), "NOT_COMMITTED");
    for (tx, operation) in [(1, 0), (4, 2), (5, 0)] {
        let place = Position::op(first(), tx, operation, 0).unwrap();
        let verdict = word(&claiming(&bundle, place), None);
        assert_eq!(verdict, "NO_SUCH_EVENT", "{place}: the evidence is of transaction 4, with two operations");
    }
    assert_eq!(word(&set(&bundle, "/class", b"\"unverified\""), None), "NOT_CANONICAL");
}

#[test]
fn fees_that_do_not_sum_to_the_charge_are_refuted() {
    let archive = archive();
    let fee = archive.events(ProofClass::Uncommitted).find(|event| event.tx_order == 2).unwrap();
    let bundle = archive.explain(fee, true);
    assert_eq!(word(&bundle, None), "NOT_COMMITTED");
    let [charge, refund] = [0, 1].map(|at| part(&bundle, &format!("/evidence/fee_events/{at}")).to_vec());
    let fees =
        |list: &[&[u8]]| set(&bundle, "/evidence/fee_events", &[b"[", list.join(&b","[..]).as_slice(), b"]"].concat());
    for list in [&[&*charge][..], &[&*refund], &[&*charge, &*charge, &*refund], &[&*refund, &*charge]] {
        assert_eq!(word(&fees(list), None), "FEES");
    }
    assert_eq!(word(&set(&bundle, "/evidence/tx_order", b"4"), None), "FEES");
    assert_eq!(word(&set(&bundle, "/evidence/tx_order", b"9"), None), "NO_SUCH_EVENT");
    assert_eq!(word(&set(&bundle, "/network_passphrase", b"\"another\""), None), "FEES");
    assert_eq!(word(&bundle, Some((first(), LedgerHash([1; 32])))), "ANCHOR_CONTRADICTED");
}

#[test]
fn a_bundle_has_one_text() {
    let archive = archive();
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let bundle = archive.prove(event, 1);
    let text = String::from_utf8(bundle.clone()).unwrap();
    let hash = archive.name(1).1.to_string();
    let kind = "\"kind\":\"event\"";
    let same_content = [
        text.replace(':', ": "),
        format!("{text}\n"),
        format!(" {text}"),
        format!("\u{feff}{text}"),
        text.replace(kind, &format!("{kind},{kind}")),
        text.replace(kind, &format!("{kind},\"more\":1")),
        text.replace(kind, "\"kind\":\"\\u0065vent\""),
        text.replace(&hash, &hash.to_uppercase()),
        text.replace("\"pre_image\":\"", "\"pre_image\":\"00000"),
        text.replace("\"uncommitted_prefix\":0", "\"uncommitted_prefix\":0.0"),
        text.replace("\"uncommitted_prefix\":0", "\"uncommitted_prefix\":-0"),
        text.replace("\"uncommitted_prefix\":0", "\"uncommitted_prefix\":0e0"),
        text.replace(",\"unreached\":null", ""),
        text.replace("\"rewritten_xdr\":null,", ""),
        text.replace("network", "\\u006eetwork"),
    ];
    for changed in same_content {
        assert!(changed != text, "the change finds its place");
        assert!(!is_proved(changed.as_bytes(), None), "{changed}");
    }
    let other_order = {
        let event = part(&bundle, "/event").to_vec();
        let [id, xdr] =
            ["/event/id", "/event/event_xdr"].map(|path| String::from_utf8(part(&bundle, path).to_vec()).unwrap());
        let swapped = format!("{{\"event_xdr\":{xdr},\"id\":{id}}}");
        assert_eq!(swapped.len(), event.len());
        replaced(&bundle, range(&bundle, "/event"), swapped.as_bytes())
    };
    assert_eq!(word(&other_order, None), "NOT_CANONICAL");
}

#[test]
fn a_bundle_holds_no_more_headers_and_ledgers_than_the_format_allows() {
    let event = TxPlan::invocation(contract(1), vec![transfer(1, 5)]);
    let mut plans = vec![LedgerPlan::new(vec![event])];
    plans.extend((0..66).map(|_| LedgerPlan::new(vec![])));
    let archive = Archive::planned(Format::V2Meta4, &plans);
    let event = archive.events(ProofClass::Committed).next().unwrap();
    let whole = archive.prove(event, HEADERS_ABOVE_MAX);
    assert!(is_proved(&whole, Some(archive.name(64))));
    let headers = part(&whole, "/above/headers").to_vec();
    let one_more = [&headers[..headers.len() - 1], b",", &quoted(&archive.at(65).header_xdr), b"]"].concat();
    let longer = set(&whole, "/above/headers", &one_more);
    assert_eq!(word(&longer, None), "COUNT");
    let all = archive.prove_all(contract(1), 0..64, 3);
    assert!(is_proved(&all, None));
    let ledgers = part(&all, "/ledgers").to_vec();
    assert_eq!(word(&set(&all, "/ledgers", b"[]"), None), "COUNT");
    let last = part(&all, "/ledgers/63").to_vec();
    let one_more = [&ledgers[..ledgers.len() - 1], b",", &last, b"]"].concat();
    assert_eq!(word(&set(&all, "/ledgers", &one_more), None), "COUNT");
}
