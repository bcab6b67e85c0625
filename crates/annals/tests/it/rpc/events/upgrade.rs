//! Events alone first, and whole ledgers over the same range later.

use std::path::Path;

use annals_core::{Event, ProofClass};
use annals_sim::{LakeLayout, LakeWriter, Misbehaviour, RpcServer, Script, SimNetwork, When};
use serde_json::Value;

use crate::binary::{Ran, annals, export, report};
use crate::fill::bench::seq;
use crate::rpc::bench::{network_from, node, on};

const PASSPHRASE: &str = "Annals Simulated Network";

struct Bench {
    folder: tempfile::TempDir,
    network: SimNetwork,
    node: RpcServer,
}

impl Bench {
    /// Sixty ledgers from ledger 2 on: a lake of them, an archive of the lake, and a node.
    fn new(seed: u64) -> Self {
        let network = network_from(seq(2), seed, 60);
        let (folder, node) = (tempfile::tempdir().unwrap(), node(&network));
        let bench = Self { folder, network, node };
        bench.write_lake("lake", 2, 61);
        bench.by_lake("lake", "by-lake").ends_with(0);
        bench
    }

    fn write_lake(&self, name: &str, from: u32, to: u32) {
        let mut writer = LakeWriter::new(self.folder.path().join(name), LakeLayout::default());
        let ledgers = self.network.kept().filter(|ledger| (from..=to).contains(&ledger.seq.get()));
        ledgers.for_each(|ledger| writer.push(ledger).unwrap());
        writer.finish().unwrap();
    }

    fn by_lake(&self, lake: &str, archive: &str) -> Ran {
        let (lake, archive) = (self.folder.path().join(lake), self.folder.path().join(archive));
        Ran::of(&mut crate::binary::backfill(&lake, &archive, PASSPHRASE, "2:61"))
    }

    fn by_events(&self, archive: &str, script: Script) -> Value {
        self.node.play(script);
        let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--from", "2:61"]);
        command.args(["--rpc-mode", "events", "--rpc", &self.node.url()]);
        Ran::of(command.arg("--data-dir").arg(self.archive(archive))).ends_with(0).json()
    }

    fn archive(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, archive: &str) -> String {
        export(&self.archive(archive)).ends_with(0).stdout
    }

    /// An event that its ledger's header commits to.
    fn committed(&self) -> &Event {
        let events = self.network.kept().flat_map(|ledger| &ledger.events);
        events.filter(|event| event.proof == ProofClass::Committed).nth(20).unwrap()
    }
}

fn verify(archive: &Path) -> Value {
    report(&["verify"], archive).ends_with(0).json()
}

#[test]
fn a_lake_over_the_same_range_verifies_it_and_nothing_tells_the_two_archives_apart() {
    let bench = Bench::new(11);
    let first = bench.by_events("events", Script::new());
    assert_eq!((first["fetched"].as_u64(), first["ingested_through"].as_u64()), (Some(60), Some(61)));
    assert_eq!((&first["verified_through"], &first["events"]), (&Value::Null, &first["unverified"]));
    let alone = bench.export("events");
    assert!(alone.lines().all(|line| line.contains("\"proof\":\"unverified\"")));
    verify(&bench.archive("events"));

    let second = bench.by_lake("lake", "events").ends_with(0).json();
    assert_eq!((second["fetched"].as_u64(), second["verified_through"].as_u64()), (Some(60), Some(61)));
    assert_eq!((second["unverified"].as_u64(), &second["events"]), (Some(0), &first["events"]));
    assert_eq!(first["unverified_ranges"], serde_json::json!([{"from": 2, "to": 61}]));
    assert_eq!(second["unverified_ranges"], serde_json::json!([]));
    assert!(bench.export("events") == bench.export("by-lake"), "the exports differ");
    assert_eq!(verify(&bench.archive("events")), verify(&bench.archive("by-lake")));

    let third = bench.by_lake("lake", "events").ends_with(0).json();
    assert_eq!(third["fetched"].as_u64(), Some(0), "what is verified is not read again");
    let again = bench.by_events("events", Script::new());
    assert_eq!((again["fetched"].as_u64(), again["verified_through"].as_u64()), (Some(0), Some(61)));
}

#[test]
fn an_event_that_the_endpoint_left_out_appears_with_the_ledger() {
    let bench = Bench::new(12);
    let lost = bench.committed().position;
    bench.by_events("events", on(When::method("getEvents"), Misbehaviour::omit_event(lost)));
    assert!(!bench.export("events").contains(&lost.to_string()), "nobody can tell yet");
    bench.by_lake("lake", "events").ends_with(0);
    assert!(bench.export("events") == bench.export("by-lake"), "the exports differ");
}

#[test]
fn an_event_that_the_endpoint_altered_is_an_incident() {
    let bench = Bench::new(13);
    let altered = bench.committed().position;
    bench.by_events("events", on(When::method("getEvents"), Misbehaviour::alter_event(altered)));
    let ran = bench.by_lake("lake", "events").ends_with(3);
    assert!(ran.stderr.contains("[INCIDENT]"), "{ran:?}");
    let incidents = report(&["incidents", "list"], &bench.archive("events"));
    assert!(incidents.stdout.contains(&altered.to_string()), "{incidents:?}");
}

#[test]
fn a_lake_of_a_part_verifies_that_part_and_the_rest_lacks_nothing_for_it() {
    let bench = Bench::new(14);
    bench.by_events("events", Script::new());
    bench.write_lake("part", 20, 40);
    let ran = bench.by_lake("part", "events").ends_with(0);
    let summary = ran.json();
    assert_eq!((summary["fetched"].as_u64(), &summary["verified_through"]), (Some(21), &Value::Null));
    assert_eq!((summary["ingested_through"].as_u64(), &summary["gaps"]), (Some(61), &serde_json::json!([])));
    assert!(!ran.stderr.contains("missing"), "{ran:?}");
    let left = serde_json::json!([{"from": 2, "to": 19}, {"from": 41, "to": 61}]);
    assert_eq!(summary["unverified_ranges"], left, "they are covered, and the summary says that they are no more");
    bench.by_lake("lake", "events").ends_with(0);
    assert!(bench.export("events") == bench.export("by-lake"), "the exports differ");
}
