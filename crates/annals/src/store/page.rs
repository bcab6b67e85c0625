//! What a reader asks of one contract, and what it is told: rows and the coverage that judges them, of one snapshot.

use annals_core::{Address, ContractId, Coverage, LedgerSeq, Position, SchemaChoice, TxHash, Window};

use super::account::{PageEvent, Unattributed};
use super::{Anchor, FeedPosition, Pin};

/// In which direction a page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Canonical order.
    Ascending,
    /// Canonical order backwards.
    Descending,
}

/// Which of a contract's events are asked for; what is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct EventFilter {
    /// Topic 0 is a symbol, and one of these.
    pub types: Vec<String>,
    /// The topic at each place is this `ScVal`, by its XDR.
    pub topics: [Option<Vec<u8>>; 4],
    /// The event is of this transaction.
    pub tx_hash: Option<TxHash>,
}

/// What the first page fixed for those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bound {
    /// Only rows and coverage of commits up to this one count.
    pub as_of: FeedPosition,
    /// The window with its defaults filled in.
    pub window: Window,
}

/// One page of one contract's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// Whose events.
    pub contract: ContractId,
    /// Only events that belong to this account in some role; none for all of the contract's.
    pub account: Option<Address>,
    /// The first ledger, as asked for; a bound's window counts instead where there is one.
    pub asked_from: Option<LedgerSeq>,
    /// The last ledger, as asked for; a bound's window counts instead where there is one.
    pub asked_to: Option<LedgerSeq>,
    /// Which events.
    pub filter: EventFilter,
    /// In which direction.
    pub order: Order,
    /// Only positions above this one, in both directions.
    pub above: Option<Position>,
    /// Only positions behind this one in the page's direction: where the page before ended.
    pub behind: Option<Position>,
    /// What the first page fixed; none for the first page.
    pub bound: Option<Bound>,
    /// At most so many events; at least 1.
    pub limit: u32,
}

/// What a contract is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContractKind {
    /// A Wasm contract: all its events are committed, it has no classic events.
    Wasm,
    /// A Stellar asset contract: classic operations emit in its name.
    Asset,
}

impl ContractKind {
    /// The word in store and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Asset => "asset",
        }
    }

    /// The kind that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Wasm, Self::Asset].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A contract that somebody named to the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// Its id.
    pub id: ContractId,
    /// The first ledger in which it can have events; none while nobody knows.
    pub origin: Option<LedgerSeq>,
    /// What it is; none while nobody knows. It then counts as an asset contract.
    pub kind: Option<ContractKind>,
    /// Which schema says whom its events belong to; none where nothing does.
    pub schema: Option<SchemaChoice>,
}

impl Contract {
    /// The ledger that the marks of a contract count from: its origin, or the archive's start where nobody knows that.
    /// An asset contract can emit from the network's first ledger on, which few archives reach back to; its marks count
    /// from the start at the earliest, since they would else say nothing of what was scanned.
    #[must_use]
    pub fn counted_from(contract: Option<&Self>, start: Option<LedgerSeq>) -> Option<LedgerSeq> {
        let origin = contract.and_then(|contract| contract.origin);
        match contract.and_then(|contract| contract.kind) {
            Some(ContractKind::Asset) => origin.max(start),
            _ => origin.or(start),
        }
    }
}

/// What an archive knows of one contract, as of one feed position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractView {
    /// The feed position that rows and coverage are of.
    pub as_of: FeedPosition,
    /// Counts rollbacks.
    pub epoch: u64,
    /// Whether the contract is in the archive's scope: everything is, or somebody asked for it.
    pub in_scope: bool,
    /// What somebody said of it, and what was found of it while scanning where nobody said otherwise; none while it
    /// was neither named nor found. What was found alone brings no contract into scope.
    pub contract: Option<Contract>,
    /// The lowest ledger ever asked for.
    pub start: Option<LedgerSeq>,
    /// The ledgers that were scanned for it.
    pub coverage: Coverage,
    /// Those of them that have a row, and so were verified.
    pub verified: Coverage,
    /// The lowest ledger that an open incident is about.
    pub lowest_incident: Option<LedgerSeq>,
    /// The hashes that operators vouched for.
    pub pins: Vec<Pin>,
    /// The highest confirmation of each kind within each range of `verified`.
    pub anchors: Vec<Anchor>,
}

/// A page of events, and what judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The events, in the page's direction.
    pub events: Vec<PageEvent>,
    /// Where the next page goes on; none when nothing follows in the window. A page that had to look at too many
    /// rows ends early, with fewer events than asked for and a place to go on.
    pub next: Option<Position>,
    /// The window, its defaults filled in.
    pub window: Window,
    /// Whether a scanned ledger of the window lacks classic events that the contract may have.
    pub classic_events_absent: bool,
    /// Why the window's events cannot all be told whose they are; none where they can, and where no account was asked
    /// for.
    pub unattributed: Option<Unattributed>,
    /// What the archive knows of the contract, in the same snapshot.
    pub view: ContractView,
}

/// What an archive says of one position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventLookup {
    /// The event; no account was asked for.
    Found(Box<PageEvent>),
    /// Nothing stands there. `covered`: whether its ledger was scanned for every contract.
    Absent {
        /// Whether that proves that there is no such event.
        covered: bool,
    },
}
