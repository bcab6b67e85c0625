//! `--rpc-mode events` as it is typed.

use annals_sim::{Misbehaviour, When};

use crate::binary::{Ran, annals, report};
use crate::cli::fixture::names;
use crate::fill::bench::seq;
use crate::rpc::bench::{network_from, node, on, requests_of};

const PASSPHRASE: &str = "Annals Simulated Network";

#[test]
fn what_contradicts_it_is_refused_in_one_sentence_before_anything_is_asked() {
    let network = network_from(seq(2), 1, 5);
    let node = node(&network);
    let url = node.url();
    let folder = tempfile::tempdir().unwrap();
    let backfill = ["backfill", "--network-passphrase", PASSPHRASE, "--from", "2:6"];
    for (verb, flags, sentence) in [
        (
            &backfill[..],
            vec!["--rpc", &url, "--rpc-mode", "both"],
            "--rpc-mode is \"both\" and takes ledgers or events",
        ),
        (&backfill[..], vec!["--lake", "there", "--rpc-mode", "events"], "give --rpc URL"),
        (
            &backfill[..],
            vec!["--rpc", &url, "--rpc-mode", "events", "--classic", "drop"],
            "takes ledgers where classic events are dropped: events alone do not tell which those are",
        ),
        (
            &["serve", "--listen", "127.0.0.1:0"][..],
            vec!["--rpc", &url, "--rpc-mode", "events"],
            "takes ledgers where a network is followed: `annals backfill` takes events alone",
        ),
    ] {
        let archive = folder.path().join("archive");
        let ran = Ran::of(annals(verb).args(&flags).arg("--data-dir").arg(&archive)).ends_with(2);
        assert!(ran.stderr.contains(sentence) && ran.stderr.ends_with("[USAGE]\n"), "{flags:?}: {ran:?}");
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
    assert!(node.requests().is_empty());
}

#[test]
fn the_environment_chooses_it_and_a_gap_says_why() {
    let network = network_from(seq(2), 2, 20);
    let node = node(&network);
    node.play(on(When::always(), Misbehaviour::StuckAt(seq(15))));
    let folder = tempfile::tempdir().unwrap();
    let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", "2:21"]);
    command.env("RPC_MODE", "events").env("ANNALS_RPC", node.url()).arg("--data-dir").arg(folder.path());
    let ran = Ran::of(&mut command).ends_with(1);
    assert_eq!(ran.json()["gaps"], serde_json::json!([{"from": 16, "to": 21}]));
    assert!(ran.stderr.contains("16-21 are missing") && ran.stderr.contains("[ABOVE_TIP]"), "{ran:?}");
    assert!(requests_of(&node, "getLedgers").is_empty());
    let status = report(&["status"], folder.path()).ends_with(0).json();
    assert_eq!(
        (status["ingested_through"].as_u64(), &status["verified_through"]),
        (Some(15), &serde_json::Value::Null)
    );
    node.play(on(When::always(), Misbehaviour::Passphrase("Another Network".to_owned())));
    let other = Ran::of(&mut command).ends_with(3);
    assert!(other.stderr.contains("[NETWORK_MISMATCH]"), "{other:?}");
}
