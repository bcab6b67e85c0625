//! A node of the network's RPC, over HTTP on the loopback: the methods that an archive reads history by, with the
//! limits, the cursors, the errors and the oddities of stellar-rpc 28, and whatever a script makes it do wrong.
//!
//! ```
//! use annals_sim::{HeldLedgers, Misbehaviour, RpcOptions, RpcServer, Script, SimNetwork, When};
//!
//! let mut network = SimNetwork::new(7);
//! network.close_many(10);
//! let script = Script::new()
//!     .on(When::method("getLedgers").call(1), Misbehaviour::too_many_requests(Some(2)))
//!     .on(When::method("getLedgers").every(2, 2), Misbehaviour::Behind(3));
//! let server = RpcServer::start(network.ledgers(), RpcOptions::default())?;
//! server.play(script);
//! let url = server.url(); // what a client is given
//! network.close_next(); // the server has it now
//! assert!(url.starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Sources: stellar/stellar-rpc `cmd/stellar-rpc/internal/methods`, `protocols/rpc` of stellar/go-stellar-sdk, SEP-35
//! for the ids. What is left out: batches of JSON-RPC, `xdrFormat: "json"`, and the health check's judgement of how old
//! the latest ledger is. `queryEvents` is there on request, and scans upwards alone. All other methods do not exist (-32601).

mod contents;
mod error;
mod exchange;
mod held;
mod http;
mod ledger;
mod method;
mod params;
mod replica;
mod script;
mod seen;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

pub use error::RpcError;
pub use held::{HeldLedgers, RETENTION_LEDGERS};
pub use ledger::LedgerBytesError;
pub use script::{Edit, Misbehaviour, Script, When};
pub use seen::SeenRequest;

use exchange::Exchange;
use seen::Seen;

/// How a node is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcOptions {
    /// Where it listens; port 0 for any that is free.
    pub address: SocketAddr,
    /// Events in a page that asks for no number.
    pub events_default: u32,
    /// The most events in a page.
    pub events_max: u32,
    /// How many ledgers one page of events scans.
    pub events_scan_ledgers: u32,
    /// How many ledgers a page of events can scan in the time that it has; more take longer than it has (-32001).
    pub events_in_time_ledgers: u32,
    /// Ledgers in a page that asks for no number.
    pub ledgers_default: u32,
    /// The most ledgers in a page.
    pub ledgers_max: u32,
    /// Transactions in a page that asks for no number.
    pub transactions_default: u32,
    /// The most transactions in a page.
    pub transactions_max: u32,
    /// Whether events say `inSuccessfulContractCall`, as those of stellar-rpc up to 28 do.
    pub in_successful_contract_call: bool,
    /// Whether it has `queryEvents`, as a server of the whole history has.
    pub query_events: bool,
    /// The node's own version.
    pub version: String,
    /// What `getNetwork` gives as the URL of a friendbot.
    pub friendbot_url: Option<String>,
    /// How many requests are remembered for [`RpcServer::requests`]; older ones are forgotten.
    pub requests_max: usize,
}

impl Default for RpcOptions {
    /// The defaults of stellar-rpc 28; the last 100,000 requests are remembered.
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            events_default: 100,
            events_max: 10_000,
            events_scan_ledgers: 10_000,
            events_in_time_ledgers: u32::MAX,
            ledgers_default: 50,
            ledgers_max: 200,
            transactions_default: 50,
            transactions_max: 200,
            in_successful_contract_call: true,
            query_events: false,
            version: "28.0.0-0000000000000000000000000000000000000000".to_owned(),
            friendbot_url: None,
            requests_max: 100_000,
        }
    }
}

/// A node that serves until it is dropped; its connections end with it.
#[derive(Debug)]
pub struct RpcServer {
    address: SocketAddr,
    exchange: Arc<Exchange>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl RpcServer {
    /// Serves `ledgers`, those too that are pushed later.
    ///
    /// # Errors
    /// What the system reports when there is no port or no thread.
    pub fn start(ledgers: HeldLedgers, options: RpcOptions) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(options.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ledgers, seen) = (Mutex::new(ledgers), Seen::new(options.requests_max));
        let exchange = Arc::new(Exchange { ledgers, script: Mutex::default(), seen, options });
        let (stop, stopped) = watch::channel(false);
        let served = Arc::clone(&exchange);
        let serve = move || {
            runtime.block_on(async {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    http::serve(listener, served, stopped).await;
                }
            });
        };
        let thread = std::thread::Builder::new().name("simulated rpc".to_owned()).spawn(serve)?;
        Ok(Self { address, exchange, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Behaves by this script from now on; its calls count from here.
    pub fn play(&self, script: Script) {
        *self.exchange.script.lock().unwrap_or_else(PoisonError::into_inner) = script;
    }

    /// Serves other ledgers from now on: after a reset of the network, another chain under the same passphrase.
    pub fn switch_to(&self, ledgers: HeldLedgers) {
        *self.exchange.ledgers.lock().unwrap_or_else(PoisonError::into_inner) = ledgers;
    }

    /// The requests that came, the last [`RpcOptions::requests_max`] of them.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.exchange.seen.all()
    }

    /// Waits until the requests are as `enough` says, and tells whether they were in time.
    pub fn wait_for(&self, at_most: Duration, enough: impl FnMut(&[SeenRequest]) -> bool) -> bool {
        self.exchange.seen.wait(at_most, enough)
    }
}

impl Drop for RpcServer {
    fn drop(&mut self) {
        // A thread that has ended listens no more.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server's has told of itself already.
            let _ = thread.join();
        }
    }
}
