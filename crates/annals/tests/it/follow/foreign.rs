//! Lakes of another chain under the same passphrase, and what the archive knows by events alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use annals::backfill::{self, Job, Progress};
use annals::source::LedgerSource;
use annals::store::{GapFailure, Store as _};
use annals_core::{LedgerRange, ScopeKey};
use annals_sim::{HeldLedgers, Misbehaviour, RpcOptions, RpcServer, Script, SimNetwork, When};

use super::bench::{Archive, Follower, Setup, assert_whole, stored, truth};
use super::gaps::{gaps, lake, passphrase_network, with_lake};
use crate::fill::bench::{ScriptedSource, chain, range, seq};
use crate::rpc::bench::{Client, node, on, whole_job};

/// What a node keeps that keeps nothing below ledger 350.
fn pruned() -> Script {
    on(When::always(), Misbehaviour::OldestLedger(seq(350)))
}

/// Waits until the gap below 350 was tried often, and checks that nothing else than the node's is stored.
#[track_caller]
fn assert_untouched(follower: &Follower, network: &SimNetwork) {
    follower.wait_for_ledger(399);
    let status = follower.wait_for_status(|status| status.gaps.iter().any(|gap| gap.attempts >= 6));
    assert_eq!(gaps(&status), ["100-349"]);
    assert_eq!(status.gaps[0].last_code.as_deref(), Some("CONTRADICTS_STORED"), "{:?}", status.gaps);
    assert_eq!(status.covered(ScopeKey::All).within(range(100, 349)).count(), 0);
    assert_whole(follower.store.as_ref(), network, 350, 399);
}

#[test]
fn of_a_lake_of_another_chain_nothing_is_stored_and_another_lake_fills_the_gap() {
    let (network, honest) = with_lake(1, 300);
    let (_, foreign) = with_lake(2, 300);
    let node = node(&network);
    node.play(pruned());
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.lakes = vec![lake(&foreign)];
    let follower = archive.follow(setup);
    assert_untouched(&follower, &network);
    follower.end();
    let mut setup = Setup::of(&network, &[&node]);
    setup.lakes = vec![lake(&foreign), lake(&honest)];
    let follower = archive.follow(setup);
    follower.wait_for_status(|status| status.gaps.is_empty());
    assert_whole(follower.store.as_ref(), &network, 100, 399);
}

#[test]
fn of_a_lake_that_shows_nothing_of_the_stored_chain_nothing_is_stored_and_one_that_shows_some_fills_what_it_has() {
    let (network, whole) = with_lake(1, 300);
    let node = node(&network);
    node.play(pruned());
    for seed in [1, 2] {
        // It ends below the gap's end.
        let (_, short) = with_lake(seed, 200);
        let mut setup = Setup::of(&network, &[&node]).from(100);
        setup.lakes = vec![lake(&short)];
        let archive = Archive::new();
        let follower = archive.follow(setup);
        follower.wait_for_ledger(399);
        let is_refused = |gap: &annals::store::Gap| gap.last_code.as_deref() == Some("NOT_TIED");
        let status = follower.wait_for_status(|status| status.gaps.iter().any(is_refused));
        assert_eq!(gaps(&status), ["100-349"], "seed {seed}");
        assert_whole(follower.store.as_ref(), &network, 350, 399);
        follower.end();
    }
    // Another lacks the gap's last ledgers, and has what is stored above.
    for number in 340..=349 {
        let object =
            walk(whole.path()).into_iter().find(|path| path.to_string_lossy().contains(&format!("--{number}.")));
        std::fs::remove_file(object.unwrap()).unwrap();
    }
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.lakes = vec![lake(&whole)];
    let archive = Archive::new();
    let follower = archive.follow(setup);
    let status = follower.wait_for_status(|status| gaps(status) == ["340-349"]);
    assert_eq!(status.open_incidents, 0);
    assert_eq!(stored(follower.store.as_ref(), 100, 339), truth(&network, 100, 339));
}

/// Every file below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_lake_is_not_asked_for_what_nothing_stored_judges_before_the_boundarys_ledger_has_come() {
    let (network, _) = with_lake(3, 300);
    let (_, foreign) = with_lake(4, 300);
    let node = node(&network);
    // The first page of ledgers comes late; nothing else asks for one before.
    node.play(pruned().on(When::method("getLedgers").call(1), Misbehaviour::Hang));
    let archive = Archive::new();
    let mut setup = Setup::of(&network, &[&node]).from(100);
    setup.lakes = vec![lake(&foreign)];
    setup.times_faster = 20;
    let follower = archive.follow(setup);
    assert!(node.wait_for(Duration::from_secs(30), |seen| {
        seen.iter().filter(|request| request.method == "getLedgers").count() > 1
    }));
    assert_untouched(&follower, &network);
}

#[test]
fn a_fork_of_the_stored_chain_is_taken_no_further_than_nothing_where_the_ledger_above_is_another() {
    let (network, _) = with_lake(5, 100);
    let mut fork = network.forked(9);
    let mut network = network;
    network.close_many(200);
    fork.close_many(200);
    let forked = ScriptedSource::new(fork.kept().map(|ledger| crate::fill::bench::Item::of(ledger)));
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::StuckAt(seq(199))));
    let archive = Archive::new();
    archive.follow_to(Setup::of(&network, &[&node]).from(150), 199);
    // The boundary comes first, so that the lake is judged by it.
    node.play(pruned());
    let follower = archive.follow(Setup::of(&network, &[&node]));
    follower.wait_for_ledger(399);
    follower.end();
    let mut setup = Setup::of(&network, &[&node]);
    setup.lakes = vec![Arc::new(forked)];
    let follower = archive.follow(setup);
    let refused = |gap: &annals::store::Gap| gap.last_code.as_deref() == Some("CONTRADICTS_STORED");
    let status = follower.wait_for_status(|status| status.gaps.iter().any(refused));
    assert_eq!((gaps(&status), status.open_incidents), (vec!["200-349".to_owned()], 0));
    assert_eq!(stored(follower.store.as_ref(), 150, 199), truth(&network, 150, 199));
}

#[test]
fn a_silent_ledger_that_is_held_back_at_the_boundary_tells_what_belongs_below_it() {
    let ledgers = chain(1, 100, 60, |number| number < 140);
    let network = annals_core::Network::new(crate::fill::bench::PASSPHRASE);
    let held = HeldLedgers::of(&network, ledgers[..50].iter().map(|ledger| ledger.xdr.clone())).unwrap();
    let node = RpcServer::start(held.clone(), RpcOptions::default()).unwrap();
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(145))));
    let archive = Archive::new();
    let mut setup = Setup::of(&passphrase_network(), &[&node]).from(100);
    let (foreign, honest) = (ScriptedSource::of(&chain(2, 100, 60, |_| true)), ScriptedSource::of(&ledgers));
    setup.lakes = vec![Arc::new(foreign) as Arc<dyn LedgerSource>, Arc::new(honest)];
    let follower = archive.follow(setup);
    follower.wait_for_code("NETWORK_UNPROVEN");
    follower.wait_for_status(|status| status.gaps.is_empty());
    held.push(ledgers[50].xdr.clone()).unwrap();
    follower.wait_for_ledger(150);
    let rows = follower.store.ledgers(seq(100), 100).unwrap();
    assert!(rows.iter().map(|row| row.hash).eq(ledgers[..51].iter().map(|ledger| ledger.hash)));
}

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn fault(&self, _: &GapFailure) {}
    fn end(&self) {}
}

#[test]
fn what_is_known_by_events_alone_is_verified_beside_the_tip_as_far_as_a_source_has_it() {
    let (network, honest) = with_lake(6, 300);
    let node = node(&network);
    let archive = Archive::new();
    let job: Job = whole_job(&network, 200, 380);
    let store = archive.store();
    let told = backfill::run_events(&job, &store, &Client::of(&[&node]).source, &Silent).unwrap();
    assert_eq!((told.unverified_ranges.len(), told.verified_through), (1, None));
    drop(store);
    node.play(pruned());
    let follower = archive.follow(Setup::of(&network, &[&node]));
    let kept = |from: u32| LedgerRange::new(seq(from), seq(399)).unwrap();
    let status = follower.wait_for_status(|status| status.verified.covers(kept(350)));
    assert!(!status.verified.contains(seq(349)) && status.gaps.is_empty(), "{status:?}");
    follower.end();
    let mut setup = Setup::of(&network, &[&node]);
    setup.lakes = vec![lake(&honest)];
    let follower = archive.follow(setup);
    follower.wait_for_status(|status| status.verified.covers(kept(200)) && status.events.unverified == 0);
    assert_whole(follower.store.as_ref(), &network, 200, 399);
}
