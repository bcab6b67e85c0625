//! How a server follows a network.

use annals_core::LedgerSeq;

use super::size::parse_bytes;
use super::sources::LakeChoice;
use super::window::parse_seq;
use super::{ConfigError, Key, Origin, Settings};
use crate::source::Address;

/// What says how to follow, and means nothing to a server that does not.
const OF_FOLLOWING: [Key; 11] = [
    Key::RpcMode,
    Key::Lake,
    Key::Network,
    Key::NetworkPassphrase,
    Key::From,
    Key::Contract,
    Key::Classic,
    Key::Pin,
    Key::MixedLayout,
    Key::HistoryArchive,
    Key::DiskReserve,
];

/// What a server follows a network with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowChoice {
    /// The RPC endpoints, at least one, in the order in which they are asked.
    pub rpc: Vec<Address>,
    /// The lakes that gaps are filled from, in the order in which they are asked.
    pub lakes: Vec<LakeChoice>,
}

impl Settings {
    /// What a server follows a network with; none where no layer names an RPC. What the environment and the file say
    /// beside may be meant for a backfill; a flag is not.
    ///
    /// # Errors
    /// [`ConfigError`], also when a flag says how to follow and no RPC is named.
    pub fn following(&self) -> Result<Option<FollowChoice>, ConfigError> {
        if let Some((rpc, _)) = self.rpc()? {
            self.takes_ledgers()?;
            let lakes = self.lakes()?.map_or(Vec::new(), |(lakes, _)| lakes);
            return Ok(Some(FollowChoice { rpc, lakes }));
        }
        for key in OF_FOLLOWING {
            if let Some(given) = self.layers.get(key)?.filter(|given| given.origin == Origin::Flag) {
                return Err(ConfigError::NoRpc { given: given.origin.spell(key) });
            }
        }
        Ok(None)
    }

    /// The ledger that following begins with; none where no layer says it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn follow_from(&self) -> Result<Option<LedgerSeq>, ConfigError> {
        let right = "a ledger sequence, also as 63M or 1.5M: following has a first ledger and no last one";
        let given = self.one(Key::From, right, |text| parse_seq(text).ok())?;
        Ok(given.map(|(seq, _)| seq))
    }

    /// How many bytes of the disk are left free; none where no layer says it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn disk_reserve(&self) -> Result<Option<u64>, ConfigError> {
        let given = self.one(Key::DiskReserve, "a number of bytes, also as 512MiB or 2GiB", parse_bytes)?;
        Ok(given.map(|(bytes, _)| bytes))
    }
}
