-- zstd of the envelopes of transactions that are known by their events alone, and that leave a payload out. Whole ledgers
-- bring theirs in `proof_invocations`. A row is of a transaction that emitted a stored event, is seen from `feed_position`
-- on, and stays when its ledger is verified: pages that were begun before go on with it.
CREATE TABLE envelopes (
    ledger_seq    INTEGER NOT NULL,
    tx_hash       BLOB NOT NULL CHECK (length(tx_hash) = 32),
    feed_position INTEGER NOT NULL,
    envelope_zstd BLOB NOT NULL,
    PRIMARY KEY (ledger_seq, tx_hash)
) STRICT;
