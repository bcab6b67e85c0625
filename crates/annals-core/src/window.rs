//! The window that a reader asks for, and whether an archive can vouch for it.
//!
//! A window is never narrowed to what is held, and `complete` is never said of one that is not gap-free as
//! requested. Both are decided from coverage alone, read in the same snapshot as the rows.

use crate::coverage::Coverage;
use crate::ledger_seq::{LedgerRange, LedgerSeq};

/// Why a window is not complete; the first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IncompleteReason {
    /// It ends before it begins, so it describes no ledger.
    InvertedWindow,
    /// An open incident contradicts a ledger at or below its end.
    Incident,
    /// It was to begin at the contract's origin, which nobody knows.
    OriginUnknown,
    /// It begins below everything that was scanned.
    BeforeCoverage,
    /// Ledgers inside it were not scanned, and later ones were.
    Gap,
    /// It ends above everything that was scanned.
    NotYetIngested,
    /// The contract may have classic events, and a scanned ledger lacks them.
    ClassicEventsAbsent,
    /// Nobody said which schema reads the contract, so none of its events belongs to anybody; of an account's window.
    NoSchema,
    /// An event of the contract fits its schema nowhere, or was not read with it yet; of an account's window.
    UnattributedEvents,
}

impl IncompleteReason {
    /// Every reason, in the order in which they are looked for.
    pub const ALL: [Self; 9] = [
        Self::InvertedWindow,
        Self::Incident,
        Self::OriginUnknown,
        Self::BeforeCoverage,
        Self::Gap,
        Self::NotYetIngested,
        Self::ClassicEventsAbsent,
        Self::NoSchema,
        Self::UnattributedEvents,
    ];

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvertedWindow => "inverted_window",
            Self::Incident => "incident",
            Self::OriginUnknown => "origin_unknown",
            Self::BeforeCoverage => "before_coverage",
            Self::Gap => "gap",
            Self::NotYetIngested => "not_yet_ingested",
            Self::ClassicEventsAbsent => "classic_events_absent",
            Self::NoSchema => "no_schema",
            Self::UnattributedEvents => "unattributed_events",
        }
    }
}

/// Where a contract's marks count from: its origin, or the archive's start where that is later or the origin unknown. An
/// asset contract's origin lies below most archives, and its marks are no less needed.
#[must_use]
pub fn marks_begin(origin: Option<LedgerSeq>, start: Option<LedgerSeq>) -> Option<LedgerSeq> {
    origin.max(start)
}

/// A window with its defaults filled in; what a first page resolves and later pages keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The first ledger; none where it was to be the origin and nobody knows that.
    pub from_inclusive: Option<LedgerSeq>,
    /// The last ledger; none where it was to be the watermark and nothing from the start on is covered.
    pub to_inclusive: Option<LedgerSeq>,
}

impl Window {
    /// Fills in what a reader left out: the contract's origin, and the watermark. A window whose beginning nobody
    /// knows ends, where there is no watermark, with the first ledgers that were scanned in a row.
    #[must_use]
    pub fn resolve(
        asked_from: Option<LedgerSeq>,
        asked_to: Option<LedgerSeq>,
        origin: Option<LedgerSeq>,
        start: Option<LedgerSeq>,
        coverage: &Coverage,
    ) -> Self {
        let from_inclusive = asked_from.or(origin);
        let watermark = marks_begin(origin, start).and_then(|first| coverage.watermark(first));
        let first_run = || coverage.ranges().first().map(|range| range.to_inclusive());
        let to_inclusive = asked_to.or(watermark).or_else(|| from_inclusive.is_none().then(first_run).flatten());
        Self { from_inclusive, to_inclusive }
    }

    /// Whether the window ends before it begins.
    #[must_use]
    pub fn is_inverted(&self) -> bool {
        matches!((self.from_inclusive, self.to_inclusive), (Some(from), Some(to)) if from > to)
    }

    /// The ledgers; none for a window that is inverted or open on a side.
    #[must_use]
    pub fn range(&self) -> Option<LedgerRange> {
        LedgerRange::new(self.from_inclusive?, self.to_inclusive?).ok()
    }
}

/// What a window is judged by; all of one snapshot and one feed position.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The ledgers that were scanned for the contract.
    pub coverage: &'a Coverage,
    /// The lowest ledger that an open incident is about.
    pub lowest_incident: Option<LedgerSeq>,
    /// Whether a scanned ledger of the window lacks classic events that the contract may have.
    pub classic_events_absent: bool,
    /// Whether an account is asked for and the contract has no schema.
    pub no_schema: bool,
    /// Whether an account is asked for and some event of the window is attributed to nobody for want of a shape, or
    /// not attributed yet.
    pub unattributed_events: bool,
}

/// Whether a window is complete, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Why it is not complete; none where it is gap-free as requested.
    pub reason: Option<IncompleteReason>,
    /// The ledgers of the window that were not scanned.
    pub missing: Coverage,
}

impl Judgement {
    /// Judges a window.
    #[must_use]
    pub fn of(window: Window, evidence: &Evidence<'_>) -> Self {
        if window.is_inverted() {
            return Self { reason: Some(IncompleteReason::InvertedWindow), missing: Coverage::new() };
        }
        let lowest = evidence.coverage.ranges().first().map(|range| range.from_inclusive());
        // An end that nobody named lies where the coverage does; without any, nothing was ingested yet.
        let from = window.from_inclusive.or(lowest);
        let range = from.zip(window.to_inclusive).and_then(|(from, to)| LedgerRange::new(from, to).ok());
        let missing = range.map(|range| evidence.coverage.missing(range)).unwrap_or_default();
        let contradicted = match (evidence.lowest_incident, window.to_inclusive) {
            (Some(incident), Some(to)) => incident <= to,
            (incident, None) => incident.is_some(),
            (None, _) => false,
        };
        let first_missing = missing.ranges().first().map(|range| range.from_inclusive());
        let latest = evidence.coverage.latest();
        let reason = if contradicted {
            Some(IncompleteReason::Incident)
        } else if window.from_inclusive.is_none() {
            Some(IncompleteReason::OriginUnknown)
        } else if first_missing.is_some_and(|missing| lowest.is_some_and(|lowest| missing < lowest)) {
            Some(IncompleteReason::BeforeCoverage)
        } else if first_missing.is_some_and(|missing| latest.is_some_and(|latest| missing < latest)) {
            Some(IncompleteReason::Gap)
        } else if first_missing.is_some() || range.is_none() {
            Some(IncompleteReason::NotYetIngested)
        } else if evidence.classic_events_absent {
            Some(IncompleteReason::ClassicEventsAbsent)
        } else if evidence.no_schema {
            Some(IncompleteReason::NoSchema)
        } else if evidence.unattributed_events {
            Some(IncompleteReason::UnattributedEvents)
        } else {
            None
        };
        Self { reason, missing }
    }

    /// Whether the window is gap-free as requested.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reason.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seq(number: u32) -> LedgerSeq {
        LedgerSeq::new(number).unwrap()
    }

    fn coverage(ranges: &[(u32, u32)]) -> Coverage {
        ranges.iter().map(|(from, to)| LedgerRange::new(seq(*from), seq(*to)).unwrap()).collect()
    }

    fn nothing_amiss(coverage: &Coverage) -> Evidence<'_> {
        Evidence {
            coverage,
            lowest_incident: None,
            classic_events_absent: false,
            no_schema: false,
            unattributed_events: false,
        }
    }

    fn judge(covered: &[(u32, u32)], from: Option<u32>, to: Option<u32>, origin: Option<u32>) -> Option<&'static str> {
        let coverage = coverage(covered);
        let window = Window::resolve(from.map(seq), to.map(seq), origin.map(seq), Some(seq(10)), &coverage);
        Judgement::of(window, &nothing_amiss(&coverage)).reason.map(IncompleteReason::as_str)
    }

    #[test]
    fn inv_1_a_window_is_complete_only_where_every_requested_ledger_was_scanned() {
        assert_eq!(judge(&[(10, 20)], Some(10), Some(20), None), None);
        assert_eq!(judge(&[(10, 20)], Some(12), Some(12), None), None);
        assert_eq!(judge(&[(10, 20)], Some(9), Some(20), None), Some("before_coverage"));
        assert_eq!(judge(&[(10, 20)], Some(10), Some(21), None), Some("not_yet_ingested"));
        assert_eq!(judge(&[(10, 20)], Some(30), Some(40), None), Some("not_yet_ingested"));
        assert_eq!(judge(&[(10, 20), (22, 30)], Some(10), Some(30), None), Some("gap"));
        assert_eq!(judge(&[(10, 20), (22, 30)], Some(21), Some(21), None), Some("gap"));
        assert_eq!(judge(&[(10, 20)], Some(20), Some(10), None), Some("inverted_window"));
        assert_eq!(judge(&[], Some(10), Some(20), None), Some("not_yet_ingested"));
        assert_eq!(judge(&[], None, None, Some(10)), Some("not_yet_ingested"));
    }

    #[test]
    fn what_a_reader_leaves_out_is_the_origin_and_the_watermark() {
        assert_eq!(judge(&[(10, 20)], None, None, None), Some("origin_unknown"));
        assert_eq!(judge(&[(10, 20)], None, None, Some(12)), None);
        assert_eq!(judge(&[(10, 20)], None, None, Some(5)), Some("before_coverage"));
        assert_eq!(judge(&[(10, 20)], None, Some(20), Some(5)), Some("before_coverage"));
        assert_eq!(judge(&[(10, 20), (22, 30)], Some(10), None, None), None);
        let covered = coverage(&[(10, 20), (22, 30)]);
        let window = Window::resolve(None, None, Some(seq(11)), Some(seq(10)), &covered);
        assert_eq!(window, Window { from_inclusive: Some(seq(11)), to_inclusive: Some(seq(20)) });
        let window = Window::resolve(None, None, Some(seq(2)), Some(seq(10)), &covered);
        assert_eq!(window, Window { from_inclusive: Some(seq(2)), to_inclusive: Some(seq(20)) }, "below the archive");
        let window = Window::resolve(None, None, None, Some(seq(5)), &covered);
        assert_eq!(window, Window { from_inclusive: None, to_inclusive: Some(seq(20)) }, "what was scanned is shown");
        let window = Window::resolve(Some(seq(6)), None, None, Some(seq(5)), &covered);
        assert_eq!(window, Window { from_inclusive: Some(seq(6)), to_inclusive: None });
    }

    #[test]
    fn an_incident_or_absent_classic_events_withhold_the_word() {
        let coverage = coverage(&[(10, 20)]);
        let window = Window { from_inclusive: Some(seq(10)), to_inclusive: Some(seq(20)) };
        let reason = |lowest_incident: Option<u32>, classic_events_absent| {
            let lowest_incident = lowest_incident.map(seq);
            let evidence = Evidence { lowest_incident, classic_events_absent, ..nothing_amiss(&coverage) };
            Judgement::of(window, &evidence).reason
        };
        assert_eq!(reason(Some(20), false), Some(IncompleteReason::Incident));
        assert_eq!(reason(Some(20), true), Some(IncompleteReason::Incident));
        assert_eq!(reason(Some(21), false), None);
        assert_eq!(reason(None, true), Some(IncompleteReason::ClassicEventsAbsent));
    }

    #[test]
    fn an_account_without_schema_or_with_events_of_nobody_comes_last() {
        let coverage = coverage(&[(10, 20)]);
        let reason = |to, classic_events_absent, no_schema, unattributed_events| {
            let window = Window { from_inclusive: Some(seq(10)), to_inclusive: Some(seq(to)) };
            let evidence =
                Evidence { classic_events_absent, no_schema, unattributed_events, ..nothing_amiss(&coverage) };
            Judgement::of(window, &evidence).reason.map(IncompleteReason::as_str)
        };
        assert_eq!(reason(20, false, true, true), Some("no_schema"));
        assert_eq!(reason(20, false, false, true), Some("unattributed_events"));
        assert_eq!(reason(20, true, true, true), Some("classic_events_absent"));
        assert_eq!(reason(21, false, true, true), Some("not_yet_ingested"));
        assert!(IncompleteReason::ALL.is_sorted());
    }
}
