//! What upgraded events were before, so that a page that was begun before an upgrade goes on as it began.

use annals_core::Event;
use rusqlite::{CachedStatement, Connection, named_params, params};

use super::events::StoredEvent;
use super::failure::damaged;
use super::state::{proof_class, proof_code};
use super::topics;
use crate::store::StoreError;

/// The statements of one batch's upgrades.
pub(super) struct Upgrades<'c> {
    keep: CachedStatement<'c>,
    keep_bytes: CachedStatement<'c>,
    update: CachedStatement<'c>,
}

impl<'c> Upgrades<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        let keep = "/* versions::new */ INSERT INTO event_versions SELECT feed_position, :at, toid, event_index, \
                    topic0_key, tx_order, successful, close_time_ms, proof, NULL, rewritten_xdr \
                    FROM events WHERE feed_position = :feed";
        let keep_bytes = "/* versions::new */ UPDATE event_versions SET event_xdr = :xdr \
                          WHERE event_feed_position = :feed AND event_xdr IS NULL";
        let update = "/* versions::new */ UPDATE events SET event_xdr = :xdr, proof = :proof, \
                      rewritten_xdr = :rewritten, tx_order = :tx_order, successful = :successful, \
                      close_time_ms = :close_time, topic0_key = :topic0, upgraded_at = :at \
                      WHERE feed_position = :feed";
        Ok(Self {
            keep: connection.prepare_cached(keep)?,
            keep_bytes: connection.prepare_cached(keep_bytes)?,
            update: connection.prepare_cached(update)?,
        })
    }

    /// Makes `event` the present form of `stored`. `at` may be any feed position of the commit that does so.
    pub(super) fn apply(&mut self, stored: &StoredEvent, event: &Event, at: u64) -> Result<(), StoreError> {
        let feed = stored.feed_position;
        self.keep.execute(named_params! { ":at": at, ":feed": feed })?;
        if stored.event.xdr != event.xdr {
            self.keep_bytes.execute(named_params! { ":xdr": stored.event.xdr, ":feed": feed })?;
        }
        self.update.execute(named_params! {
            ":xdr": event.xdr,
            ":proof": proof_code(event.proof),
            ":rewritten": event.rewritten_xdr,
            ":tx_order": event.tx_order,
            ":successful": event.successful,
            ":close_time": event.close_time_ms,
            ":topic0": topics::first_key(event),
            ":at": at,
            ":feed": feed,
        })?;
        Ok(())
    }
}

/// The form that a stored event had at the feed position `as_of`.
pub(super) fn as_of(connection: &Connection, stored: StoredEvent, as_of: u64) -> Result<Event, StoreError> {
    let mut event = stored.event;
    if stored.upgraded_at.is_none_or(|upgraded_at| upgraded_at <= as_of) {
        return Ok(event);
    }
    let sql = "/* versions::as_of */ SELECT tx_order, successful, close_time_ms, proof, event_xdr, rewritten_xdr \
               FROM event_versions WHERE event_feed_position = ?1 AND replaced_at > ?2 ORDER BY replaced_at LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![stored.feed_position, as_of])?;
    let row = rows.next()?.ok_or_else(|| damaged("an upgraded event has no earlier version"))?;
    event.tx_order = row.get(0)?;
    event.successful = row.get(1)?;
    event.close_time_ms = row.get(2)?;
    event.proof = proof_class(row.get(3)?)?;
    if let Some(xdr) = row.get(4)? {
        event.xdr = xdr;
    }
    event.rewritten_xdr = row.get(5)?;
    Ok(event)
}
