-- Where ledgers came from, named once.
CREATE TABLE sources (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The ledgers whose header, results and success pre-images hashed. `feed_position` is that of the commit that
-- made the row, `classic_feed_position` that of the commit which gave it its present `classic_events`.
CREATE TABLE ledgers (
    seq                   INTEGER PRIMARY KEY,
    hash                  BLOB NOT NULL CHECK (length(hash) = 32),
    previous_hash         BLOB NOT NULL CHECK (length(previous_hash) = 32),
    close_time_ms         INTEGER NOT NULL,
    protocol              INTEGER NOT NULL,
    header_xdr            BLOB NOT NULL,
    classic_events        TEXT NOT NULL CHECK (classic_events IN ('absent', 'inconsistent', 'present')),
    census_committed      INTEGER NOT NULL,
    census_rewritten      INTEGER NOT NULL,
    census_uncommitted    INTEGER NOT NULL,
    census_unverified     INTEGER NOT NULL,
    digest                BLOB NOT NULL CHECK (length(digest) = 32),
    digest_version        INTEGER NOT NULL,
    source_id             INTEGER NOT NULL REFERENCES sources (id),
    anchor                TEXT NOT NULL CHECK (anchor IN ('pinned', 'source')),
    feed_position         INTEGER NOT NULL,
    classic_feed_position INTEGER NOT NULL
) STRICT;

-- Where classic events are missing, and where they came later than the ledger: both few, and asked for by every page.
CREATE INDEX ledgers_without_classic ON ledgers (seq) WHERE classic_events <> 'present';
CREATE INDEX ledgers_upgraded ON ledgers (classic_feed_position, seq) WHERE classic_feed_position > feed_position;

-- The scanned ledgers: disjoint ranges that never touch. `scope_key` is '*' for all contracts, a contract's
-- strkey, or 'verified' for the ledgers that have a row in `ledgers` and were checked for every key that covers them.
CREATE TABLE ranges (
    scope_key TEXT NOT NULL,
    from_seq  INTEGER NOT NULL,
    to_seq    INTEGER NOT NULL CHECK (to_seq >= from_seq),
    PRIMARY KEY (scope_key, from_seq)
) STRICT, WITHOUT ROWID;

-- What each commit added to `ranges`, so that the coverage of an earlier feed position is the present one without
-- what was granted after it. Keys that were granted the same ledgers share a row: an archive of five hundred contracts
-- grows by one row a commit. A set's digest is sha256 of its keys, sorted and parted by line feeds.
CREATE TABLE grant_sets (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32)
) STRICT;

CREATE TABLE grant_set_keys (
    scope_key TEXT NOT NULL,
    set_id    INTEGER NOT NULL REFERENCES grant_sets (id),
    PRIMARY KEY (scope_key, set_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    set_id        INTEGER NOT NULL REFERENCES grant_sets (id),
    feed_position INTEGER NOT NULL,
    from_seq      INTEGER NOT NULL,
    to_seq        INTEGER NOT NULL CHECK (to_seq >= from_seq),
    PRIMARY KEY (set_id, feed_position, from_seq)
) STRICT, WITHOUT ROWID;

-- The asked-for ledgers that are not scanned: disjoint ranges, split where their attempts differ.
CREATE TABLE gaps (
    scope_key     TEXT NOT NULL,
    from_seq      INTEGER NOT NULL,
    to_seq        INTEGER NOT NULL CHECK (to_seq >= from_seq),
    attempts      INTEGER NOT NULL,
    last_code     TEXT,
    last_error    TEXT,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (scope_key, from_seq)
) STRICT, WITHOUT ROWID;
