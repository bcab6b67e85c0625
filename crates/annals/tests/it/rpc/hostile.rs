//! What endpoints must not be able to do.

use annals_sim::{Misbehaviour, RpcOptions, RpcServer, When};
use serde_json::json;

use super::bench::{Client, fill, network, node, on};
use crate::fill::bench::seq;

/// An error's sentence and those of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn an_operators_bound_of_pages_is_found_and_nothing_is_lost_to_it() {
    let network = network(1, 60);
    let options = RpcOptions { ledgers_max: 10, ..RpcOptions::default() };
    let node = RpcServer::start(network.ledgers(), options).unwrap();
    let client = Client::of(&[&node]);
    assert_eq!(client.read(100, 159), ((100..=159).collect(), Vec::new()));
    assert!(client.clock.slept().len() <= 4, "{:?}", client.clock.slept());
}

#[test]
fn what_one_endpoint_does_not_keep_ends_nobody_elses_history() {
    let network = network(2, 60);
    let (pruned, whole) = (node(&network), node(&network));
    pruned.play(on(When::always(), Misbehaviour::OldestLedger(seq(150))));
    let bad = |from: u32, to: u32| {
        Misbehaviour::edit_result(move |result| {
            for ledger in result["ledgers"].as_array_mut().unwrap() {
                if (from..=to).contains(&u32::try_from(ledger["sequence"].as_u64().unwrap()).unwrap()) {
                    ledger["metadataXdr"] = json!("?");
                }
            }
        })
    };
    whole.play(on(When::method("getLedgers"), bad(110, 110)));
    let (ledgers, faults) = Client::of(&[&pruned, &whole]).read(100, 159);
    assert_eq!(faults, ["110 NOT_SERVED"]);
    assert_eq!(ledgers, (100..=109).chain(111..=159).collect::<Vec<_>>());
    whole.play(on(When::method("getLedgers"), bad(110, 159)));
    let (ledgers, faults) = Client::of(&[&pruned, &whole]).read(100, 159);
    assert_eq!(faults, ["110 NOT_SERVED", "111 NOT_SERVED", "112-149 NOT_SERVED"]);
    assert_eq!(ledgers, (100..=109).chain(150..=159).collect::<Vec<_>>());
}

#[test]
fn a_page_of_more_than_was_asked_for_is_taken_no_further() {
    let network = network(3, 20);
    let node = node(&network);
    let more = Misbehaviour::edit_result(|result| {
        let ledgers = result["ledgers"].as_array_mut().unwrap();
        let last = ledgers.last().unwrap()["sequence"].as_u64().unwrap();
        ledgers.extend((1..10_000).map(|number| json!({"sequence": last + number, "metadataXdr": ""})));
    });
    node.play(on(When::method("getLedgers"), more));
    assert_eq!(Client::of(&[&node]).read(100, 119), ((100..=119).collect(), Vec::new()));
}

#[test]
fn an_answer_that_holds_no_ledger_is_short() {
    let network = network(4, 5);
    let node = node(&network);
    let long = Misbehaviour::edit_result(|result| result["more"] = json!("x".repeat(1 << 20)));
    for method in ["getNetwork", "getHealth"] {
        node.play(on(When::method(method), long.clone()));
        let told = match Client::try_of(&[node.url()]) {
            Err(refusal) => chain(&refusal),
            Ok(client) => chain(&client.first_fault(100, 104)),
        };
        assert!(told.contains(&format!("{method}: it answered with more than 65536 bytes")), "{told}");
    }
}

#[test]
fn a_network_is_named_by_a_short_line_of_text_or_not_at_all() {
    let network = network(5, 5);
    let node = node(&network);
    for claimed in ["x".repeat(201), "calm\u{1b}[2J".to_owned(), "one\nerror: two".to_owned()] {
        node.play(on(When::method("getNetwork"), Misbehaviour::Passphrase(claimed.clone())));
        let refusal = Client::try_of(&[node.url()]).err().unwrap();
        assert_eq!(refusal.code(), "NOT_AN_RPC");
        let told = chain(&refusal);
        assert!(!told.contains(&claimed) && !told.contains(char::is_control) && told.len() < 1_000, "{told}");
    }
}

#[test]
fn what_a_server_says_is_told_in_part_once_and_without_the_secrets_it_was_asked_with() {
    let network = network(6, 5);
    let node = node(&network);
    let key = "5f4dcc3b5aa765d61d8327deb882cf99";
    let url =
        node.url().replace("http://", "http://user:hid%64en@") + &format!("/rpc/{key}?key=hidden&more=alsohidden");
    let basic = "dXNlcjpoaWQlNjRlbg==";
    let words = format!("no /rpc/{key}?key=hidden&more=alsohidden hidden alsohidden user:hid%64en {basic}\u{1b}[2J");
    let (words, late) = (words.clone(), "-".repeat(190) + key);
    for what in [
        Misbehaviour::error(-32603, &words),
        Misbehaviour::error(-32603, &late),
        Misbehaviour::error(-32601, &words),
        Misbehaviour::edit_result({
            let words = words.clone() + &"x".repeat(1 << 20);
            move |result| result["ledgers"] = json!(words)
        }),
        Misbehaviour::plain(200, None, &words),
        Misbehaviour::plain(404, None, &json!({"error": {"code": -32601, "message": words}}).to_string()),
    ] {
        node.play(on(When::method("getLedgers"), what.clone()));
        let (bench, summary) = fill(&network, &Client::try_of(std::slice::from_ref(&url)).unwrap(), 100, 104);
        let message = &summary.failures[0].message;
        drop(bench);
        for secret in ["hidden", "hid%64en", &key[..8], basic, "\u{1b}"] {
            assert!(!message.contains(secret), "{secret}: {message}");
        }
        assert!(message.len() < 600, "{message}");
        let parts: Vec<&str> = message.split(": ").collect();
        assert!(parts.windows(2).all(|pair| pair[0] != pair[1]), "{message}");
    }
}
