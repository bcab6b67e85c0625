//! A stop at any moment: in time, without half a ledger, and to go on from.

use std::time::Duration;

use annals_sim::{Misbehaviour, RpcServer, SimNetwork, When};
use tempfile::TempDir;

use super::process::{END_MAX, Process, follower, wait_for, wait_for_ledger};
use super::trickle::Trickle;
use crate::api::client::{Connection, Reply, get};
use crate::binary::{export, report};
use crate::cli::fixture::names;
use crate::rpc::bench::{network, node, on};

/// The first ledger of the network.
const FIRST: u32 = 100;
const LEDGERS: u32 = 300;

struct Scene {
    network: SimNetwork,
    node: RpcServer,
    folder: TempDir,
}

impl Scene {
    fn of(seed: u64, ledgers: u32) -> Self {
        let network = network(seed, ledgers);
        Self { node: node(&network), network, folder: tempfile::tempdir().unwrap() }
    }

    fn follower(&self) -> Process {
        Process::start(follower(&[&self.node.url()], self.folder.path(), &["--from", "100"]))
    }

    /// What a stop left can be verified, and a start over it goes on to the end of the network: everything is there.
    fn goes_on(&self) {
        if !names(self.folder.path()).is_empty() {
            report(&["verify"], self.folder.path()).ends_with(0);
        }
        self.node.play(annals_sim::Script::new());
        let again = self.follower();
        let last = self.network.latest().unwrap().seq.get();
        wait_for_ledger(again.listens(), last);
        let ended = again.ends_by("-TERM");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        report(&["verify"], self.folder.path()).ends_with(0);
        let events: usize = self.network.records().map(|ledger| ledger.events).sum();
        assert_eq!(export(self.folder.path()).ends_with(0).stdout.lines().count(), events);
    }
}

#[test]
fn a_source_that_hangs_keeps_no_stop_waiting() {
    for (method, call) in [("getLedgers", 1), ("getLedgers", 3)] {
        let scene = Scene::of(1, LEDGERS);
        scene.node.play(on(When::method(method).from_call(call..), Misbehaviour::Hang));
        let serving = scene.follower();
        let address = serving.listens();
        let asked =
            |seen: &[annals_sim::SeenRequest]| seen.iter().filter(|one| one.method == method).count() >= call as usize;
        assert!(scene.node.wait_for(super::process::PATIENCE, asked), "{method} {call}");
        get(address, "/v1/health").answers();
        let ended = serving.ends_by("-TERM");
        assert_eq!(ended.code, Some(0), "{method} {call}: {ended:?}");
        scene.goes_on();
    }
}

#[test]
fn a_source_that_hangs_at_the_start_is_left_behind_and_nothing_was_made() {
    let scene = Scene::of(2, 10);
    scene.node.play(on(When::always(), Misbehaviour::Hang));
    let serving = scene.follower();
    assert!(scene.node.wait_for(super::process::PATIENCE, |seen| !seen.is_empty()));
    let ended = serving.ends_by("-INT");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.iter().any(|line| line.contains("stopping before anybody was answered")), "{ended:?}");
    assert_eq!(names(scene.folder.path()), Vec::<String>::new());
}

#[test]
fn a_body_that_never_ends_keeps_no_stop_waiting() {
    let scene = Scene::of(3, LEDGERS);
    let trickle = Trickle::before(scene.node.address(), "getLedgers");
    let url = format!("http://{}", trickle.address);
    let serving = Process::start(follower(&[&url], scene.folder.path(), &["--from", "100"]));
    serving.listens();
    trickle.has_begun();
    let ended = serving.ends_by("-TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    scene.goes_on();
}

#[test]
fn a_stop_wakes_whoever_waits_for_a_server_that_asked_for_time() {
    let scene = Scene::of(4, LEDGERS);
    scene.node.play(on(When::method("getLedgers").from_call(2..), Misbehaviour::unavailable(Some(600))));
    let serving = scene.follower();
    serving.listens();
    let asked = |seen: &[annals_sim::SeenRequest]| seen.iter().filter(|one| one.method == "getLedgers").count() >= 2;
    assert!(scene.node.wait_for(super::process::PATIENCE, asked));
    let ended = serving.ends_by("-TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.took < END_MAX / 2, "{ended:?}");
    scene.goes_on();
}

#[test]
fn a_stop_in_the_middle_of_catching_up_leaves_whole_ledgers() {
    let scene = Scene::of(5, 1500);
    for stop_at in [FIRST, FIRST + 100, FIRST + 400] {
        let serving = scene.follower();
        wait_for_ledger(serving.listens(), stop_at);
        let ended = serving.ends_by("-TERM");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        report(&["verify"], scene.folder.path()).ends_with(0);
    }
    scene.goes_on();
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let scene = Scene::of(6, 10);
    let serving = scene.follower();
    let address = serving.listens();
    wait_for_ledger(address, FIRST + 9);
    // A request that runs for as long as its head lets wait for its end.
    let mut connection = Connection::open(address);
    connection.send(b"GET /healthz HTTP/1.1\r\nhost: a\r\n");
    serving.says("caught up");
    serving.signal("-TERM");
    serving.says("stopping");
    serving.signal("-TERM");
    let ended = serving.ends_within(Duration::from_secs(3));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    report(&["verify"], scene.folder.path()).ends_with(0);
}

#[test]
fn where_following_fails_it_is_told_at_once_and_reads_go_on_until_the_stop() {
    let mut scene = Scene::of(7, 10);
    let serving = scene.follower();
    let address = serving.listens();
    wait_for_ledger(address, FIRST + 9);
    let archive = rusqlite::Connection::open(scene.folder.path().join("annals.db")).unwrap();
    archive.busy_timeout(super::process::PATIENCE).unwrap();
    archive.execute_batch("UPDATE leases SET fence = fence + 1").unwrap();
    drop(archive);
    scene.network.close_next();
    let told = serving.says("following ended");
    assert!(told.contains("another writer has taken over the archive [STALE_FENCE]"), "{told}");
    let ready = get(address, "/readyz");
    assert_eq!(ready.status, 503);
    let writer = &ready.json()["parts"][1];
    assert_eq!((&writer["name"], &writer["code"]), (&"writer".into(), &"STALE_FENCE".into()), "{writer}");
    get(address, "/v1/health").answers();
    let ended = serving.ends_by("-TERM");
    assert_eq!(ended.code, Some(0), "a stop that was asked for is no failure: {ended:?}");
    assert!(ended.stderr.last().unwrap().ends_with("[STALE_FENCE]"), "{ended:?}");
}

#[test]
fn a_server_that_waits_at_an_incident_or_never_stored_anything_ends_with_0_by_a_signal() {
    let scene = Scene::of(8, 10);
    scene.node.play(on(When::method("getLedgers"), Misbehaviour::Hang));
    let empty = scene.follower();
    get(empty.listens(), "/healthz").answers();
    let ended = empty.ends_by("-INT");
    assert_eq!(ended.code, Some(0), "{ended:?}");

    scene.node.play(annals_sim::Script::new());
    let first = scene.follower();
    wait_for_ledger(first.listens(), FIRST + 9);
    assert_eq!(first.ends_by("-TERM").code, Some(0));
    scene.node.switch_to(network(9, 10).ledgers());
    let contradicted = scene.follower();
    let is_open = |reply: &Reply| String::from_utf8_lossy(&reply.body).contains("INCIDENT_OPEN");
    wait_for(contradicted.listens(), "/readyz", is_open);
    let ended = contradicted.ends_by("-TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
