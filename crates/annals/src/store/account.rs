//! What a reader asks of one account of a contract, and what it is told.

use annals_core::registry::Payload;
use annals_core::{Address, ContractId, Event, LedgerSeq, Mark, Position, Window};

use super::{ContractView, FeedPosition};

/// An event as readers are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEvent {
    /// The event.
    pub event: Event,
    /// The roles that the account asked for has in it, in the order of its topics; empty where no account was asked
    /// for.
    pub roles: Vec<String>,
    /// What it leaves out and its invocation carries.
    pub payload: Payload,
}

/// Why a window's events cannot all be told whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unattributed {
    /// No schema says whom the contract's events belong to.
    NoSchema,
    /// An event of the window fits no shape of the contract's schema, or the contract's events were not all read with
    /// its schema yet.
    Events,
}

/// The latest checkpoint of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// Of which contract.
    pub contract: ContractId,
    /// Whose.
    pub account: Address,
    /// Only ledgers up to this one; none for all up to the watermark, as a page resolves it.
    pub at: Option<LedgerSeq>,
}

/// A window, and what beside coverage it is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedWindow {
    /// The ledgers.
    pub window: Window,
    /// Whether a scanned ledger of the window lacks classic events that the contract may have.
    pub classic_events_absent: bool,
    /// Why the window's events cannot all be told whose they are; none where they can.
    pub unattributed: Option<Unattributed>,
}

/// The latest checkpoint of an account, and from where on its events are replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointAnswer {
    /// The latest event that is a checkpoint for the account itself; none where there is none.
    pub checkpoint: Option<PageEvent>,
    /// Where a replay begins: the last event at or before the checkpoint, by full position, that folds what was received
    /// into the spendable balance; without one, the event that opened the account.
    pub t0: Option<PageEvent>,
    /// What that event is for the account.
    pub t0_mark: Option<Mark>,
    /// From the checkpoint's ledger (without one from the contract's origin) to the last ledger asked for: what the
    /// checkpoint is the latest of.
    pub window: JudgedWindow,
    /// From the ledger of `t0` (without one from the contract's origin) to the last ledger asked for: what is replayed.
    pub replay_window: JudgedWindow,
    /// What the archive knows of the contract, in the same snapshot.
    pub view: ContractView,
}

/// What one step of comparing attribution with the schemas found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// Where the next step goes on; none once all events were compared.
    pub next: Option<FeedPosition>,
    /// The events whose stored parties, or whose place in quarantine, are not what their contract's schema says.
    pub wrong: Vec<Position>,
    /// How many parties the schemas name in the events of this step.
    pub parties: u64,
    /// In the last step: how many parties are stored of all events. More than the steps counted belong to no event.
    pub stored: Option<u64>,
    /// In the last step: how many contracts have a schema with which nothing was compared.
    pub uncompared: u64,
}

/// What one step of reading a contract's events again did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reattributed {
    /// Where the next step goes on; none once all events were read.
    pub next: Option<Position>,
    /// Events that were read.
    pub events: u64,
    /// Those that now belong to others than before, or fit a shape where they fitted none, or none where they did, or
    /// fit none for another reason.
    pub changed: u64,
    /// Those that fit no shape.
    pub quarantined: u64,
}
