//! One endpoint that is asked for one ledger, so that its word can be compared with what is stored.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use annals_core::LedgerSeq;

use super::caller::Caller;
use super::endpoint::{Endpoint, Throttle, Verdict};
use super::{RequestFault, Tip};
use crate::clock::Clock;
use crate::source::LedgerObject;
use crate::source::http::{Address, HttpClient, Timeouts};

/// One RPC endpoint, asked once each time: one that fails is no loss, and is asked again by the next comparison.
pub struct RpcWitness {
    endpoint: Endpoint,
    host: String,
}

impl RpcWitness {
    /// Takes the endpoint at `address`; nothing is asked yet.
    #[must_use]
    pub fn new(address: Address, timeouts: Timeouts, clock: Arc<dyn Clock>) -> Self {
        let host = address.host();
        let http = HttpClient::new(timeouts);
        let caller = Caller { http, address, clock, ids: AtomicU64::new(1) };
        Self { endpoint: Endpoint::new(caller, Throttle::default()), host }
    }

    /// Its address, as it may be shown.
    #[must_use]
    pub fn name(&self) -> String {
        self.endpoint.name()
    }

    /// The host that answers. Endpoints behind one host are one witness.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What it holds.
    ///
    /// # Errors
    /// [`RequestFault`].
    pub fn tip(&self) -> Result<Tip, RequestFault> {
        self.endpoint.tip()
    }

    /// The whole ledger `seq` of the network; none where it does not hold it.
    ///
    /// # Errors
    /// [`RequestFault`], also where it is of another network.
    pub fn ledger(&self, passphrase: &str, seq: LedgerSeq) -> Result<Option<LedgerObject>, Arc<RequestFault>> {
        match self.endpoint.page(passphrase, seq, 1) {
            Ok(page) => Ok(page.objects.into_iter().next()),
            Err(Verdict::BelowOldest(_) | Verdict::Behind { .. } | Verdict::LeavesOut { .. }) => Ok(None),
            Err(Verdict::Lacks(fault) | Verdict::Failed(fault)) => Err(fault),
        }
    }
}

impl std::fmt::Debug for RpcWitness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RpcWitness").field(&self.name()).finish()
    }
}
