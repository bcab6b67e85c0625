//! Times following a network over the loopback.
//!
//! `cargo bench -p annals --bench follow -- [LEDGERS] [SECONDS]`: 2,000 ledgers at full speed and 150 at one a second
//! unless said otherwise.
//!
//! - At full speed: how long a follower takes from its start until the last of the ledgers is committed, against the
//!   least that any archive does with the same pages: to fetch them with the same client, to take them apart and to check
//!   what their hashes cover. Both take turns at going first, so that the ratio holds while the machine's speed drifts.
//! - At one ledger a second: how long after the node serves a ledger a reader finds it, with all of its events. The
//!   reader is a connection of its own, as `annals serve` has them, which looks again and again; what the follower says
//!   of itself is not asked. The first ledgers, by which the follower learns the cadence, do not count.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark times and prints"
)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use annals::clock::{Clock, Stop, StoppableClock, SystemClock};
use annals::follow::{self, FollowJob, FollowOptions, FollowSources, FollowState, Visible, Watch};
use annals::source::{Address, Poll, RpcOptions as SourceOptions, RpcSource, Timeouts, TipSource as _};
use annals::store::{EventQuery, FeedPosition, SqliteStore, Store};
use annals_core::{ClassicPolicy, LedgerSeq, Position, Scope, check_ledger};
use annals_sim::{NetworkOptions, RpcOptions, RpcServer, SimNetwork};
use tempfile::TempDir;

const FIRST: u32 = 100;
const ROUNDS: u32 = 6;
/// A page holds at most so many ledgers.
const PAGE: u32 = 200;
/// By so many ledgers the follower learns the cadence.
const LEARNED: u32 = 20;
const LOOKS_EVERY: Duration = Duration::from_millis(1);
const STANDSTILL_MAX: Duration = Duration::from_secs(60);

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn network(seed: u64, ledgers: u32) -> SimNetwork {
    let options = NetworkOptions { retention_ledgers: ledgers + 1_000, ..NetworkOptions::of_seed(seed) };
    SimNetwork::with(options.beginning_with(seq(FIRST)))
}

fn node(network: &SimNetwork) -> RpcServer {
    RpcServer::start(network.ledgers(), RpcOptions::default()).unwrap()
}

fn source(node: &RpcServer, clock: Arc<dyn Clock>) -> RpcSource {
    let options = SourceOptions { timeouts: Timeouts::default(), seed: 1 };
    RpcSource::connect(&[Address::parse(&node.url()).unwrap()], options, clock).unwrap()
}

/// Fetches, takes apart and checks every ledger up to `to`.
fn plain(network: &SimNetwork, node: &RpcServer, to: u32) -> Duration {
    let source = source(node, Arc::new(SystemClock::new()));
    let begun = Instant::now();
    let (mut next, mut previous) = (FIRST, None);
    while next <= to {
        let Poll::Ledgers(objects, _) = source.poll(seq(next), PAGE) else { panic!("ledger {next} is not served") };
        for object in objects {
            for raw in object.into_ledgers().unwrap() {
                let ledger = check_ledger(&raw.bytes, network.network()).unwrap();
                assert_eq!(ledger.seq.get(), next);
                assert!(previous.is_none_or(|hash| hash == ledger.previous_hash));
                (next, previous) = (next + 1, Some(ledger.hash));
            }
        }
    }
    begun.elapsed()
}

/// Passes the number of each ledger on that was stored.
struct Told(Mutex<Sender<u32>>);

impl Watch for Told {
    fn state(&self, state: &FollowState) {
        if let Some(message) = &state.message {
            println!("waiting: {message}");
        }
    }

    fn committed(&self, ledger: &Visible) {
        // Nobody may be listening any more.
        let _gone = self.0.lock().unwrap().send(ledger.seq.get());
    }

    fn announce(&self, _: &str) {}
}

/// A follower at work, and its archive.
struct Following {
    folder: TempDir,
    stored: Receiver<u32>,
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Following {
    fn start(network: &SimNetwork, node: &RpcServer, from: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::create_or_open(folder.path(), Arc::new(SystemClock::new())).unwrap());
        let stop = Stop::new();
        let clock: Arc<dyn Clock> = Arc::new(StoppableClock::new(stop.clone()));
        let sources = FollowSources { tip: Arc::new(source(node, Arc::clone(&clock))), history: Vec::new() };
        let job = FollowJob {
            network: network.network().clone(),
            scope: Scope::All,
            classic: ClassicPolicy::Keep,
            from: Some(seq(from)),
            pins: Vec::new(),
        };
        let options = FollowOptions { catch_up_max: u32::MAX, ..FollowOptions::default() };
        let (tell, stored) = channel();
        let (watch, ends) = (Told(Mutex::new(tell)), stop.clone());
        let run = move || {
            follow::run(&job, &store, &sources, &options, &clock, &ends, &watch).unwrap();
        };
        Self { folder, stored, stop, thread: std::thread::spawn(run) }
    }

    fn wait_for(&self, ledger: u32) {
        while self.stored.recv_timeout(STANDSTILL_MAX).unwrap() < ledger {}
    }

    fn end(self) {
        self.stop.stop();
        self.thread.join().unwrap();
    }
}

fn followed(network: &SimNetwork, node: &RpcServer, to: u32) -> Duration {
    let begun = Instant::now();
    let following = Following::start(network, node, FIRST);
    following.wait_for(to);
    let took = begun.elapsed();
    following.end();
    took
}

fn full_speed(ledgers: u32) {
    let mut network = network(1, ledgers);
    network.close_many(ledgers);
    let (node, to) = (node(&network), FIRST + ledgers - 1);
    let events: usize = network.records().map(|record| record.events).sum();
    let (mut plains, mut follows, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let of_plain = || plain(&network, &node, to);
        let of_follow = || followed(&network, &node, to);
        let (plain, follow) = if round % 2 == 0 {
            (of_plain(), of_follow())
        } else {
            let second = of_follow();
            (of_plain(), second)
        };
        // The first round warms the caches.
        if round > 0 {
            plains.push(plain.as_secs_f64());
            follows.push(follow.as_secs_f64());
            ratios.push(plain.as_secs_f64() / follow.as_secs_f64());
        }
    }
    let [plain, follow, ratio] = [plains, follows, ratios].map(|mut values| quantile(&mut values, 50));
    let rate = |seconds: f64| (f64::from(ledgers) / seconds, events as f64 / seconds);
    println!("{ledgers} ledgers with {events} events at full speed, median of {ROUNDS} rounds");
    for (name, seconds) in [("fetch, decode, check", plain), ("follow", follow)] {
        let (ledgers, events) = rate(seconds);
        println!("{name:<22} {seconds:>7.2} s {ledgers:>8.0} ledgers/s {events:>9.0} events/s");
    }
    println!("follow rate ÷ plain rate {ratio:.2}");
}

/// The value that so many of a hundred do not exceed.
fn quantile(values: &mut [f64], of_hundred: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * of_hundred).div_ceil(100).max(1) - 1]
}

/// Looks until a reader finds the ledger with so many events.
fn visible(reader: &SqliteStore, ledger: u32, events: usize) -> Instant {
    let began = Instant::now();
    let as_of = FeedPosition(u64::try_from(i64::MAX).unwrap());
    let query = EventQuery {
        after: Some(Position::last_of(seq(ledger - 1))),
        to_inclusive: seq(ledger),
        as_of,
        limit: u32::try_from(events).unwrap() + 1,
    };
    loop {
        let is_there = reader.ledgers(seq(ledger), 1).unwrap().first().is_some_and(|row| row.seq == seq(ledger));
        if is_there && reader.events(&query).unwrap().len() == events {
            return Instant::now();
        }
        assert!(began.elapsed() < STANDSTILL_MAX, "ledger {ledger} does not come");
        std::thread::sleep(LOOKS_EVERY);
    }
}

fn a_ledger_a_second(seconds: u32) {
    let mut network = network(2, seconds);
    network.close_many(60);
    let node = node(&network);
    let following = Following::start(&network, &node, FIRST);
    following.wait_for(FIRST + 59);
    let reader = SqliteStore::open_reader(following.folder.path(), Arc::new(SystemClock::new())).unwrap();
    let begun = Instant::now();
    let mut delays = Vec::new();
    for second in 1..=seconds {
        let due = begun + Duration::from_secs(u64::from(second));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let closed = network.close_next_at(annals_sim::clock::now_unix_ms());
        let served = Instant::now();
        let seen = visible(&reader, closed.seq.get(), closed.events.len());
        if second > LEARNED {
            delays.push((seen - served).as_secs_f64() * 1000.0);
        }
    }
    let requests = node.requests().len();
    println!("{} ledgers at one a second, from served to found by a reader", delays.len());
    let [p50, p90, p99, max] = [50, 90, 99, 100].map(|of_hundred| quantile(&mut delays, of_hundred));
    println!("p50 {p50:.1} ms, p90 {p90:.1} ms, p99 {p99:.1} ms, longest {max:.1} ms");
    println!("{:.1} requests a ledger", requests as f64 / f64::from(seconds));
    if let Some(said) = reader.status().unwrap().freshness.and_then(|freshness| freshness.latency) {
        println!(
            "the follower says of the last {}: from the close p50 {} ms, p99 {} ms; from the answer p50 {} ms, p99 {} ms",
            said.ledgers,
            said.close_to_visible_p50_ms,
            said.close_to_visible_p99_ms,
            said.seen_to_visible_p50_ms,
            said.seen_to_visible_p99_ms
        );
    }
    following.end();
}

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    full_speed(numbers.first().copied().unwrap_or(2_000));
    a_ledger_a_second(numbers.get(1).copied().unwrap_or(150));
}
