//! An archive of a simulated network, and witnesses of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use annals::anchor::{AnchorError, Anchored, HangsOn, Witnesses, check};
use annals::clock::Clock;
use annals::source::Address;
use annals::store::Store as _;
use annals_sim::{BuiltLedger, RpcOptions, RpcServer, SimNetwork, write_history_archive};
use tempfile::TempDir;

use crate::fill::bench::{Bench, ScriptedSource, range};
use crate::remote_lake::server::LakeServer;
use crate::rpc::bench::{HandClock, whole_job};

/// The last ledger of the networks here, whose first is 100; 127 and 191 are checkpoints.
pub const LAST: u32 = 200;

pub fn ledgers(network: &SimNetwork) -> Vec<BuiltLedger> {
    network.kept().map(|ledger| (**ledger).clone()).collect()
}

/// An archive that holds these ranges of the network.
pub fn filled(network: &SimNetwork, ranges: &[(u32, u32)]) -> Bench {
    let bench = Bench::new();
    let source = ScriptedSource::of(&ledgers(network));
    for (from, to) in ranges {
        bench.run(&whole_job(network, *from, *to), &source);
    }
    bench
}

/// A history archive behind an address.
pub struct Published {
    pub server: LakeServer,
    folder: TempDir,
}

impl Published {
    pub fn of(network: &SimNetwork) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_history_archive(folder.path(), network.network(), &ledgers(network)).unwrap();
        Self { server: LakeServer::start(folder.path()), folder }
    }

    /// The file of ledgers 128 to 191.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join(annals_sim::archive::checkpoint_path(crate::fill::bench::seq(191)))
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The paths of ledger files that were asked for since the last time.
    pub fn asked(&self, before: usize) -> usize {
        self.server.paths().iter().filter(|path| path.contains("/ledger/")).count() - before
    }
}

/// A node at a loopback address of its own: 127.0.0.`host`.
pub fn node_at(host: u8, network: &SimNetwork) -> RpcServer {
    let address = SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0));
    RpcServer::start(network.ledgers(), RpcOptions { address, ..RpcOptions::default() }).unwrap()
}

pub fn witnesses(archives: &[String], endpoints: &[&RpcServer]) -> Witnesses {
    let clock: Arc<dyn Clock> = Arc::<HandClock>::default();
    let parse = |url: &String| Address::parse(url).unwrap();
    let archives: Vec<Address> = archives.iter().map(parse).collect();
    let endpoints: Vec<Address> = endpoints.iter().map(|node| parse(&node.url())).collect();
    Witnesses::new(&archives, &endpoints, &clock)
}

pub fn try_check(bench: &Bench, witnesses: &Witnesses) -> Result<Anchored, AnchorError> {
    let fence = bench.store.acquire().unwrap();
    check(&bench.store, fence, witnesses, &HandClock::default())
}

#[track_caller]
pub fn checked(bench: &Bench, witnesses: &Witnesses) -> Anchored {
    try_check(bench, witnesses).unwrap()
}

/// Kind and ledger of what was recorded.
pub fn recorded(anchored: &Anchored) -> Vec<(&'static str, u32)> {
    anchored.recorded.iter().map(|anchor| (anchor.kind.as_str(), anchor.ledger.get())).collect()
}

/// Why witnesses said nothing that counts.
pub fn unheard(anchored: &Anchored) -> Vec<&'static str> {
    anchored.unheard.iter().map(|unheard| unheard.code).collect()
}

/// What the ledgers of a range hang on.
pub fn hangs_on(bench: &Bench, from: u32, to: u32) -> &'static str {
    HangsOn::of_range(range(from, to), &bench.store.status().unwrap()).as_str()
}
