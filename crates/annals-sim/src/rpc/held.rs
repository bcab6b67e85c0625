//! The ledgers that a node holds, shared between whoever closes them and the servers that hand them out.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use annals_core::{LedgerRange, LedgerSeq, Network};

use super::ledger::{LedgerBytesError, NodeLedger};

/// What a node keeps, ledgers: about seven days, the default of stellar-rpc.
pub const RETENTION_LEDGERS: u32 = 120_960;

/// The ledgers of one network that a node holds, by sequence number. Clones share them.
///
/// Any raw `LedgerCloseMeta` can be pushed, from a builder or from a real ledger. The numbers need not follow each
/// other: a node answers with what it has.
#[derive(Debug, Clone)]
pub struct HeldLedgers {
    network: Network,
    retention: u32,
    ledgers: Arc<RwLock<BTreeMap<u32, Arc<NodeLedger>>>>,
}

impl HeldLedgers {
    /// Holds none yet, and never more than the newest `retention_ledgers` sequence numbers.
    ///
    /// # Panics
    /// When `retention_ledgers` is 0.
    #[must_use]
    pub fn new(network: &Network, retention_ledgers: u32) -> Self {
        assert!(retention_ledgers > 0, "a node holds its latest ledger");
        Self { network: network.clone(), retention: retention_ledgers, ledgers: Arc::default() }
    }

    /// Holds these ledgers, all of them.
    ///
    /// # Errors
    /// [`LedgerBytesError`] of the first whose header cannot be read.
    pub fn of(network: &Network, ledgers: impl IntoIterator<Item = Vec<u8>>) -> Result<Self, LedgerBytesError> {
        let held = Self::new(network, u32::MAX);
        ledgers.into_iter().try_for_each(|xdr| held.push(xdr))?;
        Ok(held)
    }

    /// Takes the XDR of a `LedgerCloseMeta`, in the place of the ledger of the same number if there is one, and drops
    /// what falls out of the retention window.
    ///
    /// # Errors
    /// [`LedgerBytesError`] when its header cannot be read.
    pub fn push(&self, xdr: Vec<u8>) -> Result<(), LedgerBytesError> {
        let ledger = NodeLedger::read(xdr)?;
        let mut ledgers = self.ledgers.write().unwrap_or_else(PoisonError::into_inner);
        ledgers.insert(ledger.seq, Arc::new(ledger));
        let latest = ledgers.last_key_value().map_or(0, |(seq, _)| *seq);
        let floor = latest.saturating_sub(self.retention - 1);
        *ledgers = ledgers.split_off(&floor);
        Ok(())
    }

    /// The same ledgers, shared with nobody: what is pushed on either side stays there.
    #[must_use]
    pub fn copied(&self) -> Self {
        let ledgers = Arc::new(RwLock::new(self.read().clone()));
        Self { network: self.network.clone(), retention: self.retention, ledgers }
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The oldest and the latest ledger; none while there is none.
    #[must_use]
    pub fn range(&self) -> Option<LedgerRange> {
        let ledgers = self.read();
        let [oldest, latest] = [ledgers.first_key_value()?, ledgers.last_key_value()?].map(|(seq, _)| *seq);
        LedgerRange::new(LedgerSeq::new(oldest).ok()?, LedgerSeq::new(latest).ok()?).ok()
    }

    /// How many sequence numbers are kept.
    pub(super) fn retention(&self) -> u32 {
        self.retention
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<NodeLedger>>> {
        self.ledgers.read().unwrap_or_else(PoisonError::into_inner)
    }
}
