//! The one text of a bundle.

use core::fmt::Display;
use core::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parts::Kind;
use super::{BundleFault, FORMAT, Halt, Undecided, base85};

/// Bytes, as base64 (RFC 4648 §4, padded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base64(pub Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

/// XDR, as base85.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base85(pub Vec<u8>);

impl Serialize for Base85 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base85::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base85 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        base85::decode(text).map(Self).map_err(D::Error::custom)
    }
}

/// A value that is written as it prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written<T>(pub T);

impl<T: Display> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&str>::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

/// What every version of the format begins with.
#[derive(Deserialize)]
struct Front {
    format: String,
    kind: Option<String>,
}

/// A format's name is repeated to the reader up to this length.
const FORMAT_CHARS_MAX: usize = 64;

/// Reads what kind of bundle a text is.
pub(super) fn front(bundle: &[u8]) -> Result<Kind, Halt> {
    let Front { format, kind } = serde_json::from_slice(bundle).map_err(|error| unreadable(&error))?;
    if format != FORMAT {
        let found = format.chars().take(FORMAT_CHARS_MAX).collect();
        return Err(Undecided::UnknownFormat { found }.into());
    }
    let kinds = [("event", Kind::Event), ("ledgers", Kind::Ledgers), ("unproven", Kind::Unproven)];
    let kind = kinds.into_iter().find(|(name, _)| kind.as_deref() == Some(name));
    Ok(kind.ok_or(BundleFault::UnknownKind)?.1)
}

/// Reads a bundle and demands that its content is written exactly so.
pub(super) fn read<T: Serialize + DeserializeOwned>(bundle: &[u8]) -> Result<T, BundleFault> {
    let content: T = serde_json::from_slice(bundle).map_err(|error| unreadable(&error))?;
    if write(&content) == bundle { Ok(content) } else { Err(BundleFault::NotCanonical) }
}

/// Writes a bundle.
pub(super) fn write<T: Serialize>(content: &T) -> Vec<u8> {
    serde_json::to_vec(content).expect("a bundle's keys are strings, and its numbers whole")
}

fn unreadable(error: &serde_json::Error) -> BundleFault {
    BundleFault::Unreadable { line: error.line(), column: error.column() }
}
