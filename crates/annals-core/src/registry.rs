//! Which events a contract emits, and to whom each belongs.
//!
//! A [`Registry`] holds schemas: data, not code. A [`Schema`] lists [`Shape`]s, the forms of events that a kind of
//! contract emits, in all its versions. An event is matched by name, types of its topics and keys of its data, so that
//! a contract which was upgraded in place is read right on both sides of the upgrade. The party of an event is always a
//! topic to which the shape gives a role, never the transaction's source account. What fits no shape is archived like
//! any other event and attributed to nobody: a [`ShapeFault`] says why, and whoever asks for an account's events is told
//! that some could not be attributed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::address::Address;
use crate::decode::EventView;
use crate::event::EventKind;
use crate::hash::sha256;

mod choice;
mod data_shape;
mod error;
mod file;
mod payload;
mod shape;
mod value_type;

pub use choice::{NO_SCHEMA, SchemaChoice};
pub use data_shape::{DataShape, Key};
pub use error::RegistryError;
pub use payload::Payload;
pub use shape::{Mark, PayloadRule, Shape, TopicShape};
pub use value_type::ValueType;

use data_shape::Data;

/// The schemas that every archive knows.
const BUILTIN: &str = include_str!("registry/builtin.toml");

/// Raised when the same shapes begin to attribute events otherwise, so that what was attributed before is told apart.
const ATTRIBUTION_VERSION: u8 = 1;

/// The schemas by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    schemas: BTreeMap<String, Vec<Arc<Shape>>>,
}

/// The shapes that one contract's events are matched with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    choice: SchemaChoice,
    shapes: Vec<Arc<Shape>>,
    digest: [u8; 32],
}

/// Who an event belongs to, in one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party<'a> {
    /// Who.
    pub address: Address,
    /// The role's name.
    pub role: &'a str,
    /// What the event is for whoever has this role.
    pub mark: Option<Mark>,
}

/// Why an event fits no shape of its contract's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShapeFault {
    /// Its bytes cannot be read.
    Unreadable,
    /// It has no topic, or topic 0 is no symbol.
    NoName,
    /// The schema knows no event of this name.
    UnknownName,
    /// The schema knows the name, with other topics.
    UnknownTopics,
    /// The schema knows the name with these topics, and other data.
    UnknownData,
}

impl ShapeFault {
    /// Every fault.
    pub const ALL: [Self; 5] =
        [Self::Unreadable, Self::NoName, Self::UnknownName, Self::UnknownTopics, Self::UnknownData];

    /// The word in store and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::NoName => "no_name",
            Self::UnknownName => "unknown_name",
            Self::UnknownTopics => "unknown_topics",
            Self::UnknownData => "unknown_data",
        }
    }

    /// The fault that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == name)
    }
}

impl Registry {
    /// The schemas that are shipped: `confidential-token` in all its wire versions, `confidential-registry` (the
    /// contracts that hold its keys), `token` (SEP-41) and `asset` (Stellar asset contracts, CAP-46-06 and CAP-67).
    #[must_use]
    pub fn builtin() -> Self {
        let empty = Self { schemas: BTreeMap::new() };
        empty.extended(BUILTIN).expect("a test reads the schemas that are shipped")
    }

    /// These schemas and those of an operator's file: shapes of a known schema stand beside its own, unless the file
    /// says `replace = true` of it.
    ///
    /// # Errors
    /// [`RegistryError`]; names the schema and the event.
    pub fn extended(mut self, toml: &str) -> Result<Self, RegistryError> {
        for (name, schema) in file::read(toml)? {
            let shapes = self.schemas.entry(name.clone()).or_default();
            if schema.replace {
                shapes.clear();
            }
            for shape in schema.shapes {
                if let Some(other) = shapes.iter().find(|other| shape.overlaps(other)) {
                    return Err(RegistryError::Ambiguous { schema: name, event: other.name.clone() });
                }
                shapes.push(Arc::new(shape));
            }
        }
        Ok(self)
    }

    /// The names of the schemas, with the versions that their shapes speak of.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.schemas.iter().map(|(name, shapes)| {
            let mut versions: Vec<&str> =
                shapes.iter().flat_map(|shape| shape.versions.iter().map(String::as_str)).collect();
            versions.sort_unstable();
            versions.dedup();
            (name.as_str(), versions)
        })
    }

    /// The schema that `choice` names.
    ///
    /// # Errors
    /// [`RegistryError::UnknownSchema`], [`RegistryError::UnknownVersion`].
    pub fn schema(&self, choice: &SchemaChoice) -> Result<Schema, RegistryError> {
        let unknown = || RegistryError::UnknownSchema { schema: choice.name().to_owned() };
        let all = self.schemas.get(choice.name()).ok_or_else(unknown)?;
        let shapes: Vec<_> = all.iter().filter(|shape| shape.is_of(choice.version())).cloned().collect();
        if let Some(version) = choice.version()
            && !all.iter().any(|shape| shape.versions.iter().any(|known| known == version))
        {
            let (schema, version) = (choice.name().to_owned(), version.to_owned());
            return Err(RegistryError::UnknownVersion { schema, version });
        }
        let mut lines: Vec<String> = shapes.iter().map(|shape| shape.to_string()).collect();
        lines.sort_unstable();
        let digest = sha256(&[&[ATTRIBUTION_VERSION], lines.join("\n").as_bytes()]);
        Ok(Schema { choice: choice.clone(), shapes, digest })
    }
}

impl Schema {
    /// By what the schema was chosen.
    #[must_use]
    pub fn choice(&self) -> &SchemaChoice {
        &self.choice
    }

    /// The shapes that its events can have.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter().map(AsRef::as_ref)
    }

    /// Names all that decides whom events belong to: the same digest attributes every event alike.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether any of its events carries a payload in its invocation.
    #[must_use]
    pub fn has_payloads(&self) -> bool {
        self.shapes.iter().any(|shape| shape.payload.is_some())
    }

    /// The parties of an event, in the order of its topics; one address can have several roles. A system event has
    /// none.
    ///
    /// # Errors
    /// [`ShapeFault`] where the event fits no shape, so that nobody can tell whom it belongs to.
    pub fn attribute(&self, xdr: &[u8]) -> Result<Vec<Party<'_>>, ShapeFault> {
        let view = EventView::parse(xdr).map_err(|_| ShapeFault::Unreadable)?;
        if view.kind == Some(EventKind::System) {
            return Ok(Vec::new());
        }
        Ok(self.shape_of(&view)?.parties(&view))
    }

    /// The shape that an event fits; there is at most one.
    ///
    /// # Errors
    /// [`ShapeFault`].
    pub fn shape_of(&self, view: &EventView<'_>) -> Result<&Shape, ShapeFault> {
        let name = view.symbol().ok_or(ShapeFault::NoName)?;
        let data = Data::read(view.data);
        let mut fault = ShapeFault::UnknownName;
        for shape in self.shapes.iter().filter(|shape| shape.name.as_bytes() == name) {
            if !shape.fits_topics(view) {
                fault = fault.max(ShapeFault::UnknownTopics);
            } else if !shape.fits_data(&data) {
                fault = fault.max(ShapeFault::UnknownData);
            } else {
                return Ok(shape);
            }
        }
        Err(fault)
    }
}

#[cfg(test)]
mod tests;
