//! A lake's manifest, `.config.json` (SEP-54, "Configuration file").

use super::objects::Objects;
use crate::source::{ObjectFaultKind, SourceError, is_passphrase};

/// The manifest's name in the lake's folder.
const FILE_NAME: &str = ".config.json";

/// The most that a manifest may hold, bytes.
const MANIFEST_BYTES_MAX: u64 = 64 << 10;

/// What the manifest says. Its `version` is not looked at: exporters write `0.1.0` and `1.0` for one format.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    /// The network that the lake claims to be of.
    pub(super) network_passphrase: Option<String>,
    compression: Option<String>,
    /// Ledgers an object.
    pub(super) ledgers_per_batch: Option<u64>,
    /// Objects a partition.
    pub(super) batches_per_partition: Option<u64>,
}

impl Manifest {
    /// Reads the manifest of a lake; none when it has none.
    pub(super) fn read(objects: &dyn Objects) -> Result<Option<Self>, SourceError> {
        let place = objects.place_of(FILE_NAME);
        match objects.read(FILE_NAME, MANIFEST_BYTES_MAX) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => Self::parse(place, &text).map(Some),
            Err(ObjectFaultKind::Unreadable(source)) => Err(SourceError::Transient { place, source }),
            Err(_) => Err(SourceError::BadManifest { place, reason: "it is far too long", source: None }),
        }
    }

    fn parse(place: String, text: &[u8]) -> Result<Self, SourceError> {
        let manifest: Self = match serde_json::from_slice(text) {
            Ok(manifest) => manifest,
            Err(cause) => {
                let reason = "it is not the JSON object that SEP-54 describes";
                return Err(SourceError::BadManifest { place, reason, source: Some(cause) });
            }
        };
        if manifest.network_passphrase.as_deref().is_some_and(|text| !is_passphrase(text)) {
            let reason = "its networkPassphrase is no short line of text";
            return Err(SourceError::BadManifest { place, reason, source: None });
        }
        match manifest.compression {
            Some(compression) if compression != "zstd" => {
                Err(SourceError::UnsupportedCompression { place, compression })
            }
            _ => Ok(manifest),
        }
    }

    /// Ledgers a partition, where the manifest says so.
    pub(super) fn ledgers_per_partition(&self) -> Option<u64> {
        self.ledgers_per_batch?.checked_mul(self.batches_per_partition?)
    }
}
