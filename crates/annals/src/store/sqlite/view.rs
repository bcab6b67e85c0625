//! What the archive knows of one contract, as of one feed position.

use annals_core::registry::Payload;
use annals_core::{ClassicPolicy, ContractId, Event, LedgerRange, LedgerSeq, Position, Registry, ScopeKey, Window};
use rusqlite::Connection;

use super::pages::payloads::Payloads;
use super::schemas::{self, Reading};
use super::{anchors, contracts, events, found, grants, incidents, ledgers, ranges, state};
use crate::store::{Contract, ContractKind, ContractView, EventLookup, FeedPosition, PageEvent, StoreError};

/// A view, and what else a window is judged by.
pub(super) struct Known {
    pub(super) view: ContractView,
    /// With which schema its events were read at the view's feed position.
    pub(super) reading: Option<Reading>,
    /// The archive's own feed position; the view may be of an earlier one.
    pub(super) present: u64,
    /// Whether the contract can have no classic events.
    wasm: bool,
    classic: ClassicPolicy,
}

/// Reads what is known of `id`, now or as of the position that a first page fixed.
pub(super) fn read(connection: &Connection, id: ContractId, as_of: Option<FeedPosition>) -> Result<Known, StoreError> {
    let state = state::indexer_state(connection)?;
    let meta = state::meta(connection)?;
    let as_of = as_of.map_or(state.feed_position, |fixed| fixed.0);
    if as_of > state.feed_position {
        return Err(StoreError::BehindCursor { asked: as_of, held: state.feed_position });
    }
    let earlier = (as_of < state.feed_position).then_some(as_of);
    let own = grants::coverage_at(connection, &ScopeKey::Contract(id).to_string(), earlier)?;
    let coverage = own.union(&grants::coverage_at(connection, &ScopeKey::All.to_string(), earlier)?);
    let verified = grants::coverage_at(connection, ranges::VERIFIED, earlier)?;
    let named = contracts::get(connection, id)?;
    let found = found::get(connection, id, Some(FeedPosition(as_of)))?;
    let reading = schemas::at(connection, id, FeedPosition(as_of))?;
    let said = named.as_ref().map(|named| &named.contract);
    let verified = coverage.intersection(&verified);
    let view = ContractView {
        as_of: FeedPosition(as_of),
        epoch: state.epoch,
        in_scope: named.is_some() || contracts::all_in_scope(connection)?,
        contract: contracts::known(id, said, found, reading.as_ref()),
        start: meta.start,
        anchors: anchors::highest(connection, &verified)?,
        verified,
        coverage,
        lowest_incident: incidents::lowest_ledger(connection, as_of)?,
        pins: ledgers::pins(connection)?,
    };
    // What an operator says goes first, unless it is of a contract that was found to be an asset's, whose id proves it.
    // What was found is of the view's own position.
    let wasm = match (found.map(|found| found.kind), &named) {
        (Some(ContractKind::Asset), _) => false,
        (_, Some(named)) if named.contract.kind.is_some() => named.was_wasm_at(as_of),
        (kind, _) => kind == Some(ContractKind::Wasm),
    };
    Ok(Known {
        view,
        reading,
        present: state.feed_position,
        wasm,
        classic: meta.classic.unwrap_or(ClassicPolicy::Keep),
    })
}

impl Known {
    /// The ledgers whose rows a window shows: one without a beginning starts with what is covered.
    pub(super) fn rows_range(&self, window: Window) -> Option<LedgerRange> {
        let lowest = self.view.coverage.ranges().first().map(|range| range.from_inclusive());
        LedgerRange::new(window.from_inclusive.or(lowest)?, window.to_inclusive?).ok()
    }

    /// A window that a reader asks for, with its defaults filled in.
    pub(super) fn window(&self, asked_from: Option<LedgerSeq>, asked_to: Option<LedgerSeq>) -> Window {
        let contract = self.view.contract.as_ref();
        let origin = contract.and_then(|contract| contract.origin);
        let counted_from = Contract::counted_from(contract, self.view.start);
        Window::resolve(asked_from, asked_to, origin, counted_from, &self.view.coverage)
    }

    /// Whether a scanned ledger of the window lacks classic events that the contract may have.
    pub(super) fn lacks_classic(&self, connection: &Connection, window: Window) -> Result<bool, StoreError> {
        let Some(range) = self.rows_range(window) else { return Ok(false) };
        let held = self.view.coverage.ranges().iter();
        let scanned: Vec<LedgerRange> = held.filter_map(|held| held.intersection(range)).collect();
        if self.wasm || scanned.is_empty() {
            return Ok(false);
        }
        if self.classic == ClassicPolicy::Drop || scanned.iter().any(|range| !self.view.verified.covers(*range)) {
            return Ok(true);
        }
        for range in scanned {
            if ledgers::lacks_classic(connection, range, self.view.as_of.0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What stored events leave out and their invocations carry.
pub(super) fn payloads(
    connection: &Connection,
    registry: &Registry,
    events: &[Event],
) -> Result<Vec<Payload>, StoreError> {
    let present = FeedPosition(state::indexer_state(connection)?.feed_position);
    let mut payloads = Payloads::new(connection, registry, present);
    events.iter().map(|event| payloads.look_up(event)).collect()
}

/// The event at `position`. Its absence is proven only by a ledger that was scanned for every contract, with nothing
/// left out.
pub(super) fn event(
    connection: &Connection,
    registry: &Registry,
    position: Position,
) -> Result<EventLookup, StoreError> {
    if let Some(event) = events::at(connection, position)? {
        let payload = payloads(connection, registry, core::slice::from_ref(&event))?.pop();
        let payload = payload.unwrap_or(Payload::NotApplicable);
        return Ok(EventLookup::Found(Box::new(PageEvent { event, roles: Vec::new(), payload })));
    }
    let ledger = LedgerRange::single(position.ledger());
    let scanned = ranges::within(connection, &ScopeKey::All.to_string(), ledger)?;
    let verified = ranges::within(connection, ranges::VERIFIED, ledger)?;
    let state = state::indexer_state(connection)?;
    let whole = state::meta(connection)?.classic == Some(ClassicPolicy::Keep)
        && !verified.is_empty()
        && !ledgers::lacks_classic(connection, ledger, state.feed_position)?;
    Ok(EventLookup::Absent { covered: !scanned.is_empty() && whole })
}
