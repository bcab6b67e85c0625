//! What a wallet needs: its checkpoint, where to replay from, the events since, and what their invocations carry.

use annals_core::Position;
use annals_sim::{LedgerPlan, TokenModel, TokenVersion, TxPlan, Wallet, WalletEvent, value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stellar_xdr::ScAddress;

use super::archive::Archive;
use super::server::Served;
use super::token::{END, LIFE, ORIGIN, UPGRADE, chain_of, life, path, strkey};

fn decoded(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

fn position(event: &Value) -> Position {
    event["id"].as_str().unwrap().parse().unwrap()
}

/// An answered event as a wallet reads it.
fn wallet_event(event: &Value) -> WalletEvent {
    let topics: Vec<Vec<u8>> = event["topics_xdr"].as_array().unwrap().iter().map(decoded).collect();
    let payload = event["payload_xdr"].is_string().then(|| decoded(&event["payload_xdr"]));
    WalletEvent::read(position(event), &topics, &decoded(&event["data_xdr"]), payload).unwrap()
}

/// The account's events in some ledgers, all pages together; each must be complete.
fn history(account: &ScAddress, from: u32, to: u32) -> Vec<WalletEvent> {
    let base = path(LIFE.token(), account, "events");
    let mut events = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let more = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let page = life().get(&format!("{base}?from_ledger={from}&to_ledger={to}&limit=50{more}")).answers();
        assert_eq!(page["complete"], true, "{page}");
        events.extend(page["events"].as_array().unwrap().iter().map(wallet_event));
        match page["cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return events,
        }
    }
}

#[test]
fn from_checkpoint_replay_window_and_events_every_wallet_finds_its_openings_again() {
    let (mut anchored, mut opened) = (0, 0);
    for (built, ledger) in LIFE.built.iter().zip(&LIFE.ledgers) {
        let seq = built.seq.get();
        if seq % 4 != 3 && seq != END && seq != UPGRADE {
            continue;
        }
        for (account, truth) in &ledger.openings {
            let at = |route: &str| {
                let answer = life().get(&format!("{}?at_ledger={seq}", path(LIFE.token(), account, route))).answers();
                assert_eq!((&answer["complete"], &answer["to_ledger"]), (&json!(true), &json!(seq)), "{answer}");
                answer
            };
            let (checkpoint, window) = (at("checkpoint"), at("replay-window"));
            assert_eq!(checkpoint["event"], window["checkpoint"]);
            let wallet = Wallet::new(LIFE.traffic.keys(account).unwrap());
            let t0 = &window["t0"];
            assert_eq!(window["from_ledger"], t0["ledger_seq"]);
            assert_eq!(window["t0_anchor"], t0["event_type"]);
            let events = history(account, u32::try_from(t0["ledger_seq"].as_u64().unwrap()).unwrap(), seq);
            let own = checkpoint["event"].is_object().then(|| wallet_event(&checkpoint["event"]));
            if own.is_some() {
                assert_eq!(checkpoint["from_ledger"], checkpoint["event"]["ledger_seq"]);
                anchored += 1;
            } else {
                assert_eq!((&checkpoint["from_ledger"], &window["t0_anchor"]), (&json!(ORIGIN), &json!("register")));
                opened += 1;
            }
            let found = wallet.recover(own.as_ref(), position(t0), &events);
            assert_eq!(found.as_ref(), Ok(truth), "{} at {seq}", strkey(account));
        }
    }
    assert!(anchored > 20 && opened > 5, "{anchored} {opened}");
}

/// Four people, and what is done to them in the ledgers of an archive: one transaction a call, a list of calls a ledger.
struct Small {
    archive: Archive,
    served: Served,
    token: TokenModel,
}

const ALICE: u32 = 1;
const BOB: u32 = 2;
const SPENDER: u32 = 3;

fn person(number: u32) -> ScAddress {
    value::account_party(value::account(number))
}

/// Alice merges, sends to Bob, lets a spender spend for her, sends to herself, and merges again in the same ledger.
fn small() -> Small {
    let mut token = TokenModel::new(7, value::contract(1), TokenVersion::July);
    let [alice, bob, spender] = [ALICE, BOB, SPENDER].map(person);
    let calls = [
        vec![token.register(&alice, 0), token.register(&bob, 0), token.register(&spender, 0)],
        vec![token.deposit(&alice, &alice, 500), token.merge(&alice)],
        vec![token.transfer(&alice, &bob, 10), token.set_spender(&alice, &spender, 9000, 50)],
        vec![token.spender_transfer(&spender, &alice, &bob, 20)],
        vec![token.transfer(&alice, &alice, 5), token.merge(&alice)],
    ];
    let plan = |calls: &Vec<annals_sim::TokenCall>| {
        LedgerPlan::new(calls.iter().map(|call| TxPlan::invoking(call.invocation())).collect())
    };
    let archive = Archive::of_chain(&chain_of(&calls.iter().map(plan).collect::<Vec<_>>()));
    archive.fill(&format!("{ORIGIN}:{}", ORIGIN + 4), &[]);
    let said = ["--schema", "confidential-token@july-2026", "--origin", &ORIGIN.to_string(), "--kind", "wasm"];
    archive.declare(token.contract(), &said).ends_with(0);
    archive.reattribute(&[]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    Small { archive, served, token }
}

#[test]
fn a_recipient_or_spender_is_never_handed_the_owners_checkpoint() {
    let small = small();
    let checkpoint = |number: u32, at: u32| {
        let path = path(small.token.contract(), &person(number), "checkpoint");
        small.served.get(&format!("{path}?at_ledger={}", ORIGIN + at)).answers()
    };
    for (number, roles) in [(BOB, "to"), (SPENDER, "spender")] {
        let answer = checkpoint(number, 4);
        assert_eq!((&answer["event"], &answer["complete"]), (&Value::Null, &json!(true)), "{roles}");
        assert_eq!((&answer["from_ledger"], &answer["to_ledger"]), (&json!(ORIGIN), &json!(ORIGIN + 4)));
        let events = small.served.get(&path(small.token.contract(), &person(number), "events")).answers();
        let held = events["events"].as_array().unwrap();
        assert!(held.iter().any(|event| event["roles"] == json!([roles])), "{events}");
    }
    assert_eq!(checkpoint(ALICE, 1)["event"], Value::Null);
    assert_eq!(checkpoint(ALICE, 2)["event"]["event_type"], "set_spender");
    assert_eq!(checkpoint(ALICE, 3)["event"]["event_type"], "set_spender", "a delegated spend is no checkpoint");
    let own = checkpoint(ALICE, 4);
    assert_eq!((&own["event"]["event_type"], &own["event"]["roles"]), (&json!("transfer"), &json!(["from", "to"])));
    assert_eq!(own["from_ledger"], ORIGIN + 4);
}

#[test]
fn a_merge_later_in_the_checkpoints_own_ledger_is_not_t0() {
    let small = small();
    let answer = small.served.get(&path(small.token.contract(), &person(ALICE), "replay-window")).answers();
    assert_eq!((&answer["t0_anchor"], &answer["t0"]["ledger_seq"]), (&json!("merge"), &json!(ORIGIN + 1)));
    assert_eq!(answer["checkpoint"]["ledger_seq"], ORIGIN + 4);
    assert_eq!((&answer["from_ledger"], &answer["complete"]), (&json!(ORIGIN + 1), &json!(true)));
    let bob = small.served.get(&path(small.token.contract(), &person(BOB), "replay-window")).answers();
    assert_eq!((&bob["t0_anchor"], &bob["checkpoint"]), (&json!("register"), &Value::Null));
    let nobody = small.served.get(&path(small.token.contract(), &person(99), "replay-window")).answers();
    assert_eq!((&nobody["t0"], &nobody["t0_anchor"], &nobody["complete"]), (&Value::Null, &Value::Null, &json!(true)));
    assert!(small.archive.path().exists());
}

#[test]
fn every_answer_and_the_export_say_what_an_events_invocation_carries() {
    use annals_sim::Payload;
    let hidden = super::token::Life::of(
        annals_sim::TokenTraffic::deployed(5, &super::token::network(), TokenVersion::July).with_hidden_transfers(),
        15,
        |_, _| {},
    );
    let archive = hidden.archive(ORIGIN + 14);
    let served = Served::over(&archive.data_dir(), &[]);
    let exported = crate::binary::export(&archive.data_dir()).ends_with(0);
    let lines: std::collections::BTreeMap<String, Value> = exported
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["id"].as_str().unwrap().to_owned(), line))
        .collect();
    let mut states = std::collections::BTreeSet::new();
    for (built, ledger) in hidden.built.iter().zip(&hidden.ledgers) {
        for event in &ledger.events {
            let id = event.position(built.seq).to_string();
            let (xdr, state) = match &event.payload {
                Payload::NotApplicable => (Value::Null, "not_applicable"),
                Payload::Unavailable => (Value::Null, "unavailable"),
                Payload::Carried(payload) => (json!(STANDARD.encode(payload)), "present"),
            };
            states.insert(state);
            let found = served.get(&format!("/v1/events/{id}")).answers();
            assert_eq!((&found["payload_xdr"], &found["payload_state"]), (&xdr, &json!(state)), "{id}");
            assert_eq!(lines[&id], found);
            for (_, account) in &event.parties {
                let seq = built.seq;
                let query = format!("{}?from_ledger={seq}&to_ledger={seq}", path(hidden.token(), account, "events"));
                let page = served.get(&query).answers();
                let own = page["events"].as_array().unwrap().iter().find(|own| own["id"] == id.as_str()).unwrap();
                let roles: Vec<&str> =
                    event.parties.iter().filter(|(_, party)| party == account).map(|(role, _)| *role).collect();
                let mut expected = found.clone();
                expected["roles"] = json!(roles);
                assert_eq!(*own, expected);
            }
        }
    }
    assert_eq!(states.len(), 3, "{states:?}");
}
