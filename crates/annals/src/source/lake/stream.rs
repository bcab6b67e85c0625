//! Reads a lake's objects in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::ErrorKind;

use annals_core::LedgerRange;

use super::listing::{Entry, Listing};
use super::name::Name;
use super::objects::{Folder, OBJECT_BYTES_MAX, Objects as _};
use crate::source::{LedgerObject, ObjectEncoding, ObjectFault, ObjectFaultKind};

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
    name: Name,
    claim: LedgerRange,
    contradiction: Option<&'static str>,
}

/// Reads objects in ascending order, listing each partition when its first ledger is reached.
pub(super) struct LakeStream {
    folder: Folder,
    range: LedgerRange,
    pending: BinaryHeap<Reverse<Pending>>,
}

impl LakeStream {
    /// Reads what `top`, the top level of the lake in `folder`, has of `range`.
    pub(super) fn new(folder: Folder, range: LedgerRange, top: &Listing) -> Self {
        let mut stream = Self { folder, range, pending: BinaryHeap::new() };
        top.partitions.iter().for_each(|partition| stream.push(Kind::Partition, partition, None));
        top.objects.iter().for_each(|object| stream.push(Kind::Object, object, None));
        stream
    }

    /// Queues what the asked range touches.
    fn push(&mut self, kind: Kind, entry: &Entry, partition: Option<&Pending>) {
        let Some(claim) = entry.claim_within(self.range) else { return };
        let name = entry.name;
        let mut pending = Pending {
            first: name.first.min(name.last),
            kind,
            last: name.first.max(name.last),
            path: entry.file.to_string(),
            name,
            claim,
            contradiction: name.contradiction(),
        };
        if let Some(partition) = partition {
            if pending.contradiction.is_none() && !partition.name.holds(name) {
                pending.contradiction = Some("its ledgers do not belong in its partition");
            }
            pending.path = format!("{}/{}", partition.path, entry.file);
        }
        self.pending.push(Reverse(pending));
    }

    /// Lists a partition.
    fn enter(&mut self, partition: &Pending) -> Result<(), ObjectFaultKind> {
        let listing = Listing::read(&self.folder.root.join(&partition.path)).map_err(ObjectFaultKind::Unreadable)?;
        listing.objects.iter().for_each(|object| self.push(Kind::Object, object, Some(partition)));
        Ok(())
    }
}

impl LakeStream {
    /// Reads an object that was listed; one that is gone by now cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, ObjectFaultKind> {
        let gone = || ObjectFaultKind::Unreadable(ErrorKind::NotFound.into());
        self.folder.read(path, OBJECT_BYTES_MAX)?.ok_or_else(gone)
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
                (None, Kind::Object) => self.read(&next.path).map(Some),
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
