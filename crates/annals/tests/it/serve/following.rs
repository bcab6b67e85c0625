//! What is followed is served by the same process.

use annals_sim::{LakeLayout, LakeWriter, Misbehaviour, When};

use super::process::{PASSPHRASE, Process, follower, wait_for_ledger};
use crate::anchor::bench::node_at;
use crate::api::client::get;
use crate::binary::{annals, export, report};
use crate::fill::bench::seq;
use crate::rpc::bench::{network, node, on};

#[test]
fn ledgers_are_read_from_the_process_that_takes_them_as_they_close() {
    let mut network = network(1, 30);
    let node = node(&network);
    let folder = tempfile::tempdir().unwrap();
    let serving = Process::start(follower(&[&node.url()], folder.path(), &["--from", "100"]));
    let address = serving.listens();
    serving.says("caught up: from now on each ledger is stored as it closes");
    for last in 130..140 {
        network.close_next();
        wait_for_ledger(address, last);
    }
    let health = get(address, "/v1/health").answers();
    assert_eq!((&health["ingested_through"], &health["start_ledger"]), (&139.into(), &100.into()), "{health}");
    let ended = serving.ends_by("-TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let events: usize = network.records().map(|ledger| ledger.events).sum();
    assert_eq!(export(folder.path()).ends_with(0).stdout.lines().count(), events);
}

#[test]
fn a_server_that_was_away_takes_what_closed_meanwhile_and_needs_no_network_named() {
    let mut network = network(2, 20);
    let node = node(&network);
    let folder = tempfile::tempdir().unwrap();
    let first = Process::start(follower(&[&node.url()], folder.path(), &["--from", "100"]));
    wait_for_ledger(first.listens(), 119);
    assert_eq!(first.ends_by("-INT").code, Some(0));
    network.close_many(20);
    let mut command = annals(["serve", "--json", "--port", "0", "--data-dir"]);
    command.arg(folder.path()).env("ANNALS_RPC", node.url());
    let second = Process::start(command);
    let line: serde_json::Value = serde_json::from_str(&second.line()).unwrap();
    wait_for_ledger(line["listening"].as_str().unwrap().parse().unwrap(), 139);
    assert_eq!(second.ends_by("-TERM").code, Some(0));
    report(&["verify"], folder.path()).ends_with(0);
}

#[test]
fn what_the_endpoint_no_longer_keeps_comes_from_the_lake_beside_it() {
    let network = network(3, 60);
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(140))));
    let folder = tempfile::tempdir().unwrap();
    let (lake, data_dir) = (folder.path().join("lake"), folder.path().join("archive"));
    let layout = LakeLayout::default();
    layout.write_manifest(&lake, network.network()).unwrap();
    let mut writer = LakeWriter::new(&lake, layout);
    network.kept().for_each(|ledger| writer.push(ledger).unwrap());
    writer.finish().unwrap();
    let config = folder.path().join("own.toml");
    let text = format!(
        "network_passphrase = '{PASSPHRASE}'\nrpc = '{}'\nlake = ['{}']\nfrom = 100\ndisk_reserve = '1MiB'\n",
        node.url(),
        lake.display()
    );
    std::fs::write(&config, text).unwrap();
    let mut command = annals(["serve", "--port", "0", "--config"]);
    command.arg(&config).arg("--data-dir").arg(&data_dir);
    let serving = Process::start(command);
    wait_for_ledger(serving.listens(), 159);
    assert_eq!(serving.ends_by("-TERM").code, Some(0));
    let events: usize = network.records().map(|ledger| ledger.events).sum();
    assert_eq!(export(&data_dir).ends_with(0).stdout.lines().count(), events);
}

#[test]
fn that_nobody_confirms_what_is_stored_is_said_once_with_what_to_do() {
    let network = network(5, 10);
    let (first, second, elsewhere) = (node(&network), node(&network), node_at(2, &network));
    let run = |urls: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let serving = Process::start(follower(urls, folder.path(), &["--from", "100"]));
        wait_for_ledger(serving.listens(), 109);
        let said = serving.ends_by("-TERM").stderr;
        let about = |line: &&String| line.contains("nobody beside the source confirms what is stored: name --rpc");
        said.iter().filter(about).count()
    };
    assert_eq!(run(&[&first.url()]), 1);
    assert_eq!(run(&[&first.url(), &second.url()]), 1, "two endpoints of one host");
    assert_eq!(run(&[&first.url(), &elsewhere.url()]), 0);
}

#[test]
fn without_an_rpc_it_serves_alone_whatever_a_backfill_is_configured_with() {
    let folder = tempfile::tempdir().unwrap();
    let network = network(4, 10);
    let node = node(&network);
    let first = Process::start(follower(&[&node.url()], folder.path(), &["--from", "100"]));
    wait_for_ledger(first.listens(), 109);
    assert_eq!(first.ends_by("-TERM").code, Some(0));
    let mut command = annals(["serve", "--port", "0", "--data-dir"]);
    command.arg(folder.path()).env("LAKE", "/nowhere").env("FROM", "a sender");
    let serving = Process::start(command);
    let health = get(serving.listens(), "/v1/health").answers();
    assert_eq!(health["ingested_through"], 109, "{health}");
    assert_eq!(serving.ends_by("-TERM").code, Some(0));
}
