//! Offered events beside stored ones: the same bytes, or an incident.

use annals_core::{CheckedLedger, ClassicEvents, Event, LedgerSeq, Position, ProofClass, Scope, Stage};
use rusqlite::Connection;

use super::{Halt, Progress};
use crate::store::sqlite::events::{self, EventTable};
use crate::store::sqlite::incidents::Contradiction;
use crate::store::{IncidentKind, StoreError};

/// Which stored events take the class and rewritten form of the offered ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upgrade {
    /// None, and no event is stored either.
    Nothing,
    /// Those that nothing vouched for.
    Unverified,
    /// All.
    All,
}

/// Stores the events of one ledger that are not stored yet; the others must have the same bytes.
pub(super) fn store_events(
    table: &mut EventTable<'_>,
    offered: &[Event],
    upgrade: Upgrade,
    progress: &mut Progress<'_>,
) -> Result<(), Halt> {
    for event in offered {
        let position = progress.next_position();
        if upgrade != Upgrade::Nothing && table.insert(event, position)? {
            progress.attribution.added(event, position)?;
            progress.event_added(event);
            continue;
        }
        let Some(stored) = table.get(event.position)? else { continue };
        if !agree(&stored.event, event) {
            return Err(conflict(Some(&stored.event), Some(event), event.position).into());
        }
        progress.events_known += 1;
        let applies = match upgrade {
            Upgrade::Nothing => false,
            Upgrade::Unverified => stored.event.proof == ProofClass::Unverified,
            Upgrade::All => true,
        };
        if applies && stored.event != *event {
            table.upgrade(&stored, event, position)?;
            if stored.event.xdr != event.xdr {
                progress.changed_events.add(event);
                progress.attribution.replaced(&stored.event.xdr, event, stored.feed_position, position)?;
            }
            progress.event_upgraded(stored.event.proof, event.proof);
        }
    }
    Ok(())
}

/// Whether both are the same event of the same contract and transaction. An unverified event may be the form that
/// a source rewrote: it then agrees with the original that was found beside it.
pub(super) fn agree(stored: &Event, offered: &Event) -> bool {
    let is_form_of = |unverified: &Event, checked: &Event| {
        unverified.proof == ProofClass::Unverified && checked.rewritten_xdr.as_ref() == Some(&unverified.xdr)
    };
    let same_bytes = stored.xdr == offered.xdr || is_form_of(stored, offered) || is_form_of(offered, stored);
    same_bytes && stored.tx_hash == offered.tx_hash && stored.contract_id == offered.contract_id
}

/// Checks that the ledger has the stored events that its source must know: all where it upgrades all, those that
/// nothing vouched for where it upgrades those.
pub(super) fn check_stored(
    connection: &Connection,
    scope: &Scope,
    ledger: &CheckedLedger,
    upgrade: Upgrade,
    progress: &Progress<'_>,
) -> Result<(), Halt> {
    let judged = |event: &Event| match upgrade {
        Upgrade::Nothing => false,
        Upgrade::Unverified => event.proof == ProofClass::Unverified,
        Upgrade::All => true,
    };
    // Unverified coverage is rare; without any there is nothing to look for.
    if upgrade == Upgrade::Nothing || (upgrade == Upgrade::Unverified && progress.events.unverified == 0) {
        return Ok(());
    }
    let lacking = events::find_in_ledger(connection, ledger.seq, scope, |event| {
        judged(event) && !holds(ledger, event.position) && !may_lack(ledger, event)
    })?;
    match lacking {
        Some(event) => Err(conflict(Some(&event), None, event.position).into()),
        None => Ok(()),
    }
}

fn holds(ledger: &CheckedLedger, position: Position) -> bool {
    ledger.events.binary_search_by_key(&position, |event| event.position).is_ok()
}

/// Whether a sound ledger may lack a stored event: one without classic events says nothing of those. Of an
/// invocation that the header commits to it names every event.
fn may_lack(ledger: &CheckedLedger, event: &Event) -> bool {
    let committed_to = event.position.stage() == Stage::Op
        && ledger.proof.invocations.iter().any(|invocation| invocation.tx_order == event.tx_order);
    ledger.classic_events != ClassicEvents::Present && !committed_to
}

/// The first difference between the stored and the offered events of a ledger whose digests differ.
pub(super) fn find_difference(
    connection: &Connection,
    scope: &Scope,
    table: &mut EventTable<'_>,
    offered: &CheckedLedger,
) -> Result<Contradiction, StoreError> {
    for event in &offered.events {
        match table.get(event.position)? {
            Some(stored) if agree(&stored.event, event) => {}
            stored => {
                let stored = stored.map(|stored| stored.event);
                return Ok(conflict(stored.as_ref(), Some(event), event.position));
            }
        }
    }
    let lacking = events::find_in_ledger(connection, offered.seq, scope, |event| !holds(offered, event.position))?;
    Ok(match lacking {
        Some(event) => conflict(Some(&event), None, event.position),
        None => out_of_scope(offered.seq),
    })
}

/// Both versions of an event; none where a side has nothing under the position.
pub(super) fn conflict(stored: Option<&Event>, offered: Option<&Event>, position: Position) -> Contradiction {
    let xdr = |event: Option<&Event>| event.map(|event| event.xdr.clone()).unwrap_or_default();
    Contradiction {
        kind: IncidentKind::EventBytes,
        ledger: position.ledger(),
        position: Some(position),
        stored_xdr: xdr(stored),
        offered_xdr: xdr(offered),
        stored_tx_hash: stored.map(|event| event.tx_hash),
        offered_tx_hash: offered.map(|event| event.tx_hash),
    }
}

/// The digests differ and the stored events do not: the difference lies outside the archive's scope.
fn out_of_scope(ledger: LedgerSeq) -> Contradiction {
    Contradiction {
        kind: IncidentKind::EventBytes,
        ledger,
        position: None,
        stored_xdr: Vec::new(),
        offered_xdr: Vec::new(),
        stored_tx_hash: None,
        offered_tx_hash: None,
    }
}
