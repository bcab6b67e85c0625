-- Who beside the source confirmed the hash of a stored ledger, and so of every ledger below that links up to it without a
-- gap. A row counts for as long as the ledger is stored with exactly this hash. Pins have a table of their own; what
-- `ledgers.anchor` says is read by nobody any more.
CREATE TABLE anchors (
    kind       TEXT NOT NULL CHECK (kind IN ('history-archive', 'sources-agree')),
    ledger_seq INTEGER NOT NULL,
    hash       BLOB NOT NULL CHECK (length(hash) = 32),
    said_by    TEXT NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, ledger_seq)
) STRICT, WITHOUT ROWID;
