//! Several endpoints, and how often each is asked.

use std::time::Duration;

use annals::source::SourceError;
use annals_sim::{Misbehaviour, Script, When};

use super::bench::{Client, network, node, on, requests_of};

fn all(from: u32, to: u32) -> (Vec<u32>, Vec<String>) {
    ((from..=to).collect(), Vec::new())
}

/// A loopback address at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn h4_what_the_node_asks_for_is_waited_for_and_its_outage_is_survived_with_few_requests() {
    let network = network(1, 40);
    let node = node(&network);
    let get_ledgers = || When::method("getLedgers");
    node.play(
        on(get_ledgers().call(1), Misbehaviour::too_many_requests(Some(2)))
            .on(get_ledgers().call(2), Misbehaviour::unavailable(None))
            .on(get_ledgers().calls(3..=7), Misbehaviour::over_limit()),
    );
    let client = Client::of(&[&node]);
    assert_eq!(client.read(100, 139), all(100, 139));
    let slept = client.clock.slept();
    assert_eq!((slept.len(), slept[0]), (7, Duration::from_secs(2)));
    assert!(slept.iter().all(|wait| *wait >= Duration::from_millis(250) && *wait <= Duration::from_secs(60)));
    assert!(slept[1..].is_sorted(), "waits grow: {slept:?}");
    let limits: Vec<u64> = requests_of(&node, "getLedgers")
        .iter()
        .map(|page| page.params["pagination"]["limit"].as_u64().unwrap())
        .collect();
    assert!(limits.iter().all(|limit| *limit >= 1));
    assert!(limits.iter().skip(10).any(|limit| *limit > 4), "the page grew again: {limits:?}");
}

#[test]
fn h4_an_outage_without_end_ends_the_reading_with_a_listed_gap() {
    let network = network(2, 40);
    let node = node(&network);
    for what in [Misbehaviour::unavailable(None), Misbehaviour::Reset, Misbehaviour::over_limit()] {
        node.play(on(When::method("getLedgers").from_call(3..), what.clone()));
        let client = Client::of(&[&node]);
        let before = node.requests().len();
        let (ledgers, faults) = client.read(100, 139);
        assert_eq!(ledgers, (100..=111).collect::<Vec<_>>(), "{what:?}");
        assert!(faults.last().unwrap().ends_with("-139 NOT_SERVED"), "{faults:?}");
        assert!(node.requests().len() - before < 60, "{what:?}");
        let minutes = client.clock.slept().iter().sum::<Duration>().as_secs() / 60;
        assert!(minutes <= 8, "{what:?}: {minutes} minutes");
    }
}

#[test]
fn h4_one_endpoint_that_fails_stops_nothing_and_is_asked_again_in_its_time() {
    let network = network(3, 300);
    let (failing, serving) = (node(&network), node(&network));
    for what in [
        Misbehaviour::unavailable(None),
        Misbehaviour::plain(401, None, ""),
        Misbehaviour::no_such_method("getLedgers"),
    ] {
        failing.play(on(When::method("getLedgers"), what.clone()));
        let before = failing.requests().len();
        let client = Client::of(&[&failing, &serving]);
        assert_eq!(client.read(100, 399), all(100, 399), "{what:?}");
        let asked = failing.requests()[before..].iter().filter(|request| request.method == "getLedgers").count();
        assert_eq!(asked, 1, "{what:?}: set aside, for a while that does not pass here");
        assert!(client.clock.slept().is_empty(), "{what:?}: the other serves meanwhile");
    }
    failing.play(on(When::method("getLedgers").call(1), Misbehaviour::unavailable(None)));
    let client = Client::of(&[&failing, &serving]);
    assert_eq!(client.read(100, 110), all(100, 110));
    annals::clock::Clock::sleep(client.clock.as_ref(), Duration::from_secs(60));
    let before = requests_of(&failing, "getLedgers").len();
    assert_eq!(client.read(100, 110), all(100, 110));
    assert_eq!(requests_of(&failing, "getLedgers").len(), before + 2, "the first in order serves again");
}

#[test]
fn an_endpoint_that_is_down_at_the_start_serves_once_it_is_up_and_of_another_network_never() {
    let (network, other) = (network(4, 40), super::bench::network(5, 40));
    let (late, serving, foreign) = (node(&network), node(&network), node(&other));
    late.play(on(When::always().call(1), Misbehaviour::unavailable(None)));
    let client = Client::of(&[&late, &serving]);
    annals::clock::Clock::sleep(client.clock.as_ref(), Duration::from_secs(60));
    assert_eq!(client.read(100, 139), all(100, 139));
    assert!(requests_of(&serving, "getLedgers").is_empty());

    foreign.play(
        on(When::method("getNetwork").call(1), Misbehaviour::unavailable(None))
            .on(When::method("getNetwork"), Misbehaviour::Passphrase("Another Network".to_owned())),
    );
    let client = Client::of(&[&foreign, &serving]);
    annals::clock::Clock::sleep(client.clock.as_ref(), Duration::from_secs(60));
    assert_eq!(client.read(100, 139), all(100, 139));
    assert!(requests_of(&foreign, "getLedgers").is_empty());
}

#[test]
fn endpoints_of_two_networks_are_refused() {
    let network = network(6, 5);
    let (one, two) = (node(&network), node(&network));
    two.play(on(When::always(), Misbehaviour::Passphrase("Another Network".to_owned())));
    let refusal = Client::try_of(&[one.url(), two.url()]).err().unwrap();
    assert!(matches!(refusal, SourceError::NetworksDiffer { .. }));
    let sentence = refusal.to_string();
    assert!(sentence.contains("Annals Simulated Network") && sentence.contains("Another Network"), "{sentence}");
}

#[test]
fn what_is_no_endpoint_is_refused_at_the_start_with_a_code_for_what_to_do() {
    let network = network(7, 5);
    let node = node(&network);
    for (what, code) in [
        (Misbehaviour::html(), "NOT_AN_RPC"),
        (Misbehaviour::plain(404, None, "not found"), "NOT_AN_RPC"),
        (Misbehaviour::plain(405, None, "method not allowed"), "NOT_AN_RPC"),
        (Misbehaviour::plain(301, None, ""), "NOT_AN_RPC"),
        (Misbehaviour::plain(200, None, "{\"_links\":{}}"), "NOT_AN_RPC"),
        (Misbehaviour::plain(200, None, "hello"), "NOT_AN_RPC"),
        (Misbehaviour::no_such_method("getNetwork"), "NOT_AN_RPC"),
        (Misbehaviour::plain(401, None, ""), "ENDPOINT_REFUSES"),
        (Misbehaviour::plain(403, None, ""), "ENDPOINT_REFUSES"),
        (Misbehaviour::unavailable(None), "ENDPOINT_UNAVAILABLE"),
        (Misbehaviour::too_many_requests(None), "ENDPOINT_UNAVAILABLE"),
    ] {
        node.play(on(When::always(), what.clone()));
        let refusal = Client::try_of(&[node.url()]).err().unwrap();
        assert_eq!(refusal.code(), code, "{what:?}: {refusal}");
    }
    let refusal = Client::try_of(&[nobody()]).err().unwrap();
    assert_eq!(refusal.code(), "ENDPOINT_UNREACHABLE");
    node.play(Script::new());
    let client = Client::try_of(&[nobody(), node.url()]).unwrap();
    assert_eq!(client.read(100, 104), all(100, 104));
}

#[test]
fn nothing_secret_in_an_address_is_told() {
    let network = network(8, 5);
    let node = node(&network);
    let url = node.url().replace("http://", "http://user:hidden@") + "/rpc/5f4dcc3b5aa765d61d8327deb882cf99?key=hidden";
    node.play(on(When::method("getLedgers"), Misbehaviour::unavailable(None)));
    let client = Client::try_of(&[url]).unwrap();
    let fault = client.first_fault(100, 104);
    let name = annals::source::LedgerSource::name(&client.source);
    let told = format!("{name} {fault} {:?} {:?}", fault, client.source);
    assert!(!told.contains("hidden") && !told.contains("5f4dcc3b") && name.ends_with("/rpc/…"), "{told}");
}
