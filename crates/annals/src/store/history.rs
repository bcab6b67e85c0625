//! What a reader asks of the digest of a history, and what it is told.

use annals_core::{Address, ContractId, LedgerRange, LedgerSeq, RangeDigest};

use super::{ContractView, JudgedWindow};

/// The digest of one contract's events, or of those that belong to one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestQuery {
    /// Whose events.
    pub contract: ContractId,
    /// Only events that belong to this account in some role; none for all of the contract's.
    pub account: Option<Address>,
    /// The first ledger, as asked for.
    pub asked_from: Option<LedgerSeq>,
    /// The last ledger, as asked for.
    pub asked_to: Option<LedgerSeq>,
}

/// What was digested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Digested {
    /// The window is no range: it is inverted, or nobody knows where it begins or ends.
    NoRange,
    /// The window has more events than one read hashes.
    TooWide,
    /// What is held of the window.
    Range(RangeDigest),
}

/// What one step of digesting blocks that are left over did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sealed {
    /// How many blocks it digested.
    pub blocks: u32,
    /// How many events they hold.
    pub events: u64,
    /// How many blocks are left.
    pub left: u64,
}

/// What one step of comparing kept digests with the stored events found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedDigests {
    /// Where the next step goes on; none once all events were compared.
    pub next: Option<LedgerSeq>,
    /// The contracts and ledgers whose kept digest is not that of the stored events, or is not kept and ought to be.
    pub wrong: Vec<(ContractId, LedgerRange)>,
    /// How many kept digests were compared in this step.
    pub compared: u64,
    /// In the last step: how many digests are kept. More than the steps compared are of no event.
    pub kept: Option<u64>,
}

/// The digest of a window, and what judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestAnswer {
    /// The digest of what is held of the window.
    pub digested: Digested,
    /// The window as a page of the same events resolves and judges it.
    pub window: JudgedWindow,
    /// What the archive knows of the contract, in the same snapshot.
    pub view: ContractView,
}
