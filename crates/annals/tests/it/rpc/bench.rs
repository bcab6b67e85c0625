//! A simulated network, nodes that serve it, and a clock that no test waits for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use annals::backfill::{Job, Summary};
use annals::clock::Clock;
use annals::source::{
    Address, LedgerSource as _, ObjectFault, RpcOptions as SourceOptions, RpcSource, SourceError, Timeouts,
};
use annals_sim::{Misbehaviour, NetworkOptions, RpcOptions, RpcServer, Script, SeenRequest, SimNetwork, When};

use crate::fill::bench::{Bench, job, range};

/// A clock whose time passes by sleeping alone.
#[derive(Default)]
pub struct HandClock {
    now: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl HandClock {
    /// Every sleep so far.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }
}

impl Clock for HandClock {
    fn now_unix_ms(&self) -> u64 {
        1_700_000_000_000 + u64::try_from(self.monotonic().as_millis()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, duration: Duration) {
        assert!(duration > Duration::ZERO, "a wait of nothing is a loop without one");
        *self.now.lock().unwrap() += duration;
        self.slept.lock().unwrap().push(duration);
    }
}

/// Short enough for a test that runs into one, and long for an answer over the loopback.
pub fn timeouts() -> Timeouts {
    Timeouts { connect: Duration::from_secs(5), read: Duration::from_millis(500), total: Duration::from_secs(20) }
}

/// A network of small ledgers from ledger 100 on.
pub fn network(seed: u64, ledgers: u32) -> SimNetwork {
    network_from(crate::fill::bench::seq(100), seed, ledgers)
}

/// A network of small ledgers.
pub fn network_from(first: annals_core::LedgerSeq, seed: u64, ledgers: u32) -> SimNetwork {
    let options = NetworkOptions { heavy_ledgers: Vec::new(), events_per_ledger: 3, ..NetworkOptions::of_seed(seed) };
    let mut network = SimNetwork::with(options.beginning_with(first));
    network.close_many(ledgers);
    network
}

/// A node of it.
pub fn node(network: &SimNetwork) -> RpcServer {
    RpcServer::start(network.ledgers(), RpcOptions::default()).unwrap()
}

/// A script of one rule.
pub fn on(when: When, what: Misbehaviour) -> Script {
    Script::new().on(when, what)
}

/// A source over these nodes, in their order.
pub struct Client {
    pub source: RpcSource,
    pub clock: Arc<HandClock>,
}

impl Client {
    pub fn of(nodes: &[&RpcServer]) -> Self {
        Self::try_of(&nodes.iter().map(|node| node.url()).collect::<Vec<_>>()).unwrap()
    }

    pub fn try_of(urls: &[String]) -> Result<Self, SourceError> {
        let clock = Arc::<HandClock>::default();
        let addresses: Vec<Address> = urls.iter().map(|url| Address::parse(url).unwrap()).collect();
        let options = SourceOptions { timeouts: timeouts(), seed: 1 };
        let source = RpcSource::connect(&addresses, options, Arc::<HandClock>::clone(&clock))?;
        Ok(Self { source, clock })
    }

    /// The numbers of the ledgers that come, and what is said of those that do not: first-last and code.
    pub fn read(&self, from: u32, to: u32) -> (Vec<u32>, Vec<String>) {
        let (mut ledgers, mut faults) = (Vec::new(), Vec::new());
        for object in self.source.open(range(from, to)).unwrap() {
            match object {
                Ok(object) => ledgers.extend(object.into_ledgers().unwrap().iter().map(|raw| raw.seq.unwrap().get())),
                Err(fault) => faults.push(told(&fault)),
            }
        }
        (ledgers, faults)
    }

    /// The first fault of a range.
    pub fn first_fault(&self, from: u32, to: u32) -> ObjectFault {
        self.source.open(range(from, to)).unwrap().find_map(Result::err).unwrap()
    }
}

fn told(fault: &ObjectFault) -> String {
    format!("{} {}", fault.range.unwrap(), fault.code())
}

/// A job of the whole of `network`'s events.
pub fn whole_job(network: &SimNetwork, from: u32, to: u32) -> Job {
    Job { network: network.network().clone(), ..job(from, to) }
}

/// Fills an archive from a source.
pub fn fill(network: &SimNetwork, client: &Client, from: u32, to: u32) -> (Bench, Summary) {
    let bench = Bench::new();
    let summary = bench.run(&whole_job(network, from, to), &client.source);
    (bench, summary)
}

/// Requests of a method.
pub fn requests_of(node: &RpcServer, method: &str) -> Vec<SeenRequest> {
    node.requests().into_iter().filter(|request| request.method == method).collect()
}
