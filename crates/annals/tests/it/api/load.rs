//! Readers beside a backfill in another process.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use annals::clock::{Clock as _, SystemClock};

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
const LEDGERS: u32 = 20_000;
/// Ledgers that one writing process fills.
const PIECE: u32 = 50;
const READERS: u64 = 8;
/// How long the load lasts; `ANNALS_LOAD_SECONDS` makes it longer.
const SECONDS: u64 = 20;
/// So long a writing process may take beside the readers, its start included.
const PIECE_MAX: Duration = Duration::from_secs(10);
/// How many bytes a slow reader takes at a time.
const SIP: usize = 256;
/// The bound of the write-ahead log in bytes: what the store cuts it back at, and one commit more.
const WAL_BYTES_MAX: u64 = 48 << 20;

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

/// Tells the readers to end.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn f6_i8_eight_slow_readers_beside_backfills_see_no_error_no_torn_window_and_slow_no_writer() {
    let data_dir = LAKE.folder.path().join("archive");
    let lake = LAKE.folder.path().join("lake");
    Ran::of(&mut backfill(&lake, &data_dir, PASSPHRASE, "1000:+10")).ends_with(0);
    let served = Served::over(&data_dir, &[]);
    let ended = AtomicBool::new(false);
    let complete = AtomicU32::new(0);
    let seconds = std::env::var("ANNALS_LOAD_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let clock = SystemClock::new();
    // One more reader asks for a page and takes none of it.
    let mut holding = Connection::open(served.address);
    holding.send(format!("GET /v1/contracts/{}/events?limit=1000 HTTP/1.1\r\nhost: a\r\n\r\n", contract(1)).as_bytes());
    let mut slowest = Duration::ZERO;
    let mut log_bytes = 0;
    let mut pieces = (0..LEDGERS / PIECE).rev();
    std::thread::scope(|scope| {
        for seed in 0..READERS {
            let (served, ended, complete) = (&served, &ended, &complete);
            scope.spawn(move || {
                complete.fetch_add(read(served, seed, ended), Ordering::Relaxed);
            });
        }
        // However the writing ends, the readers end with it.
        let _ending = Ending(&ended);
        // Backwards in pieces, so that windows open on both sides all the time; a fast machine may run out of them.
        let mut codes = Vec::new();
        while clock.monotonic() < Duration::from_secs(seconds) {
            let Some(piece) = pieces.next() else { break };
            let begun = clock.monotonic();
            let mut command = backfill(&lake, &data_dir, PASSPHRASE, &format!("{}:+{PIECE}", FIRST + piece * PIECE));
            codes.push(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code());
            slowest = slowest.max(clock.monotonic() - begun);
            log_bytes = log_bytes.max(std::fs::metadata(data_dir.join("annals.db-wal")).map_or(0, |file| file.len()));
        }
        assert!(codes.len() > 1 && codes.iter().all(|code| *code == Some(0)), "{codes:?}");
    });
    eprintln!(
        "{} windows were complete; slowest writer {slowest:?}, log {log_bytes} bytes",
        complete.load(Ordering::Relaxed)
    );
    assert!(slowest < PIECE_MAX, "{slowest:?}");
    assert!(log_bytes < WAL_BYTES_MAX, "{log_bytes}");
    assert!(complete.load(Ordering::Relaxed) > 0);
    let filled = FIRST + pieces.len() as u32 * PIECE;
    let mut connection = Connection::open(served.address);
    let last = page(&mut connection, filled, filled + 40);
    assert_eq!(last["missing"], Value::Array(Vec::new()));
}
