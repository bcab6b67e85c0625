-- One row per event. `feed_position` grows in commit order; (toid, event_index) is canonical order and identity.
-- kind: 0 contract, 1 system. proof: 0 unverified, 1 uncommitted, 2 rewritten, 3 committed. Topics can be many
-- kilobytes, so that none is indexed: `topic0_key` is the first eight bytes of sha256 of the contract's id and topic 0's
-- XDR, and who looks an event up by it compares both. `upgraded_at` is the feed position that gave the row its present
-- form. No index begins with the transaction's hash: its order is chance, and each batch would rewrite most of it
-- (measured: loading takes more than twice as long).
CREATE TABLE events (
    feed_position INTEGER PRIMARY KEY,
    toid          INTEGER NOT NULL,
    event_index   INTEGER NOT NULL,
    tx_hash       BLOB NOT NULL CHECK (length(tx_hash) = 32),
    tx_order      INTEGER NOT NULL,
    successful    INTEGER NOT NULL CHECK (successful IN (0, 1)),
    close_time_ms INTEGER NOT NULL,
    contract_id   BLOB CHECK (length(contract_id) = 32),
    kind          INTEGER NOT NULL CHECK (kind IN (0, 1)),
    proof         INTEGER NOT NULL CHECK (proof BETWEEN 0 AND 3),
    event_xdr     BLOB NOT NULL,
    rewritten_xdr BLOB,
    topic0_key    INTEGER,
    upgraded_at   INTEGER
) STRICT;

CREATE UNIQUE INDEX events_by_position ON events (toid, event_index);
CREATE INDEX events_by_contract ON events (contract_id, toid, event_index);
CREATE INDEX events_by_topic ON events (topic0_key, toid, event_index) WHERE topic0_key IS NOT NULL;

-- What an upgraded event was before, for pages that were begun before: the version that holds at a feed position is
-- the one with the lowest `replaced_at` above it. `event_xdr` is null where the bytes are those of the event's row.
CREATE TABLE event_versions (
    event_feed_position INTEGER NOT NULL REFERENCES events (feed_position),
    replaced_at         INTEGER NOT NULL,
    toid                INTEGER NOT NULL,
    event_index         INTEGER NOT NULL,
    topic0_key          INTEGER,
    tx_order            INTEGER NOT NULL,
    successful          INTEGER NOT NULL CHECK (successful IN (0, 1)),
    close_time_ms       INTEGER NOT NULL,
    proof               INTEGER NOT NULL CHECK (proof BETWEEN 0 AND 3),
    event_xdr           BLOB,
    rewritten_xdr       BLOB,
    PRIMARY KEY (event_feed_position, replaced_at)
) STRICT;

-- Only other bytes can have another topic.
CREATE INDEX event_versions_by_topic ON event_versions (topic0_key, toid, event_index)
    WHERE topic0_key IS NOT NULL AND event_xdr IS NOT NULL;

-- The columns that a predecessor's queries know. (tx_hash, event_index) is not unique on the network, so `id` may
-- repeat; (toid, event_index) does not. The payload is JSON that holds the ContractEvent's XDR in hexadecimal.
CREATE VIEW raw_events AS
SELECT lower(hex(tx_hash)) || ':' || event_index                   AS id,
       lower(hex(tx_hash))                                         AS tx_hash,
       event_index,
       toid >> 32                                                  AS ledger,
       iif(kind = 0, 'contract', 'system')                         AS type,
       json_object('contract_event_xdr', lower(hex(event_xdr)))    AS payload,
       toid
FROM events;
