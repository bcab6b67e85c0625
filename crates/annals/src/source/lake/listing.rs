//! The names in a lake's folders.

use std::io;
use std::path::Path;

use annals_core::LedgerRange;

use super::name::Name;

/// The most objects and partitions that one folder may hold.
const FOLDER_NAMES_MAX: usize = 1 << 22;

/// One name of a folder.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name as it stands in the folder.
    pub(super) file: Box<str>,
    /// What it says.
    pub(super) name: Name,
}

impl Entry {
    /// The ledgers that the name claims, if any of them are in `range`.
    pub(super) fn claim_within(&self, range: LedgerRange) -> Option<LedgerRange> {
        self.name.claim().filter(|claim| claim.intersection(range).is_some())
    }
}

/// The names in one folder of a lake, in no order.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) partitions: Vec<Entry>,
    pub(super) objects: Vec<Entry>,
    /// How many names are neither.
    pub(super) others: usize,
}

impl Listing {
    /// Lists a folder, without looking at what the names stand for.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
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
