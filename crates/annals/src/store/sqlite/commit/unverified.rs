//! Events that nothing vouches for: stored where nothing better is, else they may only confirm.

use annals_core::{ClassicEvents, Coverage, Event, LedgerRange, LedgerSeq, ScopeKey};
use rusqlite::Connection;

use super::merge::{self, agree, conflict};
use super::{Halt, Progress, open};
use crate::store::sqlite::events::EventTable;
use crate::store::sqlite::{gaps, ledgers, ranges};
use crate::store::{GapFailure, StoreError};

/// The code of a gap in verified ledgers, which only a source of whole ledgers can fill.
const UNVERIFIED: &str = "UNVERIFIED";

/// Stores `offered`. Where a ledger is verified and the event's contract was scanned there, the checked events are
/// all there are: an event they lack is a contradiction if the ledger has its classic events, and left out if it
/// may be one of those. Of contracts that were not scanned there nothing is taken, see [`open_key`].
pub(super) fn store(connection: &Connection, offered: &[Event], progress: &mut Progress<'_>) -> Result<(), Halt> {
    let mut table = EventTable::new(connection)?;
    let mut rest = offered;
    while let Some(first) = rest.first() {
        let seq = first.position.ledger();
        let (ledger, later) = rest.split_at(rest.partition_point(|event| event.position.ledger() == seq));
        rest = later;
        let verified = !ranges::within(connection, ranges::VERIFIED, LedgerRange::single(seq))?.is_empty();
        match ledgers::get(connection, seq)?.filter(|_| verified) {
            None => merge::store_events(&mut table, ledger, merge::Upgrade::Unverified, progress)?,
            Some(row) => confirm(connection, &mut table, seq, row.classic_events, ledger, progress)?,
        }
    }
    Ok(())
}

fn confirm(
    connection: &Connection,
    table: &mut EventTable<'_>,
    seq: LedgerSeq,
    classic: ClassicEvents,
    offered: &[Event],
    progress: &mut Progress<'_>,
) -> Result<(), Halt> {
    for event in offered {
        let Some(stored) = table.get(event.position)? else {
            let scanned = ranges::scans_contract(connection, event.contract_id, seq)?;
            if scanned && classic == ClassicEvents::Present {
                return Err(conflict(None, Some(event), event.position).into());
            }
            continue;
        };
        if !agree(&stored.event, event) {
            return Err(conflict(Some(&stored.event), Some(event), event.position).into());
        }
        progress.events_known += 1;
    }
    Ok(())
}

/// Opens the coverage of `key` over `range`, apart from ledgers that are verified and were not scanned for it: their
/// rows would vouch for events that nobody checked.
pub(super) fn open_key(
    connection: &Connection,
    key: ScopeKey,
    range: LedgerRange,
    source: &str,
    progress: &mut Progress<'_>,
    now_ms: u64,
) -> Result<(), StoreError> {
    let verified = ranges::within(connection, ranges::VERIFIED, range)?;
    let closed = verified.difference(&ranges::scanned_for(connection, key, range)?);
    for range in closed.ranges() {
        let message = format!("ledger {range} is verified and {source} proves nothing: use a source of whole ledgers");
        let failure = GapFailure { range: *range, code: UNVERIFIED.to_owned(), message };
        gaps::fail(connection, key, &failure, now_ms)?;
    }
    for range in Coverage::from_iter([range]).difference(&closed).ranges() {
        open(connection, key, *range, progress, now_ms)?;
    }
    Ok(())
}
