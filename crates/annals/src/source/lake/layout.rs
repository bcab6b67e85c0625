//! How many ledgers a lake's objects hold, as their names have it.

use std::collections::{BTreeMap, BTreeSet};

use super::name::Name;

/// First and last ledger as written.
type Ends = (u64, u64);

/// Objects kept of each size. Two of an odd size can be excused, so a third tells as much as a thousand.
const KEPT_PER_SIZE: usize = 3;

/// The sizes of objects seen.
#[derive(Debug, Default)]
pub(super) struct Layout {
    sizes: BTreeMap<u64, BTreeSet<Ends>>,
    lowest: Option<Ends>,
    highest: Option<Ends>,
}

/// Two sizes that do not go together, ledgers an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mixed {
    pub(super) first: u64,
    pub(super) second: u64,
}

impl Layout {
    /// Takes note of one object whose name is sound.
    pub(super) fn add(&mut self, name: Name) {
        let ends = (name.first, name.last);
        let kept = self.sizes.entry(name.ledgers()).or_default();
        kept.insert(ends);
        if kept.len() > KEPT_PER_SIZE {
            kept.pop_last();
        }
        self.lowest = Some(self.lowest.map_or(ends, |lowest| lowest.min(ends)));
        let by_last = |ends: Ends| (ends.1, ends.0);
        self.highest =
            Some(self.highest.map_or(ends, |highest| if by_last(highest) < by_last(ends) { ends } else { highest }));
    }

    /// The number of ledgers that a full object holds; none when no object was seen.
    pub(super) fn ledgers_per_object(&self) -> Option<u64> {
        self.sizes.last_key_value().map(|(size, _)| *size)
    }

    /// Says whether all objects are of one size. An exporter may clamp the lake's first object and its newest to
    /// the ledgers it was asked for, so these two may be smaller; nothing may be larger. `unseen` are the
    /// partitions that were not looked into, below or above which an object is neither the first nor the newest.
    pub(super) fn mixed(&self, unseen: &[Name]) -> Option<Mixed> {
        let (full, full_ends) = self.sizes.last_key_value()?;
        let is_first = |ends: Ends| Some(ends) == self.lowest && unseen.iter().all(|name| name.first >= ends.0);
        let is_newest = |ends: Ends| Some(ends) == self.highest && unseen.iter().all(|name| name.last <= ends.1);
        let odd = self.sizes.range(..full).find_map(|(size, kept)| {
            kept.iter().find(|ends| !is_first(**ends) && !is_newest(**ends)).map(|ends| (*size, *ends))
        });
        let (size, ends) = odd?;
        let found_first = full_ends.first().is_none_or(|full| ends < *full);
        Some(if found_first { Mixed { first: size, second: *full } } else { Mixed { first: *full, second: size } })
    }
}
