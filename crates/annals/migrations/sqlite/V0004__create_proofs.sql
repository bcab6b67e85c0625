-- What re-proves the committed events of a ledger beside its header: zstd of the TransactionResultSet.
CREATE TABLE proofs (
    seq          INTEGER PRIMARY KEY REFERENCES ledgers (seq),
    results_zstd BLOB NOT NULL
) STRICT;

-- The ledger's invocations that emitted committed events: zstd of the success pre-image and of the envelope.
CREATE TABLE proof_invocations (
    seq                INTEGER NOT NULL REFERENCES proofs (seq),
    tx_order           INTEGER NOT NULL,
    tx_hash            BLOB NOT NULL CHECK (length(tx_hash) = 32),
    pre_image_zstd     BLOB NOT NULL,
    uncommitted_prefix INTEGER NOT NULL,
    envelope_zstd      BLOB NOT NULL,
    PRIMARY KEY (seq, tx_order)
) STRICT;
