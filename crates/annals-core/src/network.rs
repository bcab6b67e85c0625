//! The network an archive is of.

use core::fmt;

use stellar_xdr::{Asset, ContractIdPreimage, Hash, HashIdPreimage, HashIdPreimageContractId, Limits, WriteXdr};

use crate::hash::{ContractId, sha256};

/// sha256 of a network's passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkId(pub [u8; 32]);

/// A network, named by its passphrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    passphrase: String,
    id: NetworkId,
    native_contract: ContractId,
}

impl Network {
    /// The presets: name and passphrase.
    pub const PRESETS: [(&'static str, &'static str); 3] = [
        ("pubnet", "Public Global Stellar Network ; September 2015"),
        ("testnet", "Test SDF Network ; September 2015"),
        ("futurenet", "Test SDF Future Network ; October 2022"),
    ];

    /// The network with this passphrase.
    #[must_use]
    pub fn new(passphrase: impl Into<String>) -> Self {
        let passphrase = passphrase.into();
        let id = NetworkId(sha256(&[passphrase.as_bytes()]));
        let native_contract = native_contract(id);
        Self { passphrase, id, native_contract }
    }

    /// The network with this preset name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, passphrase)| Self::new(*passphrase))
    }

    /// The passphrase.
    #[must_use]
    pub fn passphrase(&self) -> &str {
        &self.passphrase
    }

    /// sha256 of the passphrase; transaction hashes are made under it.
    #[must_use]
    pub fn id(&self) -> NetworkId {
        self.id
    }

    /// The asset contract of the native asset, which fee events are of (CAP-67).
    #[must_use]
    pub fn native_contract(&self) -> ContractId {
        self.native_contract
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let preset = Self::PRESETS.iter().find(|(_, passphrase)| *passphrase == self.passphrase);
        f.write_str(preset.map_or(self.passphrase.as_str(), |(name, _)| name))
    }
}

/// sha256 of the `HashIDPreimage` that names the native asset's contract (CAP-46-06).
fn native_contract(network: NetworkId) -> ContractId {
    let preimage = HashIdPreimage::ContractId(HashIdPreimageContractId {
        network_id: Hash(network.0),
        contract_id_preimage: ContractIdPreimage::Asset(Asset::Native),
    });
    let xdr = preimage.to_xdr(Limits { depth: 16, len: 256 }).expect("a native asset's pre-image is 44 bytes");
    ContractId(sha256(&[&xdr]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_contract_of_pubnet_is_the_one_that_everybody_knows() {
        let pubnet = Network::preset("pubnet").unwrap();
        assert_eq!(pubnet.native_contract().to_string(), "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA");
        assert_eq!(pubnet.to_string(), "pubnet");
        assert_eq!(Network::preset("PUBNET"), None);
    }
}
