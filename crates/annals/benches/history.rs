//! Times the digest of a long history with sealed blocks and without, and what sealing costs those who fill an archive,
//! in one run.
//!
//! `cargo bench -p annals --bench history -- [BLOCKS]`: 40 blocks of 64 ledgers with 600 events each unless said otherwise,
//! seven in ten of one busy contract. Two archives are filled side by side, a commit of each in turn. One gets whole
//! blocks, which its commits seal; the other never gets the last ledger of a block, so that nothing of it is sealed. Both
//! rates are of events, so that they can be compared.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark times and prints"
)]

mod traffic;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use annals::clock::SystemClock;
use annals::store::{DigestQuery, Digested, Fence, Request, SqliteStore, Store};
use annals_core::{Batch, CheckedLedger, ClassicPolicy, LedgerRange, Scope};

use self::traffic::{Traffic, busy, network, seq};

const BLOCK: u32 = 64;
const FIRST: u32 = 1_000 * BLOCK;
const EVENTS_PER_LEDGER: u32 = 600;
const DIGESTS: u32 = 5;

/// One of the two archives.
struct Filled {
    store: SqliteStore,
    fence: Fence,
    ledgers_per_commit: u32,
    took: Duration,
    events: u32,
}

impl Filled {
    fn new(dir: &Path, window: LedgerRange, ledgers_per_commit: u32) -> Self {
        let store = SqliteStore::create_or_open(dir, Arc::new(SystemClock::new())).unwrap();
        let fence = store.acquire().unwrap();
        let (network, scope, classic) = (network(), Scope::All, ClassicPolicy::Keep);
        store.request(&Request { network, scope, classic, range: window, pins: Vec::new() }, fence).unwrap();
        Self { store, fence, ledgers_per_commit, took: Duration::ZERO, events: 0 }
    }

    fn commit(&mut self, block: &[CheckedLedger]) {
        let ledgers = block[..self.ledgers_per_commit as usize].to_vec();
        let batch = Batch::checked(network(), Scope::All, ClassicPolicy::Keep, "bench", ledgers).unwrap();
        let begun = Instant::now();
        self.store.commit(&batch, self.fence).unwrap();
        self.took += begun.elapsed();
        self.events += self.ledgers_per_commit * EVENTS_PER_LEDGER;
    }

    fn rate(&self) -> f64 {
        f64::from(self.events) / self.took.as_secs_f64()
    }

    /// The fastest of a few digests of the busy contract's history, and how many events it is of.
    fn digest(&self, window: LedgerRange) -> (u64, Duration) {
        let (from, to) = (Some(window.from_inclusive()), Some(window.to_inclusive()));
        let query = DigestQuery { contract: busy(), account: None, asked_from: from, asked_to: to };
        let timed = (0..DIGESTS).map(|_| {
            let begun = Instant::now();
            let Digested::Range(found) = self.store.digest(&query).unwrap().digested else { panic!("a digest") };
            (found.events, begun.elapsed())
        });
        timed.min_by_key(|(_, took)| *took).unwrap()
    }
}

fn main() {
    let blocks = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(40);
    let window = LedgerRange::new(seq(FIRST), seq(FIRST + blocks * BLOCK - 1)).unwrap();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dirs = [tempfile::tempdir_in(kept).unwrap(), tempfile::tempdir_in(kept).unwrap()];
    let mut sealed = Filled::new(dirs[0].path(), window, BLOCK);
    let mut plain = Filled::new(dirs[1].path(), window, BLOCK - 1);
    let mut traffic = Traffic::new(EVENTS_PER_LEDGER);
    for block in 0..blocks {
        let first = FIRST + block * BLOCK;
        let ledgers: Vec<CheckedLedger> = (first..first + BLOCK).map(|number| traffic.ledger(number)).collect();
        let turns = if block % 2 == 0 { [&mut sealed, &mut plain] } else { [&mut plain, &mut sealed] };
        turns.into_iter().for_each(|archive| archive.commit(&ledgers));
    }
    println!(
        "commits: {:.0} events/s with sealing, {:.0} without: {:.3} of it",
        sealed.rate(),
        plain.rate(),
        sealed.rate() / plain.rate()
    );
    for (name, archive) in [("without seals", &plain), ("with seals", &sealed)] {
        let (events, took) = archive.digest(window);
        println!("digest of {events} events in {blocks} blocks {name}: {:.3} ms", took.as_secs_f64() * 1e3);
    }
}
