-- The digest of each contract's events in a block, which is the 64 ledgers from 64 times its number on (of block 0 those
-- from 1 on). A block that one scope key covers whole is sealed under that key: each of the key's contracts that has an
-- event in it has a row here, of the events as they are stored now. What changes an event changes the row with it.
CREATE TABLE history_digests (
    contract_id BLOB NOT NULL CHECK (length(contract_id) = 32),
    block       INTEGER NOT NULL,
    events      INTEGER NOT NULL CHECK (events > 0),
    digest      BLOB NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (contract_id, block)
) STRICT, WITHOUT ROWID;

-- The blocks that are covered whole and not sealed, since they were before there were seals: disjoint ranges, which only
-- shrink.
CREATE TABLE unsealed (
    scope_key  TEXT NOT NULL,
    from_block INTEGER NOT NULL,
    to_block   INTEGER NOT NULL CHECK (to_block >= from_block),
    PRIMARY KEY (scope_key, from_block)
) STRICT, WITHOUT ROWID;

INSERT INTO unsealed
SELECT scope_key, from_block, to_block
FROM (SELECT scope_key, iif(from_seq = 1, 0, (from_seq + 63) / 64) AS from_block, (to_seq + 1) / 64 - 1 AS to_block
      FROM ranges WHERE scope_key <> 'verified')
WHERE to_block >= from_block;
