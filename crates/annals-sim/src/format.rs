//! The forms that exporters hand ledgers out in.

/// In which form an exporter hands a ledger out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `LedgerCloseMeta` V0 with `TransactionMeta` V0, the oldest; protocols before 20.
    V0Meta0,
    /// `LedgerCloseMeta` V0 with `TransactionMeta` V1; protocols before 20.
    V0Meta1,
    /// `LedgerCloseMeta` V0 with `TransactionMeta` V2: how today's exporters write protocols before 20.
    V0Meta2,
    /// `LedgerCloseMeta` V0 with `TransactionMeta` V4: protocols before 20, exported with classic events (CAP-67).
    V0Meta4,
    /// `LedgerCloseMeta` V1 with `TransactionMeta` V3: protocols 20–22.
    V1Meta3,
    /// `LedgerCloseMeta` V1 with `TransactionMeta` V4: protocols 20–22, exported with asset events backfilled (CAP-67).
    V1Meta4,
    /// `LedgerCloseMeta` V2 with `TransactionMeta` V4: protocol 23 and later.
    V2Meta4,
}

/// The arms of the `LedgerCloseMeta` union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseVersion {
    V0,
    V1,
    V2,
}

/// The arms of the `TransactionMeta` union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V0,
    V1,
    V2,
    V3,
    V4,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::V0Meta0, Self::V0Meta1, Self::V0Meta2, Self::V0Meta4, Self::V1Meta3, Self::V1Meta4, Self::V2Meta4];

    /// Those of protocols that have contracts.
    pub const WITH_CONTRACTS: [Self; 3] = [Self::V1Meta3, Self::V1Meta4, Self::V2Meta4];

    /// The newest protocol whose ledgers are known.
    pub const NEWEST_PROTOCOL: u32 = 30;

    /// The protocol of a ledger that names none.
    #[must_use]
    pub fn default_protocol(self) -> u32 {
        match self {
            Self::V0Meta0 | Self::V0Meta1 => 9,
            Self::V0Meta2 | Self::V0Meta4 => 19,
            Self::V1Meta3 | Self::V1Meta4 => 22,
            Self::V2Meta4 => 26,
        }
    }

    /// Whether ledgers of `protocol` are handed out in this form.
    #[must_use]
    pub fn carries(self, protocol: u32) -> bool {
        match self.close_version() {
            CloseVersion::V0 => (1..=19).contains(&protocol),
            CloseVersion::V1 => (20..=22).contains(&protocol),
            CloseVersion::V2 => (23..=Self::NEWEST_PROTOCOL).contains(&protocol),
        }
    }

    /// Whether the form has room for fee events and the events of classic operations.
    #[must_use]
    pub fn has_classic_events(self) -> bool {
        self.meta_version() == MetaVersion::V4
    }

    /// Whether the protocols of the form have contracts.
    #[must_use]
    pub fn has_contracts(self) -> bool {
        self.close_version() != CloseVersion::V0
    }

    pub(crate) fn close_version(self) -> CloseVersion {
        match self {
            Self::V0Meta0 | Self::V0Meta1 | Self::V0Meta2 | Self::V0Meta4 => CloseVersion::V0,
            Self::V1Meta3 | Self::V1Meta4 => CloseVersion::V1,
            Self::V2Meta4 => CloseVersion::V2,
        }
    }

    pub(crate) fn meta_version(self) -> MetaVersion {
        match self {
            Self::V0Meta0 => MetaVersion::V0,
            Self::V0Meta1 => MetaVersion::V1,
            Self::V0Meta2 => MetaVersion::V2,
            Self::V1Meta3 => MetaVersion::V3,
            Self::V0Meta4 | Self::V1Meta4 | Self::V2Meta4 => MetaVersion::V4,
        }
    }
}
