//! A chain that closes while it is followed.

use std::time::Duration;

use annals::clock::{Clock as _, SystemClock};
use annals::follow::FollowOptions;
use annals::store::{FollowStateName, Store as _};

use super::bench::{Archive, Setup, assert_whole};
use crate::rpc::bench::{network, node, requests_of};

#[test]
fn a_closing_chain_is_archived_ledger_for_ledger_as_the_network_has_it() {
    let mut network = network(1, 20);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(119);
    for number in 120..160 {
        network.close_next();
        follower.wait_for_ledger(number);
    }
    assert_whole(follower.store.as_ref(), &network, 119, 159);
    let status = follower.store.status().unwrap();
    assert_eq!((status.start.unwrap().get(), status.gaps), (119, Vec::new()));
    let ended = follower.end();
    assert_eq!((ended.ledgers, ended.last.unwrap().get()), (41, 159));
}

#[test]
fn what_closed_while_nobody_followed_is_taken_in_order_up_to_the_bound() {
    let mut network = network(2, 10);
    let node = node(&network);
    let archive = Archive::new();
    archive.follow_to(Setup::of(&network, &[&node]), 109);
    network.close_many(300);
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(409);
    follower.wait_for_state(FollowStateName::Following);
    let order = follower.said(|said| said.committed.iter().map(|ledger| ledger.seq.get()).collect::<Vec<_>>());
    assert_eq!(order, (110..=409).collect::<Vec<_>>());
    assert_whole(follower.store.as_ref(), &network, 109, 409);
}

#[test]
fn c8_the_boundary_between_what_is_filled_and_what_is_followed_is_stored_once() {
    let mut network = network(3, 100);
    let node = node(&network);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options.catch_up_max = 10;
    let follower = archive.follow(setup);
    follower.wait_for_state(FollowStateName::Following);
    network.close_many(5);
    let status =
        follower.wait_for_status(|status| status.gaps.is_empty() && status.latest_ledger.unwrap().get() == 204);
    assert_eq!(status.verified.ranges().len(), 1);
    assert_whole(follower.store.as_ref(), &network, 100, 204);
    let at_the_tip = follower.said(|said| said.committed.iter().map(|ledger| ledger.seq.get()).collect::<Vec<_>>());
    assert_eq!(at_the_tip, (200..=204).collect::<Vec<_>>(), "the rest was a gap");
    assert_eq!(status.events.total(), network.records().map(|record| record.events as u64).sum::<u64>());
}

#[test]
fn a5_nothing_above_the_tip_is_asked_for_and_an_idle_chain_moves_nothing() {
    let mut network = network(4, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    let before = node.requests().len();
    assert!(node.wait_for(Duration::from_secs(20), |requests| requests.len() >= before + 10));
    assert_eq!(follower.store.status().unwrap().latest_ledger.unwrap().get(), 109);
    network.close_next();
    follower.wait_for_ledger(110);
    let above = |request: &annals_sim::SeenRequest| request.begins_with.is_some_and(|seq| seq.get() > 110);
    assert!(!requests_of(&node, "getLedgers").iter().any(above));
    let asked = requests_of(&node, "getLedgers").iter().filter(|page| page.begins_with.unwrap().get() == 110).count();
    assert_eq!(asked, 1, "ledger 110 was asked for once it had closed");
    assert_whole(follower.store.as_ref(), &network, 109, 110);
}

#[test]
fn ledgers_are_visible_soon_after_the_node_has_them_and_it_is_not_asked_often() {
    const LEDGERS: u32 = 40;
    const APART: Duration = Duration::from_millis(250);
    let mut network = network(5, 10);
    let node = node(&network);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options = FollowOptions::default();
    let follower = archive.follow(setup);
    follower.wait_for_ledger(109);
    let clock = SystemClock::new();
    let (mut took, requests) = (Vec::new(), node.requests().len());
    let mut due = clock.monotonic();
    for _ in 0..LEDGERS {
        due += APART;
        clock.sleep(due.saturating_sub(clock.monotonic()));
        let closed = network.close_next().seq.get();
        let served = clock.monotonic();
        follower.wait_for_ledger(closed);
        took.push(clock.monotonic() - served);
    }
    let requests = node.requests().len() - requests;
    took.drain(..10);
    took.sort();
    let (half, most) = (took[took.len() / 2], took[took.len() - 1]);
    eprintln!("visible after {half:?} (half), {most:?} (all of {}); {requests} requests", took.len());
    assert!(half < Duration::from_millis(100), "{took:?}");
    assert!(requests < 60 * LEDGERS as usize, "{requests} requests");
}
