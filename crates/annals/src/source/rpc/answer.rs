//! What an RPC answers, as far as it is read (stellar-rpc 20 to 28). Numbers come as numbers or as strings, from one
//! version to the next and from one method to the next; what is not needed is not required.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};

/// A whole number, also one in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Either<'a> {
            Number(u64),
            Text(#[serde(borrow)] Cow<'a, str>),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(number) => Ok(Self(number)),
            Either::Text(text) => text.parse().map(Self).map_err(D::Error::custom),
        }
    }
}

impl Number {
    /// The number where it is one of a ledger.
    pub(super) fn seq(self) -> Option<annals_core::LedgerSeq> {
        annals_core::LedgerSeq::new(u32::try_from(self.0).ok()?).ok()
    }
}

/// A response of JSON-RPC 2.0.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Envelope<T> {
    #[serde(default)]
    pub(super) id: serde_json::Value,
    pub(super) result: Option<T>,
    pub(super) error: Option<ErrorObject>,
}

/// The error of a response.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ErrorObject {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// `getNetwork`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct NetworkAnswer {
    pub(super) passphrase: String,
}

/// `getVersionInfo`.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionAnswer {
    pub(super) protocol_version: Number,
}

/// `getHealth`. An unhealthy node answers with an error instead.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HealthAnswer {
    pub(super) latest_ledger: Number,
    pub(super) oldest_ledger: Option<Number>,
    /// Unix seconds; since stellar-rpc 27.1.
    pub(super) latest_ledger_close_time: Option<Number>,
}

/// `getLatestLedger`.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LatestAnswer {
    pub(super) sequence: Number,
    /// Unix seconds; since stellar-rpc 25.
    pub(super) close_time: Option<Number>,
}

/// `getLedgers`. The cursor is not read: the next page is asked for by the ledger it must begin with.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LedgersAnswer<'a> {
    #[serde(borrow)]
    pub(super) ledgers: Vec<LedgerEntry<'a>>,
    pub(super) latest_ledger: Number,
    /// Unix seconds.
    pub(super) latest_ledger_close_time: Option<Number>,
    pub(super) oldest_ledger: Option<Number>,
}

/// One ledger of a page.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LedgerEntry<'a> {
    pub(super) sequence: Number,
    /// Base64 of the XDR of a `LedgerCloseMeta`.
    #[serde(borrow)]
    pub(super) metadata_xdr: Cow<'a, str>,
}
