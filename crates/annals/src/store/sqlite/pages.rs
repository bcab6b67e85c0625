//! Pages of one contract's events, and of one account's.

use annals_core::{ContractId, Event, Registry, Window};
use rusqlite::Connection;

use self::accounts::Owned;
use self::payloads::Payloads;
use super::attribution;
use super::view::{self, Known};
use crate::store::{JudgedWindow, Page, PageEvent, PageQuery, StoreError, Unattributed};

mod accounts;
pub(super) mod checkpoint;
pub(super) mod payloads;
mod rows;
mod streams;
#[cfg(test)]
pub(super) mod tests;

/// Reads one page and what judges it; `connection` stands on one snapshot.
pub(super) fn read(connection: &Connection, registry: &Registry, query: &PageQuery) -> Result<Page, StoreError> {
    let known = view::read(connection, query.contract, query.bound.map(|bound| bound.as_of))?;
    let window = match query.bound {
        Some(bound) => bound.window,
        None => known.window(query.asked_from, query.asked_to),
    };
    let (owned, next) = match (known.rows_range(window), query.account) {
        (None, _) => (Vec::new(), None),
        (Some(range), Some(account)) => {
            let found = accounts::collect(connection, query, account, range, &known)?;
            (found.events, found.next)
        }
        (Some(range), None) => {
            let found = rows::collect(connection, query, range, &known)?;
            (found.events.into_iter().map(of_nobody).collect(), found.next)
        }
    };
    let mut payloads = Payloads::new(connection, registry, known.view.as_of);
    let mut shown = |owned: Owned| -> Result<PageEvent, StoreError> {
        let payload = payloads.of(&owned.event, known.reading.as_ref())?;
        Ok(PageEvent { event: owned.event, roles: owned.roles, payload })
    };
    let events = owned.into_iter().map(&mut shown).collect::<Result<_, _>>()?;
    let unattributed = match query.account {
        Some(_) => unattributed(connection, &known, query.contract, window)?,
        None => None,
    };
    let classic_events_absent = known.lacks_classic(connection, window)?;
    Ok(Page { events, next, window, classic_events_absent, unattributed, view: known.view })
}

fn of_nobody(event: Event) -> Owned {
    Owned { event, roles: Vec::new() }
}

/// A window of an account, and what beside coverage it is judged by.
fn judged(
    connection: &Connection,
    known: &Known,
    contract: ContractId,
    window: Window,
) -> Result<JudgedWindow, StoreError> {
    let unattributed = unattributed(connection, known, contract, window)?;
    Ok(JudgedWindow { window, classic_events_absent: known.lacks_classic(connection, window)?, unattributed })
}

/// Why the window's events cannot all be told whose they are, as of the view's feed position.
pub(super) fn unattributed(
    connection: &Connection,
    known: &Known,
    contract: ContractId,
    window: Window,
) -> Result<Option<Unattributed>, StoreError> {
    let as_of = known.view.as_of;
    let Some(reading) = &known.reading else { return Ok(Some(Unattributed::NoSchema)) };
    if !reading.is_done_at(as_of) {
        return Ok(Some(Unattributed::Events));
    }
    let Some(range) = known.rows_range(window) else { return Ok(None) };
    let quarantined = attribution::quarantined(connection, contract, range, as_of)?;
    Ok(quarantined.then_some(Unattributed::Events))
}
