//! The program with witnesses.

use std::path::Path;

use annals_sim::{LakeLayout, LakeWriter, SimNetwork};
use serde_json::{Value, json};

use super::bench::*;
use crate::binary::{Ran, annals, backfill, report};
use crate::rpc::bench::network;

const PASSPHRASE: &str = "Annals Simulated Network";

fn write_lake(network: &SimNetwork, folder: &Path) {
    let mut writer = LakeWriter::new(folder, LakeLayout::default());
    network.kept().for_each(|ledger| writer.push(ledger).unwrap());
    writer.finish().unwrap();
}

#[test]
fn a_backfill_asks_its_archives_at_the_end_and_every_report_says_what_came_of_it() {
    let network = network(1, 101);
    let folder = tempfile::tempdir().unwrap();
    let (lake, data) = (folder.path().join("lake"), folder.path().join("archive"));
    write_lake(&network, &lake);
    let published = Published::of(&network);
    let url = published.server.url();
    let unasked = Ran::of(&mut backfill(&lake, &data, PASSPHRASE, "100:191")).ends_with(0).json();
    assert_eq!(unasked["anchor"], "source");
    let verified = report(&["verify"], &data).ends_with(0).json();
    assert_eq!(verified["chains"], json!([{"from": 100, "to": 191, "footholds": []}]));

    let mut command = backfill(&lake, &data, PASSPHRASE, "100:191");
    let nobody = "http://127.0.0.1:1";
    let ran = Ran::of(command.args(["--history-archive", nobody, "--history-archive", &url])).ends_with(0);
    assert_eq!(ran.json()["anchor"], "history-archive");
    assert!(ran.stderr.contains(&format!("{nobody} confirms nothing: ")), "{ran:?}");
    Ran::of(backfill(&lake, &data, PASSPHRASE, "192:200").env("HISTORY_ARCHIVE", &url)).ends_with(0);
    let verified = report(&["verify"], &data).ends_with(0).json();
    let foothold = json!({"ledger": 191, "anchor": "history-archive", "said_by": url});
    assert_eq!(verified["chains"], json!([{"from": 100, "to": 200, "footholds": [foothold]}]));
    let told = Ran::of(annals(["verify"]).arg("--data-dir").arg(&data)).ends_with(0).stdout;
    let line =
        format!("ledgers 100-200 hang on ledger 191 [history-archive, {url}], and above on the word of the source\n");
    assert!(told.contains(&line), "{told}");
    let status = report(&["status"], &data).ends_with(0).json();
    assert_eq!((&status["anchor"], &status["footholds"]), (&json!("history-archive"), &json!([foothold])));

    let exported = crate::binary::export(&data).stdout;
    let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let committed = events.into_iter().find(|event| event["proof"] == "committed").unwrap();
    let bundle = folder.path().join("proof.json");
    let prove = |command: &mut std::process::Command| Ran::of(command).ends_with(0);
    prove(annals(["prove", committed["id"].as_str().unwrap(), "--out"]).arg(&bundle).arg("--data-dir").arg(&data));
    let verdict = prove(annals(["check", "--json"]).arg(&bundle)).json();
    assert_eq!((&verdict["verdict"], &verdict["anchor"]["checkpoint"]), (&json!("proved"), &json!(true)));

    let database = rusqlite::Connection::open(data.join("annals.db")).unwrap();
    assert_eq!(database.execute("UPDATE anchors SET hash = zeroblob(32)", []).unwrap(), 1);
    drop(database);
    let tampered = report(&["verify"], &data).ends_with(3).json();
    assert_eq!((&tampered["faults_found"], &tampered["faults"][0]["code"]), (&json!(1), &json!("ANCHOR_CONTRADICTED")));
    assert_eq!(report(&["status"], &data).json()["anchor"], "source", "it counts for nothing");
}

#[test]
fn a_contradiction_ends_a_backfill_with_3_each_time() {
    let mut network = network(2, 60);
    let mut fork = network.forked(9);
    network.close_many(41);
    fork.close_many(41);
    let folder = tempfile::tempdir().unwrap();
    let (lake, data) = (folder.path().join("lake"), folder.path().join("archive"));
    write_lake(&network, &lake);
    let published = Published::of(&fork);
    for _ in 0..2 {
        let mut command = backfill(&lake, &data, PASSPHRASE, "100:200");
        let ran = Ran::of(command.args(["--history-archive", &published.server.url()])).ends_with(3);
        assert_eq!(ran.json()["error"]["code"], "ANCHOR_CONTRADICTED");
        assert!(ran.stderr.contains("error: ledger 191 is stored with the hash "), "{ran:?}");
    }
    assert_eq!(report(&["status"], &data).ends_with(0).json()["ingested_through"], 200);
    let (one, other) = (node_at(1, &network), node_at(2, &fork));
    let endpoints = |first: &str, second: &str, data: &Path| {
        let base = ["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", "100:+40"];
        Ran::of(annals(base).args(["--rpc", first, "--rpc", second]).arg("--data-dir").arg(data))
    };
    let agreed = endpoints(&one.url(), &other.url(), &folder.path().join("agreed")).ends_with(0).json();
    assert_eq!(agreed["anchor"], "sources-agree", "up to 159 the two chains are one");
}

#[test]
fn what_is_no_address_of_an_archive_is_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for (given, code) in [("hidden", "USAGE"), ("s3://hidden", "UNSUPPORTED_SCHEME")] {
        let mut command = backfill(folder.path(), &folder.path().join("archive"), PASSPHRASE, "100:200");
        let ran = Ran::of(command.args(["--history-archive", given])).ends_with(2);
        assert_eq!(ran.json()["error"]["code"], code);
        assert!(ran.stderr.starts_with("error: --history-archive: ") && !ran.stderr.contains("hidden"), "{ran:?}");
    }
}
