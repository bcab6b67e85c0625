//! Another chain where there was one, and what only looks like it.

use annals::store::{FollowStateName, IncidentKind, Store as _};
use annals_sim::{HeldLedgers, Misbehaviour, Script, SimNetwork, When, edit_header};

use super::bench::{Archive, Follower, Setup, stored, truth};
use crate::binary::report;
use crate::fill::bench::{chain, seq};
use crate::rpc::bench::{network, node, on};

/// Checks that writing stopped over ledger `at`, and that what was stored is what `network` had.
#[track_caller]
fn assert_stopped(follower: &Follower, network: &SimNetwork, at: u32, from: u32, to: u32) {
    follower.wait_for_code("INCIDENT_OPEN");
    let incidents = follower.store.incidents().unwrap();
    assert_eq!((incidents.len(), incidents[0].kind, incidents[0].ledger), (1, IncidentKind::LedgerHash, seq(at)));
    assert!(!incidents[0].stored_xdr.is_empty() && !incidents[0].offered_xdr.is_empty(), "both versions are kept");
    assert_eq!(stored(follower.store.as_ref(), from, to), truth(network, from, to));
    assert_eq!(follower.store.status().unwrap().latest_ledger, Some(seq(to)));
}

#[test]
fn a_reset_under_the_same_passphrase_is_recognised_at_start_and_resolved_it_goes_on() {
    let mut old = network(1, 50);
    let node = node(&old);
    let archive = Archive::new();
    archive.follow_to(Setup::of(&old, &[&node]).from(120), 149);
    let reset = network(2, 50);
    node.switch_to(reset.ledgers());
    let follower = archive.follow(Setup::of(&old, &[&node]));
    assert_stopped(&follower, &old, 149, 120, 149);
    old.close_many(3);
    node.switch_to(old.ledgers());
    let unknown = report(&["incidents", "resolve", "2"], archive.path()).ends_with(1);
    assert!(unknown.stderr.contains("UNKNOWN_INCIDENT"), "{unknown:?}");
    report(&["incidents", "resolve", "1", "--note", "the node is ours again"], archive.path()).ends_with(0);
    follower.wait_for_ledger(152);
    follower.wait_for_state(FollowStateName::Following);
    assert_eq!(stored(follower.store.as_ref(), 120, 152), truth(&old, 120, 152));
    follower.end();
}

#[test]
fn a_reset_while_running_is_recognised_by_another_hash_below_the_tip_that_fell() {
    let old = network(3, 50);
    let node = node(&old);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&old, &[&node]).from(110));
    follower.wait_for_ledger(149);
    node.switch_to(network(4, 25).ledgers());
    assert_stopped(&follower, &old, 124, 110, 149);
}

#[test]
fn another_chain_that_is_longer_is_recognised_by_the_link_that_fails() {
    let old = network(5, 50);
    let node = node(&old);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&old, &[&node]).from(140));
    follower.wait_for_ledger(149);
    node.switch_to(network(6, 70).ledgers());
    assert_stopped(&follower, &old, 149, 140, 149);
}

#[test]
fn an_endpoint_that_contradicts_the_other_is_an_incident_and_no_choice() {
    let mut network = network(7, 20);
    let (first, second) = (node(&network), node(&network));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&first, &second]));
    follower.wait_for_ledger(119);
    let forged = |xdr: &mut Vec<u8>| *xdr = edit_header(xdr, |header| header.base_fee += 1);
    first.play(on(When::method("getLedgers").call(1), Misbehaviour::edit_ledger(seq(120), forged)));
    network.close_next();
    follower.wait_for_ledger(120);
    network.close_next();
    follower.wait_for_code("INCIDENT_OPEN");
    let incidents = follower.store.incidents().unwrap();
    assert_eq!((incidents.len(), incidents[0].ledger), (1, seq(120)));
    assert_eq!(follower.store.status().unwrap().latest_ledger, Some(seq(120)));
}

#[test]
fn h3_height_alone_is_no_incident_and_takes_nothing_back() {
    let old = network(8, 50);
    let node = node(&old);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&old, &[&node]).from(100));
    follower.wait_for_ledger(149);
    node.play(on(When::always(), Misbehaviour::StuckAt(seq(130))));
    follower.wait_for_code("SOURCE_BEHIND");
    let status = follower.store.status().unwrap();
    assert_eq!((status.latest_ledger, status.open_incidents, status.epoch), (Some(seq(149)), 0, 0));
    node.play(Script::new());
    follower.wait_for_state(FollowStateName::Following);
}

#[test]
fn a_ledger_that_links_to_nothing_stored_waits_until_a_source_has_the_one_that_does() {
    let network = annals_core::Network::new(crate::fill::bench::PASSPHRASE);
    let ledgers = chain(1, 100, 12, |_| true);
    let others = chain(2, 100, 12, |_| true);
    let held = HeldLedgers::of(&network, ledgers[..10].iter().map(|ledger| ledger.xdr.clone())).unwrap();
    let sim = super::gaps::passphrase_network();
    let node = annals_sim::RpcServer::start(held.clone(), annals_sim::RpcOptions::default()).unwrap();
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&sim, &[&node]).from(100));
    follower.wait_for_ledger(109);
    held.push(others[10].xdr.clone()).unwrap();
    follower.wait_for_code("DOES_NOT_LINK");
    let status = follower.store.status().unwrap();
    assert_eq!((status.latest_ledger, status.open_incidents), (Some(seq(109)), 0), "a bad object is no incident");
    held.push(ledgers[10].xdr.clone()).unwrap();
    follower.wait_for_ledger(110);
    assert_eq!(follower.store.ledgers(seq(110), 1).unwrap()[0].hash, ledgers[10].hash);
}
