//! The one configuration loader: flag over environment over `annals.toml`, each key in one spelling.
//!
//! A key `x_y` is the flag `--x-y`, the environment variable `X_Y` and the line `x_y = …` of the file; only the variable
//! of `rpc` has another name, `ANNALS_RPC`. A value is
//! only read when a verb asks for its key, so that a variable meant for another program troubles no verb that does
//! not use it. No key is a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

mod error;
mod following;
mod serving;
mod settings;
mod size;
mod sources;
mod window;

pub use error::{BadValue, ConfigError};
pub use following::FollowChoice;
pub use serving::AllowedOrigins;
pub use settings::Settings;
pub use sources::{LakeChoice, RpcMode, SourceChoice, public_lake};
pub use window::{Ends, WindowError, parse_ends, parse_seq};

/// The file that is read from the working directory where no other is named.
pub const DEFAULT_FILE: &str = "annals.toml";

/// What can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The folder of the archive.
    DataDir,
    /// The network, by its preset's name.
    Network,
    /// The network, by its passphrase.
    NetworkPassphrase,
    /// The folders or the addresses of SEP-54 lakes.
    Lake,
    /// A file of framed `LedgerCloseMeta`.
    Ledgers,
    /// The addresses of Stellar RPC endpoints.
    Rpc,
    /// What is asked of the endpoints: whole ledgers, or events alone.
    RpcMode,
    /// The first ledger asked for, or a whole range.
    From,
    /// The last ledger asked for.
    To,
    /// The contracts whose events are kept; all where there is none.
    Contract,
    /// Hashes that the operator vouches for.
    Pin,
    /// Whether classic and fee events are kept.
    Classic,
    /// Whether a lake may hold objects of different sizes.
    MixedLayout,
    /// How many bytes of the disk are left free.
    DiskReserve,
    /// The addresses of history archives that confirm what the chain hangs on.
    HistoryArchive,
    /// Where the server listens.
    Listen,
    /// The port that the server listens on where nobody says where it listens.
    Port,
    /// Pages of which origins may read the server's answers.
    AllowedOrigin,
    /// The file of the operator's own schemas.
    Schemas,
    /// Which log lines are shown.
    Log,
}

impl Key {
    /// Every key.
    pub const ALL: [Self; 20] = [
        Self::DataDir,
        Self::Network,
        Self::NetworkPassphrase,
        Self::Lake,
        Self::Ledgers,
        Self::Rpc,
        Self::RpcMode,
        Self::From,
        Self::To,
        Self::Contract,
        Self::Pin,
        Self::Classic,
        Self::MixedLayout,
        Self::DiskReserve,
        Self::HistoryArchive,
        Self::Listen,
        Self::Port,
        Self::AllowedOrigin,
        Self::Schemas,
        Self::Log,
    ];

    /// The spelling in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DataDir => "data_dir",
            Self::Network => "network",
            Self::NetworkPassphrase => "network_passphrase",
            Self::Lake => "lake",
            Self::Ledgers => "ledgers",
            Self::Rpc => "rpc",
            Self::RpcMode => "rpc_mode",
            Self::From => "from",
            Self::To => "to",
            Self::Contract => "contract",
            Self::Pin => "pin",
            Self::Classic => "classic",
            Self::MixedLayout => "mixed_layout",
            Self::DiskReserve => "disk_reserve",
            Self::HistoryArchive => "history_archive",
            Self::Listen => "listen",
            Self::Port => "port",
            Self::AllowedOrigin => "allowed_origin",
            Self::Schemas => "schemas",
            Self::Log => "log",
        }
    }

    /// The flag.
    #[must_use]
    pub fn flag(self) -> String {
        format!("--{}", self.as_str().replace('_', "-"))
    }

    /// The environment variable.
    #[must_use]
    pub fn variable(self) -> String {
        let name = self.as_str().to_ascii_uppercase();
        // `RPC` alone is a name that other programs use.
        if self == Self::Rpc { format!("ANNALS_{name}") } else { name }
    }

    /// Whether the key takes several values.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self, Self::Lake | Self::Rpc | Self::Contract | Self::Pin | Self::HistoryArchive | Self::AllowedOrigin)
    }

    /// Whether the file may give a bare number.
    fn is_number(self) -> bool {
        matches!(self, Self::From | Self::To | Self::DiskReserve | Self::Port)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == name)
    }
}

/// Where a value came from; the greater one wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The configuration file.
    File(PathBuf),
    /// The environment.
    Environment,
    /// The command line.
    Flag,
}

impl Origin {
    /// How a key is written there.
    #[must_use]
    pub fn spell(&self, key: Key) -> String {
        match self {
            Self::Flag => key.flag(),
            Self::Environment => format!("{} in the environment", key.variable()),
            Self::File(path) => format!("{} in {}", key.as_str(), path.display()),
        }
    }

    /// Whether two values came from the same layer.
    fn same_layer(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment => f.write_str("environment"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// The values of one key, as one layer gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The layer.
    pub origin: Origin,
    /// The values as written; one unless the key is a list.
    pub values: Vec<String>,
}

/// What the command line gives.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    values: BTreeMap<Key, Vec<String>>,
}

impl Flags {
    /// Takes what was given for a key; nothing is no value.
    pub fn give(&mut self, key: Key, values: impl IntoIterator<Item = String>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.values.entry(key).or_default().extend(values);
        }
    }
}

/// The three layers.
pub struct Layers {
    flags: Flags,
    environment: BTreeMap<Key, OsString>,
    file: BTreeMap<Key, Given>,
}

impl Layers {
    /// Reads the variables of the known keys by `environment`, and the file: the one that `config` names, else [`DEFAULT_FILE`] of the working directory where it exists.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read, is no TOML, or holds a key or a type of value that is not known.
    pub fn load(
        flags: Flags,
        environment: impl Fn(&str) -> Option<OsString>,
        config: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let path = config.unwrap_or(Path::new(DEFAULT_FILE));
        let file = match fs::read_to_string(path) {
            Ok(text) => parse_file(path, &text)?,
            Err(error) if error.kind() == ErrorKind::NotFound && config.is_none() => BTreeMap::new(),
            Err(source) => return Err(ConfigError::Unreadable { path: path.to_path_buf(), source }),
        };
        let given = |key: Key| environment(&key.variable()).map(|value| (key, value));
        let environment = Key::ALL.into_iter().filter_map(given).collect();
        Ok(Self { flags, environment, file })
    }

    /// What the command line gives and nothing else, for a verb that is not to be configured.
    #[must_use]
    pub fn of_flags(flags: Flags) -> Self {
        Self { flags, environment: BTreeMap::new(), file: BTreeMap::new() }
    }

    /// The values that win for `key`; none where no layer gives any.
    ///
    /// # Errors
    /// [`ConfigError`] when the winning layer is the environment and its value is no UTF-8.
    pub fn get(&self, key: Key) -> Result<Option<Given>, ConfigError> {
        if let Some(values) = self.flags.values.get(&key) {
            return Ok(Some(Given { origin: Origin::Flag, values: values.clone() }));
        }
        let Some(value) = self.environment.get(&key) else { return Ok(self.file.get(&key).cloned()) };
        let text = value.clone().into_string().map_err(|raw| {
            ConfigError::from(BadValue {
                key,
                origin: Origin::Environment,
                value: raw.to_string_lossy().into_owned(),
                right: "text in UTF-8".to_owned(),
            })
        })?;
        let values =
            if key.is_list() { text.split(',').map(|value| value.trim().to_owned()).collect() } else { vec![text] };
        Ok(Some(Given { origin: Origin::Environment, values }))
    }
}

fn parse_file(path: &Path, text: &str) -> Result<BTreeMap<Key, Given>, ConfigError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        ConfigError::NoToml { path: path.to_path_buf(), line, reason: error.message().replace('\n', " ") }
    })?;
    let mut values = BTreeMap::new();
    for (name, value) in table {
        let Some(key) = Key::from_name(&name) else {
            return Err(ConfigError::UnknownKey { key: name, path: path.to_path_buf() });
        };
        let origin = Origin::File(path.to_path_buf());
        let texts = match value {
            toml::Value::Array(items) if key.is_list() => {
                items.into_iter().map(|item| scalar(key, &origin, &item)).collect::<Result<_, _>>()?
            }
            other => vec![scalar(key, &origin, &other)?],
        };
        values.insert(key, Given { origin, values: texts });
    }
    Ok(values)
}

fn scalar(key: Key, origin: &Origin, value: &toml::Value) -> Result<String, BadValue> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) if key.is_number() => Ok(number.to_string()),
        toml::Value::Boolean(choice) if key == Key::MixedLayout => Ok(choice.to_string()),
        other => {
            let right = match key {
                Key::MixedLayout => "true or false",
                _ if key.is_number() => "a number, or text in quotes",
                _ if key.is_list() => "a list of texts in quotes",
                _ => "text in quotes",
            };
            Err(BadValue { key, origin: origin.clone(), value: other.to_string(), right: right.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests;
