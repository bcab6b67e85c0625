//! One commit: what a batch does to the archive, inside one transaction.

use annals_core::{Batch, BatchLedgers, Census, Event, LedgerRange, ProofClass, Registry, ScopeKey};
use rusqlite::Connection;

use super::attribution::Attribution;
use super::grants::{self, Granted};
use super::history::seals::{self, Changed};
use super::incidents::Contradiction;
use super::{envelopes, gaps, ranges, state};
use crate::store::{Committed, FeedPosition, StoreError};

mod checked;
mod merge;
mod unverified;

/// Why a commit stops.
#[derive(Debug)]
pub(super) enum Halt {
    /// It cannot be done.
    Refused(StoreError),
    /// The batch contradicts what is stored; to be recorded once the transaction is undone.
    Contradicted(Box<Contradiction>),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Halt {
    fn from(error: rusqlite::Error) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Contradiction> for Halt {
    fn from(found: Contradiction) -> Self {
        Self::Contradicted(Box::new(found))
    }
}

/// What the commit has done so far.
struct Progress<'a> {
    /// Whom the events belong to.
    attribution: Attribution<'a>,
    /// The last feed position that was handed out.
    feed_position: u64,
    /// Stored events by proof class.
    events: Census,
    /// Whose events were added or replaced.
    changed_events: Changed,
    events_added: u64,
    events_known: u64,
    ledgers_written: u64,
    /// The coverage that was opened, by key.
    granted: Granted,
    /// Whether anything a reader could see was written; else the commit leaves no trace.
    changed: bool,
}

impl Progress<'_> {
    /// The next event's feed position; handed out only when the event is stored.
    fn next_position(&self) -> u64 {
        self.feed_position + 1
    }

    /// Opens coverage of `range` under a key of `ranges`.
    fn grant(&mut self, connection: &Connection, key: &str, range: LedgerRange) -> Result<(), StoreError> {
        let fresh = ranges::extend(connection, key, range)?;
        self.changed |= !fresh.is_empty();
        self.granted.add(key, &fresh);
        Ok(())
    }

    fn event_added(&mut self, event: &Event) {
        self.feed_position += 1;
        self.events_added += 1;
        self.events.count(event.proof, 1);
        self.changed_events.add(event);
        self.changed = true;
    }

    fn event_upgraded(&mut self, from: ProofClass, to: ProofClass) {
        let count = match from {
            ProofClass::Unverified => &mut self.events.unverified,
            ProofClass::Uncommitted => &mut self.events.uncommitted,
            ProofClass::Rewritten => &mut self.events.rewritten,
            ProofClass::Committed => &mut self.events.committed,
        };
        *count = count.saturating_sub(1);
        self.events.count(to, 1);
        self.changed = true;
    }
}

/// Applies `batch`. The fence was checked; whoever calls commits the transaction or undoes it.
pub(super) fn apply(
    connection: &Connection,
    batch: &Batch,
    registry: &Registry,
    now_ms: u64,
) -> Result<Committed, Halt> {
    state::check_incidents(connection)?;
    let meta = state::meta(connection)?;
    if meta.passphrase.is_none() {
        return Err(StoreError::NotRequested.into());
    }
    meta.compare(batch.network(), batch.classic())?;
    let before = state::indexer_state(connection)?;
    let mut progress = Progress {
        attribution: Attribution::new(connection, registry, batch.network(), now_ms)?,
        feed_position: before.feed_position,
        events: before.events,
        changed_events: Changed::default(),
        events_added: 0,
        events_known: batch.duplicates(),
        ledgers_written: 0,
        granted: Granted::default(),
        changed: false,
    };
    match batch.ledgers() {
        BatchLedgers::Checked(ledgers) => checked::store(connection, batch, ledgers, &mut progress, now_ms)?,
        BatchLedgers::Unverified { range, events, envelopes } => {
            unverified::store(connection, events, &mut progress)?;
            // Envelopes take no number of their own, so that all carry the commit's.
            let envelopes_added = envelopes::put(connection, envelopes, progress.next_position())?;
            progress.changed |= envelopes_added > 0;
            for key in batch.scope().keys() {
                unverified::open_key(connection, key, *range, batch.source(), &mut progress, now_ms)?;
            }
        }
    }
    progress.attribution.finish()?;
    // The commit's own number comes last, so that every row it wrote lies at or below it.
    let feed_position = if progress.changed { progress.next_position() } else { before.feed_position };
    if progress.changed {
        let end = batch.range().to_inclusive();
        grants::record(connection, &progress.granted, feed_position)?;
        seals::after_commit(connection, &progress.granted, &progress.changed_events)?;
        state::advance(connection, &before, end, feed_position, progress.events, now_ms)?;
    }
    Ok(Committed {
        events_added: progress.events_added,
        events_known: progress.events_known,
        ledgers_written: progress.ledgers_written,
        feed_position: FeedPosition(feed_position),
    })
}

/// Opens coverage of `range` under `key` and takes it off the gaps: of every key where all contracts were scanned.
fn open(
    connection: &Connection,
    key: ScopeKey,
    range: LedgerRange,
    progress: &mut Progress<'_>,
    now_ms: u64,
) -> Result<(), StoreError> {
    progress.grant(connection, &key.to_string(), range)?;
    let filled = if key == ScopeKey::All { gaps::keys_in(connection, range)? } else { vec![key] };
    for key in filled {
        progress.changed |= gaps::shrink(connection, key, range, now_ms)?;
    }
    Ok(())
}
