//! The rows of one page.

use annals_core::{Event, LedgerRange, Position};
use rusqlite::Connection;

use super::streams::{Merged, Span, Statements};
use crate::store::sqlite::view::Known;
use crate::store::sqlite::{topics, versions};
use crate::store::{PageQuery, StoreError};

/// How many rows one page looks at. A filter that no index serves then gives a short page and a place to go on,
/// where it would else hold a snapshot for as long as a contract's history is.
const ROWS_LOOKED_AT_MAX: u32 = 20_000;

/// What a page shows.
#[derive(Default)]
pub(super) struct Found {
    pub(super) events: Vec<Event>,
    pub(super) next: Option<Position>,
}

/// Collects the rows of `query` in `range`, as of the view's feed position.
pub(super) fn collect(
    connection: &Connection,
    query: &PageQuery,
    range: LedgerRange,
    known: &Known,
) -> Result<Found, StoreError> {
    let as_of = known.view.as_of.0;
    let limit = usize::try_from(query.limit.max(1)).unwrap_or(usize::MAX);
    let span = Span::of(query, range);
    let mut statements = Statements::prepare(connection, query, span, as_of < known.present)?;
    let mut rows = Merged::open(&mut statements, query, span, as_of)?;
    let mut found = Found::default();
    let mut looked_at = 0;
    let mut last = None;
    while let Some(stored) = rows.next()? {
        // Only a further row makes this place worth going on from.
        if looked_at == ROWS_LOOKED_AT_MAX {
            found.next = last;
            break;
        }
        looked_at += 1;
        last = Some(stored.event.position);
        if stored.feed_position > as_of || stored.event.contract_id != Some(query.contract) {
            continue;
        }
        let event = versions::as_of(connection, stored, as_of)?;
        if !topics::takes(&query.filter, &event) {
            continue;
        }
        if found.events.len() == limit {
            found.next = found.events.last().map(|event| event.position);
            break;
        }
        found.events.push(event);
    }
    Ok(found)
}
