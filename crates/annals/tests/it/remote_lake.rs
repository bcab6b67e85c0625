//! SEP-54 lakes behind an address, over HTTP.

pub mod server;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use annals::source::{
    Address, LakeOptions, LakeSource, LedgerSource, RemoteLakeOptions, RemoteLakeSource, SourceError, Timeouts,
};
use annals_core::LedgerSeq;
use annals_sim::{Ending, LakeLayout, LakeWriter, SimNetwork};
use tempfile::TempDir;

use self::server::{LakeServer, Reply};
use crate::binary::{Ran, annals, export};
use crate::fill::bench::{Bench, range, told};
use crate::rpc::bench::{HandClock, network, timeouts, whole_job};

fn open(server: &LakeServer, clock: &Arc<HandClock>) -> Result<RemoteLakeSource, SourceError> {
    let address = Address::parse(&server.url()).unwrap();
    RemoteLakeSource::open(address, RemoteLakeOptions { timeouts: timeouts(), seed: 1 }, Arc::<HandClock>::clone(clock))
}

fn remote(server: &LakeServer) -> RemoteLakeSource {
    open(server, &Arc::default()).unwrap()
}

const SINGLE: LakeLayout = LakeLayout { ledgers_per_object: 1, objects_per_partition: 64_000, ending: Ending::Zst };
const BATCHES: LakeLayout = LakeLayout { ledgers_per_object: 8, objects_per_partition: 4, ending: Ending::Zstd };

/// A lake of all of the network's ledgers.
fn lake(network: &SimNetwork, layout: LakeLayout) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LakeWriter::new(folder.path(), layout);
    network.kept().for_each(|ledger| writer.push(ledger).unwrap());
    writer.finish().unwrap();
    layout.write_manifest(folder.path(), network.network()).unwrap();
    folder
}

/// Every object's name and bytes, or its range and code and nothing.
fn read(source: &dyn LedgerSource, from: u32, to: u32) -> Vec<(String, Vec<u8>)> {
    let told = |fault: annals::source::ObjectFault| (format!("{} {}", fault.range.unwrap(), fault.code()), Vec::new());
    let objects = source.open(range(from, to)).unwrap();
    objects.map(|object| object.map_or_else(told, |object| (object.name, object.bytes))).collect()
}

fn faults(source: &dyn LedgerSource, from: u32, to: u32) -> Vec<String> {
    read(source, from, to).into_iter().filter(|(_, bytes)| bytes.is_empty()).map(|(told, _)| told).collect()
}

fn object_path(folder: &Path, layout: LakeLayout, number: u32) -> std::path::PathBuf {
    folder.join(layout.object_path(LedgerSeq::new(number).unwrap()))
}

#[test]
fn a_lake_behind_an_address_gives_the_objects_of_the_folder_in_the_folders_order() {
    // From the middle of a batch on, so that the first and the last object are whole.
    let mut network = network(1, 92);
    network.close_many(1);
    for layout in [SINGLE, BATCHES, LakeLayout { objects_per_partition: 1, ..SINGLE }] {
        let folder = lake(&network, layout);
        let server = LakeServer::start(folder.path());
        let local = LakeSource::open(folder.path(), LakeOptions::default()).unwrap();
        let remote = remote(&server);
        assert_eq!(remote.claimed_passphrase(), Some(network.network().passphrase()));
        for (from, to) in [(104, 191), (150, 150), (110, 170), (2, 99)] {
            assert_eq!(read(&remote, from, to), read(&local, from, to), "{layout:?} {from}-{to}");
        }
        assert_eq!(remote.name(), format!("lake:{}", server.url()));
        assert!(server.paths().iter().all(|path| path.contains(".xdr.zst") || path.ends_with("/.config.json")));
    }
}

#[test]
fn h6_an_object_is_absent_when_neither_ending_is_there_and_both_endings_may_be_mixed() {
    let network = network(2, 40);
    let folder = lake(&network, SINGLE);
    for absent in [110, 111, 130] {
        fs::remove_file(object_path(folder.path(), SINGLE, absent)).unwrap();
    }
    for older in [105, 120] {
        let path = object_path(folder.path(), SINGLE, older);
        fs::rename(&path, path.with_extension("zstd")).unwrap();
    }
    let server = LakeServer::start(folder.path());
    let bench = Bench::new();
    let summary = bench.run(&whole_job(&network, 100, 139), &remote(&server));
    assert_eq!(told(&summary), ["110-111 NOT_IN_SOURCE", "130 NOT_IN_SOURCE"]);
    assert_eq!(summary.fetched, 37);
}

#[test]
fn a_lake_without_a_manifest_is_read_by_the_layout_that_finds_its_objects() {
    let network = network(3, 200);
    for (per_object, per_partition) in [(1, 64_000), (1, 1), (64, 1), (64, 10), (64, 1_000)] {
        let layout =
            LakeLayout { ledgers_per_object: per_object, objects_per_partition: per_partition, ending: Ending::Zstd };
        let folder = lake(&network, layout);
        fs::remove_file(folder.path().join(".config.json")).unwrap();
        let server = LakeServer::start(folder.path());
        let source = remote(&server);
        assert_eq!(source.claimed_passphrase(), None);
        let local = LakeSource::open(folder.path(), LakeOptions::default()).unwrap();
        assert_eq!(read(&source, 128, 255), read(&local, 128, 255), "{layout:?}");
    }
    let folder = lake(&network, LakeLayout { ledgers_per_object: 7, objects_per_partition: 3, ending: Ending::Zst });
    fs::remove_file(folder.path().join(".config.json")).unwrap();
    let server = LakeServer::start(folder.path());
    let refusal = remote(&server).open(range(128, 255)).err().unwrap();
    assert_eq!(refusal.code(), "UNKNOWN_LAYOUT");
    assert!(server.paths().len() < 60, "the search is bounded: {}", server.paths().len());
}

#[test]
fn h4_a_server_that_fails_for_a_while_is_asked_again_after_a_growing_wait() {
    let network = network(4, 20);
    let folder = lake(&network, SINGLE);
    for reply in [
        Reply::status(503, "Retry-After: 2\r\n"),
        Reply::status(429, ""),
        Reply::status(500, ""),
        Reply::Cut,
        Reply::Close,
    ] {
        let server = LakeServer::start(folder.path());
        let clock = Arc::<HandClock>::default();
        let source = open(&server, &clock).unwrap();
        let failing = reply.clone();
        server.play(move |path, count| (path.contains("--110.") && count <= 2).then(|| failing.clone()));
        assert!(faults(&source, 100, 119).is_empty(), "{reply:?}");
        assert_eq!(clock.slept().len(), 2, "{reply:?}");
        if matches!(&reply, Reply::Status(503, _)) {
            assert_eq!(clock.slept(), [Duration::from_secs(2); 2]);
        }
    }
}

#[test]
fn h4_what_does_not_pass_is_a_fault_of_its_object_and_a_server_that_stays_away_ends_the_reading() {
    let network = network(5, 60);
    let folder = lake(&network, SINGLE);
    let server = LakeServer::start(folder.path());
    let clock = Arc::<HandClock>::default();
    let source = open(&server, &clock).unwrap();
    server.play(|path, _| match path {
        path if path.contains("--110.") => Some(Reply::status(403, "")),
        path if path.contains("--111.") => Some(Reply::status(302, "Location: http://127.0.0.1:1/elsewhere\r\n")),
        path if path.contains("--112.") => Some(Reply::status(200, "Content-Type: text/html\r\n")),
        _ => None,
    });
    let expected = ["110 UNREADABLE_OBJECT", "111 UNREADABLE_OBJECT", "112 UNREADABLE_OBJECT"];
    assert_eq!(faults(&source, 100, 159), expected);
    assert!(clock.slept().is_empty(), "what takes an operator is asked for once");
    server.play(|path, _| path.contains(".xdr.").then(|| Reply::status(503, "")));
    let faults = faults(&source, 100, 159);
    assert_eq!((faults.len(), faults[7].as_str()), (8, "107-159 UNREADABLE_OBJECT"));
}

#[test]
fn a_manifest_of_a_lake_that_cannot_be_read_is_told_before_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = LakeServer::start(folder.path());
    let refused = |reply: Reply| {
        server.play(move |_, _| Some(reply.clone()));
        open(&server, &Arc::default()).unwrap_err()
    };
    assert_eq!(refused(Reply::status(401, "")).code(), "SOURCE_UNREADABLE");
    assert_eq!(refused(Reply::status(503, "")).code(), "SOURCE_UNREADABLE");
    assert_eq!(refused(Reply::Body(b"no json".to_vec())).code(), "BAD_MANIFEST");
    assert_eq!(refused(Reply::Body(vec![b' '; 70_000])).code(), "BAD_MANIFEST");
    let loud = refused(Reply::Body(b"{\"networkPassphrase\":\"calm\\u001b[2J\"}".to_vec()));
    assert!(loud.code() == "BAD_MANIFEST" && !loud.to_string().contains("calm"), "{loud}");
    assert_eq!(refused(Reply::Body(b"{\"compression\":\"gzip\"}".to_vec())).code(), "UNSUPPORTED_COMPRESSION");
    let sentence = refused(Reply::status(200, "Content-Type: text/html\r\n")).to_string();
    assert!(sentence.ends_with("/.config.json could not be read"), "{sentence}");
}

#[test]
fn a_reading_that_is_dropped_stops_the_fetching() {
    let network = network(6, 600);
    let folder = lake(&network, SINGLE);
    let server = LakeServer::start(folder.path());
    let mut objects = remote(&server).open(range(100, 699)).unwrap();
    assert!(objects.next().unwrap().is_ok());
    drop(objects);
    assert!(server.paths().len() <= 1 + 2 + 64, "{}", server.paths().len());
}

#[test]
fn the_command_reads_a_lake_behind_an_address_as_it_reads_the_folder() {
    let network = network(7, 30);
    let folder = lake(&network, SINGLE);
    let server = LakeServer::start(folder.path());
    let archive = tempfile::tempdir().unwrap();
    let run = |lake: &str, name: &str| {
        let data_dir = archive.path().join(name);
        let network = ["--network-passphrase", network.network().passphrase()];
        let mut command = annals(["backfill", "--from", "100:129", "--lake", lake]);
        Ran::of(command.args(network).arg("--data-dir").arg(&data_dir)).ends_with(0);
        export(&data_dir).ends_with(0).stdout
    };
    let remote = run(&server.url(), "remote");
    assert!(remote.lines().count() > 30);
    assert_eq!(remote, run(folder.path().to_str().unwrap(), "local"));
}

#[test]
fn a_lake_in_a_bucket_is_refused_with_what_to_give_instead() {
    let folder = tempfile::tempdir().unwrap();
    for lake in ["s3://bucket/hidden", "gs://bucket/hidden"] {
        let mut command = annals(["backfill", "--network", "pubnet", "--from", "2:9", "--lake", lake]);
        let ran = Ran::of(command.arg("--data-dir").arg(folder.path().join("archive"))).ends_with(2);
        assert!(ran.stderr.contains("give the https:// address of the same [UNSUPPORTED_SCHEME]"), "{ran:?}");
        assert!(!ran.stderr.contains("hidden") && fs::read_dir(folder.path()).unwrap().next().is_none());
    }
}

#[test]
fn a_bucket_that_may_not_be_listed_is_read_though_it_forbids_whatever_is_absent() {
    let network = network(8, 40);
    let older = LakeLayout { ending: Ending::Zstd, ..SINGLE };
    let folder = lake(&network, older);
    fs::remove_file(folder.path().join(".config.json")).unwrap();
    fs::remove_file(object_path(folder.path(), older, 110)).unwrap();
    let server = LakeServer::start(folder.path());
    let held = folder.path().to_path_buf();
    server.play(move |path, _| {
        let is_there = path.strip_prefix("/lake/").is_some_and(|file| held.join(file).is_file());
        (!is_there).then(|| Reply::status(403, ""))
    });
    let source = remote(&server);
    source.check_range(range(100, 139)).unwrap();
    assert_eq!(faults(&source, 100, 139), ["110 UNREADABLE_OBJECT"]);
    assert_eq!(read(&source, 100, 139).len(), 40);
    server.play(|_, _| Some(Reply::status(403, "")));
    let refusal = remote(&server).check_range(range(100, 139)).unwrap_err();
    assert_eq!(refusal.code(), "SOURCE_UNREADABLE");
}

#[test]
fn an_object_far_larger_than_the_others_is_kept_in_its_turn_alone() {
    let network = network(9, 3);
    let folder = lake(&network, SINGLE);
    let server = LakeServer::start(folder.path());
    // The bodies take a while on a busy machine.
    let options = RemoteLakeOptions { timeouts: Timeouts::default(), seed: 1 };
    let address = Address::parse(&server.url()).unwrap();
    let source = RemoteLakeSource::open(address, options, Arc::<HandClock>::default()).unwrap();
    let large = vec![7; 17 << 20];
    server
        .play(move |path, _| (path.contains(".xdr.") && !path.contains("--100.")).then(|| Reply::Body(large.clone())));
    let objects = source.open(range(100, 102)).unwrap().map(|object| object.unwrap().bytes.len());
    let lens: Vec<usize> = objects.collect();
    assert!(lens[0] < 1 << 20 && lens[1..] == [17 << 20; 2], "{lens:?}");
    let asked = server.paths().iter().filter(|path| path.contains("--101.")).count();
    assert_eq!(asked, 2, "what comes before its turn is given up where it is large");
}

#[test]
fn an_address_without_a_lake_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let server = LakeServer::start(folder.path());
    let archive = folder.path().join("archive");
    let mut command = annals(["backfill", "--network", "pubnet", "--from", "63M:+10", "--lake", &server.url()]);
    let ran = Ran::of(command.arg("--data-dir").arg(&archive)).ends_with(1);
    assert!(ran.stderr.contains("[UNKNOWN_LAYOUT]") && !archive.exists(), "{ran:?}");
}
