//! What an answer says of its own window: complete or why not, how far verified, and what that hangs on.

use annals_core::window::marks_begin;
use annals_core::{Coverage, Evidence, Judgement, LedgerRange, LedgerSeq, Window};
use serde::Serialize;

use super::limits::MISSING_RANGES_MAX;
use crate::store::{ContractView, JudgedWindow, Unattributed};

/// Ledgers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Ledgers {
    from: u32,
    to: u32,
}

impl Ledgers {
    /// The first ranges of a coverage, and whether there are more.
    pub fn of(coverage: &Coverage) -> (Vec<Self>, bool) {
        let ranges = coverage.ranges();
        let listed = ranges.iter().take(MISSING_RANGES_MAX);
        let listed = listed.map(|range| Self { from: range.from_inclusive().get(), to: range.to_inclusive().get() });
        (listed.collect(), ranges.len() > MISSING_RANGES_MAX)
    }
}

/// What is said of the window of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Vouched {
    complete: bool,
    incomplete_reason: Option<&'static str>,
    missing: Vec<Ledgers>,
    missing_truncated: bool,
    verified_through: Option<u32>,
    anchor: &'static str,
}

impl Vouched {
    /// Judges a window by what was read in its own snapshot.
    pub fn of(judged: &JudgedWindow, view: &ContractView) -> Self {
        let evidence = Evidence {
            coverage: &view.coverage,
            lowest_incident: view.lowest_incident,
            classic_events_absent: judged.classic_events_absent,
            no_schema: judged.unattributed == Some(Unattributed::NoSchema),
            unattributed_events: judged.unattributed == Some(Unattributed::Events),
        };
        let judgement = Judgement::of(judged.window, &evidence);
        let (missing, missing_truncated) = Ledgers::of(&judgement.missing);
        Self {
            complete: judgement.is_complete(),
            incomplete_reason: judgement.reason.map(|reason| reason.as_str()),
            missing,
            missing_truncated,
            verified_through: first_ledger(view).and_then(|first| view.verified.watermark(first)).map(LedgerSeq::get),
            anchor: anchor(judged.window, view),
        }
    }
}

/// Where the contract's marks count from.
pub(super) fn first_ledger(view: &ContractView) -> Option<LedgerSeq> {
    marks_begin(view.contract.as_ref().and_then(|contract| contract.origin), view.start)
}

/// What the window's headers hang on: a pin at or above its end that verified ledgers link all of it to, or the word
/// of the source.
fn anchor(window: Window, view: &ContractView) -> &'static str {
    let lowest = || view.verified.ranges().first().map(|range| range.from_inclusive());
    let from = window.from_inclusive.or_else(lowest);
    let reaches = |pin: LedgerSeq| {
        let (Some(from), Some(to)) = (from, window.to_inclusive) else { return false };
        let linked = LedgerRange::new(from, pin).is_ok_and(|range| view.verified.covers(range));
        from <= to && to <= pin && linked
    };
    if view.pins.iter().any(|pin| reaches(pin.seq)) { "pinned" } else { "source" }
}

#[cfg(test)]
mod tests {
    use annals_core::LedgerHash;

    use super::*;
    use crate::store::{FeedPosition, Pin};

    fn seq(number: u32) -> LedgerSeq {
        LedgerSeq::new(number).unwrap()
    }

    fn range(from: u32, to: u32) -> LedgerRange {
        LedgerRange::new(seq(from), seq(to)).unwrap()
    }

    fn view(held: &[(u32, u32)], pins: &[u32]) -> ContractView {
        let coverage: Coverage = held.iter().map(|(from, to)| range(*from, *to)).collect();
        ContractView {
            as_of: FeedPosition(1),
            epoch: 0,
            in_scope: true,
            contract: None,
            start: Some(seq(1)),
            verified: coverage.clone(),
            coverage,
            lowest_incident: None,
            pins: pins.iter().map(|pin| Pin { seq: seq(*pin), hash: LedgerHash([0; 32]) }).collect(),
        }
    }

    fn anchor_of(from: Option<u32>, to: Option<u32>, held: &[(u32, u32)], pins: &[u32]) -> &'static str {
        anchor(Window { from_inclusive: from.map(seq), to_inclusive: to.map(seq) }, &view(held, pins))
    }

    #[test]
    fn only_a_pin_that_the_whole_window_links_up_to_pins_it() {
        let held = [(10, 20), (25, 30)];
        assert_eq!(anchor_of(Some(12), Some(15), &held, &[15]), "pinned");
        assert_eq!(anchor_of(Some(12), Some(15), &held, &[20]), "pinned");
        assert_eq!(anchor_of(Some(12), Some(15), &held, &[14]), "source", "a pin below the end says nothing of it");
        assert_eq!(anchor_of(Some(12), Some(15), &held, &[26]), "source", "a gap lies between");
        assert_eq!(anchor_of(Some(9), Some(15), &held, &[20]), "source", "the window's first ledger is not held");
        assert_eq!(anchor_of(None, Some(15), &held, &[20]), "pinned");
        assert_eq!(anchor_of(Some(12), None, &held, &[20]), "source");
        assert_eq!(anchor_of(Some(15), Some(12), &held, &[20]), "source", "an inverted window");
        assert_eq!(anchor_of(Some(12), Some(15), &held, &[]), "source");
        assert_eq!(anchor_of(None, None, &[], &[1]), "source");
    }

    #[test]
    fn at_most_a_hundred_missing_ranges_are_listed_and_more_are_said() {
        let every_other = |count: u32| (1..=count).map(|number| range(2 * number, 2 * number)).collect::<Coverage>();
        let (listed, truncated) = Ledgers::of(&every_other(100));
        assert_eq!((listed.len(), truncated), (100, false));
        let (listed, truncated) = Ledgers::of(&every_other(101));
        assert_eq!((listed.len(), truncated), (100, true));
        assert_eq!(listed[99], Ledgers { from: 200, to: 200 });
    }
}
