//! Envelopes of transactions that are known by their events alone: which are wanted, and how they are compared.

use annals_core::{ContractId, LedgerRange, Position, Scope, TransactionKey};

/// Which wanted envelopes a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedQuery<'a> {
    /// Whose events want them.
    pub scope: &'a Scope,
    /// In which ledgers.
    pub range: LedgerRange,
    /// Where to go on; none at the beginning.
    pub after: Option<(ContractId, Position)>,
    /// At most so many; at least 1.
    pub limit: u32,
}

/// Envelopes that would tell what stored events leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose envelopes.
    pub transactions: Vec<TransactionKey>,
    /// Where the next page goes on; none once all events were looked at.
    pub next: Option<(ContractId, Position)>,
}

/// What one step of comparing stored envelopes with the events found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedEnvelopes {
    /// Where the next step goes on; none once all were compared.
    pub next: Option<TransactionKey>,
    /// The transactions whose stored envelope does not hash to them, or which emitted no stored event.
    pub wrong: Vec<TransactionKey>,
}
