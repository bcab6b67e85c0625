//! How following ends.

use std::sync::Arc;
use std::time::Duration;

use annals::clock::{Clock, Stop, StoppableClock, SystemClock};
use annals::follow::{self, FollowError, FollowSources};
use annals::source::{LedgerObject, LedgerSource, ObjectStream, Poll, RequestFault, SourceError, Tip, TipSource};
use annals::store::{SqliteStore, Store};
use annals_core::{LedgerRange, LedgerSeq};
use annals_sim::{Misbehaviour, When};

use super::bench::{Archive, Recorder, Setup, assert_whole};
use crate::rpc::bench::{network, node, on};

#[test]
fn a_stop_ends_it_at_once_whatever_a_node_does() {
    for method in ["getHealth", "getLedgers"] {
        let mut network = network(1, 200);
        let node = node(&network);
        let archive = Archive::new();
        let mut setup = Setup::of(&network, &[&node]).from(100);
        setup.options.catch_up_max = 5;
        let follower = archive.follow(setup);
        follower.wait_for_status(|status| status.gaps.is_empty() && status.latest_ledger.is_some());
        node.play(on(When::method(method), Misbehaviour::Hang));
        network.close_many(50);
        let seen = node.requests().len();
        assert!(
            node.wait_for(Duration::from_secs(20), |requests| requests[seen..]
                .iter()
                .any(|seen| seen.method == method))
        );
        let clock = SystemClock::new();
        follower.end();
        assert!(clock.monotonic() < Duration::from_secs(5), "{method}: {:?}", clock.monotonic());
    }
}

/// Says how fast ledgers are followed that are all there, beside fetching and checking alone.
#[test]
fn all_ledgers_that_are_there_are_followed_at_a_good_part_of_the_speed_of_reading_them() {
    const LEDGERS: u32 = 2_000;
    let network = network(5, LEDGERS);
    let (node, last) = (node(&network), 99 + LEDGERS);
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.options.catch_up_max = LEDGERS;
    let source = setup.sources(&Stop::new()).tip;
    let clock = SystemClock::new();
    let mut next = 100;
    while next <= last {
        let Poll::Ledgers(objects, _) = source.poll(LedgerSeq::new(next).unwrap(), 200) else { panic!("{next}") };
        for raw in objects.into_iter().flat_map(|object| object.into_ledgers().unwrap()) {
            next = annals_core::check_ledger(&raw.bytes, network.network()).unwrap().seq.get() + 1;
        }
    }
    let (read, began) = (clock.monotonic(), clock.monotonic());
    let follower = archive.follow(setup);
    follower.wait_for_ledger(last);
    let followed = clock.monotonic() - began;
    eprintln!("{LEDGERS} ledgers: read and checked in {read:?}, followed in {followed:?}");
    assert_whole(follower.store.as_ref(), &network, 100, last);
    assert!(followed < read * 20, "{followed:?} against {read:?}");
}

#[test]
fn g2_a_stop_at_any_moment_leaves_whole_ledgers_and_nothing_is_lost_by_it() {
    let mut network = network(2, 300);
    let node = node(&network);
    let archive = Archive::new();
    let mut last = 99;
    for round in 0..12 {
        let mut setup = Setup::of(&network, &[&node]).from(100);
        setup.options.catch_up_max = if round % 2 == 0 { 1_000 } else { 5 };
        let follower = archive.follow(setup);
        let before = last;
        follower.wait_for_status(|status| status.verified.count() > u64::from(before - 99) || round > 5);
        follower.end();
        let status = archive.status();
        last = 99 + u32::try_from(status.verified.count()).unwrap();
        network.close_many(7);
    }
    let to = network.latest().unwrap().seq.get();
    let follower = archive.follow(Setup::of(&network, &[&node]).from(100));
    follower
        .wait_for_status(|status| status.gaps.is_empty() && status.latest_ledger.is_some_and(|seq| seq.get() == to));
    assert_whole(follower.store.as_ref(), &network, 100, to);
}

#[test]
fn inv_7_whoever_lost_the_lease_ends_and_writes_nothing_more() {
    let mut network = network(3, 10);
    let node = node(&network);
    let archive = Archive::new();
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(109);
    let _taken = follower.store.acquire().unwrap();
    network.close_many(5);
    let store = Arc::clone(&follower.store);
    let failure = follower.failure();
    assert_eq!(failure.code(), "STALE_FENCE");
    assert_eq!(store.status().unwrap().latest_ledger.unwrap().get(), 109);
}

/// A source whose reader panics.
struct Panicking(String);

impl LedgerSource for Panicking {
    fn name(&self) -> String {
        "panicking".to_owned()
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn open(&self, _: LedgerRange) -> Result<ObjectStream, SourceError> {
        std::panic::panic_any("the reader is broken")
    }
}

impl TipSource for Panicking {
    fn poll(&self, _: LedgerSeq, _: u32) -> Poll {
        std::panic::panic_any("the reader is broken")
    }

    fn announced(&self) -> Vec<Result<Tip, Arc<RequestFault>>> {
        vec![Ok(Tip { latest: LedgerSeq::FIRST_EXPORTED, oldest: None, latest_closed_unix_ms: None })]
    }

    fn serve(&self, _: LedgerSeq) -> Result<LedgerObject, Option<Arc<RequestFault>>> {
        std::panic::panic_any("the reader is broken")
    }

    fn protocol(&self) -> Option<u32> {
        None
    }

    fn pass_over(&self) {}
}

#[test]
fn i4_a_panic_of_a_source_is_an_error_told_and_not_a_silence() {
    let network = network(4, 10);
    let node = node(&network);
    let archive = Archive::new();
    let setup = Setup::of(&network, &[&node]);
    let store: Arc<dyn Store> = Arc::new(archive.store());
    let stop = Stop::new();
    let tip = Arc::new(Panicking(network.network().passphrase().to_owned()));
    let sources = FollowSources { tip, history: Vec::new() };
    let clock: Arc<dyn Clock> = Arc::new(StoppableClock::new(stop.clone()));
    let watch = Recorder::default();
    let failure = follow::run(&setup.job, &store, &sources, &setup.options, &clock, &stop, &watch).unwrap_err();
    assert!(matches!(failure, FollowError::Broken(_)), "{failure}");
    drop(store);
    let _reopened: SqliteStore = archive.store();
}
