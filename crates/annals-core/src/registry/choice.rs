//! Which schema a contract's events are read with.

use core::fmt;
use core::str::FromStr;

use super::error::RegistryError;

/// What an operator calls no schema at all, so that none can have this name.
pub const NO_SCHEMA: &str = "none";

/// A schema's name, and the one version of it where the operator pins one; as text `name` or `name@version`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaChoice {
    name: String,
    version: Option<String>,
}

impl SchemaChoice {
    /// The schema's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pinned version; none where each event's own shape tells.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// Whether a text can name a schema or a version: letters, digits, `-`, `_` and `.`, at most 64.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

impl fmt::Display for SchemaChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|version| write!(f, "@{version}"))
    }
}

impl FromStr for SchemaChoice {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        if !is_name(name) || !version.is_none_or(is_name) {
            return Err(RegistryError::BadName);
        }
        Ok(Self { name: name.to_owned(), version: version.map(str::to_owned) })
    }
}
