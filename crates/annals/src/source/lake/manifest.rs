//! A lake's manifest, `.config.json` (SEP-54, "Configuration file").

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::source::SourceError;

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
    /// Reads the manifest of the lake at `lake`; none when it has none.
    pub(super) fn read(lake: &Path) -> Result<Option<Self>, SourceError> {
        let path = lake.join(FILE_NAME);
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut text));
        match read {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SourceError::Transient { path, source }),
            Ok(read) if read as u64 > MANIFEST_BYTES_MAX => {
                return Err(SourceError::BadManifest { path, reason: "it is far too long", source: None });
            }
            Ok(_) => {}
        }
        Self::parse(path, &text).map(Some)
    }

    fn parse(path: PathBuf, text: &[u8]) -> Result<Self, SourceError> {
        let manifest: Self = match serde_json::from_slice(text) {
            Ok(manifest) => manifest,
            Err(cause) => {
                let reason = "it is not the JSON object that SEP-54 describes";
                return Err(SourceError::BadManifest { path, reason, source: Some(cause) });
            }
        };
        match manifest.compression {
            Some(compression) if compression != "zstd" => {
                Err(SourceError::UnsupportedCompression { path, compression })
            }
            _ => Ok(manifest),
        }
    }

    /// Ledgers a partition, where the manifest says so.
    pub(super) fn ledgers_per_partition(&self) -> Option<u64> {
        self.ledgers_per_batch?.checked_mul(self.batches_per_partition?)
    }
}
