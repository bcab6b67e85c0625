//! The algebra of scanned ledgers.

use core::fmt;

use crate::ledger_seq::{LedgerRange, LedgerSeq};

/// A set of ledgers, as disjoint ascending ranges that never touch.
#[derive(Clone, PartialEq, Eq, Default, Hash)]
pub struct Coverage {
    ranges: Vec<LedgerRange>,
}

impl Coverage {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The maximal ranges, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[LedgerRange] {
        &self.ranges
    }

    /// Whether no ledger is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ledgers are held.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.count()).sum()
    }

    /// Adds a range; overlaps and neighbours merge.
    pub fn insert(&mut self, range: LedgerRange) {
        let from = range.from_inclusive();
        let to = range.to_inclusive();
        // The first range that ends at or above `from − 1`, and the first that begins above `to + 1`.
        let begin = self.ranges.partition_point(|held| held.to_inclusive().next().is_some_and(|next| next < from));
        let end = self.ranges.partition_point(|held| to.next().is_none_or(|next| held.from_inclusive() <= next));
        let merged = match self.ranges.get(begin..end) {
            Some([first, .., last]) => make_range(first.from_inclusive().min(from), last.to_inclusive().max(to)),
            Some([only]) => make_range(only.from_inclusive().min(from), only.to_inclusive().max(to)),
            _ => range,
        };
        self.ranges.splice(begin..end, [merged]);
    }

    /// Takes a range away.
    pub fn remove(&mut self, range: LedgerRange) {
        let begin = self.ranges.partition_point(|held| held.to_inclusive() < range.from_inclusive());
        let end = self.ranges.partition_point(|held| held.from_inclusive() <= range.to_inclusive());
        let kept: Vec<LedgerRange> = self.ranges[begin..end].iter().flat_map(|held| outside(*held, range)).collect();
        self.ranges.splice(begin..end, kept);
    }

    /// The ledgers that either set holds.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.extend(other.ranges.iter().copied());
        both
    }

    /// The ledgers that both sets hold.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self { ranges: other.ranges.iter().flat_map(|range| self.clipped(*range)).collect() }
    }

    /// The ledgers of `window` that are held.
    #[must_use]
    pub fn within(&self, window: LedgerRange) -> Self {
        Self { ranges: self.clipped(window).collect() }
    }

    /// Whether any ledger of `window` is held.
    #[must_use]
    pub fn overlaps(&self, window: LedgerRange) -> bool {
        self.clipped(window).next().is_some()
    }

    fn clipped(&self, window: LedgerRange) -> impl Iterator<Item = LedgerRange> {
        let begin = self.ranges.partition_point(|held| held.to_inclusive() < window.from_inclusive());
        self.ranges[begin..].iter().map_while(move |held| held.intersection(window))
    }

    /// The ledgers of this set that `other` does not hold.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        for range in &other.ranges {
            rest.remove(*range);
        }
        rest
    }

    /// Whether the set holds `seq`.
    #[must_use]
    pub fn contains(&self, seq: LedgerSeq) -> bool {
        self.covers(LedgerRange::single(seq))
    }

    /// Whether every ledger of `window` is held.
    #[must_use]
    pub fn covers(&self, window: LedgerRange) -> bool {
        let at = self.ranges.partition_point(|held| held.to_inclusive() < window.from_inclusive());
        self.ranges.get(at).is_some_and(|held| {
            held.from_inclusive() <= window.from_inclusive() && window.to_inclusive() <= held.to_inclusive()
        })
    }

    /// The ledgers of `window` that are not held.
    #[must_use]
    pub fn missing(&self, window: LedgerRange) -> Self {
        Self::from_iter([window]).difference(&self.within(window))
    }

    /// The last ledger of the contiguous coverage that begins with `start`; none when `start` is not held.
    #[must_use]
    pub fn watermark(&self, start: LedgerSeq) -> Option<LedgerSeq> {
        self.ranges.iter().find(|held| held.contains(start)).map(|held| held.to_inclusive())
    }

    /// The highest ledger held.
    #[must_use]
    pub fn latest(&self) -> Option<LedgerSeq> {
        self.ranges.last().map(|held| held.to_inclusive())
    }
}

fn make_range(from_inclusive: LedgerSeq, to_inclusive: LedgerSeq) -> LedgerRange {
    LedgerRange::new(from_inclusive, to_inclusive).expect("a lower bound was taken from below an upper bound")
}

/// The parts of `held` below and above `cut`.
fn outside(held: LedgerRange, cut: LedgerRange) -> impl Iterator<Item = LedgerRange> {
    let below = cut
        .from_inclusive()
        .previous()
        .and_then(|to| LedgerRange::new(held.from_inclusive(), to.min(held.to_inclusive())).ok());
    let above = cut
        .to_inclusive()
        .next()
        .and_then(|from| LedgerRange::new(from.max(held.from_inclusive()), held.to_inclusive()).ok());
    below.into_iter().chain(above)
}

impl FromIterator<LedgerRange> for Coverage {
    fn from_iter<I: IntoIterator<Item = LedgerRange>>(ranges: I) -> Self {
        let mut coverage = Self::new();
        coverage.extend(ranges);
        coverage
    }
}

impl Extend<LedgerRange> for Coverage {
    fn extend<I: IntoIterator<Item = LedgerRange>>(&mut self, ranges: I) {
        for range in ranges {
            self.insert(range);
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges.iter().enumerate() {
            write!(f, "{}{range}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Coverage({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn range(from: u32, to: u32) -> LedgerRange {
        LedgerRange::new(LedgerSeq::new(from).unwrap(), LedgerSeq::new(to).unwrap()).unwrap()
    }

    /// The model: a plain set of numbers.
    fn numbers(coverage: &Coverage) -> BTreeSet<u32> {
        coverage.ranges().iter().flat_map(|held| held.iter().map(LedgerSeq::get)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn coverage_equals_a_plain_set_of_numbers_after_any_operations(
            steps in prop::collection::vec((any::<bool>(), 1_u32..60, 0_u32..12), 1..40),
            window in (1_u32..60, 0_u32..20),
            second in prop::collection::vec((1_u32..60, 0_u32..8), 0..8),
        ) {
            let mut coverage = Coverage::new();
            let mut model = BTreeSet::new();
            for (add, from, length) in steps {
                let step = range(from, from + length);
                if add {
                    coverage.insert(step);
                    model.extend(from..=from + length);
                } else {
                    coverage.remove(step);
                    model.retain(|seq| !(from..=from + length).contains(seq));
                }
                prop_assert_eq!(&numbers(&coverage), &model);
                for pair in coverage.ranges().windows(2) {
                    prop_assert!(pair[0].to_inclusive().get() + 1 < pair[1].from_inclusive().get(), "ranges touch");
                }
            }
            let asked = range(window.0, window.0 + window.1);
            let missing: BTreeSet<u32> = (window.0..=window.0 + window.1).filter(|seq| !model.contains(seq)).collect();
            prop_assert_eq!(numbers(&coverage.missing(asked)), missing.clone());
            let held: BTreeSet<u32> = (window.0..=window.0 + window.1).filter(|seq| model.contains(seq)).collect();
            prop_assert_eq!(numbers(&coverage.within(asked)), held.clone());
            prop_assert_eq!(coverage.overlaps(asked), !held.is_empty());
            let other: BTreeSet<u32> = second.iter().flat_map(|(from, length)| *from..=from + length).collect();
            let second: Coverage = second.iter().map(|(from, length)| range(*from, from + length)).collect();
            let shared = coverage.intersection(&second);
            prop_assert_eq!(numbers(&shared), model.intersection(&other).copied().collect::<BTreeSet<u32>>());
            prop_assert_eq!(&shared, &shared.ranges().iter().copied().collect::<Coverage>(), "the form is canonical");
            prop_assert_eq!(coverage.covers(asked), missing.is_empty());
            let watermark = model.contains(&window.0).then(|| (window.0..).take_while(|seq| model.contains(seq)).last().unwrap());
            prop_assert_eq!(coverage.watermark(asked.from_inclusive()).map(LedgerSeq::get), watermark);
        }
    }

    #[test]
    fn the_ends_of_the_sequence_numbers_neither_wrap_nor_panic() {
        let all = LedgerRange::new(LedgerSeq::MIN, LedgerSeq::MAX).unwrap();
        let mut coverage =
            Coverage::from_iter([LedgerRange::single(LedgerSeq::MAX), LedgerRange::single(LedgerSeq::MIN)]);
        assert_eq!(coverage.missing(all).count(), u64::from(LedgerSeq::MAX.get()) - 2);
        coverage.insert(all);
        assert!(coverage.covers(all));
        coverage.remove(all);
        assert!(coverage.is_empty());
    }
}
