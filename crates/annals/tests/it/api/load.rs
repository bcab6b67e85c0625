//! Readers beside a backfill in another process.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use annals_core::{LedgerSeq, Network};
use annals_sim::value::contract;
use annals_sim::{Format, LakeLayout, LakeWriter, Mix, Rng, random_chain};
use serde_json::Value;
use tempfile::TempDir;

use super::client::Connection;
use super::server::Served;
use crate::binary::{Ran, backfill};

const PASSPHRASE: &str = "Annals Crowded Network";
const FIRST: u32 = 1000;
const LEDGERS: u32 = 1500;
const READERS: u64 = 8;
/// How many bytes a slow reader takes at a time.
const SIP: usize = 256;
/// The bound of the write-ahead log in bytes; the store cuts the log back to less.
const WAL_BYTES_MAX: u64 = 256 << 20;

struct Lake {
    folder: TempDir,
    /// The ids of one contract's events by ledger.
    ids: HashMap<u32, Vec<String>>,
}

static LAKE: LazyLock<Lake> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let network = Network::new(PASSPHRASE);
    let mut writer = LakeWriter::new(folder.path().join("lake"), LakeLayout::default());
    let mut ids: HashMap<u32, Vec<String>> = HashMap::new();
    let mix = Mix { contracts: 4, ..Mix::new(Format::V2Meta4) };
    for ledger in random_chain(&network, LedgerSeq::new(FIRST).unwrap(), 3, LEDGERS, mix) {
        let own = ledger.events.iter().filter(|event| event.contract_id == Some(contract(1)));
        ids.insert(ledger.seq.get(), own.map(|event| event.position.to_string()).collect());
        writer.push(&ledger).unwrap();
    }
    writer.finish().unwrap();
    Lake { folder, ids }
});

/// One page of a window over an open connection, read in sips.
fn page(connection: &mut Connection, from: u32, to: u32) -> Value {
    let path = format!("/v1/contracts/{}/events?from_ledger={from}&to_ledger={to}&limit=1000", contract(1));
    connection.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes());
    connection.reply(true, SIP).unwrap().answers()
}

/// Reads windows until the backfill has ended; tells how many of them were complete.
fn read(served: &Served, seed: u64, ended: &AtomicBool) -> u32 {
    let mut rng = Rng::new(seed);
    let mut connection = Connection::open(served.address);
    let mut complete = 0;
    while !ended.load(Ordering::Relaxed) {
        let from = FIRST + rng.below(LEDGERS);
        let to = (from + rng.below(40)).min(FIRST + LEDGERS - 1);
        let page = page(&mut connection, from, to);
        let shown: Vec<&str> =
            page["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap()).collect();
        let held: Vec<&str> = (from..=to).flat_map(|seq| &LAKE.ids[&seq]).map(String::as_str).collect();
        if page["missing"] == Value::Array(Vec::new()) {
            assert_eq!(page["cursor"], Value::Null);
            assert_eq!(shown, held, "{from}-{to}: a window without a gap shows every event");
            complete += 1;
        } else {
            assert_eq!(page["complete"], false, "{from}-{to}");
            assert!(shown.iter().all(|id| held.contains(id)));
        }
    }
    complete
}

#[test]
fn f6_i8_eight_slow_readers_beside_a_backfill_see_no_error_and_no_torn_window() {
    let data_dir = LAKE.folder.path().join("archive");
    let lake = LAKE.folder.path().join("lake");
    Ran::of(&mut backfill(&lake, &data_dir, PASSPHRASE, "1000:+10")).ends_with(0);
    let served = Served::over(&data_dir, &[]);
    let ended = AtomicBool::new(false);
    let complete = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for seed in 0..READERS {
            let (served, ended, complete) = (&served, &ended, &complete);
            scope.spawn(move || {
                complete.fetch_add(read(served, seed, ended), Ordering::Relaxed);
            });
        }
        // Backwards in pieces, so that windows open on both sides all the time.
        let mut codes = Vec::new();
        for piece in (0..10).rev() {
            let range = format!("{}:+{}", FIRST + piece * LEDGERS / 10, LEDGERS / 10);
            let mut command = backfill(&lake, &data_dir, PASSPHRASE, &range);
            codes.push(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code());
        }
        ended.store(true, Ordering::Relaxed);
        assert_eq!(codes, [Some(0); 10]);
    });
    let log = std::fs::metadata(data_dir.join("annals.db-wal")).map_or(0, |file| file.len());
    assert!(log < WAL_BYTES_MAX, "{log}");
    assert!(complete.load(Ordering::Relaxed) > 0);
    let mut connection = Connection::open(served.address);
    let last = page(&mut connection, FIRST, FIRST + 40);
    assert_eq!(last["missing"], Value::Array(Vec::new()));
}
