//! Times a page of 200 events over HTTP against the bare SQL in process, in one run, over one large archive.
//!
//! `cargo bench -p annals --bench page -- [EVENTS] [PAGES]`: 5,000,000 events and 2,000 pages of each kind unless
//! said otherwise. Seven in ten events are of one busy contract, the rest of a thousand quiet ones. The archive stays
//! in the target folder, so that only the first run makes it.
//!
//! - The bare side is the least that any program over this database does for a page: one cached statement on a
//!   connection with the whole file mapped, the 200 rows by the index that the archive has, each column that an answer
//!   is made of as an owned value, the event's bytes included.
//! - The HTTP side is the server as `annals serve` runs it, and a client in another thread that keeps its connection
//!   and its buffer, asks without compression and takes the whole answer: it holds the judgement of the window and a
//!   signed cursor beside the events, and so looks for the row that follows.
//!
//! Beside them stands what a request costs over HTTP that reads no event: the way there and back.
//!
//! Both take the same random windows, one after the other with turns at going first, so that neither always finds the
//! processor's caches warm and the ratio holds while the machine's speed drifts.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark times and prints"
)]

mod traffic;

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use annals::api::{Limits, Server};
use annals::clock::SystemClock;
use annals::config::AllowedOrigins;
use annals::store::{Request, SqliteStore, Store};
use annals_core::{Batch, ClassicPolicy, ContractId, EventKind, LedgerRange, ProofClass, Scope, TxHash};
use annals_sim::Rng;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, OpenFlags, Row, params};

use self::traffic::{Traffic, busy, network, quiet, seq};

const FIRST: u32 = 1_000_000;
const EVENTS_PER_LEDGER: u32 = 500;
const BATCH_LEDGERS: u32 = 64;
const PAGE: u32 = 200;
/// Raised when the archive that this file makes changes, so that a kept one is made anew.
const LAYOUT: u32 = 1;

fn load(dir: &Path, ledgers: u32) {
    let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
    let fence = store.acquire().unwrap();
    let range = LedgerRange::new(seq(FIRST), seq(FIRST + ledgers - 1)).unwrap();
    let (scope, classic) = (Scope::All, ClassicPolicy::Keep);
    let request = Request { network: network(), scope: scope.clone(), classic, range, pins: Vec::new() };
    store.request(&request, fence).unwrap();
    let mut traffic = Traffic::new(EVENTS_PER_LEDGER);
    for begin in (0..ledgers).step_by(BATCH_LEDGERS as usize) {
        let end = (begin + BATCH_LEDGERS).min(ledgers);
        let batch = (begin..end).map(|number| traffic.ledger(FIRST + number)).collect();
        let batch = Batch::checked(network(), scope.clone(), classic, "bench", batch).unwrap();
        store.commit(&batch, fence).unwrap();
    }
}

/// The folder of an archive with so many ledgers: an earlier run's, or one that is made now.
fn archive(ledgers: u32) -> PathBuf {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dir = kept.join(format!("page-{LAYOUT}-{ledgers}"));
    let current = || SqliteStore::open_reader(&dir, Arc::new(SystemClock::new())).is_ok();
    if dir.exists() && current() {
        println!("{} events in {ledgers} ledgers, made by an earlier run", ledgers * EVENTS_PER_LEDGER);
        return dir;
    }
    // Takes its name when it is whole, so that a run that was stopped leaves nothing that looks like an archive.
    let folder = tempfile::tempdir_in(kept).unwrap();
    let begun = Instant::now();
    load(folder.path(), ledgers);
    let rate = f64::from(ledgers * EVENTS_PER_LEDGER) / begun.elapsed().as_secs_f64();
    println!("{} events in {ledgers} ledgers, loaded at {rate:.0} events/s", ledgers * EVENTS_PER_LEDGER);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    std::fs::rename(folder.keep(), &dir).unwrap();
    dir
}

/// What an answer says of an event, as the database has it; the contract is the one that was asked for.
struct BareRow {
    toid: i64,
    event_index: u32,
    tx_hash: [u8; 32],
    tx_order: u32,
    successful: bool,
    close_time_ms: i64,
    kind: u8,
    proof: u8,
    event_xdr: Vec<u8>,
    rewritten_xdr: Option<Vec<u8>>,
}

/// The bare reader: the rows of a page, by the index that the archive has.
struct Bare(Connection);

impl Bare {
    fn open(dir: &Path) -> Self {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(dir.join("annals.db"), flags).unwrap();
        connection.execute_batch("PRAGMA mmap_size = 8589934592; PRAGMA cache_size = -262144").unwrap();
        Self(connection)
    }

    fn page(&self, contract: ContractId, from: u32) -> Vec<BareRow> {
        // The limit is part of the text: SQLite would plan anew each time for one that is bound.
        let sql = "/* page */ SELECT toid, event_index, tx_hash, tx_order, successful, close_time_ms, kind, proof, \
                   event_xdr, rewritten_xdr FROM events WHERE contract_id = ?1 AND toid >= ?2 \
                   ORDER BY toid, event_index LIMIT 200";
        let mut statement = self.0.prepare_cached(sql).unwrap();
        let row = |row: &Row<'_>| {
            Ok(BareRow {
                toid: row.get(0)?,
                event_index: row.get(1)?,
                tx_hash: row.get(2)?,
                tx_order: row.get(3)?,
                successful: row.get(4)?,
                close_time_ms: row.get(5)?,
                kind: row.get(6)?,
                proof: row.get(7)?,
                event_xdr: row.get(8)?,
                rewritten_xdr: row.get(9)?,
            })
        };
        let rows = statement.query_map(params![contract.0, u64::from(from) << 32], row).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

/// A client that keeps its connection and its buffer.
struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    fn page(&mut self, contract: ContractId, from: u32) -> usize {
        let length = self.get(&format!("/v1/contracts/{contract}/events?from_ledger={from}&limit={PAGE}"));
        assert!(self.body[..length].starts_with(b"{\"from_ledger\""), "{}", String::from_utf8_lossy(&self.body));
        length
    }

    /// Asks and takes the whole answer into the buffer; tells how long it is.
    fn get(&mut self, path: &str) -> usize {
        self.stream.get_mut().write_all(format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n").as_bytes()).unwrap();
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        self.body.resize(self.body.len().max(length), 0);
        let body = &mut self.body[..length];
        self.stream.read_exact(body).unwrap();
        length
    }
}

fn serve(dir: &Path) -> Client {
    let clock = Arc::new(SystemClock::new());
    let store = Arc::new(SqliteStore::open_reader(dir, clock.clone()).unwrap());
    let server = Server::new(store, clock, AllowedOrigins::Any, Limits::default()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    // The server lives as long as the process.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            server.run(listener, std::future::pending()).await;
        });
    });
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    Client { stream: BufReader::new(stream), body: Vec::new() }
}

/// Takes one page of each side and holds them against each other: both say the same of the same events.
fn compare(bare: &Bare, client: &mut Client) {
    let rows = bare.page(busy(), FIRST);
    let length = client.page(busy(), FIRST);
    let answer: serde_json::Value = serde_json::from_slice(&client.body[..length]).unwrap();
    let events = answer["events"].as_array().unwrap();
    assert_eq!((rows.len(), events.len()), (PAGE as usize, PAGE as usize));
    for (row, event) in rows.iter().zip(events) {
        let said = format!(
            "{:019}-{:010} {} {} {} {} {:?} {:?}",
            row.toid,
            row.event_index,
            TxHash(row.tx_hash),
            row.tx_order,
            row.successful,
            row.close_time_ms / 1000,
            [EventKind::Contract, EventKind::System][usize::from(row.kind)].as_str(),
            ProofClass::ALL[usize::from(row.proof)].as_str(),
        );
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        let of_answer = format!(
            "{} {} {} {} {} {:?} {:?}",
            text("id"),
            text("tx_hash"),
            event["tx_order"],
            event["successful"],
            event["close_time"],
            text("kind"),
            text("proof"),
        );
        assert_eq!(said, of_answer);
        assert_eq!(row.rewritten_xdr.is_some(), !event["rewritten"].is_null());
        let data = STANDARD.decode(text("data_xdr")).unwrap();
        assert!(row.event_xdr.ends_with(&data), "the answer has the row's bytes");
    }
}

fn timed(read: impl FnOnce() -> usize) -> Duration {
    let begun = Instant::now();
    assert!(read() > 0);
    begun.elapsed()
}

fn quantiles(times: &mut [Duration]) -> [f64; 2] {
    times.sort();
    [50, 99].map(|percent| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0)
}

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let events = numbers.first().copied().unwrap_or(5_000_000);
    let pages = numbers.get(1).copied().unwrap_or(2_000);
    let ledgers = (events / EVENTS_PER_LEDGER).max(100);
    let dir = archive(ledgers);
    let (bare, mut client) = (Bare::open(&dir), serve(&dir));
    compare(&bare, &mut client);
    println!(
        "{:<16} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "200 events", "bare p50", "bare p99", "http p50", "http p99", "÷ p50", "÷ p99"
    );
    for name in ["busy contract", "quiet contract"] {
        let mut rng = Rng::new(2);
        let (mut bare_times, mut http_times) = (Vec::new(), Vec::new());
        for round in 0..pages + pages / 10 {
            let contract = if name.starts_with("busy") { busy() } else { quiet(&mut rng) };
            let from = FIRST + rng.below(ledgers / 2);
            let of_bare = || timed(|| black_box(bare.page(contract, from)).len());
            let mut of_http = || timed(|| client.page(contract, from));
            let pair = if round % 2 == 0 {
                (of_bare(), of_http())
            } else {
                let second = of_http();
                (of_bare(), second)
            };
            // The first tenth warms the caches.
            if round >= pages / 10 {
                bare_times.push(pair.0);
                http_times.push(pair.1);
            }
        }
        let [bare, http] = [quantiles(&mut bare_times), quantiles(&mut http_times)];
        println!(
            "{name:<16} {:>6.2} ms {:>6.2} ms {:>6.2} ms {:>6.2} ms {:>7.2} {:>7.2}",
            bare[0],
            bare[1],
            http[0],
            http[1],
            http[0] / bare[0],
            http[1] / bare[1]
        );
    }
    let mut times: Vec<Duration> = (0..pages).map(|_| timed(|| client.get("/healthz"))).collect();
    let [p50, p99] = quantiles(&mut times);
    println!("{:<16} {:>9} {:>9} {p50:>6.2} ms {p99:>6.2} ms", "no event", "", "");
}
