//! What an answer says of its own window: complete or why not, how far verified, and what that hangs on.

use annals_core::{Coverage, Evidence, Judgement, LedgerSeq};
use serde::Serialize;

use super::limits::MISSING_RANGES_MAX;
use crate::anchor::HangsOn;
use crate::store::{Contract, ContractView, JudgedWindow, Unattributed};

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
            anchor: HangsOn::of(judged.window, &view.verified, &view.pins, &view.anchors).as_str(),
        }
    }
}

/// Where the contract's marks count from.
pub(super) fn first_ledger(view: &ContractView) -> Option<LedgerSeq> {
    Contract::counted_from(view.contract.as_ref(), view.start)
}

#[cfg(test)]
mod tests {
    use annals_core::LedgerRange;

    use super::*;

    fn range(from: u32, to: u32) -> LedgerRange {
        LedgerRange::new(LedgerSeq::new(from).unwrap(), LedgerSeq::new(to).unwrap()).unwrap()
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
