//! The configuration's values, each read when a verb asks for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use annals_core::{ClassicPolicy, ContractId, LedgerHash, LedgerRange, Network, Registry, Scope};

use super::window::{Ends, make_range, parse_ends, parse_seq};
use super::{BadValue, ConfigError, Given, Key, Layers};
use crate::source::Address;
use crate::store::Pin;

const DEFAULT_DATA_DIR: &str = "annals-data";

/// The configuration's values. Each method fails with [`ConfigError`] when the value that wins is a bad one.
pub struct Settings {
    pub(super) layers: Layers,
}

impl Settings {
    /// Takes the layers.
    #[must_use]
    pub fn new(layers: Layers) -> Self {
        Self { layers }
    }

    /// The folder of the archive.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        Ok(self.path(Key::DataDir)?.map_or_else(|| PathBuf::from(DEFAULT_DATA_DIR), |(path, _)| path))
    }

    /// The schemas that are shipped, and those of the operator's file where there is one.
    ///
    /// # Errors
    /// [`ConfigError`], also when the file cannot be read or its schemas contradict each other.
    pub fn registry(&self) -> Result<Registry, ConfigError> {
        let registry = Registry::builtin();
        let Some((path, _)) = self.path(Key::Schemas)? else { return Ok(registry) };
        match fs::read_to_string(&path) {
            Ok(text) => registry.extended(&text).map_err(|source| ConfigError::BadSchemas { path, source }),
            Err(source) => Err(ConfigError::UnreadableSchemas { path, source }),
        }
    }

    /// The filter of log lines; `default` where no layer gives one.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn log(&self, default: &str) -> Result<tracing_subscriber::EnvFilter, ConfigError> {
        let parse = |text: &str| tracing_subscriber::EnvFilter::builder().parse(text).ok();
        let right = "off, error, warn, info, debug or trace, also for a part alone, as in info,annals::store=debug";
        let given = self.one(Key::Log, right, |text| if text.is_empty() { None } else { parse(text) })?;
        Ok(given.map_or_else(|| tracing_subscriber::EnvFilter::new(default), |(filter, _)| filter))
    }

    /// The network; none where no layer names one.
    ///
    /// # Errors
    /// [`ConfigError`], also when one layer names two networks.
    pub fn network(&self) -> Result<Option<Network>, ConfigError> {
        let preset = self.one(Key::Network, "pubnet, testnet, futurenet or local", Network::preset)?;
        let passphrase = self.one(Key::NetworkPassphrase, "the network's passphrase", |text| {
            (!text.trim().is_empty()).then(|| Network::new(text))
        })?;
        let same = "name the network by its preset or by its passphrase";
        if let (Some((preset, _)), Some((passphrase, _))) = (&preset, &passphrase)
            && preset == passphrase
        {
            return Ok(Some(preset.clone()));
        }
        winner([(Key::Network, preset), (Key::NetworkPassphrase, passphrase)], same)
    }

    /// The range of ledgers asked for; none where no layer says where it begins and where it ends.
    ///
    /// # Errors
    /// [`ConfigError`], also when a range has three ends, one end or ends the wrong way round.
    pub fn window(&self) -> Result<Option<LedgerRange>, ConfigError> {
        let from = self.layers.get(Key::From)?;
        let to = self.layers.get(Key::To)?;
        let ends = from.as_ref().map(|given| parse(Key::From, given, parse_ends)).transpose()?;
        let whole = "a whole range in --from needs no --to";
        match (ends, &from, &to) {
            (None, _, None) => Ok(None),
            (Some(Ends::Both(range)), Some(from), Some(to)) => {
                if from.origin > to.origin && !from.origin.same_layer(&to.origin) {
                    return Ok(Some(range));
                }
                let (first, second) = (from.origin.spell(Key::From), to.origin.spell(Key::To));
                Err(ConfigError::Conflict { first, second, right: whole })
            }
            (Some(Ends::Both(range)), _, _) => Ok(Some(range)),
            (Some(Ends::One(first)), _, Some(to)) => {
                let last = parse(Key::To, to, parse_seq)?;
                let range = parse(Key::To, to, |_| make_range(first, last)).map_err(|mut bad| {
                    bad.right = format!("a ledger at or above the first one, {first}");
                    bad
                })?;
                Ok(Some(range))
            }
            (Some(Ends::One(_)), ..) => Err(ConfigError::Missing {
                what: "the last ledger",
                right: "--to, or a whole range as --from A:B or --from A:+N",
            }),
            (None, _, Some(to)) => {
                parse(Key::To, to, parse_seq)?;
                Err(ConfigError::Missing { what: "the first ledger", right: "--from" })
            }
        }
    }

    /// Whose events are kept; everybody's where no contract is named.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn scope(&self) -> Result<Scope, ConfigError> {
        let right = "a contract id: a strkey of 56 characters that starts with C";
        let contracts = self.many(Key::Contract, |text| ContractId::from_str(text).map_err(|_| right))?;
        Ok(if contracts.is_empty() { Scope::All } else { Scope::Contracts(BTreeSet::from_iter(contracts)) })
    }

    /// The hashes that the operator vouches for.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn pins(&self) -> Result<Vec<Pin>, ConfigError> {
        self.many(Key::Pin, |text| {
            let right = "LEDGER:HASH, the hash as 64 hexadecimal digits";
            let (seq, hash) = text.split_once(':').ok_or(right)?;
            let seq = parse_seq(seq).map_err(|_| right)?;
            let hash = LedgerHash::from_str(hash).map_err(|_| right)?;
            Ok::<_, &'static str>(Pin { seq, hash })
        })
    }

    /// The history archives that are asked to confirm what the chain hangs on.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn history_archives(&self) -> Result<Vec<Address>, ConfigError> {
        let key = Key::HistoryArchive;
        let Some(given) = self.layers.get(key)? else { return Ok(Vec::new()) };
        given.values.iter().map(|text| address(key, &given, text)).collect()
    }

    /// Whether classic and fee events are kept.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn classic(&self) -> Result<ClassicPolicy, ConfigError> {
        let given = self.one(Key::Classic, "keep or drop", ClassicPolicy::from_name)?;
        Ok(given.map_or(ClassicPolicy::Keep, |(policy, _)| policy))
    }

    pub(super) fn path(&self, key: Key) -> Result<Option<(PathBuf, Given)>, ConfigError> {
        self.one(key, "a path", |text| (!text.is_empty()).then(|| PathBuf::from(text)))
    }

    pub(super) fn one<T>(
        &self,
        key: Key,
        right: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<(T, Given)>, ConfigError> {
        let Some(given) = self.layers.get(key)? else { return Ok(None) };
        let value = parse(key, &given, |text| read(text).ok_or(right))?;
        Ok(Some((value, given)))
    }

    pub(super) fn many<T, E: ToString>(
        &self,
        key: Key,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, ConfigError> {
        let Some(Given { origin, values }) = self.layers.get(key)? else { return Ok(Vec::new()) };
        let read_one = |value: &String| {
            read(value).map_err(|right| {
                let (origin, value, right) = (origin.clone(), value.clone(), right.to_string());
                ConfigError::from(BadValue { key, origin, value, right })
            })
        };
        values.iter().map(read_one).collect()
    }
}

pub(super) fn address(key: Key, given: &Given, text: &str) -> Result<Address, ConfigError> {
    Address::parse(text).map_err(|fault| ConfigError::Address { given: given.origin.spell(key), fault })
}

/// Reads the one value of a key; its last, should there be more.
pub(super) fn parse<T, E: ToString>(
    key: Key,
    given: &Given,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T, BadValue> {
    let value = given.values.last().map_or("", String::as_str);
    read(value).map_err(|right| BadValue {
        key,
        origin: given.origin.clone(),
        value: value.to_owned(),
        right: right.to_string(),
    })
}

/// Decides between keys that exclude each other: the highest layer wins, and it cannot give two.
pub(super) fn winner<T>(
    keys: impl IntoIterator<Item = (Key, Option<(T, Given)>)>,
    right: &'static str,
) -> Result<Option<T>, ConfigError> {
    let mut best: Option<(Key, T, Given)> = None;
    let mut rival = None;
    for (key, (value, given)) in keys.into_iter().filter_map(|(key, read)| Some((key, read?))) {
        match &best {
            Some((_, _, held)) if held.origin.same_layer(&given.origin) => rival = rival.or(Some((key, given))),
            Some((_, _, held)) if held.origin > given.origin => {}
            _ => (best, rival) = (Some((key, value, given)), None),
        }
    }
    match (best, rival) {
        (Some((first, _, given)), Some((second, beside))) => {
            let (first, second) = (given.origin.spell(first), beside.origin.spell(second));
            Err(ConfigError::Conflict { first, second, right })
        }
        (best, _) => Ok(best.map(|(_, value, _)| value)),
    }
}
