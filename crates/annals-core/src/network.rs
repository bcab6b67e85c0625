//! The network an archive is of.

use core::fmt;

use stellar_xdr::{
    AccountId, AlphaNum4, AlphaNum12, Asset, AssetCode4, AssetCode12, ContractIdPreimage, Hash, HashIdPreimage,
    HashIdPreimageContractId, Limits, PublicKey, Uint256, WriteXdr,
};

use crate::hash::{ContractId, sha256};

/// `SCV_STRING`, `Stellar-contract.x`.
const SCV_STRING: [u8; 4] = 14_u32.to_be_bytes();

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
    /// The presets: name and passphrase. `local` is the network that everybody runs for himself.
    pub const PRESETS: [(&'static str, &'static str); 4] = [
        ("pubnet", "Public Global Stellar Network ; September 2015"),
        ("testnet", "Test SDF Network ; September 2015"),
        ("futurenet", "Test SDF Future Network ; October 2022"),
        // What stellar/quickstart runs with `--local`.
        ("local", "Standalone Network ; February 2017"),
    ];

    /// The network with this passphrase.
    #[must_use]
    pub fn new(passphrase: impl Into<String>) -> Self {
        let passphrase = passphrase.into();
        let id = NetworkId(sha256(&[passphrase.as_bytes()]));
        let native_contract = asset_contract(id, Asset::Native);
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

    /// The asset contract that an event's asset topic names: XDR of an `SCV_STRING`, `native` or `CODE:ISSUER` (SEP-11),
    /// as the host writes it into the last topic of an asset contract's events (CAP-46-06). Any contract can write the
    /// same topic; only the contract that it names is the asset's.
    #[must_use]
    pub fn asset_contract(&self, topic_xdr: &[u8]) -> Option<ContractId> {
        let name = string(topic_xdr)?;
        if name == b"native" {
            return Some(self.native_contract);
        }
        Some(asset_contract(self.id, credit(name)?))
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

/// sha256 of the `HashIDPreimage` that names an asset's contract (CAP-46-06).
fn asset_contract(network: NetworkId, asset: Asset) -> ContractId {
    let preimage = HashIdPreimage::ContractId(HashIdPreimageContractId {
        network_id: Hash(network.0),
        contract_id_preimage: ContractIdPreimage::Asset(asset),
    });
    let xdr = preimage.to_xdr(Limits { depth: 16, len: 256 }).expect("an asset's pre-image is at most 96 bytes");
    ContractId(sha256(&[&xdr]))
}

/// The text of an `ScVal` of type `SCV_STRING` in its canonical encoding.
fn string(xdr: &[u8]) -> Option<&[u8]> {
    let (length, padded) = xdr.strip_prefix(&SCV_STRING)?.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, padding) = padded.split_at_checked(length)?;
    (padded.len() == length.next_multiple_of(4) && padding.iter().all(|byte| *byte == 0)).then_some(text)
}

/// The asset that `CODE:ISSUER` names: a code of 1 to 12 letters and digits, zero-padded to 4 or 12 bytes.
fn credit(name: &[u8]) -> Option<Asset> {
    let colon = name.iter().position(|byte| *byte == b':')?;
    let (code, issuer) = (&name[..colon], core::str::from_utf8(&name[colon + 1..]).ok()?);
    let issuer = stellar_strkey::ed25519::PublicKey::from_string(issuer).ok()?;
    let issuer = AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(issuer.0)));
    if !code.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    Some(match code.len() {
        1..=4 => Asset::CreditAlphanum4(AlphaNum4 { asset_code: AssetCode4(padded(code)), issuer }),
        5..=12 => Asset::CreditAlphanum12(AlphaNum12 { asset_code: AssetCode12(padded(code)), issuer }),
        _ => return None,
    })
}

fn padded<const LENGTH: usize>(code: &[u8]) -> [u8; LENGTH] {
    core::array::from_fn(|place| code.get(place).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use stellar_xdr::{ScString, ScVal};

    use super::*;

    #[test]
    fn the_native_contract_of_pubnet_is_the_one_that_everybody_knows() {
        let pubnet = Network::preset("pubnet").unwrap();
        assert_eq!(pubnet.native_contract().to_string(), "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA");
        assert_eq!(pubnet.to_string(), "pubnet");
        assert_eq!(Network::preset("PUBNET"), None);
    }

    fn topic(text: &[u8]) -> Vec<u8> {
        ScVal::String(ScString(text.try_into().unwrap())).to_xdr(Limits { depth: 4, len: 256 }).unwrap()
    }

    #[test]
    fn an_asset_topic_names_the_contract_that_everybody_knows() {
        let pubnet = Network::preset("pubnet").unwrap();
        let of = |text: &str| pubnet.asset_contract(&topic(text.as_bytes())).map(|contract| contract.to_string());
        let issuer = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN";
        let usdc = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75";
        assert_eq!(of(&format!("USDC:{issuer}")).as_deref(), Some(usdc));
        assert_eq!(of("native"), Some(pubnet.native_contract().to_string()));
        let five = of(&format!("USDCX:{issuer}")).unwrap();
        let lower = of(&format!("usdc:{issuer}")).unwrap();
        assert!(five != usdc && lower != usdc);
        let testnet = Network::preset("testnet").unwrap();
        assert_ne!(testnet.asset_contract(&topic(b"native")), Some(pubnet.native_contract()));
    }

    #[test]
    fn a_topic_that_is_no_asset_names_no_contract() {
        let pubnet = Network::preset("pubnet").unwrap();
        let issuer = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN";
        let texts = ["", ":", "NATIVE", "native:", "USDC", "USDC:", &format!(":{issuer}"), &format!("US-C:{issuer}")];
        let longer = [&format!("THIRTEENCHARS:{issuer}"), &format!("USDC:{issuer}:"), &format!("USDC:{issuer} ")];
        for text in texts.into_iter().chain(longer.map(String::as_str)) {
            assert_eq!(pubnet.asset_contract(&topic(text.as_bytes())), None, "{text}");
        }
        assert_eq!(pubnet.asset_contract(&topic(&[b"US\0C:".as_slice(), issuer.as_bytes()].concat())), None);
        assert_eq!(pubnet.asset_contract(&topic(&[b"USDC:".as_slice(), &[0xFF; 56]].concat())), None);
        let native = topic(b"native");
        for length in 0..native.len() {
            assert_eq!(pubnet.asset_contract(&native[..length]), None);
        }
        assert_eq!(pubnet.asset_contract(&[native.as_slice(), &[0; 4]].concat()), None);
        let symbol = [15_u32.to_be_bytes().as_slice(), &native[4..]].concat();
        assert_eq!(pubnet.asset_contract(&symbol), None);
        let endless = [SCV_STRING.as_slice(), &[0xFF; 8]].concat();
        assert_eq!(pubnet.asset_contract(&endless), None);
    }
}
