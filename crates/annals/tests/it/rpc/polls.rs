//! What comes next, asked for once.

use std::time::Duration;

use annals::clock::Clock as _;
use annals::source::{Poll, TipSource as _};
use annals_sim::{Misbehaviour, Script, SimNetwork, When};

use super::bench::{Client, network, node, on, requests_of};
use crate::fill::bench::seq;

/// What one asking came to, in a word.
fn poll(client: &Client, next: u32) -> String {
    match client.source.poll(seq(next), 10) {
        Poll::Ledgers(objects, tip) => format!("{} of {}", objects.len(), tip.latest),
        Poll::AtTip(tip) => format!("tip {}", tip.latest),
        Poll::BelowRetention { oldest } => format!("oldest {oldest}"),
        Poll::LeftOut { next } => format!("left out up to {next}"),
        Poll::NotServed { retry_after, .. } => format!("not served, {}", !retry_after.is_zero()),
    }
}

fn network_of(ledgers: u32) -> SimNetwork {
    network(1, ledgers)
}

#[test]
fn an_asking_says_what_there_is_and_never_sleeps() {
    let network = network_of(20);
    let node = node(&network);
    let client = Client::of(&[&node]);
    assert_eq!([poll(&client, 115), poll(&client, 119), poll(&client, 120)], ["4 of 119", "1 of 119", "tip 119"]);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(110))));
    assert_eq!(poll(&client, 105), "oldest 110");
    node.play(on(When::always(), Misbehaviour::OmitLedgers(crate::fill::bench::range(115, 116))));
    assert_eq!(poll(&client, 115), "left out up to 117");
    node.play(on(When::always(), Misbehaviour::unavailable(None)));
    assert_eq!([poll(&client, 115), poll(&client, 115)], ["not served, true", "not served, true"]);
    assert_eq!(node.requests().iter().filter(|seen| seen.misbehaved && seen.method == "getLedgers").count(), 3);
    assert!(client.clock.slept().is_empty());
}

#[test]
fn h4_what_one_part_of_the_source_is_asked_to_wait_for_the_other_waits_for_too() {
    let network = network_of(20);
    let node = node(&network);
    let client = Client::of(&[&node]);
    node.play(on(When::method("getLedgers").call(1), Misbehaviour::too_many_requests(Some(40))));
    assert_eq!(client.read(100, 110).0.len(), 11);
    assert_eq!(client.clock.slept(), [Duration::from_secs(40)]);
    node.play(on(When::method("getLedgers").call(1), Misbehaviour::too_many_requests(Some(40))));
    assert_eq!(poll(&client, 115), "not served, true");
    let before = requests_of(&node, "getLedgers").len();
    assert_eq!(poll(&client, 115), "not served, true");
    assert_eq!(requests_of(&node, "getLedgers").len(), before, "nobody is asked meanwhile");
    assert_eq!(client.read(100, 101).0.len(), 2);
    assert_eq!(client.clock.slept().len(), 2, "who fills gaps has waited for the same");
}

#[test]
fn h4_whom_another_part_of_the_source_was_asked_to_leave_alone_is_told_of_and_not_asked() {
    let network = network_of(20);
    let node = node(&network);
    let client = Client::of(&[&node]);
    node.play(on(When::method("getLedgers"), Misbehaviour::too_many_requests(Some(40))));
    assert!(client.read(100, 110).0.is_empty());
    let before = node.requests().len();
    assert_eq!(poll(&client, 115), "not served, true");
    assert!(client.source.announced()[0].as_ref().is_err_and(|fault| fault.to_string().contains("429")));
    assert_eq!(node.requests().len(), before);
}

#[test]
fn a_ledger_is_asked_of_those_alone_who_say_they_have_it_and_who_does_not_give_it_comes_last() {
    let network = network_of(20);
    let (first, second) = (node(&network), node(&network));
    let client = Client::of(&[&first, &second]);
    first.play(on(When::always(), Misbehaviour::announced_ahead(5)));
    let tips: Vec<_> = client.source.announced().into_iter().map(|tip| tip.unwrap().latest).collect();
    assert_eq!(tips, [seq(124), seq(119)]);
    assert!(client.source.serve(seq(124)).unwrap_err().unwrap().to_string().contains("-32600"));
    assert!(requests_of(&second, "getLedgers").is_empty(), "it did not say that it has it");
    assert_eq!(client.source.serve(seq(119)).unwrap().named, Some(crate::fill::bench::range(119, 119)));
    assert_eq!((requests_of(&first, "getLedgers").len(), requests_of(&second, "getLedgers").len()), (1, 1));
    assert!(client.source.serve(seq(130)).unwrap_err().is_none());
    client.clock.sleep(Duration::from_secs(61));
    second.play(on(When::always(), Misbehaviour::unavailable(None)));
    assert!(client.source.serve(seq(119)).is_ok());
    assert_eq!(requests_of(&first, "getLedgers").len(), 2, "it is asked first again");
}

#[test]
fn the_first_in_order_is_asked_again_after_a_while_and_who_lags_now_and_then() {
    let mut network = network_of(20);
    let (first, second) = (node(&network), node(&network));
    let client = Client::of(&[&first, &second]);
    first.play(on(When::always(), Misbehaviour::StuckAt(seq(110))));
    let polls: Vec<String> = (0..4).map(|_| poll(&client, 115)).collect();
    assert!(polls.iter().any(|told| told == "4 of 119"), "another was looked at: {polls:?}");
    assert_eq!(poll(&client, 119), "1 of 119", "and served from then on");
    first.play(Script::new());
    network.close_next();
    assert_eq!(poll(&client, 120), "1 of 120");
    assert!(requests_of(&first, "getLedgers").is_empty());
    client.clock.sleep(Duration::from_secs(31));
    network.close_next();
    assert_eq!(poll(&client, 121), "1 of 121");
    assert_eq!(requests_of(&first, "getLedgers").len(), 1);
}

#[test]
fn who_gave_what_cannot_be_used_comes_last_for_a_while() {
    let network = network_of(20);
    let (first, second) = (node(&network), node(&network));
    let client = Client::of(&[&first, &second]);
    assert_eq!(poll(&client, 119), "1 of 119");
    client.source.pass_over();
    assert_eq!(poll(&client, 119), "1 of 119");
    assert_eq!((requests_of(&first, "getLedgers").len(), requests_of(&second, "getLedgers").len()), (1, 1));
    client.source.pass_over();
    assert_eq!(poll(&client, 119), "1 of 119", "somebody is asked all the same");
    assert_eq!(client.source.tip().unwrap().latest, seq(119));
    assert_eq!(client.source.protocol(), Some(28));
}
