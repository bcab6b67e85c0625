//! Stub.
use crate::{CheckedLedger, Network};
/// F
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerFault {
    /// u
    #[error("stub")]
    Undecodable,
}
impl LedgerFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        "UNDECODABLE"
    }
}
/// C
/// # Errors
/// e
pub fn check_ledger(_bytes: &[u8], _network: &Network) -> Result<CheckedLedger, LedgerFault> {
    Err(LedgerFault::Undecodable)
}
