//! What an RPC answers, as far as it is read (stellar-rpc 20 to 28). Numbers come as numbers or as strings, from one
//! version to the next and from one method to the next; what is not needed is not required.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A whole number, also one in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// Nothing is kept of what is no number: it may be as long as the whole answer.
struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        text.parse().map(Number).map_err(E::custom)
    }
}

/// The id of an answer. Requests have numbers, so any other is one of another request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    #[default]
    Null,
    Number(u64),
    Other,
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

/// Passes over whatever an id may be.
struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_unit<E>(self) -> Result<Id, E> {
        Ok(Id::Null)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
        Ok(Id::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Id, E> {
        Ok(Id::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Id, E> {
        Ok(Id::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Id, E> {
        Ok(Id::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Id, E> {
        Ok(Id::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Id, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Id::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Id, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Id::Other)
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
    pub(super) id: Id,
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
