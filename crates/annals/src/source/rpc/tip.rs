//! How far the network has come, as an endpoint has it.

use annals_core::LedgerSeq;

/// What an endpoint says that it holds. Replicas behind one address may differ, and none of this proves anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// The newest ledger.
    pub latest: LedgerSeq,
    /// The oldest ledger; none where the endpoint does not say.
    pub oldest: Option<LedgerSeq>,
    /// When the newest ledger closed, Unix milliseconds, to the second; none where the endpoint does not say.
    pub latest_closed_unix_ms: Option<u64>,
}
