//! What others than the source say of a followed chain.

use std::sync::Arc;
use std::time::Duration;

use annals::anchor;
use annals::clock::SystemClock;
use annals::store::{AnchorKind, Fence, IncidentKind, Store};
use annals_sim::RpcServer;

use super::bench::{Archive, Setup, stored, truth};
use crate::anchor::bench::{node_at, witnesses};
use crate::fill::bench::seq;
use crate::rpc::bench::{network, node};

/// Follows the first node, and has all of them asked every so often, as a server does.
fn witnessed(setup: Setup, nodes: &[&RpcServer]) -> Setup {
    let witnesses = witnesses(&[], nodes);
    let mut setup = setup;
    setup.options.confirm_every = Duration::from_millis(20);
    setup.options.confirm = Some(Arc::new(move |store: &dyn Store, fence: Fence| {
        // What is contradicted stands in the store; a witness that has not come so far is asked again.
        let _told = anchor::check(store, fence, &witnesses, &SystemClock::new());
    }));
    setup
}

#[test]
fn two_hosts_that_agree_confirm_what_is_followed() {
    let mut network = network(1, 30);
    let (first, second) = (node(&network), node_at(2, &network));
    let archive = Archive::new();
    let follower = archive.follow(witnessed(Setup::of(&network, &[&first]).from(110), &[&first, &second]));
    let agreed = |at: u32| {
        move |anchor: &annals::store::Anchor| anchor.kind == AnchorKind::SourcesAgree && anchor.ledger >= seq(at)
    };
    follower.wait_for_status(|status| status.anchors.iter().any(agreed(129)));
    network.close_many(5);
    follower.wait_for_status(|status| status.anchors.iter().any(agreed(134)));
    assert_eq!(stored(follower.store.as_ref(), 110, 134), truth(&network, 110, 134));
    follower.end();
}

#[test]
fn another_host_that_contradicts_stops_the_follower_and_takes_nothing_back() {
    let mut network = network(2, 20);
    let mut fork = network.forked(9);
    network.close_many(10);
    fork.close_many(10);
    let (first, second) = (node(&network), node_at(2, &fork));
    let archive = Archive::new();
    let follower = archive.follow(witnessed(Setup::of(&network, &[&first]).from(110), &[&first, &second]));
    follower.wait_for_status(|status| status.open_incidents == 1);
    network.close_next();
    follower.wait_for_code("INCIDENT_OPEN");
    let incidents = follower.store.incidents().unwrap();
    assert_eq!((incidents.len(), incidents[0].kind), (1, IncidentKind::LedgerHash));
    let last = follower.store.status().unwrap().latest_ledger.unwrap().get();
    assert_eq!(stored(follower.store.as_ref(), 110, last), truth(&network, 110, last));
    follower.end();
}
