//! Who beside the source confirmed the hash of a stored ledger.

use annals_core::{LedgerHash, LedgerSeq};

/// The kinds of confirmation that are recorded, the stronger first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnchorKind {
    /// A checkpoint of a history archive holds the ledger's header.
    HistoryArchive,
    /// Two endpoints of different hosts gave the same ledger.
    SourcesAgree,
}

impl AnchorKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::HistoryArchive, Self::SourcesAgree];

    /// The word in store and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HistoryArchive => "history-archive",
            Self::SourcesAgree => "sources-agree",
        }
    }
}

/// A confirmation of a stored ledger's hash: evidence for every ledger below that links up to it without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The ledger.
    pub ledger: LedgerSeq,
    /// The hash that was confirmed.
    pub hash: LedgerHash,
    /// What kind of confirmation it is.
    pub kind: AnchorKind,
    /// Who confirmed it; holds no secret.
    pub said_by: String,
    /// When, Unix milliseconds.
    pub seen_at_ms: u64,
}
