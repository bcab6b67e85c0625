//! An envelope that cannot be had, or is not the transaction's, costs payloads and no event; asking again mends it.

use annals_core::registry::Payload;
use annals_core::{Network, check_ledger};
use annals_sim::{Misbehaviour, Script, When};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{LAST, declared, events_alone, holds_every_event, life, payloads, states, verifies};
use crate::fill::bench::{PASSPHRASE, seq};
use crate::rpc::bench::{on, requests_of};

fn asked() -> When {
    When::method("getTransaction")
}

/// The envelope of the answer as other bytes.
fn envelope(edit: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Misbehaviour {
    Misbehaviour::edit_result(move |result| {
        let mut xdr = STANDARD.decode(result["envelopeXdr"].as_str().unwrap()).unwrap();
        edit(&mut xdr);
        result["envelopeXdr"] = json!(STANDARD.encode(xdr));
    })
}

fn answer(key: &'static str, value: Value) -> Misbehaviour {
    Misbehaviour::edit_result(move |result| result[key] = value.clone())
}

#[test]
fn an_envelope_that_is_not_the_transactions_is_told_and_not_stored() {
    let life = life(7);
    let all = u64::try_from(life.leaving_out).unwrap();
    let others = life.ledgers.iter().find_map(|ledger| {
        let checked = check_ledger(&ledger.xdr, &Network::new(PASSPHRASE)).unwrap();
        // The first of all, which sets the token up and leaves nothing out.
        checked.proof.invocations.first().map(|first| first.envelope_xdr.clone())
    });
    let others = others.unwrap();
    let node = life.node();
    for (what, how) in [
        ("altered", envelope(|xdr| xdr[60] ^= 1)),
        ("cut", envelope(|xdr| xdr.truncate(xdr.len() - 4))),
        ("longer", envelope(|xdr| xdr.extend([0; 4]))),
        ("empty", envelope(Vec::clear)),
        ("another's", envelope(move |xdr| xdr.clone_from(&others))),
        ("no base64", answer("envelopeXdr", json!("?"))),
    ] {
        node.play(on(asked(), how));
        let before = requests_of(&node, "getTransaction").len();
        let bench = declared(life.token);
        let summary = events_alone(&bench, &[&node]);
        holds_every_event(&life, &bench, &summary);
        assert_eq!((summary.envelopes_lacking, summary.wrong_envelopes), (all, all), "{what}");
        assert!(summary.contradicts_chain(), "{what}");
        assert_eq!(states(&payloads(&bench)), "not_applicable pending", "{what}");
        assert_eq!(requests_of(&node, "getTransaction").len() - before, life.leaving_out, "{what}: once each");
        verifies(&bench);

        node.play(Script::new());
        let summary = events_alone(&bench, &[&node]);
        holds_every_event(&life, &bench, &summary);
        assert_eq!((summary.envelopes_fetched, summary.wrong_envelopes), (all, 0), "{what}");
        assert!(payloads(&bench) == life.truth, "{what}");
    }
}

#[test]
fn another_endpoint_is_asked_for_what_one_lacks_or_gives_wrong() {
    let life = life(8);
    let (first, second) = (life.node(), life.node());
    for how in [
        envelope(|xdr| xdr[60] ^= 1),
        answer("status", json!("NOT_FOUND")),
        Misbehaviour::no_such_method("getTransaction"),
        Misbehaviour::plain(403, None, "not on this plan"),
        Misbehaviour::unavailable(None),
    ] {
        first.play(on(asked(), how.clone()));
        let bench = declared(life.token);
        let summary = events_alone(&bench, &[&first, &second]);
        holds_every_event(&life, &bench, &summary);
        assert_eq!((summary.envelopes_lacking, summary.contradicts_chain()), (0, false), "{how:?}");
        assert!(payloads(&bench) == life.truth, "{how:?}");
    }
}

#[test]
fn b1_what_the_endpoint_keeps_no_more_stays_pending_and_is_counted() {
    let life = life(9);
    let node = life.node();
    let bench = declared(life.token);
    node.play(on(asked(), Misbehaviour::OldestLedger(seq(20))));
    let summary = events_alone(&bench, &[&node]);
    holds_every_event(&life, &bench, &summary);
    assert!(summary.envelopes_lacking > 0 && summary.envelopes_fetched > 0, "{summary:?}");
    assert!(!summary.contradicts_chain());
    for ((position, held), (_, truth)) in payloads(&bench).iter().zip(&life.truth) {
        let is_lost = position.ledger() < seq(20) && *truth != Payload::NotApplicable;
        assert_eq!(held, if is_lost { &Payload::Pending } else { truth }, "{position}");
    }
    let requests = requests_of(&node, "getTransaction").len() as u64;
    assert_eq!(requests, summary.envelopes_fetched + 1, "what lies below is not asked for one by one");
    let again = events_alone(&bench, &[&node]);
    assert_eq!((again.envelopes_fetched, again.envelopes_lacking), (0, summary.envelopes_lacking));

    for (key, nothing) in [("status", json!("NOT_FOUND")), ("status", json!("DUPLICATE")), ("envelopeXdr", Value::Null)]
    {
        node.play(on(asked(), answer(key, nothing)));
        let summary = events_alone(&declared(life.token), &[&node]);
        assert_eq!(summary.envelopes_lacking, life.leaving_out as u64, "{summary:?}");
        assert!(!summary.contradicts_chain());
    }
}

#[test]
fn h1_what_comes_in_the_place_of_an_answer_is_asked_for_again() {
    let life = life(10);
    let node = life.node();
    for what in [
        Misbehaviour::too_many_requests(Some(1)),
        Misbehaviour::unavailable(None),
        Misbehaviour::html(),
        Misbehaviour::Truncated { bytes: 300 },
        Misbehaviour::Reset,
        Misbehaviour::OtherId,
        Misbehaviour::null_result(),
        Misbehaviour::empty_result(),
        Misbehaviour::error(-32603, "internal error"),
        Misbehaviour::Behind(LAST),
    ] {
        node.play(on(asked().every(40, 3), what.clone()));
        let bench = declared(life.token);
        let summary = events_alone(&bench, &[&node]);
        holds_every_event(&life, &bench, &summary);
        assert_eq!(summary.envelopes_lacking, 0, "{what:?}");
        assert!(payloads(&bench) == life.truth, "{what:?}");
    }
}

#[test]
fn an_endpoint_that_breaks_at_one_transaction_is_asked_for_the_others() {
    let life = life(12);
    let node = life.node();
    // As often as one transaction is asked for.
    node.play(on(asked().calls(1..=8), Misbehaviour::plain(500, None, "internal error")));
    let bench = declared(life.token);
    let summary = events_alone(&bench, &[&node]);
    holds_every_event(&life, &bench, &summary);
    assert_eq!((summary.envelopes_lacking, summary.envelopes_fetched), (1, life.leaving_out as u64 - 1));
    assert_eq!(events_alone(&bench, &[&node]).envelopes_lacking, 0, "the same command again has it");
    assert!(payloads(&bench) == life.truth);
}

#[test]
fn an_endpoint_that_gives_no_transaction_at_all_is_soon_asked_no_more_and_gives_events() {
    let life = life(11);
    let node = life.node();
    for (how, requests) in [
        (Misbehaviour::no_such_method("getTransaction"), 1),
        (Misbehaviour::plain(403, None, "not on this plan"), 1),
        (Misbehaviour::too_many_requests(Some(5)), 8),
        (Misbehaviour::error(-32603, "internal error"), 24),
    ] {
        // The first window is too much, so that events are still to be scanned when the first transaction is asked for.
        let too_much = When::method("getEvents").call(1);
        node.play(on(asked(), how.clone()).on(too_much, Misbehaviour::over_limit()));
        let before = requests_of(&node, "getTransaction").len();
        let bench = declared(life.token);
        let summary = events_alone(&bench, &[&node]);
        holds_every_event(&life, &bench, &summary);
        assert_eq!(summary.envelopes_lacking, life.leaving_out as u64, "{how:?}");
        assert!(!summary.contradicts_chain(), "{how:?}");
        assert_eq!(requests_of(&node, "getTransaction").len() - before, requests, "{how:?}");
    }
}
