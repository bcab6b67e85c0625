//! One form of one event.

use core::fmt;

use stellar_xdr::{Limits, ReadXdr, ScVal};

use super::Party;
use super::data_shape::{Data, DataShape};
use super::value_type::ValueType;
use crate::address::Address;
use crate::decode::{DEPTH_MAX, EventView};

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
    /// A value of one of these types, which is no party.
    Value(Vec<ValueType>),
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

impl TopicShape {
    /// The role of whoever the topic names.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Role(role) => Some(role),
            Self::Value(_) => None,
        }
    }

    fn types(&self) -> &[ValueType] {
        match self {
            Self::Role(_) => &[ValueType::Address],
            Self::Value(types) => types,
        }
    }

    fn fits(&self, topic: &[u8]) -> bool {
        self.types().iter().any(|own| own.is_of(topic))
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.types().iter().any(|own| other.types().contains(own))
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

    pub(super) fn fits_data(&self, data: &Data<'_>) -> bool {
        self.data.iter().any(|shape| shape.fits(data))
    }

    /// The parties of an event that fits, in the order of its topics.
    pub(super) fn parties(&self, view: &EventView<'_>) -> Vec<Party<'_>> {
        let topics = view.topics.get(1..).unwrap_or_default();
        let roles = self.topics.iter().zip(topics).filter_map(|(shape, topic)| Some((shape.role()?, topic)));
        roles
            .filter_map(|(role, topic)| Some(Party { address: read_address(topic)?, role, mark: self.mark_of(role) }))
            .collect()
    }

    /// The address of an event that fits which has this role.
    pub(super) fn address_of(&self, view: &EventView<'_>, role: &str) -> Option<Address> {
        self.parties(view).into_iter().find(|party| party.role == role).map(|party| party.address)
    }

    fn mark_of(&self, role: &str) -> Option<Mark> {
        self.marks.iter().find(|(owner, _)| owner == role).map(|(_, mark)| *mark)
    }
}

/// Reads an `ScVal` of a decoded event.
fn read_address(xdr: &[u8]) -> Option<Address> {
    let limits = Limits { depth: DEPTH_MAX, len: xdr.len() };
    ScVal::from_xdr(xdr, limits).ok().as_ref().and_then(Address::of_value)
}

impl fmt::Display for TopicShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(role) => f.write_str(role),
            Self::Value(types) => {
                let types: Vec<String> = types.iter().map(|value| format!("{value:?}")).collect();
                write!(f, "={}", types.join("|"))
            }
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics: Vec<String> = self.topics.iter().map(TopicShape::to_string).collect();
        let data: Vec<String> = self.data.iter().map(DataShape::to_string).collect();
        let marks: String = self.marks.iter().map(|(role, mark)| format!(" {}={role}", mark.as_str())).collect();
        write!(f, "{}({}) {}{marks}", self.name, topics.join(","), data.join("|"))
    }
}
