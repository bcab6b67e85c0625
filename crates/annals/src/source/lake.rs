//! SEP-54 lakes: in a local folder, and behind an address.
//!
//! Of a local lake, what lies in the folder decides, by its names; the manifest is a claim. The top level is listed once, a
//! partition only when the asked range touches it: the public lake of pubnet has a thousand partitions of 64,000
//! objects.

mod grid;
mod layout;
mod listing;
mod manifest;
mod name;
mod objects;
mod remote;
mod stream;

use std::io;
use std::path::PathBuf;
use std::sync::Once;

use annals_core::LedgerRange;

use self::layout::Layout;
use self::listing::{Entry, Listing};
use self::manifest::Manifest;
use self::objects::Folder;
pub(super) use self::objects::Objects;
pub(super) use self::remote::Server;
pub use self::remote::{RemoteLakeOptions, RemoteLakeSource};
use self::stream::LakeStream;
use super::{LedgerSource, ObjectStream, SourceError};

/// What a lake's folder is expected to be.
const EXPECTED: &str = "a SEP-54 lake (a folder of objects like FFFFFFBF--64-127.xdr.zst, or of partitions like \
                        FFFFFFFF--0-63999 that hold them)";

/// How a lake is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LakeOptions {
    /// Takes objects of different numbers of ledgers side by side.
    pub mixed_layout: bool,
}

/// A SEP-54 lake in a local folder.
#[derive(Debug)]
pub struct LakeSource {
    folder: Folder,
    options: LakeOptions,
    manifest: Option<Manifest>,
    top: Listing,
    contradiction_told: Once,
}

impl LakeSource {
    /// Opens the lake in the folder `path`: reads its manifest, if it has one, and lists its top level. A partition
    /// that appears later, or an object beside the partitions, is not seen; open the lake again for it.
    ///
    /// A manifest's numbers of ledgers a batch and batches a partition are never used to find an object. Where
    /// they contradict the names found, the names are followed and a warning is logged.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::NotASource`] for a file or a folder without one name of a lake,
    /// [`SourceError::BadManifest`], [`SourceError::UnsupportedCompression`], [`SourceError::Transient`].
    pub fn open(path: impl Into<PathBuf>, options: LakeOptions) -> Result<Self, SourceError> {
        let folder = Folder { root: path.into() };
        let place = || folder.root.display().to_string();
        let not_a_lake =
            |reason: &str| SourceError::NotASource { place: place(), expected: EXPECTED, reason: reason.to_owned() };
        match std::fs::metadata(&folder.root) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(not_a_lake("it is a file")),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(SourceError::NotFound { place: place() });
            }
            Err(source) => return Err(SourceError::Transient { place: place(), source }),
        }
        let manifest = Manifest::read(&folder)?;
        let listed = Listing::read(&folder.root);
        let top = listed.map_err(|source| SourceError::Transient { place: place(), source })?;
        if top.objects.is_empty() && top.partitions.is_empty() {
            return Err(not_a_lake(if top.others == 0 { "it is empty" } else { "nothing in it has such a name" }));
        }
        Ok(Self { folder, options, manifest, top, contradiction_told: Once::new() })
    }

    /// Looks at the names of all objects in the partitions that `range` touches, and keeps none of them.
    fn check_layout(&self, range: LedgerRange) -> Result<(), SourceError> {
        if self.options.mixed_layout && self.manifest.is_none() {
            return Ok(());
        }
        let mut layout = Layout::default();
        let mut add = |objects: &[Entry]| {
            objects
                .iter()
                .filter(|object| object.name.contradiction().is_none())
                .for_each(|object| layout.add(object.name));
        };
        add(&self.top.objects);
        let mut unseen = Vec::new();
        for partition in &self.top.partitions {
            if partition.claim_within(range).is_none() {
                unseen.push(partition.name);
            } else if let Ok(listing) = Listing::read(&self.folder.root.join(&*partition.file)) {
                // A partition that cannot be listed is a fault of the stream, which comes to it in its turn.
                add(&listing.objects);
            }
        }
        self.tell_contradiction(&layout);
        match layout.mixed(&unseen) {
            Some(mixed) if !self.options.mixed_layout => {
                let place = self.folder.root.display().to_string();
                Err(SourceError::MixedLayout { place, first: mixed.first, second: mixed.second })
            }
            _ => Ok(()),
        }
    }

    /// Logs, once, that the manifest says other numbers than the names do.
    fn tell_contradiction(&self, layout: &Layout) {
        let Some(manifest) = &self.manifest else { return };
        let found = layout.ledgers_per_object();
        let per_object = contradicts(manifest.ledgers_per_batch, found);
        let found = self.top.partitions.first().map(|partition| partition.name.ledgers());
        let per_partition = contradicts(manifest.ledgers_per_partition(), found);
        if per_object || per_partition {
            self.contradiction_told.call_once(|| {
                tracing::warn!(
                    lake = %self.folder.root.display(),
                    ledgers_per_batch = manifest.ledgers_per_batch,
                    batches_per_partition = manifest.batches_per_partition,
                    ledgers_per_object_found = layout.ledgers_per_object(),
                    ledgers_per_partition_found = found,
                    "the lake's manifest contradicts the names of its objects; the names are followed"
                );
            });
        }
    }
}

/// Whether both say something and not the same.
fn contradicts(said: Option<u64>, found: Option<u64>) -> bool {
    said.zip(found).is_some_and(|(said, found)| said != found)
}

impl LedgerSource for LakeSource {
    fn name(&self) -> String {
        format!("lake:{}", self.folder.root.display())
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        self.manifest.as_ref()?.network_passphrase.as_deref()
    }

    /// Files that have no object's name are passed over. Objects that overlap each other all come, in ascending
    /// order of their first ledger, then of their last.
    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        self.check_layout(range)?;
        Ok(Box::new(LakeStream::new(self.folder.clone(), range, &self.top)))
    }
}

#[cfg(test)]
mod tests;
