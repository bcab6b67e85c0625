//! Pages of one contract's events.

use annals_core::registry::Payload;
use annals_core::{Event, Window};
use rusqlite::Connection;

use super::view;
use crate::store::{
    CheckpointAnswer, CheckpointQuery, JudgedWindow, Page, PageEvent, PageQuery, StoreError, Unattributed,
};

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
            let origin = known.view.contract.as_ref().and_then(|contract| contract.origin);
            Window::resolve(query.asked_from, query.asked_to, origin, known.view.start, &known.view.coverage)
        }
    };
    let found = match known.rows_range(window) {
        Some(range) => rows::collect(connection, query, range, &known)?,
        None => rows::Found::default(),
    };
    Ok(Page {
        events: found.events.into_iter().map(unasked).collect(),
        next: found.next,
        window,
        classic_events_absent: known.lacks_classic(connection, window)?,
        unattributed: query.account.map(|_| Unattributed::NoSchema),
        view: known.view,
    })
}

/// Reads the latest checkpoint of an account; `connection` stands on one snapshot.
pub(super) fn checkpoint(connection: &Connection, query: &CheckpointQuery) -> Result<CheckpointAnswer, StoreError> {
    let known = view::read(connection, query.contract, None)?;
    let origin = known.view.contract.as_ref().and_then(|contract| contract.origin);
    let window = Window::resolve(None, query.at, origin, known.view.start, &known.view.coverage);
    let classic_events_absent = known.lacks_classic(connection, window)?;
    let judged = JudgedWindow { window, classic_events_absent, unattributed: Some(Unattributed::NoSchema) };
    let view = known.view;
    Ok(CheckpointAnswer { checkpoint: None, t0: None, t0_mark: None, window: judged, replay_window: judged, view })
}

/// An event as it is shown to whoever asks for no account.
pub(super) fn unasked(event: Event) -> PageEvent {
    PageEvent { event, roles: Vec::new(), payload: Payload::NotApplicable }
}
