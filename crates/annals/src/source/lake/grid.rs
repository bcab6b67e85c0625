//! The names of a lake's objects where they cannot be listed: computed from the lake's layout (SEP-54, "Object key
//! format").

use annals_core::{LedgerRange, LedgerSeq};

use super::manifest::Manifest;
use super::name::Name;

/// How a lake cuts ledgers into objects and partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Ledgers an object.
    per_object: u32,
    /// Ledgers a partition; none where there are no partitions.
    per_partition: Option<u32>,
}

/// One object that a lake of a grid has, if it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its path below the lake, without the ending.
    pub(super) stem: String,
    /// The ledgers that its name promises.
    pub(super) claim: LedgerRange,
}

impl Grid {
    /// Objects of so many ledgers, and so many of them a partition; 1 or 0 where there are no partitions.
    pub(super) fn new(per_object: u64, objects_per_partition: u64) -> Option<Self> {
        let per_object = u32::try_from(per_object).ok().filter(|count| *count > 0)?;
        let per_partition = match objects_per_partition {
            0 | 1 => None,
            count => Some(per_object.checked_mul(u32::try_from(count).ok()?)?),
        };
        Some(Self { per_object, per_partition })
    }

    /// What a manifest says, where it says both numbers.
    pub(super) fn of(manifest: &Manifest) -> Option<Self> {
        Self::new(manifest.ledgers_per_batch?, manifest.batches_per_partition?)
    }

    /// The object that holds `seq`.
    pub(super) fn slot(self, seq: LedgerSeq) -> Option<Slot> {
        let file = name(seq.get(), self.per_object);
        let claim = Name::of_stem(&file).and_then(Name::claim)?;
        let stem = match self.per_partition {
            Some(per_partition) => format!("{}/{file}", name(seq.get(), per_partition)),
            None => file,
        };
        Some(Slot { stem, claim })
    }

    /// The objects that hold ledgers of `range`, in ascending order.
    pub(super) fn slots(self, range: LedgerRange) -> impl Iterator<Item = Slot> + Send {
        let mut next = Some(range.from_inclusive());
        std::iter::from_fn(move || {
            let at = next.filter(|seq| *seq <= range.to_inclusive())?;
            let slot = self.slot(at);
            let start = at.get() / self.per_object * self.per_object;
            next = start.checked_add(self.per_object).and_then(|start| LedgerSeq::new(start).ok());
            Some(slot)
        })
        // Ledger 1 alone in its object is one that no lake has.
        .flatten()
    }
}

/// The start counted down from the greatest number, so that the newest sorts first, and the aligned ends.
fn name(seq: u32, size: u32) -> String {
    let start = seq / size * size;
    let reversed = u32::MAX - start;
    let last = start.saturating_add(size - 1);
    if size == 1 { format!("{reversed:08X}--{start}") } else { format!("{reversed:08X}--{start}-{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::fixtures::range;

    fn stems(grid: Grid, from: u32, to: u32) -> Vec<(String, String)> {
        grid.slots(range(from, to)).map(|slot| (slot.stem, slot.claim.to_string())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(stem, claim)| ((*stem).to_owned(), (*claim).to_owned())).collect()
    }

    #[test]
    fn names_are_those_of_real_lakes() {
        let grid = Grid::new(1, 64_000).unwrap();
        let expected = [("FC7E89FF--58816000-58879999/FC7E8667--58816920", "58816920")];
        assert_eq!(stems(grid, 58_816_920, 58_816_920), pairs(&expected));
        assert_eq!(
            stems(Grid::new(1, 1).unwrap(), 53_312_000, 53_312_000),
            pairs(&[("FCD285FF--53312000", "53312000")])
        );
    }

    #[test]
    fn a_range_is_cut_along_the_grid_and_the_first_object_is_counted_from_0() {
        let expected = [
            ("FFFFFFFF--0-127/FFFFFFFF--0-63", "2-63"),
            ("FFFFFFFF--0-127/FFFFFFBF--64-127", "64-127"),
            ("FFFFFF7F--128-255/FFFFFF7F--128-191", "128-191"),
        ];
        assert_eq!(stems(Grid::new(64, 2).unwrap(), 2, 130), pairs(&expected));
        assert_eq!(stems(Grid::new(64, 2).unwrap(), 63, 64), pairs(&expected[..2]));
        let last = stems(Grid::new(64, 1).unwrap(), 2_147_483_640, 2_147_483_647);
        assert_eq!(last, pairs(&[("8000003F--2147483584-2147483647", "2147483584-2147483647")]));
    }

    #[test]
    fn a_layout_that_no_lake_has_is_none() {
        for (per_object, per_partition) in [(0, 1), (1 << 32, 1), (1 << 20, 1 << 20), (1, 1 << 32)] {
            assert_eq!(Grid::new(per_object, per_partition), None);
        }
    }
}
