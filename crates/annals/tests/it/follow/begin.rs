//! Where following begins, and what is refused before anything is written.

use annals::follow::{AHEAD_LEDGERS_MAX, FollowError};
use annals_sim::{NetworkOptions, SimNetwork};

use super::bench::{Archive, Setup, assert_whole};
use crate::fill::bench::seq;
use crate::rpc::bench::{network, node};

#[test]
fn a_first_start_without_a_ledger_begins_at_the_tip_and_with_one_there() {
    let network = network(1, 50);
    let node = node(&network);
    let archive = Archive::new();
    archive.follow_to(Setup::of(&network, &[&node]), 149);
    assert_whole(&archive.store(), &network, 149, 149);
    let archive = Archive::new();
    archive.follow_to(Setup::of(&network, &[&node]).from(110), 149);
    assert_whole(&archive.store(), &network, 110, 149);
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower.wait_for_status(|status| status.gaps.is_empty() && status.verified.contains(seq(100)));
    assert_whole(follower.store.as_ref(), &network, 100, 149);
}

#[test]
fn a_start_above_the_tip_is_refused_and_leaves_nothing() {
    let network = network(2, 50);
    let node = node(&network);
    let archive = Archive::new();
    let refusal = archive.try_follow(Setup::of(&network, &[&node]).from(150)).err().unwrap();
    assert_eq!(refusal.code(), "ABOVE_TIP");
    assert_eq!((archive.status().passphrase, archive.status().start), (None, None));
}

#[test]
fn an_archive_far_ahead_of_the_network_does_not_start_and_a_little_ahead_waits() {
    let mut long = SimNetwork::with(NetworkOptions {
        heavy_ledgers: Vec::new(),
        events_per_ledger: 1,
        ..NetworkOptions::of_seed(3).beginning_with(seq(AHEAD_LEDGERS_MAX + 200))
    });
    long.close_many(3);
    let archive = Archive::new();
    let node_of_long = node(&long);
    archive.follow_to(Setup::of(&long, &[&node_of_long]).from(AHEAD_LEDGERS_MAX + 200), AHEAD_LEDGERS_MAX + 202);
    let short = network(4, 103);
    assert_eq!(short.latest().unwrap().seq, seq(202));
    let node_of_short = node(&short);
    let follower = archive.follow(Setup::of(&short, &[&node_of_short]));
    follower.wait_for_code("SOURCE_BEHIND");
    follower.end();
    let before = archive.status();
    let shorter = network(4, 102);
    let node_of_shorter = node(&shorter);
    let refusal = archive.try_follow(Setup::of(&shorter, &[&node_of_shorter])).err().unwrap();
    assert!(matches!(refusal, FollowError::AheadOfNetwork { stored, tip, .. }
        if stored == seq(AHEAD_LEDGERS_MAX + 202) && tip == seq(201)));
    assert_eq!(refusal.code(), "AHEAD_OF_NETWORK");
    let after = archive.status();
    assert_eq!((before.verified, before.feed_position), (after.verified, after.feed_position), "nothing is taken back");
}

#[test]
fn a_source_or_an_archive_of_another_network_is_refused() {
    let network = network(5, 5);
    let node = node(&network);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]);
    setup.job.network = annals_core::Network::new("Another Network");
    let refusal = archive.try_follow(setup).err().unwrap();
    assert_eq!(refusal.code(), "NETWORK_MISMATCH");
    assert!(refusal.to_string().contains("Another Network"), "{refusal}");
    let other =
        SimNetwork::with(NetworkOptions { passphrase: "Another Network".to_owned(), ..NetworkOptions::of_seed(6) });
    let mut other = other;
    other.close_many(3);
    let other_node = crate::rpc::bench::node(&other);
    archive.follow_to(Setup::of(&other, &[&other_node]), 4);
    let refusal = archive.try_follow(Setup::of(&network, &[&node])).err().unwrap();
    assert_eq!(refusal.code(), "NETWORK_MISMATCH");
}
