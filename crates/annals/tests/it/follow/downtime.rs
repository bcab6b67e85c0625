//! Followers that are away: for how long, from which moment on, and however they went.

use std::sync::Arc;
use std::time::Duration;

use annals::source::{LakeOptions, LakeSource};
use annals::store::{Status, Store as _};
use annals_core::{Coverage, LedgerRange, ScopeKey};
use annals_sim::{LakeLayout, NetworkOptions, Rng, RpcServer, SimNetwork};

use super::bench::{Archive, Setup, stored, truth};
use super::exported::assert_exports;
use crate::fill::bench::{range, seq};
use crate::rpc::bench::node;

/// Seeds of CI. `ANNALS_SEED` replays one of them, or any other.
const SEEDS: u64 = 20;
const FIRST: u32 = 100;
/// A follower that has not come so far in this time is ended all the same.
const AWHILE: Duration = Duration::from_millis(300);

/// A chain, a node of it, and an archive that somebody follows into now and then.
struct Downtime {
    seed: u64,
    rng: Rng,
    network: SimNetwork,
    node: RpcServer,
    archive: Archive,
    lake: Option<tempfile::TempDir>,
    retention: u32,
}

impl Downtime {
    fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let retention = 40 + rng.below(120);
        let lake = (seed % 2 == 1).then(|| tempfile::tempdir().unwrap());
        let options = NetworkOptions {
            heavy_ledgers: Vec::new(),
            events_per_ledger: 3,
            retention_ledgers: retention,
            ..NetworkOptions::of_seed(seed)
        };
        let mut network = SimNetwork::with(options.beginning_with(seq(FIRST)));
        if let Some(lake) = &lake {
            network = network.writing_lake(lake.path(), LakeLayout::default()).unwrap();
        }
        network.close_many(5 + rng.below(100));
        let node = node(&network);
        Self { seed, rng, network, node, archive: Archive::new(), lake, retention }
    }

    fn latest(&self) -> u32 {
        self.network.latest().unwrap().seq.get()
    }

    fn setup(&mut self) -> Setup {
        let mut setup = Setup::of(&self.network, &[&self.node]).from(FIRST);
        setup.options.catch_up_max = 1 + self.rng.below(2 * self.retention);
        setup.times_faster = 10;
        if let Some(lake) = &self.lake {
            setup.lakes = vec![Arc::new(LakeSource::open(lake.path(), LakeOptions::default()).unwrap())];
        }
        setup
    }

    /// Somebody follows for a while, and goes at any moment: told to, or as one who is killed.
    fn follow_for_a_while(&mut self) {
        let mut setup = self.setup();
        let is_killed = self.rng.chance(50);
        setup.dies_at_commit = is_killed.then(|| u64::from(self.rng.below(10)));
        let follower = self.archive.follow(setup);
        let closes = self.rng.below(30);
        for _ in 0..closes {
            self.network.close_next();
            if self.rng.chance(30) {
                follower.comes_to(self.latest() - self.rng.below(5).min(self.latest() - FIRST), AWHILE / 10);
            }
        }
        if self.rng.chance(70) {
            follower.comes_to(self.latest() - self.rng.below(20).min(self.latest() - FIRST), AWHILE);
        }
        if !is_killed {
            follower.end();
        } else if follower.is_over() {
            let failure = follower.failure();
            assert!(["STALE_FENCE", "GAPS_FAILED"].contains(&failure.code()), "seed {}: {failure:?}", self.seed);
        }
    }

    /// The chain goes on for any number of ledgers, and now and then for more than are kept.
    fn go_on(&mut self) {
        let ledgers = match self.rng.below(3) {
            0 => self.rng.below(10),
            1 => self.rng.below(self.retention),
            _ => self.retention + self.rng.below(self.retention),
        };
        self.network.close_many(ledgers);
    }

    fn come_back(&mut self) -> Status {
        let setup = self.setup();
        if self.lake.is_some() {
            self.network.finish_lake().unwrap();
        }
        let before = self.archive.status().covered(ScopeKey::All);
        let (floor, last) = (self.network.ledgers().range().unwrap().from_inclusive(), self.latest());
        let whole: Coverage = [range(FIRST, last)].into_iter().collect();
        let kept: Coverage = [LedgerRange::new(floor, seq(last)).unwrap()].into_iter().collect();
        let served = if self.lake.is_some() { whole.clone() } else { kept };
        let (covered, missing) = (before.union(&served), whole.difference(&before.union(&served)));
        let follower = self.archive.follow(setup);
        let status = follower.wait_for_status(|status| {
            let gaps: Coverage = status.gaps.iter().map(|gap| gap.range).collect();
            let is_told = status.gaps.iter().all(|gap| gap.last_code.is_some());
            status.latest_ledger == Some(seq(last)) && gaps == missing && is_told
        });
        assert_eq!(status.covered(ScopeKey::All), covered, "seed {}", self.seed);
        let reasons = status.gaps.iter().filter_map(|gap| gap.last_code.as_deref());
        assert!(reasons.into_iter().all(|code| code == "BELOW_RETENTION"), "{:?}", status.gaps);
        assert!(follower.store.incidents().unwrap().is_empty(), "seed {}", self.seed);
        for range in covered.ranges() {
            let (from, to) = (range.from_inclusive().get(), range.to_inclusive().get());
            assert_eq!(stored(follower.store.as_ref(), from, to), truth(&self.network, from, to));
        }
        assert_exports(follower.store.as_ref(), &self.network, &covered);
        follower.end();
        status
    }
}

/// Says which seed failed.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with ANNALS_SEED={}", self.0);
        }
    }
}

#[test]
fn b1_downtime_of_any_length_at_any_moment_loses_nothing_that_a_source_still_has() {
    let given = std::env::var("ANNALS_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = given.map_or(0..SEEDS, |seed| seed..seed + 1);
    let mut lossy = 0;
    for seed in seeds {
        let _replay = Replay(seed);
        let mut downtime = Downtime::of(seed);
        for _ in 0..1 + downtime.rng.below(4) {
            downtime.follow_for_a_while();
            downtime.go_on();
        }
        lossy += usize::from(!downtime.come_back().gaps.is_empty());
    }
    assert!(given.is_some() || lossy > 2, "{lossy} of {SEEDS} were away for longer than a source keeps ledgers");
}
