//! What is wrong with a configuration.

use std::fmt;
use std::path::PathBuf;

use annals_core::RegistryError;

use super::{Key, Origin};
use crate::source::AddressError;

/// A value that its key cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadValue {
    /// The key.
    pub key: Key,
    /// Where the value came from.
    pub origin: Origin,
    /// The value as written.
    pub value: String,
    /// What would be right.
    pub right: String,
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is \"{}\" and takes {}", self.origin.spell(self.key), self.value, self.right)
    }
}

impl std::error::Error for BadValue {}

/// Why the configuration cannot be used; always a matter of usage.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("line {line} of the configuration file {} is no TOML: {reason}", path.display())]
    NoToml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What stands there.
        reason: String,
    },
    /// The file holds a key that nobody knows.
    #[error("{} has the unknown key \"{key}\": the keys are {}", path.display(), known_keys())]
    UnknownKey {
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// A value that its key cannot take.
    #[error(transparent)]
    BadValue(#[from] BadValue),
    /// What is to be an address is none. It is not repeated: it may hold a secret.
    #[error("{given}: {fault}")]
    Address {
        /// The key, as it is spelled there.
        given: String,
        /// What is wrong with the address.
        fault: AddressError,
    },
    /// The file of schemas cannot be read.
    #[error("the file of schemas {} cannot be read", path.display())]
    UnreadableSchemas {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file of schemas holds none, or shapes that contradict each other.
    #[error("the file of schemas {} cannot be used", path.display())]
    BadSchemas {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: RegistryError,
    },
    /// Two keys of one layer that exclude each other.
    #[error("{first} and {second} cannot both be given: {right}")]
    Conflict {
        /// The one, as it is spelled there.
        first: String,
        /// The other, as it is spelled there.
        second: String,
        /// What would be right.
        right: &'static str,
    },
    /// The network has no public lake that is known.
    #[error("no public lake of the network \"{network}\" is known: give --lake a folder or an address")]
    NoPublicLake {
        /// The network's name, or its passphrase.
        network: String,
    },
    /// A server is told how to follow a network, and by which RPC it is not told.
    #[error(
        "{given} is for a server that follows a network, and no RPC is named: add --rpc URL, or fill the archive with \
         `annals backfill` and leave it out"
    )]
    NoRpc {
        /// What was given, as it is spelled there.
        given: String,
    },
    /// A value that the verb cannot do without.
    #[error("{what} is missing: give {right}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// What would be right.
        right: &'static str,
    },
}

impl ConfigError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { fault: AddressError::Scheme { .. }, .. } => "UNSUPPORTED_SCHEME",
            Self::NoPublicLake { .. } => "NO_PUBLIC_LAKE",
            Self::NoRpc { .. } => "NO_RPC",
            Self::UnreadableSchemas { .. } | Self::BadSchemas { .. } => "BAD_SCHEMAS",
            _ => "USAGE",
        }
    }
}

fn known_keys() -> String {
    Key::ALL.map(Key::as_str).join(", ")
}
