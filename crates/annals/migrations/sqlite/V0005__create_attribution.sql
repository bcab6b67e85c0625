-- Whom events belong to, as of each feed position: a row is seen at the feed position P if `since` <= P and `until` is
-- null or above P. Nothing is taken out; what no longer holds is ended.

-- What an operator says reads a contract; null where nobody said.
ALTER TABLE contracts ADD COLUMN schema TEXT;

-- What was found of contracts while scanning: creations, and asset contracts by the topic of their events. It brings
-- none into scope. `feed_position` is that of the commit which found it.
CREATE TABLE found_contracts (
    contract_id   BLOB PRIMARY KEY CHECK (length(contract_id) = 32),
    origin_seq    INTEGER NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('wasm', 'asset')),
    feed_position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- With which schema a contract's events are read. `digest` names what the schema says; `attributed_at` is the feed
-- position from which on all stored events were read with it, null while some wait. Until then `pass_toid` and
-- `pass_index` are the position up to which they were.
CREATE TABLE contract_schemas (
    contract_id   BLOB NOT NULL CHECK (length(contract_id) = 32),
    since         INTEGER NOT NULL,
    schema        TEXT NOT NULL,
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    attributed_at INTEGER,
    pass_toid     INTEGER,
    pass_index    INTEGER,
    until         INTEGER,
    PRIMARY KEY (contract_id, since),
    CHECK ((pass_toid IS NULL) = (pass_index IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX contract_schemas_waiting ON contract_schemas (contract_id) WHERE until IS NULL AND attributed_at IS NULL;

-- Who has a role in a contract's events. The address is 33 bytes: the number of its arm, and its own 32.
CREATE TABLE parties (
    id          INTEGER PRIMARY KEY,
    contract_id BLOB NOT NULL CHECK (length(contract_id) = 32),
    address     BLOB NOT NULL CHECK (length(address) = 33),
    UNIQUE (contract_id, address)
) STRICT;

-- The parties of events. `place` counts an event's parties in the order of its topics, and `event_feed_position` is the
-- event's row. (toid, event_index) is carried here so that an account's page is one range of this table's own key. No
-- column refers to another table by a constraint: looking both up would take a third of the time of writing a row.
CREATE TABLE attribution (
    party_id            INTEGER NOT NULL,
    toid                INTEGER NOT NULL,
    event_index         INTEGER NOT NULL,
    place               INTEGER NOT NULL,
    since               INTEGER NOT NULL,
    until               INTEGER,
    role                TEXT NOT NULL,
    mark                TEXT CHECK (mark IN ('checkpoint', 'fold', 'opening')),
    event_feed_position INTEGER NOT NULL,
    PRIMARY KEY (party_id, toid, event_index, place, since)
) STRICT, WITHOUT ROWID;

CREATE INDEX attribution_marks ON attribution (party_id, mark, toid, event_index) WHERE mark IS NOT NULL;

-- The events that fit no shape of their contract's schema, and why.
CREATE TABLE quarantine (
    contract_id BLOB NOT NULL CHECK (length(contract_id) = 32),
    toid        INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    until       INTEGER,
    fault       TEXT NOT NULL CHECK (fault IN ('unreadable', 'no_name', 'unknown_name', 'unknown_topics', 'unknown_data')),
    PRIMARY KEY (contract_id, toid, event_index, since)
) STRICT, WITHOUT ROWID;

-- Every account's page asks for both: what is quarantined, and what was when the page was begun.
CREATE INDEX quarantine_open ON quarantine (contract_id, toid, event_index) WHERE until IS NULL;
CREATE INDEX quarantine_ended ON quarantine (contract_id, until, toid) WHERE until IS NOT NULL;

-- One row. Whether the contracts of events that were stored before there was attribution have still to be looked at.
CREATE TABLE attribution_state (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    survey_pending INTEGER NOT NULL CHECK (survey_pending IN (0, 1))
) STRICT;

INSERT INTO attribution_state SELECT 1, EXISTS (SELECT 1 FROM events);
