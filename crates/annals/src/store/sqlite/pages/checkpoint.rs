//! The latest checkpoint of an account, and from where on its events are replayed.

use annals_core::{LedgerSeq, Mark, Position, Registry, Window};
use rusqlite::Connection;

use super::accounts::{self, Marked};
use super::judged;
use super::payloads::Payloads;
use crate::store::sqlite::view::{self, Known};
use crate::store::{CheckpointAnswer, CheckpointQuery, PageEvent, StoreError};

/// Reads the latest checkpoint of an account; `connection` stands on one snapshot.
pub(in crate::store::sqlite) fn read(
    connection: &Connection,
    registry: &Registry,
    query: &CheckpointQuery,
) -> Result<CheckpointAnswer, StoreError> {
    let known = view::read(connection, query.contract, None)?;
    let origin = known.view.contract.as_ref().and_then(|contract| contract.origin);
    let to = Window::resolve(None, query.at, origin, known.view.start, &known.view.coverage).to_inclusive;
    let found = Found::of(connection, &known, query, to)?;
    let mut payloads = Payloads::new(connection, registry, known.view.as_of);
    let mut shown = |position: Option<Position>| -> Result<Option<PageEvent>, StoreError> {
        let Some((party, position)) = found.party.zip(position) else { return Ok(None) };
        let owned = accounts::at(connection, party, position, known.view.as_of)?;
        let payload = payloads.of(&owned.event, known.reading.as_ref())?;
        Ok(Some(PageEvent { event: owned.event, roles: owned.roles, payload }))
    };
    let t0_position = found.t0.map(|(position, _)| position);
    let (checkpoint, t0) = (shown(found.checkpoint)?, shown(t0_position)?);
    let window = |begins: Option<Position>| {
        let from_inclusive = begins.map(Position::ledger).or(origin);
        judged(connection, &known, query.contract, Window { from_inclusive, to_inclusive: to })
    };
    let (window, replay_window) = (window(found.checkpoint)?, window(t0_position)?);
    let t0_mark = found.t0.map(|(_, mark)| mark);
    Ok(CheckpointAnswer { checkpoint, t0, t0_mark, window, replay_window, view: known.view })
}

/// Where the events of the answer stand.
#[derive(Default)]
struct Found {
    party: Option<i64>,
    checkpoint: Option<Position>,
    t0: Option<(Position, Mark)>,
}

impl Found {
    fn of(
        connection: &Connection,
        known: &Known,
        query: &CheckpointQuery,
        to: Option<LedgerSeq>,
    ) -> Result<Self, StoreError> {
        let party = accounts::party(connection, query.contract, query.account, known)?;
        let Some((party, to)) = party.zip(to) else { return Ok(Self::default()) };
        let marked = |mark, which, up_to| accounts::marked(connection, party, mark, which, up_to, known.view.as_of);
        let end = Position::last_of(to);
        let checkpoint = marked(Mark::Checkpoint, Marked::Last, end)?;
        // What was folded in before any checkpoint is no place to begin at: the balance is zero only at the opening.
        let fold = match checkpoint {
            Some(checkpoint) => marked(Mark::Fold, Marked::Last, checkpoint)?,
            None => None,
        };
        let t0 = match fold {
            Some(fold) => Some((fold, Mark::Fold)),
            None => {
                let opening = marked(Mark::Opening, Marked::First, checkpoint.unwrap_or(end))?;
                opening.map(|opening| (opening, Mark::Opening))
            }
        };
        Ok(Self { party: Some(party), checkpoint, t0 })
    }
}
