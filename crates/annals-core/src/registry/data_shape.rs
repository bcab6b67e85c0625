//! One form of an event's data.

use core::fmt;

use stellar_xdr::{Limits, ReadXdr, ScMap, ScVal, ScVec};

use super::value_type::ValueType;
use crate::decode::DEPTH_MAX;

/// One form of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataShape {
    /// Anything.
    Any,
    /// A value of this type.
    Value(ValueType),
    /// A vector of values of these types, in this order.
    Vec(Vec<ValueType>),
    /// A map whose keys are these symbols and no others, ascending by name.
    Map(Vec<Key>),
}

/// One key of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The symbol.
    pub name: String,
    /// Whether the map may lack it: a value that is nothing is written as Void or, by later contracts, left out.
    pub optional: bool,
}

/// An event's data, read as far as shapes ask.
pub(super) struct Data<'a> {
    xdr: &'a [u8],
    value: Option<ScVal>,
}

impl<'a> Data<'a> {
    /// Reads `xdr`, the `ScVal` of a decoded event. Whatever is no vector and no map is told by its type alone.
    pub(super) fn read(xdr: &'a [u8]) -> Self {
        let limits = Limits { depth: DEPTH_MAX, len: xdr.len() };
        let holds_values = ValueType::Map.is_of(xdr) || ValueType::Vec.is_of(xdr);
        Self { xdr, value: holds_values.then(|| ScVal::from_xdr(xdr, limits).ok()).flatten() }
    }

    fn map(&self) -> Option<&ScMap> {
        match &self.value {
            Some(ScVal::Map(Some(map))) => Some(map),
            _ => None,
        }
    }

    fn vec(&self) -> Option<&ScVec> {
        match &self.value {
            Some(ScVal::Vec(Some(vec))) => Some(vec),
            _ => None,
        }
    }
}

impl DataShape {
    pub(super) fn fits(&self, data: &Data<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Value(value) => value.is_of(data.xdr),
            Self::Vec(values) => data.vec().is_some_and(|vec| {
                vec.len() == values.len() && values.iter().zip(vec.iter()).all(|(own, value)| own.is_of_value(value))
            }),
            Self::Map(keys) => data.map().is_some_and(|map| fits_keys(keys, map)),
        }
    }

    /// Whether one value could fit both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Value(own), Self::Value(other)) => own == other,
            (Self::Vec(own), Self::Vec(other)) => own == other,
            (Self::Map(own), Self::Map(other)) => needs_only(own, other) && needs_only(other, own),
            (Self::Map(_), Self::Value(value)) | (Self::Value(value), Self::Map(_)) => *value == ValueType::Map,
            (Self::Vec(_), Self::Value(value)) | (Self::Value(value), Self::Vec(_)) => *value == ValueType::Vec,
            (Self::Map(_), Self::Vec(_)) | (Self::Vec(_), Self::Map(_)) => false,
        }
    }
}

/// Whether the keys of `map` are symbols, each another, all of them known and all that are needed among them.
fn fits_keys(keys: &[Key], map: &ScMap) -> bool {
    let mut needed = keys.iter().filter(|key| !key.optional).count();
    let mut seen: Vec<&Key> = Vec::with_capacity(keys.len());
    for entry in map.iter() {
        let ScVal::Symbol(symbol) = &entry.key else { return false };
        let Some(key) = keys.iter().find(|key| key.name.as_bytes() == symbol.as_slice()) else { return false };
        if seen.contains(&key) {
            return false;
        }
        seen.push(key);
        needed -= usize::from(!key.optional);
    }
    needed == 0
}

/// Whether `other` knows every key that `own` needs.
fn needs_only(own: &[Key], other: &[Key]) -> bool {
    own.iter().filter(|key| !key.optional).all(|key| other.iter().any(|known| known.name == key.name))
}

impl ValueType {
    fn is_of_value(self, value: &ScVal) -> bool {
        value.discriminant() as i32 == self as i32
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.optional { "?" } else { "" })
    }
}

impl fmt::Display for DataShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Value(value) => write!(f, "{value:?}"),
            Self::Vec(values) => write!(f, "{values:?}"),
            Self::Map(keys) => {
                let keys: Vec<String> = keys.iter().map(Key::to_string).collect();
                write!(f, "{{{}}}", keys.join(","))
            }
        }
    }
}
