-- One row per event. `feed_position` grows in commit order; (toid, event_index) is canonical order and identity.
-- kind: 0 contract, 1 system. proof: 0 unverified, 1 uncommitted, 2 rewritten, 3 committed.
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
    rewritten_xdr BLOB
) STRICT;

CREATE UNIQUE INDEX events_by_position ON events (toid, event_index);
CREATE INDEX events_by_contract ON events (contract_id, toid, event_index);

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
