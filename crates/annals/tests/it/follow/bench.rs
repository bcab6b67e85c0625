//! A follower on a thread of its own, and who watches it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use annals::clock::{Clock, Stop, SystemClock};
use annals::follow::{self, Ended, FollowError, FollowJob, FollowOptions, FollowSources, FollowState, Visible, Watch};
use annals::source::{Address, LedgerSource, RpcOptions as SourceOptions, RpcSource};
use annals::store::{EventQuery, FollowStateName, SqliteStore, Status, Store, StoreError};
use annals_core::{ClassicPolicy, EventsDigest, LedgerHash, LedgerSeq, Position, Scope};
use annals_sim::{RpcServer, SimNetwork};
use tempfile::TempDir;

use crate::fill::bench::WatchedStore;
use crate::rpc::bench::timeouts;

/// What a test waits for comes within this or not at all.
pub const AT_MOST: Duration = Duration::from_secs(30);

/// What the follower said.
#[derive(Default)]
pub struct Said {
    pub states: Vec<FollowState>,
    pub committed: Vec<Visible>,
    pub announced: Vec<String>,
}

impl Said {
    pub fn last(&self) -> Option<LedgerSeq> {
        self.committed.last().map(|ledger| ledger.seq)
    }

    /// The codes of why it waited, without repetitions in a row.
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<&'static str> = self.states.iter().filter_map(|state| state.code).collect();
        codes.dedup();
        codes
    }
}

/// Remembers what the follower said.
#[derive(Default)]
pub struct Recorder {
    said: Mutex<Said>,
    changed: Condvar,
}

impl Recorder {
    fn add(&self, add: impl FnOnce(&mut Said)) {
        add(&mut self.said.lock().unwrap());
        self.changed.notify_all();
    }
}

impl Watch for Recorder {
    fn state(&self, state: &FollowState) {
        self.add(|said| said.states.push(state.clone()));
    }

    fn committed(&self, ledger: &Visible) {
        self.add(|said| said.committed.push(*ledger));
    }

    fn announce(&self, message: &str) {
        self.add(|said| said.announced.push(message.to_owned()));
    }
}

/// Short waits, so that no test waits long.
pub fn options() -> FollowOptions {
    FollowOptions {
        poll_min: Duration::from_millis(2),
        poll_max: Duration::from_millis(40),
        behind_max: Duration::from_millis(100),
        rest: Duration::from_millis(20),
        unknown_protocol_rest: Duration::from_millis(50),
        gaps_rest: Duration::from_millis(50),
        heartbeat: Duration::from_millis(50),
        end_grace: Duration::from_millis(500),
        ..FollowOptions::default()
    }
}

/// An archive that a test may follow into again and again.
pub struct Archive {
    folder: TempDir,
}

/// A follower at work.
pub struct Follower {
    pub store: Arc<SqliteStore>,
    pub recorder: Arc<Recorder>,
    pub stop: Stop,
    thread: Option<JoinHandle<Result<Ended, FollowError>>>,
}

/// What to follow with.
pub struct Setup {
    pub job: FollowJob,
    pub options: FollowOptions,
    pub nodes: Vec<String>,
    pub lakes: Vec<Arc<dyn LedgerSource>>,
    pub clock: Option<Arc<dyn Clock>>,
    /// How much faster than the machine's the clock runs that waits are measured by.
    pub times_faster: u32,
    /// The commit that is not made any more, as though the process had been killed.
    pub dies_at_commit: Option<u64>,
}

/// A clock on which time passes faster than it does, so that nobody waits long for what asks to be left alone.
pub struct QuickClock {
    clock: SystemClock,
    stop: Stop,
    times: u32,
}

impl QuickClock {
    pub fn new(stop: Stop, times: u32) -> Self {
        Self { clock: SystemClock::new(), stop, times }
    }
}

impl Clock for QuickClock {
    fn now_unix_ms(&self) -> u64 {
        self.clock.now_unix_ms()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic() * self.times
    }

    fn sleep(&self, duration: Duration) {
        self.stop.wait(duration / self.times);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }
}

impl Setup {
    /// All of a network's events, from these nodes.
    pub fn of(network: &SimNetwork, nodes: &[&RpcServer]) -> Self {
        let network = network.network().clone();
        Self {
            job: FollowJob { network, scope: Scope::All, classic: ClassicPolicy::Keep, from: None, pins: Vec::new() },
            options: options(),
            nodes: nodes.iter().map(|node| node.url()).collect(),
            lakes: Vec::new(),
            clock: None,
            times_faster: 1,
            dies_at_commit: None,
        }
    }

    pub fn clock(&self, stop: &Stop) -> Arc<dyn Clock> {
        self.clock.clone().unwrap_or_else(|| Arc::new(QuickClock::new(stop.clone(), self.times_faster)))
    }

    pub fn from(mut self, seq: u32) -> Self {
        self.job.from = Some(crate::fill::bench::seq(seq));
        self
    }

    pub fn sources(&self, stop: &Stop) -> FollowSources {
        static SEED: AtomicU64 = AtomicU64::new(1);
        let addresses: Vec<Address> = self.nodes.iter().map(|url| Address::parse(url).unwrap()).collect();
        let options = SourceOptions { timeouts: timeouts(), seed: SEED.fetch_add(1, Ordering::Relaxed) };
        let clock = Arc::new(QuickClock::new(stop.clone(), self.times_faster));
        let tip = RpcSource::connect(&addresses, options, clock).unwrap();
        FollowSources { tip: Arc::new(tip), history: self.lakes.clone() }
    }
}

impl Archive {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Opens it for writing, as soon as whoever had it open has let it go.
    pub fn store(&self) -> SqliteStore {
        let (mut waited, step) = (Duration::ZERO, Duration::from_millis(5));
        loop {
            match SqliteStore::create_or_open(self.folder.path(), Arc::new(SystemClock::new())) {
                Err(StoreError::WriterBusy) if waited < AT_MOST => {
                    SystemClock::new().sleep(step);
                    waited += step;
                }
                opened => return opened.unwrap(),
            }
        }
    }

    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn status(&self) -> Status {
        self.store().status().unwrap()
    }

    /// Checks and follows.
    pub fn try_follow(&self, setup: Setup) -> Result<Follower, FollowError> {
        let stop = Stop::new();
        let sources = setup.sources(&stop);
        let (store, written) = self.stores(setup.dies_at_commit);
        follow::check(&setup.job, Some(&store.status().unwrap()), &sources)?;
        let recorder = Arc::<Recorder>::default();
        let clock = setup.clock(&stop);
        let (told, ends) = (Arc::clone(&recorder), stop.clone());
        let work = move || follow::run(&setup.job, &written, &sources, &setup.options, &clock, &ends, told.as_ref());
        Ok(Follower { store, recorder, stop, thread: Some(std::thread::spawn(work)) })
    }

    /// What a test reads with, and what a follower writes to.
    fn stores(&self, dies_at_commit: Option<u64>) -> (Arc<SqliteStore>, Arc<dyn Store>) {
        let inner = self.store();
        let Some(at) = dies_at_commit else {
            let store = Arc::new(inner);
            return (Arc::clone(&store), store);
        };
        let dies = move |number, _: &SqliteStore| if number < at { Ok(()) } else { Err(StoreError::StaleFence) };
        let (commits, failures_recorded) = (AtomicU64::default(), AtomicU64::default());
        let reader = SqliteStore::open_reader(self.folder.path(), Arc::new(SystemClock::new())).unwrap();
        let written = WatchedStore { inner, before_commit: Box::new(dies), commits, failures_recorded };
        (Arc::new(reader), Arc::new(written))
    }

    pub fn follow(&self, setup: Setup) -> Follower {
        self.try_follow(setup).unwrap()
    }

    /// Follows until ledger `seq` is stored, and ends.
    pub fn follow_to(&self, setup: Setup, seq: u32) {
        let follower = self.follow(setup);
        follower.wait_for_ledger(seq);
        follower.end();
    }
}

impl Follower {
    /// Waits until what was said is as `enough` says.
    #[track_caller]
    pub fn wait(&self, mut enough: impl FnMut(&Said) -> bool) {
        let said = self.recorder.said.lock().unwrap();
        let (said, waited) = self.recorder.changed.wait_timeout_while(said, AT_MOST, |said| !enough(said)).unwrap();
        let over = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        assert!(!waited.timed_out(), "over: {over}; {:?}, last {:?}", said.states, said.last());
    }

    /// Waits until ledger `seq` is stored, and no longer than `at_most`; tells whether it is.
    pub fn comes_to(&self, seq: u32, at_most: Duration) -> bool {
        let is_short = |said: &mut Said| said.last().is_none_or(|last| last.get() < seq);
        let said = self.recorder.said.lock().unwrap();
        !self.recorder.changed.wait_timeout_while(said, at_most, is_short).unwrap().1.timed_out()
    }

    /// Waits until the store is as `enough` says.
    #[track_caller]
    pub fn wait_for_status(&self, mut enough: impl FnMut(&Status) -> bool) -> Status {
        let began = std::time::Duration::ZERO;
        let mut waited = began;
        loop {
            let status = self.store.status().unwrap();
            if enough(&status) {
                return status;
            }
            let said = self.recorder.said.lock().unwrap();
            assert!(waited < AT_MOST, "{:?}: {status:?}", said.states);
            // Woken by the next word of the follower's, and often enough without.
            let step = Duration::from_millis(10);
            drop(self.recorder.changed.wait_timeout(said, step).unwrap());
            waited += step;
        }
    }

    #[track_caller]
    pub fn wait_for_ledger(&self, seq: u32) {
        self.wait(|said| said.last().is_some_and(|last| last.get() >= seq));
    }

    /// Waits until it waits for this reason.
    #[track_caller]
    pub fn wait_for_code(&self, code: &str) {
        self.wait(|said| said.states.last().is_some_and(|state| state.code == Some(code)));
    }

    #[track_caller]
    pub fn wait_for_state(&self, name: FollowStateName) {
        self.wait(|said| said.states.last().is_some_and(|state| state.doing == name));
    }

    pub fn said<T>(&self, tell: impl FnOnce(&Said) -> T) -> T {
        tell(&self.recorder.said.lock().unwrap())
    }

    /// Whether it is over already.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end that comes by itself.
    pub fn failure(mut self) -> FollowError {
        let thread = self.thread.take().unwrap();
        self.wait_until_over(&thread);
        thread.join().unwrap().unwrap_err()
    }

    fn wait_until_over(&self, thread: &JoinHandle<Result<Ended, FollowError>>) {
        let mut waited = Duration::ZERO;
        while !thread.is_finished() {
            assert!(waited < AT_MOST, "it does not end");
            let said = self.recorder.said.lock().unwrap();
            drop(self.recorder.changed.wait_timeout(said, Duration::from_millis(5)).unwrap());
            waited += Duration::from_millis(5);
        }
    }

    /// Stops it, and says how it ended.
    pub fn end(mut self) -> Ended {
        self.stop.stop();
        let thread = self.thread.take().unwrap();
        self.wait_until_over(&thread);
        let ended = thread.join().unwrap().unwrap();
        assert_eq!(self.said(|said| said.states.last().unwrap().doing), FollowStateName::Stopped);
        assert_eq!(self.store.status().unwrap().freshness.unwrap().state, FollowStateName::Stopped);
        ended
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// What the network's ledgers from `from` to `to` are and what is stored of them: number, hash, digest over all events.
type Ledgers = Vec<(u32, LedgerHash, EventsDigest)>;

pub fn truth(network: &SimNetwork, from: u32, to: u32) -> Ledgers {
    let asked = network.records().filter(|record| (from..=to).contains(&record.seq.get()));
    asked.map(|record| (record.seq.get(), record.hash, record.digest)).collect()
}

/// Digests over the events that are really there, and not those that their ledgers' rows name.
pub fn stored(store: &dyn Store, from: u32, to: u32) -> Ledgers {
    let status = store.status().unwrap();
    let rows = store.ledgers(crate::fill::bench::seq(from), to - from + 1).unwrap();
    let rows = rows.into_iter().filter(|row| row.seq.get() <= to);
    rows.map(|row| {
        let above = row.seq.previous().map(Position::last_of);
        let query = EventQuery { after: above, to_inclusive: row.seq, as_of: status.feed_position, limit: 100_000 };
        let events = store.events(&query).unwrap();
        let digest = EventsDigest::of(&events);
        assert_eq!(digest, row.digest, "ledger {}", row.seq);
        (row.seq.get(), row.hash, digest)
    })
    .collect()
}

/// Checks that the archive holds the network's ledgers `from` to `to`, each with every event, and nothing else.
#[track_caller]
pub fn assert_whole(store: &dyn Store, network: &SimNetwork, from: u32, to: u32) {
    assert_eq!(stored(store, from, to), truth(network, from, to));
    let held = store.ledgers(LedgerSeq::MIN, 1_000_000).unwrap();
    assert_eq!(held.len(), (to - from + 1) as usize, "no other ledger is stored");
}
