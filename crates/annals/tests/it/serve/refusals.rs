//! What cannot be followed is refused before anybody is answered: one line, a code, and nothing made.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use annals::clock::SystemClock;
use annals::store::SqliteStore;
use annals_core::Network;
use annals_sim::{LakeLayout, LakeWriter, Misbehaviour, NetworkOptions, SimNetwork, When};

use super::process::{PASSPHRASE, PATIENCE, Process, follower, held, wait_for_ledger};
use crate::binary::annals;
use crate::cli::fixture::{Fixture, names};
use crate::fill::bench::seq;
use crate::rpc::bench::{network, node, on};

/// Requires one line of an error with this code, no address, and that nothing was made; gives the line.
#[track_caller]
fn refused(command: Command, exit: i32, code: &str, data_dir: &Path) -> String {
    let line = refused_over(command, exit, code);
    assert!(!data_dir.exists(), "{code}: {:?}", names(data_dir));
    line
}

/// The same where there is an archive.
#[track_caller]
fn refused_over(command: Command, exit: i32, code: &str) -> String {
    let process = Process::start(command);
    assert_eq!(process.rest_of_stdout(), Vec::<String>::new(), "the port is not told");
    let ended = process.ends_within(PATIENCE);
    assert_eq!(ended.code, Some(exit), "{ended:?}");
    let lines: Vec<&String> = ended.stderr.iter().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(lines[..], [line] if line.ends_with(&format!("[{code}]"))), "{ended:?}");
    lines[0].clone()
}

#[test]
fn an_endpoint_that_is_none_or_of_another_network_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let chain = network(1, 10);
    let (one, other) = (node(&chain), node(&chain));
    let run = |urls: &[&str]| follower(urls, &data_dir, &[]);
    let line = refused(run(&["http://127.0.0.1:1"]), 1, "ENDPOINT_UNREACHABLE", &data_dir);
    assert!(line.contains("check the address and the way to it"), "{line}");
    for what in [Misbehaviour::html(), Misbehaviour::plain(404, None, "nothing"), Misbehaviour::empty_result()] {
        one.play(on(When::always(), what));
        let line = refused(run(&[&one.url()]), 1, "NOT_AN_RPC", &data_dir);
        assert!(line.contains("give the address of a Stellar RPC, which is another than Horizon's"), "{line}");
    }
    one.play(on(When::always(), Misbehaviour::Passphrase("Another Network".to_owned())));
    let line = refused(run(&[&one.url()]), 3, "NETWORK_MISMATCH", &data_dir);
    assert!(
        line.contains("is of the network \"Another Network\" and \"Annals Simulated Network\" was asked for"),
        "{line}"
    );
    let line = refused(run(&[&other.url(), &one.url()]), 1, "NETWORKS_DIFFER", &data_dir);
    assert!(line.contains("name endpoints of one network"), "{line}");
}

#[test]
fn a_port_that_somebody_listens_on_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let chain = network(7, 10);
    let node = node(&chain);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = annals(["serve", "--listen", &address, "--network-passphrase", PASSPHRASE, "--data-dir"]);
    command.arg(&data_dir).args(["--rpc", &node.url()]);
    let line = refused(command, 1, "NOT_LISTENING", &data_dir);
    assert!(line.contains(&format!("{address} cannot be listened on: give another address with --listen")), "{line}");
    assert!(node.requests().is_empty(), "nobody is asked");
}

#[test]
fn a_start_above_the_tip_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let chain = network(2, 10);
    let node = node(&chain);
    let line = refused(follower(&[&node.url()], &data_dir, &["--from", "63M"]), 1, "ABOVE_TIP", &data_dir);
    assert!(line.contains("ledger 63000000 is above 109, the latest of rpc:http://127.0.0.1:"), "{line}");
    let line = refused(follower(&[&node.url()], &data_dir, &["--from", "5:9"]), 2, "USAGE", &data_dir);
    assert!(line.contains("following has a first ledger and no last one"), "{line}");
}

#[test]
fn a_lake_of_another_network_is_refused_and_so_is_one_that_nobody_knows() {
    let folder = tempfile::tempdir().unwrap();
    let (data_dir, lake) = (folder.path().join("archive"), folder.path().join("lake"));
    let chain = network(3, 10);
    let node = node(&chain);
    let layout = LakeLayout::default();
    layout.write_manifest(&lake, &Network::new("Another Network")).unwrap();
    let mut writer = LakeWriter::new(&lake, layout);
    chain.kept().for_each(|ledger| writer.push(ledger).unwrap());
    writer.finish().unwrap();
    let run = |lake: &str| follower(&[&node.url()], &data_dir, &["--lake", lake]);
    let line = refused(run(lake.to_str().unwrap()), 3, "NETWORK_MISMATCH", &data_dir);
    assert!(line.contains("lake:") && line.contains("is of the network \"Another Network\""), "{line}");
    let line = refused(run("public"), 2, "NO_PUBLIC_LAKE", &data_dir);
    assert!(line.contains("give --lake a folder or an address"), "{line}");
    refused(run("/nowhere/at/all"), 1, "SOURCE_NOT_FOUND", &data_dir);
}

#[test]
fn how_to_follow_without_whom_to_ask_is_refused_with_what_to_do() {
    let fixture = Fixture::archive();
    for args in [["--lake", "there"], ["--from", "63M"], ["--network", "pubnet"], ["--disk-reserve", "2GiB"]] {
        let mut command = annals(["serve", "--port", "0", "--data-dir"]);
        command.arg(fixture.data_dir()).args(args);
        let line = refused_over(command, 2, "NO_RPC");
        let told = format!("{} is for a server that follows a network, and no RPC is named: add --rpc URL", args[0]);
        assert!(line.contains(&told) && line.contains("`annals backfill`"), "{line}");
    }
}

#[test]
fn a_network_that_nobody_names_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let mut command = annals(["serve", "--port", "0", "--rpc", "http://127.0.0.1:1", "--data-dir"]);
    command.arg(&data_dir);
    let line = refused(command, 2, "USAGE", &data_dir);
    assert!(line.contains("the network is missing: give --network pubnet, testnet, futurenet or local"), "{line}");
}

#[test]
fn an_archive_far_ahead_of_the_network_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let begins = |first: u32| {
        let options = NetworkOptions { heavy_ledgers: Vec::new(), ..NetworkOptions::of_seed(4) };
        let mut network = SimNetwork::with(options.beginning_with(seq(first)));
        network.close_many(10);
        network
    };
    let (old, anew) = (begins(1_000_000), begins(100));
    let first = node(&old);
    let serving = Process::start(follower(&[&first.url()], folder.path(), &["--from", "1M"]));
    wait_for_ledger(serving.listens(), 1_000_009);
    assert_eq!(serving.ends_by("-TERM").code, Some(0));
    let before = held(folder.path());
    let second = node(&anew);
    let line = refused_over(follower(&[&second.url()], folder.path(), &[]), 3, "AHEAD_OF_NETWORK");
    assert!(line.contains("the archive holds ledger 1000009") && line.contains("is at 109"), "{line}");
    assert_eq!(held(folder.path()), before);
}

#[test]
fn a_pin_that_the_chain_contradicts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("archive");
    let chain = network(5, 10);
    let node = node(&chain);
    let wrong = format!("105:{}", "ab".repeat(32));
    let run = |pin: &str| follower(&[&node.url()], &data_dir, &["--from", "100", "--pin", pin]);
    let line = refused(run(&wrong), 3, "PIN_CONTRADICTED", &data_dir);
    assert!(line.contains("ledger 105"), "{line}");
    let stored = |args: &[&str]| {
        let serving = Process::start(follower(&[&node.url()], &data_dir, args));
        wait_for_ledger(serving.listens(), 109);
        serving.says("caught up");
        assert_eq!(serving.ends_by("-TERM").code, Some(0));
    };
    stored(&["--from", "100"]);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(108))));
    let line = refused_over(run(&wrong), 3, "PIN_CONTRADICTED");
    assert!(line.contains("ledger 105 has the hash"), "{line}");
    let right = format!("105:{}", chain.records().find(|ledger| ledger.seq == seq(105)).unwrap().hash);
    stored(&["--pin", &right]);
    refused_over(run(&wrong), 3, "PINNED_OTHERWISE");
}

#[test]
fn a_second_writer_is_refused_at_once_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let chain = network(6, 10);
    let node = node(&chain);
    let serving = Process::start(follower(&[&node.url()], folder.path(), &["--from", "100"]));
    let address = serving.listens();
    let line = refused_over(follower(&[&node.url()], folder.path(), &[]), 1, "WRITER_BUSY");
    assert!(line.contains("a server that follows is stopped before, and started again after"), "{line}");
    wait_for_ledger(address, 109);
    assert_eq!(serving.ends_by("-TERM").code, Some(0));
    let holder = SqliteStore::open_writer(folder.path(), Arc::new(SystemClock::new())).unwrap();
    refused_over(follower(&[&node.url()], folder.path(), &[]), 1, "WRITER_BUSY");
    drop(holder);
    let mut other = annals(["serve", "--port", "0", "--network", "pubnet", "--rpc", &node.url(), "--data-dir"]);
    other.arg(folder.path());
    let line = refused_over(other, 3, "NETWORK_MISMATCH");
    assert!(line.contains(PASSPHRASE), "{line}");
    let other = follower(&[&node.url()], folder.path(), &["--classic", "drop"]);
    let line = refused_over(other, 1, "POLICY_MISMATCH");
    assert!(line.contains("the archive was begun with --classic keep"), "{line}");
}
