//! Pages of one contract's events.

use annals_core::Window;
use rusqlite::Connection;

use super::view;
use crate::store::{Page, PageQuery, StoreError};

mod rows;
mod streams;
#[cfg(test)]
mod tests;

/// Reads one page and what judges it; `connection` stands on one snapshot.
pub(super) fn read(connection: &Connection, query: &PageQuery) -> Result<Page, StoreError> {
    let known = view::read(connection, query.contract, query.bound.map(|bound| bound.as_of))?;
    let window = match query.bound {
        Some(bound) => bound.window,
        None => {
            let origin = known.view.contract.and_then(|contract| contract.origin);
            Window::resolve(query.asked_from, query.asked_to, origin, known.view.start, &known.view.coverage)
        }
    };
    let found = match known.rows_range(window) {
        Some(range) => rows::collect(connection, query, range, &known)?,
        None => rows::Found::default(),
    };
    Ok(Page {
        events: found.events,
        next: found.next,
        window,
        classic_events_absent: known.lacks_classic(connection, window)?,
        view: known.view,
    })
}
