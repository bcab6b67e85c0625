//! Gaps that are worked off beside the tip.

use std::sync::Arc;

use annals::source::{LakeOptions, LakeSource, LedgerSource};
use annals::store::{FollowStateName, Status, Store as _};
use annals_sim::{LakeLayout, Misbehaviour, NetworkOptions, SimNetwork, When};

use super::bench::{Archive, Setup, assert_whole};
use crate::fill::bench::{PASSPHRASE, range, seq};
use crate::rpc::bench::{network, node, on};

/// A network of the passphrase that single chains are built with, for a job's sake.
pub fn passphrase_network() -> SimNetwork {
    SimNetwork::with(NetworkOptions { passphrase: PASSPHRASE.to_owned(), ..NetworkOptions::of_seed(1) })
}

pub fn gaps(status: &Status) -> Vec<String> {
    status.gaps.iter().map(|gap| gap.range.to_string()).collect()
}

/// A network of small ledgers from 100 on, which writes a lake.
pub fn with_lake(seed: u64, ledgers: u32) -> (SimNetwork, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = NetworkOptions { heavy_ledgers: Vec::new(), events_per_ledger: 3, ..NetworkOptions::of_seed(seed) };
    let network = SimNetwork::with(options.beginning_with(seq(100)));
    let mut network = network.writing_lake(folder.path(), LakeLayout::default()).unwrap();
    network.close_many(ledgers);
    network.finish_lake().unwrap();
    (network, folder)
}

pub fn lake(folder: &tempfile::TempDir) -> Arc<dyn LedgerSource> {
    Arc::new(LakeSource::open(folder.path(), LakeOptions { mixed_layout: false }).unwrap())
}

#[test]
fn b1_what_was_pruned_while_nobody_followed_is_a_listed_gap_that_a_lake_closes() {
    let (network, folder) = with_lake(1, 300);
    let node = node(&network);
    let archive = Archive::new();
    let before = on(When::always(), Misbehaviour::StuckAt(seq(199)));
    node.play(before);
    archive.follow_to(Setup::of(&network, &[&node]).from(190), 199);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(350))));
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(399);
    let status = follower.wait_for_status(|status| status.gaps.iter().any(|gap| gap.attempts > 0));
    assert_eq!(gaps(&status), ["200-349"]);
    assert_eq!(status.gaps[0].last_code.as_deref(), Some("BELOW_RETENTION"));
    assert!(status.covered(annals_core::ScopeKey::All).covers(range(350, 399)), "what is kept is taken");
    follower.end();
    let mut setup = Setup::of(&network, &[&node]);
    setup.lakes = vec![lake(&folder)];
    let follower = archive.follow(setup);
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 190, 399);
}

#[test]
fn b1_far_behind_live_goes_on_at_once_and_each_source_gives_what_it_keeps() {
    let (network, folder) = with_lake(2, 400);
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(450))));
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options.catch_up_max = 20;
    setup.lakes = vec![lake(&folder)];
    let follower = archive.follow(setup);
    follower.wait_for_state(FollowStateName::Following);
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 100, 499);
    let rows = follower.store.ledgers(seq(100), 400).unwrap();
    let from_lake = rows.iter().filter(|row| !row.source.starts_with("rpc:")).map(|row| row.seq.get());
    assert!(from_lake.eq(100..=449), "the lake is asked for what the node does not keep, and the node for the rest");
}

#[test]
fn a_gap_that_nobody_can_fill_is_tried_ever_more_seldom_and_the_tip_does_not_wait() {
    let mut network = network(3, 50);
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(140))));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower.wait_for_ledger(149);
    let status = follower.wait_for_status(|status| status.gaps.iter().any(|gap| gap.attempts >= 3));
    assert_eq!(gaps(&status), ["100-139"]);
    for _ in 0..5 {
        let closed = network.close_next().seq.get();
        follower.wait_for_ledger(closed);
    }
    let attempts = follower.store.status().unwrap().gaps[0].attempts;
    assert!(attempts < 12, "{attempts} attempts");
}

#[test]
fn ledgers_that_every_endpoint_leaves_out_are_a_gap_at_last_and_the_rest_goes_on() {
    let mut network = network(4, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    node.play(on(When::always(), Misbehaviour::OmitLedgers(range(111, 112))));
    network.close_many(6);
    follower.wait_for_ledger(115);
    let status = follower.store.status().unwrap();
    assert_eq!(gaps(&status), ["111-112"]);
    node.play(annals_sim::Script::new());
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 109, 115);
}

#[test]
fn c8_gaps_and_tip_commit_side_by_side_and_every_ledger_is_there_once() {
    let mut network = network(5, 600);
    let node = node(&network);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options.catch_up_max = 5;
    let follower = archive.follow(setup);
    follower.wait_for_state(FollowStateName::Following);
    let mut closed = 0;
    for _ in 0..40 {
        closed = network.close_next().seq.get();
        follower.wait_for_ledger(closed);
    }
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 100, closed);
    let ended = follower.end();
    assert!(ended.ledgers >= 40);
}
