//! Tips that are announced and not backed by a ledger.

use std::time::Duration;

use annals::follow::FollowOptions;
use annals::store::{FollowStateName, Store as _};
use annals_sim::{Misbehaviour, RpcServer, Script, SeenRequest, SimNetwork, When};
use serde_json::json;

use super::bench::{AT_MOST, Archive, Follower, Setup, assert_whole};
use crate::fill::bench::seq;
use crate::rpc::bench::{network, node, on};

/// How far too high a tip is said: one that would be followed in order, and one that would be left to the gaps.
const AHEAD: [u32; 2] = [500, 1_000_000];

/// A node that says too high a tip, and gives the ledgers that there are.
fn boasts(ahead: u32) -> Script {
    on(When::always(), Misbehaviour::announced_ahead(ahead))
}

/// A node that says too high a tip, and gives no ledger.
fn boasts_and_gives_nothing(ahead: u32) -> Script {
    boasts(ahead).on(When::method("getLedgers"), Misbehaviour::edit_result(|result| result["ledgers"] = json!([])))
}

const LIES: [fn(u32) -> Script; 2] = [boasts, boasts_and_gives_nothing];

/// Each lie, each height of it, and each order of a node that lies and one that does not.
fn each_lie(mut check: impl FnMut(&Script, bool)) {
    for lie in LIES {
        for ahead in AHEAD {
            for liar_first in [true, false] {
                check(&lie(ahead), liar_first);
            }
        }
    }
}

fn in_order<'a>(liar: &'a RpcServer, honest: &'a RpcServer, liar_first: bool) -> [&'a RpcServer; 2] {
    if liar_first { [liar, honest] } else { [honest, liar] }
}

/// Closes some ledgers, each once the one before is stored, and checks that they are all there is, from `from` on.
#[track_caller]
fn assert_follows(follower: &Follower, network: &mut SimNetwork, from: u32) {
    for _ in 0..8 {
        let closed = network.close_next().seq.get();
        assert!(follower.comes_to(closed, Duration::from_secs(5)), "{:?}", follower.said(|said| said.states.clone()));
    }
    let last = network.latest().unwrap().seq;
    let status = follower.wait_for_status(|status| status.gaps.is_empty());
    assert_eq!((status.start, status.latest_ledger), (Some(seq(from)), Some(last)));
    assert_whole(follower.store.as_ref(), network, from, last.get());
    let tip = status.freshness.unwrap().tip.unwrap().ledger;
    assert!(tip <= last, "{tip} is told, and the last ledger is {last}");
}

#[test]
fn a_first_start_begins_at_the_tip_that_is_backed_and_not_at_the_one_that_is_only_said() {
    each_lie(|lie, liar_first| {
        let mut network = network(1, 50);
        let (liar, honest) = (node(&network), node(&network));
        liar.play(lie.clone());
        let archive = Archive::new();
        let follower = archive.follow(Setup::of(&network, &in_order(&liar, &honest, liar_first)));
        assert!(follower.comes_to(149, Duration::from_secs(5)));
        assert_follows(&follower, &mut network, 149);
    });
}

#[test]
fn an_archive_that_is_there_goes_on_where_it_ends_whatever_tip_is_said() {
    each_lie(|lie, liar_first| {
        let mut network = network(2, 50);
        let (liar, honest) = (node(&network), node(&network));
        let archive = Archive::new();
        archive.follow_to(Setup::of(&network, &[&honest]).from(120), 149);
        network.close_many(5);
        liar.play(lie.clone());
        let follower = archive.follow(Setup::of(&network, &in_order(&liar, &honest, liar_first)));
        assert!(follower.comes_to(154, Duration::from_secs(5)));
        assert_follows(&follower, &mut network, 120);
    });
}

#[test]
fn a_lie_that_begins_while_following_leaves_no_gap_and_holds_nothing_up() {
    each_lie(|lie, liar_first| {
        let mut network = network(3, 50);
        let (liar, honest) = (node(&network), node(&network));
        let archive = Archive::new();
        let follower = archive.follow(Setup::of(&network, &in_order(&liar, &honest, liar_first)));
        assert!(follower.comes_to(149, Duration::from_secs(5)));
        liar.play(lie.clone());
        assert_follows(&follower, &mut network, 149);
    });
}

#[test]
fn one_that_lies_holds_the_other_up_for_no_longer_than_seconds_by_the_waits_of_a_server() {
    let mut network = network(4, 50);
    let (liar, honest) = (node(&network), node(&network));
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&liar, &honest]);
    setup.options = FollowOptions::default();
    liar.play(boasts_and_gives_nothing(1_000_000));
    let follower = archive.follow(setup);
    assert!(follower.comes_to(149, Duration::from_secs(5)));
    network.close_next();
    assert!(follower.comes_to(150, Duration::from_secs(5)));
    liar.play(Script::new());
    network.close_next();
    assert!(follower.comes_to(151, Duration::from_secs(5)));
    liar.play(boasts_and_gives_nothing(1_000_000));
    network.close_next();
    assert!(follower.comes_to(152, Duration::from_secs(5)));
    assert_whole(follower.store.as_ref(), &network, 149, 152);
}

#[test]
fn a_single_node_that_says_too_much_begins_nothing_and_is_followed_once_it_is_mended() {
    for ahead in AHEAD {
        let mut network = network(5, 50);
        let node = node(&network);
        node.play(boasts(ahead));
        let archive = Archive::new();
        let follower = archive.follow(Setup::of(&network, &[&node]));
        follower.wait_for_code("TIP_UNSERVED");
        let status = follower.store.status().unwrap();
        assert_eq!((status.start, status.latest_ledger, status.gaps), (None, None, Vec::new()));
        let said = status.freshness.unwrap();
        assert!(said.tip.is_none() && said.source_answered_ms.is_some(), "{said:?}");
        assert!(said.message.unwrap().contains("--rpc"), "it says what to do");
        node.play(Script::new());
        follower.wait_for_ledger(149);
        assert_follows(&follower, &mut network, 149);
    }
}

#[test]
fn a_single_node_that_gives_its_ledgers_is_followed_whatever_it_says_and_one_that_gives_none_is_waited_for() {
    for ahead in AHEAD {
        let mut network = network(6, 50);
        let node = node(&network);
        let archive = Archive::new();
        let follower = archive.follow(Setup::of(&network, &[&node]).from(140));
        follower.wait_for_ledger(149);
        node.play(boasts(ahead));
        assert_follows(&follower, &mut network, 140);
        follower.end();
        network.close_many(3);
        let follower = archive.follow(Setup::of(&network, &[&node]));
        follower.wait_for_ledger(160);
        assert_follows(&follower, &mut network, 140);
        node.play(boasts_and_gives_nothing(ahead));
        network.close_many(2);
        follower.wait_for_code("TIP_UNSERVED");
        assert_eq!(follower.store.status().unwrap().gaps, Vec::new());
        node.play(Script::new());
        follower.wait_for_ledger(170);
        follower.wait_for_state(FollowStateName::Following);
        assert_follows(&follower, &mut network, 140);
    }
}

#[test]
fn neither_an_oldest_ledger_nor_one_that_a_page_goes_on_with_leaves_a_gap_unless_it_is_served() {
    let oldest = |result: &mut serde_json::Value| {
        result["latestLedger"] = json!(2_000_000);
        result["oldestLedger"] = json!(1_000_000);
    };
    let no_such_ledger = Misbehaviour::error(-32600, "start ledger must be between the oldest and the latest");
    let pruned =
        on(When::method("getHealth"), Misbehaviour::edit_result(oldest)).on(When::method("getLedgers"), no_such_ledger);
    let goes_on = boasts(1_000_000).on(
        When::method("getLedgers"),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["sequence"] = json!(1_000_000)),
    );
    for lie in [pruned, goes_on] {
        for liar_first in [true, false] {
            let mut network = network(7, 50);
            let (liar, honest) = (node(&network), node(&network));
            let archive = Archive::new();
            archive.follow_to(Setup::of(&network, &[&honest]).from(140), 149);
            liar.play(lie.clone());
            let alone = archive.follow(Setup::of(&network, &[&liar]));
            network.close_next();
            alone.wait(|said| said.codes().contains(&"TIP_UNSERVED"));
            assert_eq!(alone.store.status().unwrap().gaps, Vec::new());
            alone.end();
            let follower = archive.follow(Setup::of(&network, &in_order(&liar, &honest, liar_first)));
            assert!(follower.comes_to(150, Duration::from_secs(5)));
            assert_follows(&follower, &mut network, 140);
        }
    }
}

#[test]
fn a_tip_that_nobody_says_any_more_is_told_no_longer() {
    let network = network(8, 50);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(149);
    let tip_is = |at: u32| {
        move |status: &annals::store::Status| {
            status.freshness.as_ref().and_then(|said| said.tip).is_some_and(|tip| tip.ledger == seq(at))
        }
    };
    node.play(boasts(3));
    follower.wait_for_status(tip_is(152));
    node.play(Script::new());
    follower.wait_for_status(tip_is(149));
}

/// How often a node was asked for a ledger that it only says it has.
fn asked_for_lies(node: &RpcServer) -> usize {
    let of_lie = |seen: &&SeenRequest| seen.begins_with.is_some_and(|seq| seq.get() > 1_000_000);
    node.requests().iter().filter(of_lie).count()
}

#[test]
fn a_node_that_goes_on_lying_is_asked_for_what_it_says_in_bounds() {
    let mut network = network(9, 50);
    let (liar, honest) = (node(&network), node(&network));
    for nodes in [vec![&liar, &honest], vec![&liar]] {
        liar.play(Script::new());
        let archive = Archive::new();
        let mut setup = Setup::of(&network, &nodes);
        setup.options.rest = AT_MOST;
        let follower = archive.follow(setup);
        follower.wait_for_ledger(network.latest().unwrap().seq.get());
        let before = asked_for_lies(&liar);
        liar.play(boasts(1_000_000));
        for _ in 0..40 {
            let closed = network.close_next().seq.get();
            follower.wait_for_ledger(closed);
        }
        let asked = asked_for_lies(&liar) - before;
        assert!((1..=3).contains(&asked), "{asked}");
        assert_eq!(asked_for_lies(&honest), 0, "who does not say it is not asked for it");
    }
}

#[test]
fn an_answer_that_names_no_ledger_is_told_as_what_it_is() {
    let network = network(10, 50);
    for wrong in [json!(null), json!("soon"), json!(0), json!(u64::MAX)] {
        let node = node(&network);
        let told = wrong.clone();
        let names = Misbehaviour::edit_result(move |result| result["latestLedger"] = told.clone());
        node.play(on(When::method("getHealth"), names));
        let archive = Archive::new();
        let follower = archive.follow(Setup::of(&network, &[&node]));
        follower.wait_for_code("TIP_UNREADABLE");
        let status = follower.store.status().unwrap();
        assert_eq!((status.start, status.gaps), (None, Vec::new()));
        let said = status.freshness.unwrap();
        let message = said.message.unwrap();
        assert!(said.source_answered_ms.is_some(), "somebody answered");
        assert!(message.contains(&node.url()) && message.contains("getHealth"), "{message}");
        node.play(on(When::always(), Misbehaviour::Reset));
        follower.wait_for_code("NO_TIP");
        node.play(Script::new());
        follower.wait_for_ledger(149);
    }
}
