//! Events that nothing vouches for: stored where nothing better is, else they may only confirm.

use annals_core::{ClassicEvents, Event, LedgerSeq};
use rusqlite::Connection;

use super::merge::{self, agree, conflict};
use super::{Halt, Progress};
use crate::store::sqlite::events::EventTable;
use crate::store::sqlite::{ledgers, ranges};

/// Stores `offered`. Where a ledger has a row and the event's contract was scanned there, the checked events are
/// all there are: an event they lack is a contradiction if the ledger has its classic events, and left out if it
/// may be one of those.
pub(super) fn store(connection: &Connection, offered: &[Event], progress: &mut Progress) -> Result<(), Halt> {
    let mut table = EventTable::new(connection)?;
    let mut rest = offered;
    while let Some(first) = rest.first() {
        let seq = first.position.ledger();
        let (ledger, later) = rest.split_at(rest.partition_point(|event| event.position.ledger() == seq));
        rest = later;
        match ledgers::get(connection, seq)? {
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
    progress: &mut Progress,
) -> Result<(), Halt> {
    for event in offered {
        let Some(stored) = table.get(event.position)? else {
            let scanned = ranges::scans_contract(connection, event.contract_id, seq)?;
            if scanned && classic == ClassicEvents::Present {
                return Err(conflict(None, Some(event), event.position).into());
            }
            if !scanned && table.insert(event, progress.next_position())? {
                progress.event_added(event.proof);
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
