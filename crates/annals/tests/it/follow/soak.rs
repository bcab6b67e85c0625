//! Thousands of ledgers at full speed, from nodes that do wrong all the time.
//!
//! `ANNALS_SOAK_LEDGERS` and `ANNALS_SOAK_SEED` replay a soak, or run a longer one (`scripts/soak`).

mod trouble;

use std::time::Duration;

use annals::clock::{Clock as _, SystemClock};
use annals::source::{LakeOptions, LakeSource};
use annals::store::Store as _;
use annals_sim::{LakeLayout, NetworkOptions, Rng, RpcOptions, RpcServer, Script, SimNetwork};

use super::bench::{Archive, Follower, Setup};
use super::exported::assert_exports;
use crate::fill::bench::{range, seq};

/// What CI soaks.
const LEDGERS: u32 = 5_000;
const SEED: u64 = 1;
const FIRST: u32 = 100;
/// What nodes keep.
const RETENTION: u32 = 512;
/// What is farther behind than this is left to the gaps.
const CATCH_UP_MAX: u32 = 200;
/// After so many ledgers all but the store's caches is as large as it gets.
const WARM_LEDGERS: u32 = 1_000;
/// Memory may grow by so much from there to the end, which is what the store's caches hold when they are full …
const GROWTH_BYTES_MAX: u64 = 48 << 20;
/// … and by so much a ledger that the simulator and the recorder remember.
const BENCH_BYTES_PER_LEDGER: u64 = 512;
/// Waits pass so many times faster than they are.
const TIMES_FASTER: u32 = 20;
/// A ledger that does not come within this never does.
const STANDSTILL_MAX: Duration = Duration::from_secs(60);
/// The network does not wait for whoever follows it.
const CLOSES_AT_LEAST_EVERY: Duration = Duration::from_millis(100);

fn given<T: std::str::FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

/// Says how to come back to a soak that failed.
struct Replay(u32, u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with ANNALS_SOAK_LEDGERS={} ANNALS_SOAK_SEED={}", self.0, self.1);
        }
    }
}

/// What the process has in memory, bytes.
#[derive(Debug, Clone, Copy)]
struct Resident {
    all: u64,
    /// Without the pages of files, which the system takes back when it likes: the archive is mapped by its readers.
    own: u64,
}

impl Resident {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
        };
        Self { all: bytes("VmRSS:"), own: bytes("RssAnon:") }
    }
}

/// A network, its two nodes, and how far the chain may run ahead of its follower.
struct Soak {
    network: SimNetwork,
    nodes: [RpcServer; 2],
    rng: Rng,
    lead: u32,
    clock: SystemClock,
}

impl Soak {
    fn latest(&self) -> u32 {
        self.network.latest().unwrap().seq.get()
    }

    /// Each node behaves otherwise from now on; one in four behaves well.
    fn change(&mut self) {
        let next = self.latest() + 1;
        for node in &self.nodes {
            let script = match self.rng.below(100) {
                0..25 => Script::new(),
                25 => trouble::hanging(),
                _ => trouble::drawn(&mut self.rng, next),
            };
            node.play(script);
        }
        // Now and then the chain leaves its follower behind, by more than it takes in order or than nodes keep.
        let left_behind = match self.rng.below(200) {
            0 => CATCH_UP_MAX + self.rng.below(RETENTION - CATCH_UP_MAX),
            1 => RETENTION + self.rng.below(RETENTION / 4),
            _ => 0,
        };
        self.network.close_many(left_behind);
        self.lead = 1 + self.rng.below(16);
    }

    /// Closes ledgers up to `to`, not too far ahead of the follower.
    fn close_to(&mut self, to: u32, follower: &Follower) {
        let mut standstill = (self.clock.monotonic(), None);
        while self.latest() < to {
            let until = self.latest().saturating_sub(self.lead);
            let is_near = follower.comes_to(until, CLOSES_AT_LEAST_EVERY);
            let (now, last) = (self.clock.monotonic(), follower.said(|said| said.last()));
            if standstill.1 != last {
                standstill = (now, last);
            }
            let states = || follower.said(|said| said.states.clone());
            assert!(now - standstill.0 < STANDSTILL_MAX, "nothing after {last:?}: {:?}", states().last());
            self.network.close_next();
            if !is_near || self.rng.chance(12) {
                self.change();
            }
        }
    }
}

fn soak(ledgers: u32, seed: u64) {
    let _replay = Replay(ledgers, seed);
    let lake = tempfile::tempdir().unwrap();
    let options =
        NetworkOptions { retention_ledgers: RETENTION, events_per_ledger: 6, ..NetworkOptions::of_seed(seed) };
    let network = SimNetwork::with(options.beginning_with(seq(FIRST)));
    let mut network = network.writing_lake(lake.path(), LakeLayout::default()).unwrap();
    network.close_many(10);
    let node =
        || RpcServer::start(network.ledgers(), RpcOptions { requests_max: 1_000, ..RpcOptions::default() }).unwrap();
    let nodes = [node(), node()];
    let mut setup = Setup::of(&network, &[&nodes[0], &nodes[1]]).from(FIRST);
    setup.options.catch_up_max = CATCH_UP_MAX;
    setup.lakes = vec![std::sync::Arc::new(LakeSource::open(lake.path(), LakeOptions::default()).unwrap())];
    setup.times_faster = TIMES_FASTER;
    let archive = Archive::new();
    let follower = archive.follow(setup);
    let mut soak = Soak { network, nodes, rng: Rng::new(seed), lead: 1, clock: SystemClock::new() };
    let to = FIRST + ledgers - 1;
    soak.close_to(to.min(FIRST + WARM_LEDGERS - 1), &follower);
    let warm = Resident::now();
    soak.close_to(to, &follower);
    let (end, took) = (Resident::now(), soak.clock.monotonic());
    soak.nodes.iter().for_each(|node| node.play(Script::new()));
    soak.network.finish_lake().unwrap();
    let last = soak.latest();
    follower.wait_for_status(|status| status.gaps.is_empty() && status.latest_ledger == Some(seq(last)));
    let all = soak.clock.monotonic();
    let status = follower.store.status().unwrap();
    let covered = status.covered(annals_core::ScopeKey::All);
    assert_eq!(covered.ranges(), [range(FIRST, last)]);
    assert_eq!((status.verified, status.open_incidents), (covered.clone(), 0));
    assert!(follower.store.incidents().unwrap().is_empty());
    let events = assert_exports(follower.store.as_ref(), &soak.network, &covered);
    assert_eq!(events, soak.network.records().map(|record| record.events as u64).sum::<u64>());
    let codes = follower.said(|said| said.codes());
    let kinds: std::collections::BTreeSet<&str> = codes.iter().copied().collect();
    let requests: Vec<_> = soak.nodes.iter().flat_map(RpcServer::requests).collect();
    let misbehaved = requests.iter().filter(|request| request.misbehaved).count();
    eprintln!(
        "soak: {} ledgers and {events} events in {:.1} s ({:.1} s with the last gaps), {} rests for {kinds:?}, {misbehaved} of \
         the last {} requests in trouble, {} KiB of its own ({} KiB resident) after {WARM_LEDGERS} ledgers and {} KiB ({} KiB) \
         at the end",
        last - FIRST + 1,
        took.as_secs_f64(),
        all.as_secs_f64(),
        codes.len(),
        requests.len(),
        warm.own >> 10,
        warm.all >> 10,
        end.own >> 10,
        end.all >> 10,
    );
    assert!(misbehaved * 10 > requests.len(), "there was little trouble");
    let bound = GROWTH_BYTES_MAX + BENCH_BYTES_PER_LEDGER * u64::from(ledgers);
    assert!(end.own < warm.own + bound, "memory grew from {warm:?} to {end:?}");
}

#[test]
fn a_soak_in_trouble_ends_with_the_networks_own_events_no_gap_and_no_more_memory() {
    soak(given("ANNALS_SOAK_LEDGERS").unwrap_or(LEDGERS), given("ANNALS_SOAK_SEED").unwrap_or(SEED));
}
