//! Stellar RPC: whole ledgers by `getLedgers`.
//!
//! Pages are asked for by the ledger that they must begin with, so no cursor of a server's leads anywhere; what a
//! page says of its ledgers decides which is asked for next and nothing else. A ledger that no endpoint gives is told
//! as a fault with its reason and stays a gap.

mod answer;
mod caller;
mod endpoint;
mod events;
mod fault;
mod live;
mod page;
mod pool;
mod server;
mod stream;
mod tip;
mod witness;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use annals_core::{LedgerRange, LedgerSeq};

use self::caller::Caller;
use self::endpoint::{Endpoint, Throttle};
pub use self::events::{EnvelopeReader, Scanned};
pub use self::fault::{NextStep, RequestFault, RequestFaultKind};
use self::live::Live;
use self::pool::Pool;
use self::server::Server;
use self::stream::RpcStream;
pub use self::tip::Tip;
pub use self::witness::RpcWitness;
use super::http::{Address, HttpClient, Jitter, Timeouts};
use super::{LedgerObject, LedgerSource, ObjectStream, Poll, SourceError, TipSource};
use crate::clock::Clock;

/// An endpoint is asked for its network so often before a source is given up.
const CONNECT_TRIES: u32 = 3;

/// Before a range is refused for beginning above the tip, the tip is asked for so often …
const TIP_TRIES: u32 = 3;
/// … and so long apart.
const TIP_WAIT: Duration = Duration::from_secs(1);

/// How an RPC is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcOptions {
    /// How long an answer may take.
    pub timeouts: Timeouts,
    /// What the jitter of waits grows from; the same seed waits the same.
    pub seed: u64,
}

/// One or several RPC endpoints of one network, asked in order.
pub struct RpcSource {
    pool: Arc<Pool>,
    live: Live,
}

impl RpcSource {
    /// Asks every endpoint for its network. One that does not answer is passed over for now and asked again when its
    /// turn comes; the others serve.
    ///
    /// # Errors
    /// [`SourceError::NoEndpoint`] where none can be used, [`SourceError::NetworksDiffer`] where two are of different
    /// networks.
    ///
    /// # Panics
    /// When there is no address.
    pub fn connect(addresses: &[Address], options: RpcOptions, clock: Arc<dyn Clock>) -> Result<Self, SourceError> {
        assert!(!addresses.is_empty(), "a source has an endpoint");
        let http = HttpClient::new(options.timeouts);
        let throttles: Vec<Throttle> = addresses.iter().map(|_| Throttle::default()).collect();
        let endpoint = |(address, throttle): (&Address, &Throttle)| {
            let (http, address, clock) = (http.clone(), address.clone(), Arc::clone(&clock));
            Endpoint::new(Caller { http, address, clock, ids: AtomicU64::new(1) }, Arc::clone(throttle))
        };
        let pool = |passphrase: String, seed: u64| {
            let endpoints = addresses.iter().zip(&throttles).map(endpoint).collect();
            Pool { endpoints, passphrase, clock: Arc::clone(&clock), jitter: Mutex::new(Jitter::new(seed)) }
        };
        let mut asked = pool(String::new(), options.seed);
        asked.passphrase = find_network(&asked)?;
        let live = Live::new(pool(asked.passphrase.clone(), options.seed.rotate_left(32)));
        Ok(Self { pool: Arc::new(asked), live })
    }

    /// How far the network has come: what each endpoint says, in their order, each asked once.
    #[must_use]
    pub fn tips(&self) -> Vec<(String, Result<Tip, RequestFault>)> {
        self.pool.endpoints.iter().map(|endpoint| (endpoint.name(), endpoint.tip())).collect()
    }
}

impl std::fmt::Debug for RpcSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RpcSource").field(&self.name()).finish()
    }
}

/// The network that all endpoints which answer are of.
fn find_network(pool: &Pool) -> Result<String, SourceError> {
    let mut found: Option<(String, String)> = None;
    let mut first_fault = None;
    for _ in 0..CONNECT_TRIES {
        let usable = pool.endpoints.iter().filter(|endpoint| endpoint.refused(pool.clock.monotonic()).is_none());
        let mut asked = 0;
        for endpoint in usable {
            asked += 1;
            match endpoint.network() {
                Ok(claimed) => {
                    let (first, passphrase) = found.get_or_insert_with(|| (endpoint.name(), claimed.clone()));
                    if *passphrase != claimed {
                        let (first, passphrase) = (first.clone(), passphrase.clone());
                        return Err(SourceError::NetworksDiffer {
                            first,
                            passphrase,
                            second: endpoint.name(),
                            claimed,
                        });
                    }
                    endpoint.network_is_known();
                }
                Err(fault) => {
                    let verdict = endpoint::Verdict::from(fault);
                    pool.set_aside(endpoint, &verdict);
                    let endpoint::Verdict::Failed(fault) = verdict else { continue };
                    first_fault.get_or_insert(fault);
                }
            }
        }
        if asked == 0 || found.is_some() {
            break;
        }
        let now = pool.clock.monotonic();
        let open = pool.endpoints.iter().filter(|endpoint| endpoint.refused(now).is_none());
        let Some(ready) = open.map(Endpoint::aside_until).max() else { break };
        pool.clock.sleep(ready.saturating_sub(now));
    }
    match (found, first_fault) {
        (Some((_, passphrase)), _) => Ok(passphrase),
        (None, Some(fault)) => Err(SourceError::NoEndpoint(fault)),
        (None, None) => unreachable!("each endpoint answered or failed"),
    }
}

impl LedgerSource for RpcSource {
    fn name(&self) -> String {
        let names: Vec<String> = self.pool.endpoints.iter().map(Endpoint::name).collect();
        format!("rpc:{}", names.join(","))
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        Some(&self.pool.passphrase)
    }

    /// Refuses a range above the latest ledger of every endpoint that says one. They are asked again a few times:
    /// another replica may have come further.
    fn check_range(&self, range: LedgerRange) -> Result<(), SourceError> {
        let from = range.from_inclusive();
        let mut highest = None;
        for number in 1..=TIP_TRIES {
            let tips = self.tips().into_iter().filter_map(|(_, tip)| tip.ok());
            highest = tips.map(|tip| tip.latest).max().max(highest);
            if highest.is_none_or(|latest| latest >= from) {
                return Ok(());
            }
            if number < TIP_TRIES {
                self.pool.clock.sleep(TIP_WAIT);
            }
        }
        match highest {
            Some(latest) => Err(SourceError::AboveTip { source_name: self.name(), from, latest }),
            None => Ok(()),
        }
    }

    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        Ok(Box::new(RpcStream::new(Arc::clone(&self.pool), None, self.name(), range)))
    }

    fn servers(&self) -> Vec<Box<dyn LedgerSource>> {
        let places = 0..self.pool.endpoints.len();
        let server = |place| Box::new(Server { pool: Arc::clone(&self.pool), place }) as Box<dyn LedgerSource>;
        if places.len() > 1 { places.map(server).collect() } else { Vec::new() }
    }
}

impl TipSource for RpcSource {
    fn poll(&self, next: LedgerSeq, ledgers_max: u32) -> Poll {
        self.live.poll(next, ledgers_max)
    }

    fn announced(&self) -> Vec<Result<Tip, Arc<RequestFault>>> {
        self.live.announced()
    }

    fn serve(&self, seq: LedgerSeq) -> Result<LedgerObject, Option<Arc<RequestFault>>> {
        self.live.serve(seq)
    }

    fn protocol(&self) -> Option<u32> {
        self.live.protocol()
    }

    fn pass_over(&self) {
        self.live.pass_over();
    }
}
