//! `annals backfill --rpc`.

use std::path::Path;

use annals::source::{LakeOptions, LakeSource, LedgerSource as _};
use annals_core::Network;
use annals_sim::{HeldLedgers, LakeLayout, LakeWriter, Misbehaviour, RpcOptions, RpcServer, SimNetwork, When};

use super::bench::{network, node, on, requests_of};
use crate::binary::{Ran, annals, export};
use crate::cli::fixture::names;
use crate::fill::bench::{range, seq};

const PASSPHRASE: &str = "Annals Simulated Network";

fn backfill(urls: &[&str], range: &str, data_dir: &Path) -> Ran {
    let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", range]);
    urls.iter().for_each(|url| _ = command.args(["--rpc", url]));
    Ran::of(command.arg("--data-dir").arg(data_dir))
}

fn write_lake(network: &SimNetwork, folder: &Path) {
    let mut writer = LakeWriter::new(folder, LakeLayout::default());
    network.kept().for_each(|ledger| writer.push(ledger).unwrap());
    writer.finish().unwrap();
}

/// Requires one line of an error with this code, and that nothing was written.
#[track_caller]
fn refused(ran: Ran, exit: i32, code: &str, folder: &Path) -> String {
    let ran = ran.ends_with(exit);
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(errors[..], [line] if line.ends_with(&format!("[{code}]"))), "{ran:?}");
    assert_eq!(names(folder), Vec::<String>::new(), "nothing is written");
    errors[0].to_owned()
}

#[test]
fn the_export_of_what_came_over_rpc_is_that_of_a_lake_of_the_same_chain_byte_for_byte() {
    let network = network(1, 120);
    let node = node(&network);
    node.play(on(When::method("getLedgers").every(3, 2), Misbehaviour::null_result()));
    let folder = tempfile::tempdir().unwrap();
    let (by_rpc, by_lake) = (folder.path().join("rpc"), folder.path().join("lake-archive"));
    let summary = backfill(&[&node.url()], "100:219", &by_rpc).ends_with(0).json();
    assert_eq!((summary["fetched"].as_u64(), summary["verified_through"].as_u64()), (Some(120), Some(219)));
    write_lake(&network, &folder.path().join("lake"));
    Ran::of(&mut crate::binary::backfill(&folder.path().join("lake"), &by_lake, PASSPHRASE, "100:219")).ends_with(0);
    let exported = export(&by_rpc).ends_with(0).stdout;
    assert_eq!(exported.lines().count() as u64, summary["events"].as_u64().unwrap());
    assert_eq!(exported, export(&by_lake).ends_with(0).stdout);
}

#[test]
fn real_ledgers_over_rpc_are_archived_as_from_their_lake_in_pages_of_bounded_bytes() {
    let Some(ledgers) = crate::shared::ledgers() else { return };
    let lake = ledgers.join("pubnet-p26-lake");
    let source = LakeSource::open(&lake, LakeOptions::default()).unwrap();
    let objects = source.open(range(63_092_982, 63_092_991)).unwrap();
    let raw = objects.flat_map(|object| object.unwrap().into_ledgers().unwrap()).map(|ledger| ledger.bytes);
    let held = HeldLedgers::of(&Network::preset("pubnet").unwrap(), raw).unwrap();
    let node = RpcServer::start(held, RpcOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |flag: &str, from: &str| {
        let data_dir = folder.path().join(&flag[2..]);
        let mut command = annals(["backfill", "--network", "pubnet", "--from", "63092982:+10", flag, from]);
        Ran::of(command.arg("--data-dir").arg(&data_dir)).ends_with(0);
        export(&data_dir).ends_with(0).stdout
    };
    let exported = run("--rpc", &node.url());
    assert_eq!(exported.lines().count(), 6591);
    assert_eq!(exported, run("--lake", lake.to_str().unwrap()));
    let limits: Vec<u64> = requests_of(&node, "getLedgers")
        .iter()
        .map(|page| page.params["pagination"]["limit"].as_u64().unwrap())
        .collect();
    assert_eq!(limits, [4, 5, 1], "ledgers of about 1.5 MB");
}

#[test]
fn endpoints_come_from_the_environment_and_the_file_too() {
    let network = network(2, 10);
    let node = node(&network);
    let folder = tempfile::tempdir().unwrap();
    let base = |name: &str| {
        let mut command = annals(["backfill", "--network-passphrase", PASSPHRASE, "--from", "100:109"]);
        command.arg("--data-dir").arg(folder.path().join(name));
        command
    };
    Ran::of(base("a").env("ANNALS_RPC", format!("http://127.0.0.1:1, {}", node.url()))).ends_with(0);
    let file = folder.path().join("annals.toml");
    std::fs::write(&file, format!("rpc = ['{}']", node.url())).unwrap();
    Ran::of(base("b").arg("--config").arg(&file)).ends_with(0);
    let both = Ran::of(base("c").args(["--rpc", &node.url(), "--lake", "there"])).ends_with(2);
    assert!(both.stderr.contains("--lake and --rpc cannot both be given"), "{both:?}");
    let both = Ran::of(base("c").args(["--rpc", &node.url(), "--ledgers", "there"])).ends_with(2);
    assert!(both.stderr.contains("--ledgers and --rpc cannot both be given"), "{both:?}");
}

#[test]
fn each_wrong_endpoint_is_one_line_that_says_what_to_do_and_leaves_no_trace() {
    let network = network(3, 10);
    let node = node(&network);
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    let run = |range: &str| backfill(&[&node.url()], range, &archive);
    let above = refused(run("110:120"), 1, "ABOVE_TIP", folder.path());
    assert!(above.contains("ledger 110 is above 109, the latest of rpc:http://127.0.0.1:"), "{above}");
    refused(run("63M:+10"), 1, "ABOVE_TIP", folder.path());
    let play = |what| node.play(on(When::always(), what));
    play(Misbehaviour::Passphrase("Another Network".to_owned()));
    refused(run("100:109"), 3, "NETWORK_MISMATCH", folder.path());
    play(Misbehaviour::html());
    let html = refused(run("100:109"), 1, "NOT_AN_RPC", folder.path());
    assert!(html.contains("give the address of a Stellar RPC"), "{html}");
    play(Misbehaviour::plain(404, None, "nothing"));
    refused(run("100:109"), 1, "NOT_AN_RPC", folder.path());
    play(Misbehaviour::plain(403, None, ""));
    refused(run("100:109"), 1, "ENDPOINT_REFUSES", folder.path());
    let nobody = backfill(&["http://127.0.0.1:1"], "100:109", &archive);
    refused(nobody, 1, "ENDPOINT_UNREACHABLE", folder.path());
    for (url, code) in [("hidden", "USAGE"), ("s3://hidden", "UNSUPPORTED_SCHEME"), ("", "USAGE")] {
        let line = refused(backfill(&[url], "100:109", &archive), 2, code, folder.path());
        assert!(line.starts_with("error: --rpc: ") && !line.contains("hidden"), "{line}");
    }
}

#[test]
fn a_range_outside_retention_is_a_listed_gap_with_its_reason() {
    let network = network(4, 50);
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::OldestLedger(seq(120))));
    let folder = tempfile::tempdir().unwrap();
    let ran = backfill(&[&node.url()], "100:160", folder.path()).ends_with(1);
    assert_eq!(ran.json()["gaps"], serde_json::json!([{"from": 100, "to": 119}, {"from": 150, "to": 160}]));
    for line in ["100-119 are missing", "fill it from a lake [BELOW_RETENTION]", "150-160 are missing", "[ABOVE_TIP]"] {
        assert!(ran.stderr.contains(line), "{line}: {ran:?}");
    }
    let gaps = Ran::of(annals(["gaps"]).arg("--data-dir").arg(folder.path()));
    assert!(gaps.stdout.contains("BELOW_RETENTION") && gaps.stdout.contains("ABOVE_TIP"), "{gaps:?}");
}
