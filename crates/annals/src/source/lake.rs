//! A SEP-54 lake in a local folder.
//!
//! What lies in the folder decides, by its names; the manifest is a claim. The top level is listed once, a
//! partition only when the asked range touches it: the public lake of pubnet has a thousand partitions of 64,000
//! objects.

mod layout;
mod manifest;
mod name;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Once;

use annals_core::LedgerRange;

use self::layout::Layout;
use self::manifest::Manifest;
use self::name::Name;
use super::{LedgerObject, LedgerSource, ObjectEncoding, ObjectFault, ObjectFaultKind, ObjectStream, SourceError};

/// What a lake's folder is expected to be.
const EXPECTED: &str = "a SEP-54 lake (a folder of objects like FFFFFFBF--64-127.xdr.zst, or of partitions like \
                        FFFFFFFF--0-63999 that hold them)";

/// The most that an object may hold as it lies on the disk, bytes.
const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// The most objects and partitions that one folder may hold.
const FOLDER_NAMES_MAX: usize = 1 << 22;

/// How a lake is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LakeOptions {
    /// Takes objects of different numbers of ledgers side by side.
    pub mixed_layout: bool,
}

/// A SEP-54 lake in a local folder.
#[derive(Debug)]
pub struct LakeSource {
    path: PathBuf,
    options: LakeOptions,
    manifest: Option<Manifest>,
    top: Listing,
    contradiction_told: Once,
}

impl LakeSource {
    /// Opens the lake in the folder `path`: reads its manifest, if it has one, and lists its top level.
    ///
    /// A manifest's numbers of ledgers a batch and batches a partition are never used to find an object. Where
    /// they contradict the names found, the names are followed and a warning is logged.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::NotASource`] for a file or a folder without one name of a lake,
    /// [`SourceError::BadManifest`], [`SourceError::UnsupportedCompression`], [`SourceError::Transient`].
    pub fn open(path: impl Into<PathBuf>, options: LakeOptions) -> Result<Self, SourceError> {
        let path = path.into();
        let not_a_lake = |path: PathBuf, reason: &str| SourceError::NotASource {
            path,
            expected: EXPECTED,
            reason: reason.to_owned(),
        };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(not_a_lake(path, "it is a file")),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Err(SourceError::NotFound { path }),
            Err(source) => return Err(SourceError::Transient { path, source }),
        }
        let manifest = Manifest::read(&path)?;
        let top = match Listing::read(&path) {
            Ok(top) => top,
            Err(source) => return Err(SourceError::Transient { path, source }),
        };
        if top.objects.is_empty() && top.partitions.is_empty() {
            let reason = if top.others == 0 { "it is empty" } else { "nothing in it has such a name" };
            return Err(not_a_lake(path, reason));
        }
        Ok(Self { path, options, manifest, top, contradiction_told: Once::new() })
    }

    /// Looks at the names of all objects in the partitions that `range` touches.
    fn check_layout(&self, range: LedgerRange) -> Result<(), SourceError> {
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
            } else if let Ok(listing) = Listing::read(&self.path.join(&*partition.file)) {
                // A partition that cannot be listed is a fault of the stream, which comes to it in its turn.
                add(&listing.objects);
            }
        }
        self.tell_contradiction(&layout);
        match layout.mixed(&unseen) {
            Some(mixed) if !self.options.mixed_layout => {
                Err(SourceError::MixedLayout { path: self.path.clone(), first: mixed.first, second: mixed.second })
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
                    lake = %self.path.display(),
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
        format!("lake:{}", self.path.display())
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        self.manifest.as_ref()?.network_passphrase.as_deref()
    }

    /// Files that have no object's name are passed over. Objects that overlap each other all come, in ascending
    /// order of their first ledger, then of their last.
    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        self.check_layout(range)?;
        let mut stream = LakeStream { root: self.path.clone(), range, pending: BinaryHeap::new() };
        for partition in &self.top.partitions {
            stream.push(Kind::Partition, partition, None);
        }
        for object in &self.top.objects {
            stream.push(Kind::Object, object, None);
        }
        Ok(Box::new(stream))
    }
}

/// One name of a folder.
#[derive(Debug)]
struct Entry {
    file: Box<str>,
    name: Name,
}

impl Entry {
    /// The ledgers that the name claims, if any of them are in `range`.
    fn claim_within(&self, range: LedgerRange) -> Option<LedgerRange> {
        self.name.claim().filter(|claim| claim.intersection(range).is_some())
    }
}

/// The names in one folder of a lake, in no order.
#[derive(Debug, Default)]
struct Listing {
    partitions: Vec<Entry>,
    objects: Vec<Entry>,
    others: usize,
}

impl Listing {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in std::fs::read_dir(folder)? {
            let file_name = entry?.file_name();
            let Some(file) = file_name.to_str() else {
                listing.others += 1;
                continue;
            };
            if let Some(name) = Name::of_object(file) {
                listing.objects.push(Entry { file: file.into(), name });
            } else if let Some(name) = Name::of_partition(file) {
                listing.partitions.push(Entry { file: file.into(), name });
            } else {
                listing.others += 1;
            }
            if listing.objects.len() + listing.partitions.len() > FOLDER_NAMES_MAX {
                return Err(io::Error::other("one folder holds more objects than any lake has reason to"));
            }
        }
        Ok(listing)
    }
}

/// Partitions come before the objects of the same first ledger, so that no object overtakes one that is still to be
/// listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Partition,
    Object,
}

/// Something still to be read. The order of the fields is the order of the stream.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    first: u64,
    kind: Kind,
    last: u64,
    /// Path below the lake.
    path: String,
    claim: LedgerRange,
    contradiction: Option<&'static str>,
}

/// Reads objects in ascending order, listing each partition when its first ledger is reached.
struct LakeStream {
    root: PathBuf,
    range: LedgerRange,
    pending: BinaryHeap<Reverse<Pending>>,
}

impl LakeStream {
    /// Queues what the asked range touches.
    fn push(&mut self, kind: Kind, entry: &Entry, partition: Option<&Pending>) {
        let Some(claim) = entry.claim_within(self.range) else { return };
        let name = entry.name;
        let mut contradiction = name.contradiction();
        let mut first = name.first.min(name.last);
        let mut path = entry.file.to_string();
        if let Some(partition) = partition {
            if contradiction.is_none() && (name.first < partition.first || partition.last < name.last) {
                contradiction = Some("its ledgers do not belong in its partition");
            }
            first = first.max(partition.first);
            path = format!("{}/{path}", partition.path);
        }
        let last = name.first.max(name.last);
        self.pending.push(Reverse(Pending { first, kind, last, path, claim, contradiction }));
    }

    /// Lists a partition.
    fn enter(&mut self, partition: &Pending) -> Result<(), ObjectFaultKind> {
        let listing = Listing::read(&self.root.join(&partition.path)).map_err(ObjectFaultKind::Unreadable)?;
        for object in &listing.objects {
            self.push(Kind::Object, object, Some(partition));
        }
        Ok(())
    }
}

impl Iterator for LakeStream {
    type Item = Result<LedgerObject, ObjectFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Reverse(next) = self.pending.pop()?;
            let done = match (next.contradiction, next.kind) {
                (Some(reason), _) => Err(ObjectFaultKind::Misnamed { reason }),
                (None, Kind::Partition) => self.enter(&next).map(|()| None),
                (None, Kind::Object) => read_object(&self.root.join(&next.path)).map(Some),
            };
            match done {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    let encoding = ObjectEncoding::ZstdBatch;
                    return Some(Ok(LedgerObject { name: next.path, named: Some(next.claim), encoding, bytes }));
                }
                Err(kind) => return Some(Err(ObjectFault { object: next.path, range: Some(next.claim), kind })),
            }
        }
    }
}

fn read_object(path: &Path) -> Result<Vec<u8>, ObjectFaultKind> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(OBJECT_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(ObjectFaultKind::Unreadable)?;
    if bytes.len() as u64 > OBJECT_BYTES_MAX {
        return Err(ObjectFaultKind::TooLarge { bytes_max: OBJECT_BYTES_MAX });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
