-- What whoever follows the network last said of itself; no row before the first one did. Times are Unix milliseconds
-- by the follower's own clock, and none but that of a close lies behind its sign of life. `tip_seen_ms` is when a
-- source first said this tip, and not when it said it again. Noting it uses no feed position: no page depends on it.
CREATE TABLE freshness_state (
    id                       INTEGER PRIMARY KEY CHECK (id = 1),
    state                    TEXT NOT NULL CHECK (state IN ('following', 'catching_up', 'waiting', 'stopped')),
    code                     TEXT,
    message                  TEXT,
    tip_seq                  INTEGER,
    tip_closed_ms            INTEGER,
    tip_seen_ms              INTEGER,
    source_answered_ms       INTEGER,
    heartbeat_ms             INTEGER NOT NULL,
    announced                TEXT,
    latency_ledgers          INTEGER,
    close_to_visible_p50_ms  INTEGER,
    close_to_visible_p99_ms  INTEGER,
    seen_to_visible_p50_ms   INTEGER,
    seen_to_visible_p99_ms   INTEGER,
    CHECK ((tip_seq IS NULL) = (tip_seen_ms IS NULL)),
    CHECK (tip_seq IS NOT NULL OR tip_closed_ms IS NULL)
) STRICT;
