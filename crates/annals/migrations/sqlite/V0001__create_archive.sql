-- What the archive is of, who may write to it, and what was done to it.
--
-- Conventions of all files here: ledgers are sequence numbers, times are Unix milliseconds, hashes and contract
-- ids are their 32 bytes, XDR is kept as raw bytes.

-- One row. The network and the policy stand still once the first request has recorded them; the cursor key is
-- made here and never leaves the archive.
CREATE TABLE archive_meta (
    id                 INTEGER PRIMARY KEY CHECK (id = 1),
    network_passphrase TEXT,
    classic_policy     TEXT CHECK (classic_policy IN ('keep', 'drop')),
    start_seq          INTEGER,
    first_ledger_seq   INTEGER,
    first_ledger_hash  BLOB CHECK (length(first_ledger_hash) = 32),
    cursor_key         BLOB NOT NULL CHECK (length(cursor_key) = 32)
) STRICT;

INSERT INTO archive_meta (id, cursor_key) VALUES (1, randomblob(32));

-- One row. `cursor_seq` is the highest end of a committed batch in this epoch; the four counts are the stored
-- events by proof class and are kept in the transaction that stores the events.
CREATE TABLE indexer_state (
    id                 INTEGER PRIMARY KEY CHECK (id = 1),
    cursor_seq         INTEGER,
    epoch              INTEGER NOT NULL,
    feed_position      INTEGER NOT NULL,
    events_unverified  INTEGER NOT NULL,
    events_uncommitted INTEGER NOT NULL,
    events_rewritten   INTEGER NOT NULL,
    events_committed   INTEGER NOT NULL
) STRICT;

INSERT INTO indexer_state VALUES (1, NULL, 0, 0, 0, 0, 0, 0);

-- The last commits, bounded; newer rows have higher feed positions.
CREATE TABLE cursor_history (
    feed_position   INTEGER PRIMARY KEY,
    cursor_seq      INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    committed_at_ms INTEGER NOT NULL
) STRICT;

-- The fence of each lease; taking the lease raises it.
CREATE TABLE leases (
    name  TEXT PRIMARY KEY,
    fence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO leases VALUES ('ingest', 0);

-- The hashes that operators vouched for.
CREATE TABLE pins (
    seq  INTEGER PRIMARY KEY,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- The contracts that were ever named, with what operators said of them. `kind_feed_position` tells when the present
-- kind was said, so that a page that was begun before does not believe it.
CREATE TABLE contracts (
    contract_id        BLOB PRIMARY KEY CHECK (length(contract_id) = 32),
    asked_at_ms        INTEGER NOT NULL,
    origin_seq         INTEGER,
    kind               TEXT CHECK (kind IN ('wasm', 'asset')),
    kind_feed_position INTEGER,
    CHECK ((kind IS NULL) = (kind_feed_position IS NULL))
) STRICT, WITHOUT ROWID;

-- What operators did to the archive's bounds; one line of JSON each.
CREATE TABLE journal (
    id             INTEGER PRIMARY KEY,
    recorded_at_ms INTEGER NOT NULL,
    act            TEXT NOT NULL,
    detail         TEXT NOT NULL
) STRICT;

-- Contradictions between what is stored and what a source gave; both versions are kept. `resolved_feed_position` lies
-- above every page that was begun while the incident was open.
CREATE TABLE incidents (
    id                     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind                   TEXT NOT NULL CHECK (kind IN ('ledger_hash', 'event_bytes')),
    ledger_seq             INTEGER NOT NULL,
    toid                   INTEGER,
    event_index            INTEGER,
    source                 TEXT NOT NULL,
    stored_xdr             BLOB NOT NULL,
    offered_xdr            BLOB NOT NULL,
    stored_tx_hash         BLOB,
    offered_tx_hash        BLOB,
    recorded_at_ms         INTEGER NOT NULL,
    resolved_at_ms         INTEGER,
    resolved_feed_position INTEGER,
    note                   TEXT,
    CHECK ((resolved_at_ms IS NULL) = (resolved_feed_position IS NULL))
) STRICT;

CREATE INDEX incidents_open ON incidents (id) WHERE resolved_at_ms IS NULL;
CREATE INDEX incidents_resolved ON incidents (resolved_feed_position, ledger_seq) WHERE resolved_at_ms IS NOT NULL;
