//! One form of one event.

use core::fmt;

use serde::Deserialize;
use stellar_xdr::{Limits, ReadXdr, ScMap, ScSymbol, ScVal};

use super::Party;
use crate::address::Address;
use crate::decode::EventView;

/// One form of one event. Its text says all that decides whom such an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The symbol of topic 0.
    pub name: String,
    /// The contract's versions that emit it; empty for all.
    pub versions: Vec<String>,
    /// The topics behind the name.
    pub topics: Vec<TopicShape>,
    /// The forms that its data can have.
    pub data: Vec<DataShape>,
    /// What the event is for the one who has the role.
    pub marks: Vec<(String, Mark)>,
    /// Where the invocation carries what the event leaves out.
    pub payload: Option<PayloadRule>,
}

/// One topic behind the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicShape {
    /// An address, which has this role in the event.
    Role(String),
    /// A value that is no party.
    Value(ValueType),
}

/// One form of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataShape {
    /// Anything.
    Any,
    /// A value of this type.
    Value(ValueType),
    /// A map whose keys are these symbols and no others.
    Map(Vec<String>),
}

/// What an event is for one of its parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// It holds all that its owner needs to open the spendable balance again.
    Checkpoint,
    /// It folds what was received into the spendable balance: a replay window can begin here.
    Fold,
    /// It opens the account: where there is no fold, a replay window begins here.
    Opening,
}

impl Mark {
    /// Every mark.
    pub const ALL: [Self; 3] = [Self::Checkpoint, Self::Fold, Self::Opening];

    /// The word in store and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Fold => "fold",
            Self::Opening => "opening",
        }
    }

    /// The mark that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.as_str() == name)
    }
}

/// The types of an `ScVal` (`ScValType`, `Stellar-contract.x`) that shapes speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// `SCV_BOOL`.
    Bool = 0,
    /// `SCV_VOID`.
    Void = 1,
    /// `SCV_U32`.
    U32 = 3,
    /// `SCV_I32`.
    I32 = 4,
    /// `SCV_U64`.
    U64 = 5,
    /// `SCV_I64`.
    I64 = 6,
    /// `SCV_U128`.
    U128 = 9,
    /// `SCV_I128`.
    I128 = 10,
    /// `SCV_BYTES`.
    Bytes = 13,
    /// `SCV_STRING`.
    String = 14,
    /// `SCV_SYMBOL`.
    Symbol = 15,
    /// `SCV_VEC`.
    Vec = 16,
    /// `SCV_MAP`, whatever its keys.
    Map = 17,
    /// `SCV_ADDRESS`; as a topic one that is no party.
    Address = 18,
}

/// Where an invocation carries what an event leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadRule {
    /// The function of the event's own contract.
    pub function: String,
    /// The roles of its first arguments, which must be the same addresses as the event's topics.
    pub roles: Vec<String>,
    /// The place of the argument, of type Bytes, that is the payload; counted from 0.
    pub argument: usize,
}

impl ValueType {
    /// Whether an `ScVal`'s XDR is of this type.
    fn is_of(self, xdr: &[u8]) -> bool {
        xdr.first_chunk().is_some_and(|discriminant| u32::from_be_bytes(*discriminant) == self as u32)
    }
}

impl TopicShape {
    /// The role of whoever the topic names.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Role(role) => Some(role),
            Self::Value(_) => None,
        }
    }

    fn fits(&self, topic: &[u8]) -> bool {
        match self {
            Self::Role(_) => ValueType::Address.is_of(topic),
            Self::Value(value) => value.is_of(topic),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let value = |shape: &Self| match shape {
            Self::Role(_) => ValueType::Address,
            Self::Value(value) => *value,
        };
        value(self) == value(other)
    }
}

impl DataShape {
    fn fits(&self, data: &[u8], map: Option<&ScMap>) -> bool {
        match self {
            Self::Any => true,
            Self::Value(value) => value.is_of(data),
            Self::Map(keys) => map.is_some_and(|map| {
                let known = |key: &ScVal| match key {
                    ScVal::Symbol(ScSymbol(symbol)) => keys.iter().any(|known| known.as_bytes() == symbol.as_slice()),
                    _ => false,
                };
                map.len() == keys.len() && map.iter().all(|entry| known(&entry.key))
            }),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Map(_), Self::Value(value)) | (Self::Value(value), Self::Map(_)) => *value == ValueType::Map,
            (own, other) => own == other,
        }
    }
}

impl Shape {
    /// Whether a contract of `version` emits it; none for any.
    pub(super) fn is_of(&self, version: Option<&str>) -> bool {
        version.is_none_or(|version| self.versions.is_empty() || self.versions.iter().any(|known| known == version))
    }

    /// Whether one event could fit both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.name == other.name
            && self.topics.len() == other.topics.len()
            && self.topics.iter().zip(&other.topics).all(|(own, other)| own.overlaps(other))
            && self.data.iter().any(|own| other.data.iter().any(|other| own.overlaps(other)))
    }

    pub(super) fn fits_topics(&self, view: &EventView<'_>) -> bool {
        let topics = view.topics.get(1..).unwrap_or_default();
        topics.len() == self.topics.len() && self.topics.iter().zip(topics).all(|(shape, topic)| shape.fits(topic))
    }

    pub(super) fn fits_data(&self, view: &EventView<'_>) -> bool {
        let speaks_of_keys = self.data.iter().any(|shape| matches!(shape, DataShape::Map(_)));
        let map = if speaks_of_keys && ValueType::Map.is_of(view.data) { read_map(view.data) } else { None };
        self.data.iter().any(|shape| shape.fits(view.data, map.as_ref()))
    }

    /// The parties of an event that fits.
    pub(super) fn parties(&self, view: &EventView<'_>) -> Vec<Party<'_>> {
        let topics = view.topics.get(1..).unwrap_or_default();
        let mut parties = Vec::new();
        for (shape, topic) in self.topics.iter().zip(topics) {
            if let (Some(role), Some(address)) = (shape.role(), read_address(topic)) {
                parties.push(Party { address, role, mark: self.mark_of(role) });
            }
        }
        parties
    }

    /// The addresses of an event that fits, by role.
    #[must_use]
    pub fn address_of(&self, view: &EventView<'_>, role: &str) -> Option<Address> {
        self.parties(view).into_iter().find(|party| party.role == role).map(|party| party.address)
    }

    fn mark_of(&self, role: &str) -> Option<Mark> {
        self.marks.iter().find(|(owner, _)| owner == role).map(|(_, mark)| *mark)
    }
}

/// The event's bytes were decoded, and so are within these bounds.
fn limits(xdr: &[u8]) -> Limits {
    Limits { depth: crate::decode::DEPTH_MAX, len: xdr.len() }
}

fn read_map(xdr: &[u8]) -> Option<ScMap> {
    match ScVal::from_xdr(xdr, limits(xdr)) {
        Ok(ScVal::Map(map)) => map,
        _ => None,
    }
}

fn read_address(xdr: &[u8]) -> Option<Address> {
    ScVal::from_xdr(xdr, limits(xdr)).ok().as_ref().and_then(Address::of_value)
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.topics.iter().map(|topic| match topic {
            TopicShape::Role(role) => role.clone(),
            TopicShape::Value(value) => format!("={value:?}"),
        });
        let data = self.data.iter().map(|data| match data {
            DataShape::Any => "any".to_owned(),
            DataShape::Value(value) => format!("{value:?}"),
            DataShape::Map(keys) => format!("{{{}}}", keys.join(",")),
        });
        let marks = self.marks.iter().map(|(role, mark)| format!(" {}={role}", mark.as_str()));
        let topics: Vec<String> = topics.collect();
        let data: Vec<String> = data.collect();
        let marks: String = marks.collect();
        write!(f, "{}({}) {}{marks}", self.name, topics.join(","), data.join("|"))
    }
}
