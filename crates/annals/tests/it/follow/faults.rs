//! What nodes do wrong while they are followed, by kind of field report.

use std::time::Duration;

use annals::store::{FollowStateName, Store as _};
use annals_core::{ContractId, Scope};
use annals_sim::{Misbehaviour, Script, SeenRequest, SimNetwork, When};
use serde_json::json;

use super::bench::{Archive, Follower, Setup, assert_whole};
use crate::fill::bench::{range, seq};
use crate::rpc::bench::{network, node, on, requests_of};

/// Closes ledgers up to `to`, each once the one before is stored.
fn close_to(network: &mut SimNetwork, follower: &Follower, to: u32) {
    while network.latest().unwrap().seq.get() < to {
        let closed = network.close_next().seq.get();
        follower.wait_for_ledger(closed);
    }
}

#[test]
fn a1_ledgers_without_an_event_in_scope_move_the_mark_as_others_do() {
    let mut network = network(1, 10);
    let node = node(&network);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]);
    let contract = ContractId([7; 32]);
    setup.job.scope = Scope::Contracts([contract].into_iter().collect());
    let follower = archive.follow(setup);
    follower.wait_for_ledger(109);
    close_to(&mut network, &follower, 140);
    let status = follower.store.status().unwrap();
    assert_eq!(status.events.total(), 0);
    let covered = status.covered(annals_core::ScopeKey::Contract(contract));
    assert!(covered.covers(range(109, 140)), "{covered:?}");
}

#[test]
fn a6_cursors_that_repeat_or_circle_lead_nowhere_and_none_is_sent() {
    let mut network = network(2, 60);
    let node = node(&network);
    node.play(on(When::method("getLedgers"), Misbehaviour::cursor("100")));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower.wait_for_ledger(159);
    close_to(&mut network, &follower, 165);
    assert_whole(follower.store.as_ref(), &network, 100, 165);
    let sends_cursor = |page: &SeenRequest| page.params["pagination"].get("cursor").is_some();
    assert!(!requests_of(&node, "getLedgers").iter().any(sends_cursor));
}

#[test]
fn h1_null_error_emptiness_and_rubbish_move_nothing_and_cost_nothing() {
    let mut network = network(3, 10);
    let node = node(&network);
    let wrong = [
        Misbehaviour::null_result(),
        Misbehaviour::over_limit(),
        Misbehaviour::empty_result(),
        Misbehaviour::html(),
        Misbehaviour::Truncated { bytes: 300 },
        Misbehaviour::OtherId,
        Misbehaviour::edit_result(|result| result["ledgers"] = json!([])),
        Misbehaviour::edit_result(|result| result["ledgers"][0]["metadataXdr"] = json!("AAAA")),
    ];
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    for what in wrong {
        node.play(on(When::method("getLedgers").call(1), what.clone()));
        let closed = network.close_next().seq.get();
        follower.wait_for_ledger(closed);
        assert!(requests_of(&node, "getLedgers").iter().any(|page| page.misbehaved), "{what:?}");
    }
    assert_whole(follower.store.as_ref(), &network, 109, 117);
}

#[test]
fn h3_replicas_that_rotate_behind_one_address_take_nothing_back_and_are_no_incident() {
    let mut network = network(4, 60);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(120));
    follower.wait_for_ledger(159);
    node.play(
        on(When::always().every(3, 1), Misbehaviour::Behind(5)).on(When::always().every(5, 2), Misbehaviour::Behind(2)),
    );
    close_to(&mut network, &follower, 180);
    assert_whole(follower.store.as_ref(), &network, 120, 180);
    let last = follower.said(|said| said.committed.iter().map(|ledger| ledger.seq).collect::<Vec<_>>());
    assert!(last.is_sorted(), "progress is never negative");
    assert_eq!(follower.store.status().unwrap().open_incidents, 0);
}

#[test]
fn h3_an_endpoint_that_stopped_is_passed_over_for_one_that_did_not() {
    let mut network = network(5, 10);
    let (stuck, current) = (node(&network), node(&network));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&stuck, &current]));
    follower.wait_for_ledger(109);
    assert!(requests_of(&current, "getLedgers").is_empty(), "the first in order serves");
    stuck.play(on(When::always(), Misbehaviour::StuckAt(seq(105))));
    close_to(&mut network, &follower, 130);
    assert_whole(follower.store.as_ref(), &network, 109, 130);
    assert_eq!(follower.store.status().unwrap().open_incidents, 0);
}

#[test]
fn h4_what_a_node_asks_for_is_waited_for_and_a_storm_never_comes() {
    let mut network = network(6, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    let before = node.requests().len();
    node.play(on(When::always().call(1), Misbehaviour::too_many_requests(Some(2))));
    network.close_many(5);
    follower.wait_for_code("NOT_SERVED");
    follower.wait_for_ledger(114);
    follower.wait_for_state(FollowStateName::Following);
    let after = &node.requests()[before..];
    let refused = after.iter().position(|request| request.misbehaved).unwrap();
    assert!(after[refused + 1].at - after[refused].at >= Duration::from_secs(2), "{after:?}");
    node.play(on(When::always().calls(1..=3), Misbehaviour::unavailable(None)));
    let before = node.requests().len();
    let closed = network.close_next().seq.get();
    follower.wait_for_ledger(closed);
    let outage: Vec<Duration> =
        node.requests()[before..].iter().filter(|seen| seen.misbehaved).map(|seen| seen.at).collect();
    assert_eq!(outage.len(), 3);
    assert!(outage.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(240)), "{outage:?}");
    assert_whole(follower.store.as_ref(), &network, 109, 115);
}

#[test]
fn h4_one_endpoint_that_fails_holds_nothing_up() {
    let mut network = network(17, 10);
    let (failing, serving) = (node(&network), node(&network));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&failing, &serving]));
    follower.wait_for_ledger(109);
    for what in [Misbehaviour::unavailable(None), Misbehaviour::Reset, Misbehaviour::plain(401, None, "")] {
        failing.play(on(When::always(), what));
        let to = network.latest().unwrap().seq.get() + 5;
        close_to(&mut network, &follower, to);
    }
    assert!(!follower.said(|said| said.codes().contains(&"NOT_SERVED")), "somebody served all the time");
    assert_whole(follower.store.as_ref(), &network, 109, 124);
}

#[test]
fn a_tip_that_is_announced_is_waited_for_until_it_is_served() {
    let mut network = network(8, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    node.play(on(When::method("getLedgers").calls(1..=4), Misbehaviour::UnservedTip(3)));
    network.close_many(3);
    follower.wait_for_ledger(112);
    assert!(!follower.said(|said| said.codes().contains(&"NOT_SERVED")), "an ordinary thing is no failure");
    assert_whole(follower.store.as_ref(), &network, 109, 112);
}

#[test]
fn what_cannot_be_used_is_asked_of_another_endpoint_and_of_the_same_one_until_it_is_mended() {
    let mut network = network(9, 10);
    let (broken, sound) = (node(&network), node(&network));
    let archive = Archive::new();
    let both = archive.follow(Setup::of(&network, &[&broken, &sound]));
    both.wait_for_ledger(109);
    let damage = |at: u32| Misbehaviour::edit_ledger(seq(at), |xdr| *xdr.last_mut().unwrap() ^= 1);
    broken.play(on(When::always(), damage(110)));
    close_to(&mut network, &both, 111);
    both.end();
    let one = archive.follow(Setup::of(&network, &[&broken]));
    one.wait_for_state(FollowStateName::Following);
    broken.play(on(When::always(), damage(112)));
    network.close_many(2);
    one.wait(|said| {
        said.states.last().is_some_and(|state| state.message.as_ref().is_some_and(|why| why.contains("112")))
    });
    assert_eq!(one.store.status().unwrap().latest_ledger, Some(seq(111)), "nothing above it is stored either");
    broken.play(Script::new());
    one.wait_for_ledger(113);
    one.wait_for_state(FollowStateName::Following);
    assert_whole(one.store.as_ref(), &network, 109, 113);
}

#[test]
fn i4_a_node_that_hangs_is_seen_by_its_silence_while_the_follower_still_lives() {
    let mut network = network(10, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    node.play(on(When::always(), Misbehaviour::Hang));
    network.close_next();
    let alive = |status: &annals::store::Status| status.freshness.as_ref().map(|said| said.heartbeat_ms);
    let before = alive(&follower.store.status().unwrap()).unwrap();
    let status = follower.wait_for_status(|status| alive(status).is_some_and(|beat| beat > before + 300));
    let said = status.freshness.unwrap();
    assert!(said.source_answered_ms.unwrap() + 200 < said.heartbeat_ms, "{said:?}");
    node.play(Script::new());
    follower.wait_for_ledger(110);
}

#[test]
fn a_ledger_that_is_announced_and_never_served_becomes_a_listed_gap_and_the_rest_is_followed() {
    let mut network = network(31, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(105));
    follower.wait_for_ledger(109);
    let asks_for_it = When::method("getLedgers").from_ledgers(range(110, 110));
    node.play(on(asks_for_it, Misbehaviour::edit_result(|result| result["ledgers"] = json!([]))));
    network.close_many(20);
    let status = follower.wait_for_status(|status| status.latest_ledger == Some(seq(129)));
    assert_eq!(status.gaps.iter().map(|gap| gap.range).collect::<Vec<_>>(), [range(110, 110)]);
    node.play(Script::new());
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 105, 129);
    follower.end();
}
