//! The network of a demonstration.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use annals_core::{Address, ClassicPolicy, ContractId, LedgerRange, LedgerSeq, Network, Scope};
use annals_sim::{NetworkOptions, RpcOptions, RpcServer, SimNetwork};

use crate::cli::error::CliError;
use crate::clock::{Clock, Stop, StoppableClock};
use crate::store::{Contract, Request, SqliteStore, Store as _};

/// So many ledgers have closed when a demonstration begins: enough for one transaction of 12,000 events, for an upgrade
/// to the protocol whose ledgers close in milliseconds, and for a token with a history.
const LEDGERS_BEFORE: u32 = 64;
/// About how far apart they closed, milliseconds.
const APART_MS: u64 = 5_000;

/// What the token's events mean.
const TOKEN_SCHEMA: &str = "confidential-token";

/// A network with a past, and a node of its RPC.
pub(super) struct Simulated {
    rpc: RpcServer,
    network: Network,
    first: LedgerSeq,
    last_before: LedgerSeq,
    token: ContractId,
    accounts: Vec<Address>,
    /// Until its ledgers close by themselves.
    idle: Option<SimNetwork>,
}

impl Simulated {
    /// A network whose last ledger closed just now.
    pub fn begun(seed: u64, clock: &dyn Clock) -> Result<Self, CliError> {
        let began = clock.now_unix_ms().saturating_sub(u64::from(LEDGERS_BEFORE) * APART_MS);
        let options = NetworkOptions { first_close_ms: Some(began), ..NetworkOptions::of_seed(seed) };
        let mut idle = SimNetwork::with(options);
        let mut last_before = LedgerSeq::FIRST_EXPORTED;
        for number in 1..=u64::from(LEDGERS_BEFORE) {
            last_before = idle.close_next_at(began + number * APART_MS).seq;
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = RpcOptions { address, ..RpcOptions::default() };
        let rpc = RpcServer::start(idle.ledgers(), options).map_err(|source| CliError::Listen { address, source })?;
        let model = idle.token().model();
        Ok(Self {
            rpc,
            network: idle.network().clone(),
            first: LedgerSeq::FIRST_EXPORTED,
            last_before,
            token: model.contract(),
            accounts: model.accounts().map(|keys| keys.account()).collect(),
            idle: Some(idle),
        })
    }

    /// Tells a new archive what the token is, so that it knows whose its events are.
    pub fn name_token(&self, store: &SqliteStore) -> Result<(), CliError> {
        let fence = store.acquire()?;
        let range = LedgerRange::single(self.first);
        let (network, scope, classic) = (self.network.clone(), Scope::All, ClassicPolicy::Keep);
        store.request(&Request { network, scope, classic, range, pins: Vec::new() }, fence)?;
        let schema = Some(TOKEN_SCHEMA.parse().expect("the name of a shipped schema is well-formed"));
        store.declare(&Contract { id: self.token, origin: None, kind: None, schema }, fence)?;
        Ok(())
    }

    /// Closes `speed` ledgers a second from now on, until `stop`.
    pub fn close_ledgers(&mut self, speed: f64, stop: &Stop) -> Result<(), CliError> {
        let Some(mut network) = self.idle.take() else { return Ok(()) };
        let (clock, apart) = (StoppableClock::new(stop.clone()), Duration::from_secs_f64(1.0 / speed));
        let work = move || {
            let mut next = clock.monotonic();
            loop {
                next += apart;
                clock.sleep(next.saturating_sub(clock.monotonic()));
                if clock.is_stopped() {
                    return;
                }
                network.close_next_at(clock.now_unix_ms());
            }
        };
        std::thread::Builder::new().name("network".to_owned()).spawn(work).map_err(CliError::Thread)?;
        Ok(())
    }

    /// Where its RPC is.
    pub fn url(&self) -> String {
        self.rpc.url()
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The first ledger.
    pub fn first(&self) -> LedgerSeq {
        self.first
    }

    /// The last ledger of its past.
    pub fn last_before(&self) -> LedgerSeq {
        self.last_before
    }

    /// The contract of its token.
    pub fn token(&self) -> ContractId {
        self.token
    }

    /// Who has an account with the token.
    pub fn accounts(&self) -> &[Address] {
        &self.accounts
    }
}
