//! What one commit of a store takes.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

use crate::envelope::{CheckedEnvelope, TransactionKey};
use crate::event::{Event, ProofClass};
use crate::hash::{ContractId, HashParseError};
use crate::ledger::CheckedLedger;
use crate::ledger_seq::{LedgerRange, LedgerSeq};
use crate::network::Network;
use crate::position::Position;

/// Whose events a batch brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every contract's, and those of no contract.
    All,
    /// These contracts' alone.
    Contracts(BTreeSet<ContractId>),
}

impl Scope {
    /// Whether the scope takes `event`.
    #[must_use]
    pub fn takes(&self, event: &Event) -> bool {
        match self {
            Self::All => true,
            Self::Contracts(contracts) => event.contract_id.is_some_and(|contract| contracts.contains(&contract)),
        }
    }

    /// The keys under which coverage is recorded.
    #[must_use]
    pub fn keys(&self) -> Vec<ScopeKey> {
        match self {
            Self::All => vec![ScopeKey::All],
            Self::Contracts(contracts) => contracts.iter().copied().map(ScopeKey::Contract).collect(),
        }
    }
}

/// The key of one coverage: everything, or one contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeKey {
    /// All contracts; as text `*`.
    All,
    /// One contract; as text its strkey.
    Contract(ContractId),
}

impl fmt::Display for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Contract(contract) => contract.fmt(f),
        }
    }
}

impl FromStr for ScopeKey {
    type Err = HashParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" { Ok(Self::All) } else { text.parse().map(Self::Contract) }
    }
}

/// Whether classic and fee events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassicPolicy {
    /// Every event is kept.
    Keep,
    /// Events of class `uncommitted` are left out; asset contracts are then incomplete.
    Drop,
}

impl ClassicPolicy {
    /// The word in configuration and store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop => "drop",
        }
    }

    /// The policy that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Keep, Self::Drop].into_iter().find(|policy| policy.as_str() == name)
    }
}

/// Why ledgers or events make no batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No ledger.
    #[error("a batch holds at least one ledger")]
    Empty,
    /// A ledger is missing or out of order.
    #[error("ledger {found} follows ledger {before}: a batch holds consecutive ledgers")]
    NotConsecutive {
        /// The earlier ledger.
        before: LedgerSeq,
        /// The one that came after it.
        found: LedgerSeq,
    },
    /// Two neighbours do not link.
    #[error("ledger {seq} does not name the hash of the ledger before it")]
    BrokenLink {
        /// The later of the two.
        seq: LedgerSeq,
    },
    /// The same position came twice with different bytes.
    #[error("event {position} came twice in one batch with different bytes")]
    ConflictingEvent {
        /// The position.
        position: Position,
    },
    /// An event lies outside the batch's ledgers or claims a proof that its batch cannot give.
    #[error("event {position} does not belong into this batch")]
    ForeignEvent {
        /// The position.
        position: Position,
    },
    /// An envelope is of no transaction that emitted one of the batch's unverified events.
    #[error("the batch has no unverified event of transaction {hash}, and its envelope", hash = transaction.hash)]
    ForeignEnvelope {
        /// The transaction.
        transaction: TransactionKey,
    },
}

/// What a batch knows of its ledgers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchLedgers {
    /// Ledgers that were checked and link to each other; their events are filtered by scope and policy.
    Checked(Vec<CheckedLedger>),
    /// A range that was scanned by a source that gives events alone: coverage without ledger rows.
    Unverified {
        /// The ledgers scanned.
        range: LedgerRange,
        /// Their events in scope, canonical order.
        events: Vec<Event>,
        /// Envelopes of transactions that emitted some of them.
        envelopes: Vec<CheckedEnvelope>,
    },
}

/// Consecutive ledgers, checked, with their events in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    network: Network,
    scope: Scope,
    classic: ClassicPolicy,
    source: String,
    range: LedgerRange,
    ledgers: BatchLedgers,
    duplicates: u64,
}

impl Batch {
    /// Makes a batch of checked ledgers; events outside `scope` and `classic` are left out.
    /// `source` names where the ledgers came from, without secrets.
    ///
    /// # Errors
    /// [`BatchError`] when the ledgers are none, not consecutive or do not link, or when two events of
    /// one position differ.
    pub fn checked(
        network: Network,
        scope: Scope,
        classic: ClassicPolicy,
        source: impl Into<String>,
        mut ledgers: Vec<CheckedLedger>,
    ) -> Result<Self, BatchError> {
        let (Some(first), Some(last)) = (ledgers.first(), ledgers.last()) else { return Err(BatchError::Empty) };
        let (from, to) = (first.seq, last.seq);
        for pair in ledgers.windows(2) {
            let [before, after] = pair else { continue };
            if before.seq.next() != Some(after.seq) {
                return Err(BatchError::NotConsecutive { before: before.seq, found: after.seq });
            }
            if after.previous_hash != before.hash {
                return Err(BatchError::BrokenLink { seq: after.seq });
            }
        }
        let range = LedgerRange::new(from, to).map_err(|_| BatchError::NotConsecutive { before: from, found: to })?;
        let mut duplicates = 0;
        for ledger in &mut ledgers {
            let seq = LedgerRange::single(ledger.seq);
            ledger.events.retain(|event| {
                scope.takes(event) && (classic == ClassicPolicy::Keep || event.proof != ProofClass::Uncommitted)
            });
            duplicates += order_events(&mut ledger.events, seq)?;
            if let Some(event) = ledger.events.iter().find(|event| event.proof == ProofClass::Unverified) {
                return Err(BatchError::ForeignEvent { position: event.position });
            }
        }
        let ledgers = BatchLedgers::Checked(ledgers);
        Ok(Self { network, scope, classic, source: source.into(), range, ledgers, duplicates })
    }

    /// Makes a batch of a range for which a source gave events and nothing to check them by.
    ///
    /// # Errors
    /// [`BatchError`] when an event lies outside `range`, claims a proof, or contradicts its own repetition.
    pub fn unverified(
        network: Network,
        scope: Scope,
        source: impl Into<String>,
        range: LedgerRange,
        mut events: Vec<Event>,
    ) -> Result<Self, BatchError> {
        events.retain(|event| scope.takes(event));
        let duplicates = order_events(&mut events, range)?;
        if let Some(event) = events.iter().find(|event| event.proof != ProofClass::Unverified) {
            return Err(BatchError::ForeignEvent { position: event.position });
        }
        let ledgers = BatchLedgers::Unverified { range, events, envelopes: Vec::new() };
        Ok(Self { network, scope, classic: ClassicPolicy::Keep, source: source.into(), range, ledgers, duplicates })
    }

    /// The same batch with envelopes of transactions that emitted some of its unverified events.
    ///
    /// # Errors
    /// [`BatchError::ForeignEnvelope`] for one of another transaction.
    pub fn with_envelopes(mut self, brought: Vec<CheckedEnvelope>) -> Result<Self, BatchError> {
        let of_events: BTreeSet<TransactionKey> = match &self.ledgers {
            BatchLedgers::Checked(_) => BTreeSet::new(),
            BatchLedgers::Unverified { events, .. } => events.iter().map(Event::transaction).collect(),
        };
        let foreign = brought.iter().map(CheckedEnvelope::transaction).find(|of| !of_events.contains(of));
        if let Some(transaction) = foreign {
            return Err(BatchError::ForeignEnvelope { transaction });
        }
        if let BatchLedgers::Unverified { envelopes, .. } = &mut self.ledgers {
            *envelopes = brought;
        }
        Ok(self)
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Whose events the batch brings.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether classic and fee events were kept.
    #[must_use]
    pub fn classic(&self) -> ClassicPolicy {
        self.classic
    }

    /// Where the ledgers came from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The ledgers that the batch covers.
    #[must_use]
    pub fn range(&self) -> LedgerRange {
        self.range
    }

    /// What the batch knows of its ledgers.
    #[must_use]
    pub fn ledgers(&self) -> &BatchLedgers {
        &self.ledgers
    }

    /// How many identical repetitions of an event were left out.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The batch's events in canonical order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let (ledgers, events) = match &self.ledgers {
            BatchLedgers::Checked(ledgers) => (ledgers.as_slice(), [].as_slice()),
            BatchLedgers::Unverified { events, .. } => ([].as_slice(), events.as_slice()),
        };
        ledgers.iter().flat_map(|ledger| &ledger.events).chain(events)
    }
}

/// Sorts events, leaves identical repetitions out and returns how many there were.
fn order_events(events: &mut Vec<Event>, range: LedgerRange) -> Result<u64, BatchError> {
    events.sort_by_key(|event| event.position);
    let before = events.len();
    let mut conflict = None;
    events.dedup_by(|later, earlier| {
        let same = later.position == earlier.position;
        if same && later != earlier {
            conflict = Some(later.position);
        }
        same
    });
    if let Some(position) = conflict {
        return Err(BatchError::ConflictingEvent { position });
    }
    if let Some(event) = events.iter().find(|event| !range.contains(event.position.ledger())) {
        return Err(BatchError::ForeignEvent { position: event.position });
    }
    Ok((before - events.len()) as u64)
}

#[cfg(test)]
mod tests;
