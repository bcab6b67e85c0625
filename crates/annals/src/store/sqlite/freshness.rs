//! The row in which a follower says that it lives.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::failure::damaged;
use super::state::ledger_seq;
use crate::store::{FollowStateName, Freshness, Latency, SeenTip, StoreError};

/// What was last noted; none before the first time.
pub(super) fn get(connection: &Connection) -> Result<Option<Freshness>, StoreError> {
    let sql = "/* freshness::get */ SELECT state, code, message, tip_seq, tip_closed_ms, tip_seen_ms, \
               source_answered_ms, heartbeat_ms, announced, latency_ledgers, close_to_visible_p50_ms, \
               close_to_visible_p99_ms, seen_to_visible_p50_ms, seen_to_visible_p99_ms FROM freshness_state";
    let row = |row: &Row<'_>| {
        let freshness = Freshness {
            state: FollowStateName::Stopped,
            code: row.get(1)?,
            message: row.get(2)?,
            tip: None,
            source_answered_ms: row.get(6)?,
            heartbeat_ms: row.get(7)?,
            announced: row.get(8)?,
            latency: latency(row)?,
        };
        let tip: (Option<u32>, Option<u64>, Option<u64>) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok((row.get::<_, String>(0)?, tip, freshness))
    };
    let Some((state, tip, freshness)) = connection.prepare_cached(sql)?.query_row([], row).optional()? else {
        return Ok(None);
    };
    let state = FollowStateName::from_name(&state).ok_or_else(|| damaged("the follower's state is unknown"))?;
    let tip = match tip {
        (Some(ledger), closed_ms, Some(seen_ms)) => Some(SeenTip { ledger: ledger_seq(ledger)?, closed_ms, seen_ms }),
        _ => None,
    };
    Ok(Some(Freshness { state, tip, ..freshness }))
}

fn latency(row: &Row<'_>) -> rusqlite::Result<Option<Latency>> {
    let Some(ledgers) = row.get(9)? else { return Ok(None) };
    Ok(Some(Latency {
        ledgers,
        close_to_visible_p50_ms: row.get(10)?,
        close_to_visible_p99_ms: row.get(11)?,
        seen_to_visible_p50_ms: row.get(12)?,
        seen_to_visible_p99_ms: row.get(13)?,
    }))
}

/// Notes what a follower says. None of its times but a close lies behind its sign of life, so that after a clock was
/// set back nothing of the row is of the future for longer than until the next sign; nor does what the follower goes
/// on to date there look new with each sign: it stays as it was first noted.
pub(super) fn note(connection: &Connection, freshness: &Freshness) -> Result<(), StoreError> {
    let now_ms = freshness.heartbeat_ms;
    let known = get(connection)?;
    let known_tip = known.as_ref().and_then(|known| known.tip);
    let tip = freshness.tip.map(|tip| {
        let said_before = known_tip.filter(|known| known.ledger == tip.ledger);
        let seen_ms = said_before.map_or(tip.seen_ms, |known| known.seen_ms.min(tip.seen_ms));
        let closed_ms = tip.closed_ms.or(said_before.and_then(|known| known.closed_ms));
        SeenTip { seen_ms: seen_ms.min(now_ms), closed_ms, ..tip }
    });
    let answered_ms = freshness.source_answered_ms.map(|answered_ms| {
        let known_ms = known.as_ref().and_then(|known| known.source_answered_ms);
        if answered_ms > now_ms { known_ms.unwrap_or(now_ms).min(now_ms) } else { answered_ms }
    });
    let latency = freshness.latency;
    let sql = "/* freshness::note */ INSERT OR REPLACE INTO freshness_state VALUES (1, :state, :code, :message, \
               :tip, :closed, :seen, :answered, :heartbeat, :announced, :ledgers, :close_p50, :close_p99, :seen_p50, \
               :seen_p99)";
    connection.prepare_cached(sql)?.execute(named_params! {
        ":state": freshness.state.as_str(),
        ":code": freshness.code,
        ":message": freshness.message,
        ":tip": tip.map(|tip| tip.ledger.get()),
        ":closed": tip.and_then(|tip| tip.closed_ms).map(stored),
        ":seen": tip.map(|tip| stored(tip.seen_ms)),
        ":answered": answered_ms.map(stored),
        ":heartbeat": stored(now_ms),
        ":announced": freshness.announced,
        ":ledgers": latency.map(|latency| latency.ledgers),
        ":close_p50": latency.map(|latency| stored(latency.close_to_visible_p50_ms)),
        ":close_p99": latency.map(|latency| stored(latency.close_to_visible_p99_ms)),
        ":seen_p50": latency.map(|latency| stored(latency.seen_to_visible_p50_ms)),
        ":seen_p99": latency.map(|latency| stored(latency.seen_to_visible_p99_ms)),
    })?;
    Ok(())
}

/// The database's integers end at 2⁶³−1, and a clock that is that wrong is not to stop a follower.
fn stored(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
