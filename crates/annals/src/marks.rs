//! How far an archive reaches without a gap.

use annals_core::{Coverage, LedgerRange, LedgerSeq, ScopeKey};
use serde::Serialize;

use crate::store::Status;

/// The marks of an archive; each is null until something from its start on is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The last ledger up to which every contract that the archive holds anything of is covered, from the start on.
    pub ingested_through: Option<LedgerSeq>,
    /// The same of ledgers whose chain and hashes held.
    pub verified_through: Option<LedgerSeq>,
}

impl Marks {
    /// Reads the marks off a status.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        let Some(start) = status.start else { return Self { ingested_through: None, verified_through: None } };
        let asked_and_missing = Coverage::from_iter(status.gaps.iter().map(|gap| gap.range));
        let ingested = covered_by_every(status).difference(&asked_and_missing);
        Self {
            ingested_through: ingested.watermark(start),
            verified_through: ingested.intersection(&status.verified).watermark(start),
        }
    }
}

/// The ledgers that are covered under at least one key.
#[must_use]
pub fn covered_by_any(status: &Status) -> Coverage {
    status.coverage.iter().fold(Coverage::new(), |all, (_, coverage)| all.union(coverage))
}

/// The ledgers that are covered under every key, so that no contract has a hole there.
fn covered_by_every(status: &Status) -> Coverage {
    let every = status.coverage.iter().map(|(key, _)| status.covered(*key));
    every.reduce(|both, covered| both.intersection(&covered)).unwrap_or_default()
}

/// The ledgers from the start to the highest one asked for or covered; none before the first request.
#[must_use]
pub fn window(status: &Status) -> Option<LedgerRange> {
    let asked = status.gaps.iter().map(|gap| gap.range.to_inclusive()).max();
    let last = asked.max(status.latest_ledger)?;
    LedgerRange::new(status.start?, last).ok()
}

/// Ledgers of the window that nobody holds, and whether somebody asked for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hole {
    /// The coverage in which they are missing: `*` or a contract.
    pub scope: String,
    /// The first.
    pub from: u32,
    /// The last.
    pub to: u32,
    /// Whether a backfill asked for them.
    pub asked_for: bool,
    /// How often filling them failed.
    pub attempts: u32,
    /// The last failure's code; null where there was none.
    pub last_code: Option<String>,
    /// The last failure's sentence; null where there was none.
    pub last_error: Option<String>,
}

impl Hole {
    /// The ledgers as people write them: `5`, or `5-9`.
    #[must_use]
    pub fn ledgers(&self) -> String {
        if self.from == self.to { self.from.to_string() } else { format!("{}-{}", self.from, self.to) }
    }
}

/// Everything that is missing from the window: what was asked for, and what lies between without having been.
#[must_use]
pub fn holes(status: &Status) -> Vec<Hole> {
    let Some(window) = window(status) else { return Vec::new() };
    let mut holes: Vec<Hole> = status
        .gaps
        .iter()
        .map(|gap| Hole {
            scope: gap.key.to_string(),
            from: gap.range.from_inclusive().get(),
            to: gap.range.to_inclusive().get(),
            asked_for: true,
            attempts: gap.attempts,
            last_code: gap.last_code.clone(),
            last_error: gap.last_error.clone(),
        })
        .collect();
    for (key, _) in &status.coverage {
        let asked = status.gaps.iter().filter(|gap| gap.key == *key || gap.key == ScopeKey::All);
        let asked = Coverage::from_iter(asked.map(|gap| gap.range));
        let never_asked = status.covered(*key).union(&asked).missing(window);
        holes.extend(never_asked.ranges().iter().map(|range| Hole {
            scope: key.to_string(),
            from: range.from_inclusive().get(),
            to: range.to_inclusive().get(),
            asked_for: false,
            attempts: 0,
            last_code: None,
            last_error: None,
        }));
    }
    holes.sort_by(|one, other| (one.from, &one.scope).cmp(&(other.from, &other.scope)));
    holes
}

#[cfg(test)]
mod tests {
    use annals_core::{Census, ClassicPolicy, ContractId};

    use super::*;
    use crate::store::{FeedPosition, Gap};

    fn seq(number: u32) -> LedgerSeq {
        LedgerSeq::new(number).unwrap()
    }

    fn range(from: u32, to: u32) -> LedgerRange {
        LedgerRange::new(seq(from), seq(to)).unwrap()
    }

    fn status(start: u32, covered: &[(ScopeKey, u32, u32)], gaps: &[(ScopeKey, u32, u32)]) -> Status {
        let mut coverage: Vec<(ScopeKey, Coverage)> = Vec::new();
        for (key, from, to) in covered {
            match coverage.iter_mut().find(|(known, _)| known == key) {
                Some((_, held)) => held.insert(range(*from, *to)),
                None => coverage.push((*key, Coverage::from_iter([range(*from, *to)]))),
            }
        }
        let gap = |(key, from, to): &(ScopeKey, u32, u32)| Gap {
            key: *key,
            range: range(*from, *to),
            attempts: 1,
            last_code: None,
            last_error: None,
        };
        let latest_ledger = coverage.iter().filter_map(|(_, held)| held.latest()).max();
        Status {
            passphrase: Some("x".to_owned()),
            classic: ClassicPolicy::Keep,
            start: Some(seq(start)),
            verified: coverage.first().map(|(_, held)| held.clone()).unwrap_or_default(),
            coverage,
            latest_ledger,
            grown_ms: None,
            events: Census::default(),
            gaps: gaps.iter().map(gap).collect(),
            open_incidents: 0,
            feed_position: FeedPosition(1),
            epoch: 0,
            pins: Vec::new(),
            anchors: Vec::new(),
            quarantined: 0,
            unattributed: Vec::new(),
            freshness: None,
        }
    }

    const ALL: ScopeKey = ScopeKey::All;
    const ONE: ScopeKey = ScopeKey::Contract(ContractId([1; 32]));
    const TWO: ScopeKey = ScopeKey::Contract(ContractId([2; 32]));

    #[test]
    fn the_marks_are_null_until_the_start_is_covered() {
        let through = |status: &Status| Marks::of(status).ingested_through.map(LedgerSeq::get);
        assert_eq!(through(&status(5, &[(ALL, 6, 9)], &[(ALL, 5, 5)])), None);
        assert_eq!(through(&status(5, &[(ALL, 5, 9)], &[])), Some(9));
        assert_eq!(through(&status(5, &[(ALL, 5, 6), (ALL, 8, 9)], &[(ALL, 7, 7)])), Some(6));
    }

    #[test]
    fn a_gap_of_one_contract_stops_the_mark_of_all() {
        let status = status(5, &[(ONE, 5, 9), (TWO, 5, 6)], &[(TWO, 7, 9)]);
        assert_eq!(Marks::of(&status).ingested_through, Some(seq(6)));
        assert_eq!(Marks::of(&status).verified_through, Some(seq(6)));
    }

    #[test]
    fn what_one_contract_was_never_asked_for_stops_the_mark_of_all() {
        let apart = status(5, &[(ONE, 5, 9), (TWO, 10, 20)], &[]);
        assert_eq!(Marks::of(&apart).ingested_through, None);
        let later = status(5, &[(ONE, 5, 20), (TWO, 5, 9)], &[]);
        assert_eq!(Marks::of(&later).ingested_through, Some(seq(9)));
        let beside_all = status(5, &[(ALL, 5, 20), (TWO, 5, 9)], &[]);
        assert_eq!(Marks::of(&beside_all).ingested_through, Some(seq(20)));
    }

    #[test]
    fn a_gap_of_one_contract_hides_no_hole_of_another() {
        let status = status(5, &[(ONE, 5, 9), (TWO, 5, 9)], &[(TWO, 10, 20)]);
        let listed: Vec<_> = holes(&status).iter().map(|hole| (hole.from, hole.to, hole.asked_for)).collect();
        assert_eq!(listed, [(10, 20, false), (10, 20, true)]);
    }

    #[test]
    fn ledgers_without_a_row_are_ingested_and_not_verified() {
        let mut status = status(5, &[(ALL, 5, 9)], &[]);
        status.verified.remove(range(7, 7));
        assert_eq!(Marks::of(&status).ingested_through, Some(seq(9)));
        assert_eq!(Marks::of(&status).verified_through, Some(seq(6)));
    }

    #[test]
    fn a_hole_that_nobody_asked_for_is_listed_beside_the_gaps() {
        let status = status(5, &[(ALL, 5, 6), (ALL, 20, 30)], &[(ALL, 25, 25), (ALL, 31, 40)]);
        let listed: Vec<_> = holes(&status).iter().map(|hole| (hole.from, hole.to, hole.asked_for)).collect();
        assert_eq!(listed, [(7, 19, false), (25, 25, true), (31, 40, true)]);
        assert_eq!(window(&status), Some(range(5, 40)));
    }
}
