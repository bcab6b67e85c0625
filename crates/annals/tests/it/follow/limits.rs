//! What keeps a follower from committing, and what it says then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use annals::clock::{Clock, SystemClock};
use annals::store::{FollowStateName, Store as _};
use annals_core::{LedgerFault, Network, PROTOCOL_KNOWN_MAX, check_ledger};
use annals_sim::{HeldLedgers, Misbehaviour, NetworkOptions, RpcOptions, RpcServer, SimNetwork, When};
use serde_json::json;

use super::bench::{Archive, Setup, assert_whole};
use super::gaps::passphrase_network;
use crate::fill::bench::{PASSPHRASE, chain, pin, seq, told};
use crate::rpc::bench::{Client, network, node, on};

/// A network that changes to a protocol that is not known in ledger 106.
fn changing(seed: u64) -> SimNetwork {
    SimNetwork::with(NetworkOptions {
        protocol: PROTOCOL_KNOWN_MAX,
        upgrades: vec![(seq(106), PROTOCOL_KNOWN_MAX + 1)],
        heavy_ledgers: Vec::new(),
        first_ledger: seq(100),
        ..NetworkOptions::of_seed(seed)
    })
}

#[test]
fn a_backfill_names_ledgers_of_an_unknown_protocol_as_such_and_not_as_broken() {
    let mut network = changing(1);
    network.close_many(9);
    let node = node(&network);
    let (_, summary) = crate::rpc::bench::fill(&network, &Client::of(&[&node]), 100, 108);
    assert_eq!(told(&summary), ["107 UNKNOWN_PROTOCOL", "108 UNKNOWN_PROTOCOL"]);
    assert!(!summary.contradicts_chain(), "a newer Annals reads them");
    assert_eq!(summary.verified_through, Some(106), "the ledger that changes it ran under the one before");
    let later = &network.latest().unwrap().xdr;
    let unknown = LedgerFault::UnknownProtocol { protocol: PROTOCOL_KNOWN_MAX + 1 };
    for bytes in [&later[..], &later[..later.len() - 4]] {
        assert_eq!(check_ledger(bytes, network.network()).unwrap_err(), unknown, "also where its form is another");
    }
}

#[test]
fn a_protocol_that_is_not_known_is_announced_before_and_nothing_of_it_is_stored() {
    let mut network = changing(1);
    network.close_many(3);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower.wait_for_ledger(102);
    network.close_many(6);
    follower.wait_for_code("UNKNOWN_PROTOCOL");
    assert_whole(follower.store.as_ref(), &network, 100, 106);
    let announced = follower.said(|said| said.announced.clone());
    assert_eq!(announced.len(), 1, "{announced:?}");
    assert!(announced[0].contains("protocol 31"), "{announced:?}");
    let said = follower.store.status().unwrap().freshness.unwrap();
    assert_eq!((said.state, said.code.as_deref()), (FollowStateName::Waiting, Some("UNKNOWN_PROTOCOL")));
    assert_eq!(said.announced, Some(announced[0].clone()));
    assert_eq!(follower.store.status().unwrap().gaps, Vec::new());
}

#[test]
fn a_protocol_that_a_node_speaks_of_is_announced_once_and_holds_nothing_up() {
    let network = network(2, 5);
    let node = node(&network);
    let later = |result: &mut serde_json::Value| result["protocolVersion"] = json!(PROTOCOL_KNOWN_MAX + 2);
    node.play(on(When::method("getVersionInfo"), Misbehaviour::edit_result(later)));
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(104);
    follower.wait_for_state(FollowStateName::Following);
    let announced = follower.said(|said| said.announced.clone());
    assert!(announced.len() == 1 && announced[0].contains("protocol 32"), "{announced:?}");
}

#[test]
fn a_disk_that_is_nearly_full_takes_nothing_more_and_with_room_it_goes_on() {
    let mut network = network(3, 10);
    let node = node(&network);
    let archive = Archive::new();
    let free = Arc::new(AtomicU64::new(100 << 20));
    let mut setup = Setup::of(&network, &[&node]);
    setup.options.disk_reserve_bytes = 64 << 20;
    let told = Arc::clone(&free);
    setup.options.free_bytes = Arc::new(move || Some(told.load(Ordering::SeqCst)));
    let follower = archive.follow(setup);
    follower.wait_for_ledger(109);
    free.store(63 << 20, Ordering::SeqCst);
    network.close_many(3);
    follower.wait_for_code("DISK_NEARLY_FULL");
    assert_eq!(follower.store.status().unwrap().latest_ledger, Some(seq(109)));
    free.store(65 << 20, Ordering::SeqCst);
    follower.wait_for_ledger(112);
    follower.wait_for_state(FollowStateName::Following);
    assert_whole(follower.store.as_ref(), &network, 109, 112);
}

#[test]
fn a_first_ledger_without_a_transaction_is_held_back_until_one_proves_the_network() {
    let ledgers = chain(4, 100, 20, |number| number == 112);
    let held = HeldLedgers::of(&Network::new(PASSPHRASE), [ledgers[0].xdr.clone()]).unwrap();
    let node = RpcServer::start(held.clone(), RpcOptions::default()).unwrap();
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&passphrase_network(), &[&node]));
    for (number, ledger) in (100..).zip(&ledgers[..12]) {
        held.push(ledger.xdr.clone()).unwrap();
        follower.wait(|said| {
            let message = said.states.last().and_then(|state| state.message.clone()).unwrap_or_default();
            message.contains(&format!("ledgers 100 to {number} hold no transaction"))
        });
        assert_eq!(follower.store.status().unwrap().latest_ledger, None, "ledger {number} proves nothing");
    }
    held.push(ledgers[12].xdr.clone()).unwrap();
    follower.wait_for_ledger(112);
    let rows = follower.store.ledgers(seq(100), 20).unwrap();
    assert!(rows.iter().map(|row| row.hash).eq(ledgers[..13].iter().map(|ledger| ledger.hash)));
    follower.end();
    let archive = Archive::new();
    let mut setup = Setup::of(&passphrase_network(), &[&node]).from(100);
    setup.job.pins = vec![pin(&ledgers[0])];
    archive.follow_to(setup, 100);
}

#[test]
fn what_is_held_back_is_not_lost_where_its_commit_has_to_wait() {
    let ledgers = chain(4, 100, 20, |number| number == 103);
    let held =
        HeldLedgers::of(&Network::new(PASSPHRASE), ledgers[..2].iter().map(|ledger| ledger.xdr.clone())).unwrap();
    let node = RpcServer::start(held.clone(), RpcOptions::default()).unwrap();
    let archive = Archive::new();
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let mut setup = Setup::of(&passphrase_network(), &[&node]).from(100);
    let told = Arc::clone(&free);
    setup.options.free_bytes = Arc::new(move || Some(told.load(Ordering::SeqCst)));
    let follower = archive.follow(setup);
    follower.wait_for_code("NETWORK_UNPROVEN");
    free.store(0, Ordering::SeqCst);
    ledgers[2..5].iter().for_each(|ledger| held.push(ledger.xdr.clone()).unwrap());
    follower.wait_for_code("DISK_NEARLY_FULL");
    free.store(u64::MAX, Ordering::SeqCst);
    follower.wait_for_ledger(104);
    let rows = follower.store.ledgers(seq(100), 20).unwrap();
    assert!(rows.iter().map(|row| row.hash).eq(ledgers[..5].iter().map(|ledger| ledger.hash)));
    assert_eq!(follower.store.status().unwrap().gaps, Vec::new());
}

#[test]
fn a_pin_that_the_chain_contradicts_stops_at_it() {
    let network = network(5, 10);
    let node = node(&network);
    let other = crate::rpc::bench::network(6, 10);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]);
    setup.job.pins = vec![pin(other.latest().unwrap())];
    let follower = archive.follow(setup);
    follower.wait_for_code("PIN_CONTRADICTED");
    assert_eq!(follower.store.status().unwrap().latest_ledger, None);
}

/// A wall clock that jumps by a step at each look, beside a clock that never goes back.
struct Jumping {
    clock: SystemClock,
    looks: AtomicU64,
    back: bool,
}

impl Clock for Jumping {
    fn now_unix_ms(&self) -> u64 {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        let now = self.clock.now_unix_ms();
        if self.back { now.saturating_sub(look * 100_000_000_000) } else { now + look * 3_600_000 }
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration);
    }
}

#[test]
fn clocks_that_jump_neither_stall_nor_spin_nor_make_a_time_below_nothing() {
    for back in [true, false] {
        let mut network = network(17, 10);
        let node = node(&network);
        let archive = Archive::new();
        let mut setup = Setup::of(&network, &[&node]);
        setup.clock = Some(Arc::new(Jumping { clock: SystemClock::new(), looks: AtomicU64::new(0), back }));
        let follower = archive.follow(setup);
        follower.wait_for_ledger(109);
        let before = node.requests().len();
        for _ in 0..30 {
            let closed = network.close_next().seq.get();
            follower.wait_for_ledger(closed);
        }
        assert!(node.requests().len() - before < 2_000, "{} requests", node.requests().len() - before);
        assert_whole(follower.store.as_ref(), &network, 109, 139);
        let told = follower.said(|said| said.committed.last().unwrap().after_closed_ms);
        assert_eq!(told.is_none(), back, "a close in the future is no time at all: {told:?}");
        assert!(back || follower.store.status().unwrap().freshness.unwrap().latency.is_some());
    }
}

#[test]
fn what_it_says_of_itself_is_there_for_every_process() {
    let mut network = network(8, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    for _ in 0..5 {
        let closed = network.close_next().seq.get();
        follower.wait_for_ledger(closed);
    }
    let status = follower.wait_for_status(|status| {
        let said = status.freshness.as_ref();
        said.is_some_and(|said| said.latency.is_some_and(|latency| latency.ledgers >= 5))
    });
    let said = status.freshness.unwrap();
    assert_eq!((said.state, said.code), (FollowStateName::Following, None));
    assert_eq!(said.tip.unwrap().ledger, seq(114));
    let latency = said.latency.unwrap();
    assert!(latency.seen_to_visible_p50_ms <= latency.seen_to_visible_p99_ms, "{latency:?}");
}

#[test]
fn a_node_that_allows_only_small_pages_is_followed_in_small_pages() {
    let network = network(8, 100);
    let options = annals_sim::RpcOptions { ledgers_default: 5, ledgers_max: 10, ..annals_sim::RpcOptions::default() };
    let node = annals_sim::RpcServer::start(network.ledgers(), options).unwrap();
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options.catch_up_max = 50;
    let follower = archive.follow(setup);
    follower
        .wait_for_status(|status| status.gaps.is_empty() && status.latest_ledger.is_some_and(|seq| seq.get() == 199));
    follower.end();
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower.wait_for_ledger(199);
}
