//! Where ledgers are to come from.

use std::path::PathBuf;

use annals_core::{ClassicPolicy, Network};

use super::settings::{address, winner};
use super::{BadValue, ConfigError, Given, Key, Origin, Settings};
use crate::source::Address;

/// How `--lake` names the network's public lake.
const PUBLIC: &str = "public";

/// Lakes that everybody may read, by the passphrase of their network. That of pubnet is the one of the AWS Public
/// Blockchain Data; anonymous requests over https read it.
const PUBLIC_LAKES: [(&str, &str); 1] = [(
    "Public Global Stellar Network ; September 2015",
    "https://aws-public-blockchain.s3.us-east-2.amazonaws.com/v1.1/stellar/ledgers/pubnet",
)];

/// Where ledgers of a backfill are to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceChoice {
    /// A SEP-54 lake.
    Lake(LakeChoice),
    /// A file of framed `LedgerCloseMeta`.
    Ledgers {
        /// The file.
        path: PathBuf,
    },
    /// Stellar RPC endpoints, in the order in which they are asked.
    Rpc {
        /// Their addresses, at least one.
        addresses: Vec<Address>,
        /// What is asked of them.
        mode: RpcMode,
    },
}

/// What is asked of RPC endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcMode {
    /// Whole ledgers, which prove what is in them.
    Ledgers,
    /// Events alone, which nothing proves.
    Events,
}

impl RpcMode {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "ledgers" => Some(Self::Ledgers),
            "events" => Some(Self::Events),
            _ => None,
        }
    }
}

/// Which SEP-54 lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LakeChoice {
    /// In a local folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Whether objects of different sizes are meant.
        mixed_layout: bool,
    },
    /// Behind an address.
    Address(Address),
    /// The network's public one.
    Public,
}

/// The lake of `network` that everybody may read.
///
/// # Errors
/// [`ConfigError::NoPublicLake`].
pub fn public_lake(network: &Network) -> Result<Address, ConfigError> {
    let known = PUBLIC_LAKES.iter().find(|(passphrase, _)| *passphrase == network.passphrase());
    let (_, address) = known.ok_or_else(|| ConfigError::NoPublicLake { network: network.to_string() })?;
    Ok(Address::parse(address).expect("the addresses of public lakes are well-formed"))
}

impl Settings {
    /// Where ledgers of a backfill are to come from; none where no layer says it.
    ///
    /// # Errors
    /// [`ConfigError`], also when one layer names two sources.
    pub fn source(&self) -> Result<Option<SourceChoice>, ConfigError> {
        let lake = self.lakes()?.map(|(mut lakes, given)| match (lakes.pop(), lakes.is_empty()) {
            (Some(lake), true) => Ok((SourceChoice::Lake(lake), given)),
            _ => Err(BadValue {
                key: Key::Lake,
                value: given.values.join(", "),
                origin: given.origin,
                right: "one lake, a folder or an address: a backfill reads one".to_owned(),
            }),
        });
        let ledgers = self.path(Key::Ledgers)?.map(|(path, given)| (SourceChoice::Ledgers { path }, given));
        let rpc = match self.rpc()? {
            Some((addresses, given)) => Some((SourceChoice::Rpc { addresses, mode: self.rpc_mode()?.0 }, given)),
            None => None,
        };
        let right = "ledgers of a backfill come from one source at a time";
        let choice = winner([(Key::Lake, lake.transpose()?), (Key::Ledgers, ledgers), (Key::Rpc, rpc)], right)?;
        match (&choice, self.layers.get(Key::RpcMode)?) {
            (Some(SourceChoice::Rpc { mode: RpcMode::Events, .. }), Some(given)) => self.keeps_classic(&given)?,
            // What the environment and the file say may be meant for another backfill; a flag is not.
            (Some(SourceChoice::Lake(_) | SourceChoice::Ledgers { .. }), Some(given))
                if given.origin == Origin::Flag =>
            {
                return Err(ConfigError::Missing { what: "the RPC that --rpc-mode is about", right: "--rpc URL" });
            }
            _ => {}
        }
        Ok(choice)
    }

    /// What is asked of RPC endpoints, and who says so.
    fn rpc_mode(&self) -> Result<(RpcMode, Option<Given>), ConfigError> {
        let given = self.one(Key::RpcMode, "ledgers or events", RpcMode::from_name)?;
        Ok(given.map_or((RpcMode::Ledgers, None), |(mode, given)| (mode, Some(given))))
    }

    /// Which events are classic ones, only whole ledgers tell.
    fn keeps_classic(&self, mode: &Given) -> Result<(), ConfigError> {
        match self.classic()? {
            ClassicPolicy::Keep => Ok(()),
            ClassicPolicy::Drop => Err(BadValue {
                key: Key::RpcMode,
                origin: mode.origin.clone(),
                value: "events".to_owned(),
                right: "ledgers where classic events are dropped: events alone do not tell which those are".to_owned(),
            }
            .into()),
        }
    }

    /// Refuses to follow a network by events alone.
    pub(super) fn takes_ledgers(&self) -> Result<(), ConfigError> {
        match self.rpc_mode()? {
            (RpcMode::Events, Some(Given { origin, .. })) => Err(BadValue {
                key: Key::RpcMode,
                origin,
                value: "events".to_owned(),
                right: "ledgers where a network is followed: `annals backfill` takes events alone".to_owned(),
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// The RPC endpoints, at least one; none where no layer names any.
    pub(super) fn rpc(&self) -> Result<Option<(Vec<Address>, Given)>, ConfigError> {
        let Some(given) = self.layers.get(Key::Rpc)?.filter(|given| !given.values.is_empty()) else { return Ok(None) };
        let addresses = given.values.iter().map(|text| address(Key::Rpc, &given, text)).collect::<Result<_, _>>()?;
        Ok(Some((addresses, given)))
    }

    /// The lakes, at least one; none where no layer names any.
    pub(super) fn lakes(&self) -> Result<Option<(Vec<LakeChoice>, Given)>, ConfigError> {
        let Some(given) = self.layers.get(Key::Lake)?.filter(|given| !given.values.is_empty()) else { return Ok(None) };
        let lakes = given.values.iter().map(|text| self.lake(text, &given)).collect::<Result<_, _>>()?;
        Ok(Some((lakes, given)))
    }

    /// A lake is a folder unless it has the form of an address or is the public one.
    fn lake(&self, text: &str, given: &Given) -> Result<LakeChoice, ConfigError> {
        match text {
            PUBLIC => Ok(LakeChoice::Public),
            "" => Err(BadValue {
                key: Key::Lake,
                origin: given.origin.clone(),
                value: String::new(),
                right: "a path, an address or public".to_owned(),
            }
            .into()),
            text if text.contains("://") => Ok(LakeChoice::Address(address(Key::Lake, given, text)?)),
            path => Ok(LakeChoice::Folder { path: path.into(), mixed_layout: self.mixed_layout()? }),
        }
    }

    fn mixed_layout(&self) -> Result<bool, ConfigError> {
        let given = self.one(Key::MixedLayout, "true or false", |text| text.parse().ok())?;
        Ok(given.is_some_and(|(choice, _)| choice))
    }
}
