//! What an operator asks for: network, policy, pins, the lowest start, and durable gaps.

use annals_core::{Coverage, LedgerHash, LedgerSeq};
use rusqlite::{Connection, OptionalExtension, params};

use super::{contracts, gaps, ledgers, ranges, state};
use crate::store::{GapFailure, Pin, Plan, Request, StoreError};

/// Records `request`; the transaction is undone when anything is refused.
pub(super) fn record(connection: &Connection, request: &Request, now_ms: u64) -> Result<Plan, StoreError> {
    state::check_incidents(connection)?;
    let mut meta = state::meta(connection)?;
    let is_empty = ranges::are_none(connection)?;
    if is_empty && meta.compare(&request.network, request.classic).is_err() {
        // A request that stored nothing, such as one with a mistyped network, binds nobody.
        forget(connection)?;
        meta = state::meta(connection)?;
    }
    meta.compare(&request.network, request.classic)?;
    for pin in &request.pins {
        if is_empty {
            connection.execute("/* request::record */ DELETE FROM pins WHERE seq = ?1", [pin.seq.get()])?;
        }
        record_pin(connection, *pin)?;
    }
    let first = "/* request::record */ UPDATE archive_meta SET network_passphrase = ?1, classic_policy = ?2 \
                 WHERE network_passphrase IS NULL";
    connection.execute(first, params![request.network.passphrase(), request.classic.as_str()])?;
    let start = request.range.from_inclusive();
    let lowered_start_from = meta.start.filter(|old| start < *old);
    if lowered_start_from.is_some() || meta.start.is_none() {
        connection.execute("/* request::record */ UPDATE archive_meta SET start_seq = ?1", [start.get()])?;
    }
    if let Some(old) = lowered_start_from {
        journal_lowered_start(connection, old, start, now_ms)?;
    }
    contracts::name(connection, &request.scope, now_ms)?;
    let mut missing = Coverage::new();
    for key in request.scope.keys() {
        let lacking = ranges::scanned_for(connection, key, request.range)?.missing(request.range);
        for range in lacking.ranges() {
            gaps::add(connection, key, *range, now_ms)?;
        }
        missing = missing.union(&lacking);
    }
    Ok(Plan { missing, lowered_start_from })
}

/// Forgets what earlier requests recorded.
fn forget(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(
        "/* request::forget */ DELETE FROM gaps; /* request::forget */ DELETE FROM pins; \
         /* request::forget */ UPDATE archive_meta SET network_passphrase = NULL, classic_policy = NULL, \
         start_seq = NULL",
    )?;
    Ok(())
}

/// Keeps a pin, unless the stored chain or an earlier pin says otherwise.
fn record_pin(connection: &Connection, pin: Pin) -> Result<(), StoreError> {
    let earlier = "/* request::record_pin */ SELECT hash FROM pins WHERE seq = ?1";
    let earlier = connection.query_row(earlier, [pin.seq.get()], |row| row.get(0)).optional()?.map(LedgerHash);
    if let Some(earlier) = earlier.filter(|earlier| *earlier != pin.hash) {
        let (earlier, asked) = (earlier.to_string(), pin.hash.to_string());
        return Err(StoreError::PinnedOtherwise { seq: pin.seq, earlier, asked });
    }
    if let Some(found) = ledgers::chain_hash(connection, pin.seq)?.filter(|found| *found != pin.hash) {
        let (pinned, found) = (pin.hash.to_string(), found.to_string());
        return Err(StoreError::PinContradicted { seq: pin.seq, pinned, found });
    }
    let insert = "/* request::record_pin */ INSERT INTO pins VALUES (?1, ?2) ON CONFLICT (seq) DO NOTHING";
    connection.execute(insert, params![pin.seq.get(), pin.hash.0])?;
    Ok(())
}

fn journal_lowered_start(
    connection: &Connection,
    from: LedgerSeq,
    to: LedgerSeq,
    now_ms: u64,
) -> Result<(), StoreError> {
    let sql = "/* request::journal_lowered_start */ INSERT INTO journal (recorded_at_ms, act, detail) \
               VALUES (?1, 'lower_start', json_object('from', ?2, 'to', ?3))";
    connection.execute(sql, params![now_ms, from.get(), to.get()])?;
    Ok(())
}

/// Counts a failure on every key's gaps in its range.
pub(super) fn record_failure(connection: &Connection, failure: &GapFailure, now_ms: u64) -> Result<(), StoreError> {
    for key in gaps::keys_in(connection, failure.range)? {
        gaps::fail(connection, key, failure, now_ms)?;
    }
    Ok(())
}
