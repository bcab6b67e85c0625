//! Why asked-for ledgers were not stored, gathered while a source is read.

use annals_core::{Coverage, LedgerRange};

use crate::store::GapFailure;

/// Neighbouring ledgers that fail alike are listed one by one up to so many failures, and as ranges above.
const LISTED_SINGLY: usize = 1000;

/// The code of ledgers that the source does not hold.
pub(in crate::backfill) const NOT_IN_SOURCE: &str = "NOT_IN_SOURCE";
/// The code of ledgers that link to each other and to none of their neighbours.
pub(super) const UNJOINED: &str = "UNJOINED";
/// The code of ledgers of a source that has nothing of the stored chain to show.
pub(super) const NOT_TIED: &str = "NOT_TIED";
/// The code of ledgers that stand in the source behind later ones, deeper than a backfill sorts.
pub(super) const OUT_OF_ORDER: &str = "OUT_OF_ORDER";

/// Whether a failure's code says that ledgers are absent or unreadable, and not that they contradict the chain.
pub(in crate::backfill) fn is_absence(code: &str) -> bool {
    let of_source = ["UNREADABLE_OBJECT", "NOT_SERVED", "BELOW_RETENTION", "ABOVE_TIP"];
    of_source.contains(&code)
        || [NOT_IN_SOURCE, NOT_TIED, OUT_OF_ORDER, "NETWORK_UNPROVEN", "UNKNOWN_PROTOCOL"].contains(&code)
}

/// The worst of what was said of the ledgers in `later`: that a source lacks one does not tell over that another's
/// contradicts the chain, or is not known to be of it.
pub(crate) fn worst(earlier: &[GapFailure], later: Vec<GapFailure>) -> Vec<GapFailure> {
    let (absent, mut worst): (Vec<_>, Vec<_>) = later.into_iter().partition(|failure| is_lack(&failure.code));
    let mut untold: Coverage = absent.iter().map(|failure| failure.range).collect();
    for failure in earlier.iter().rev().filter(|failure| !is_lack(&failure.code)) {
        let told = untold.within(failure.range);
        untold.remove(failure.range);
        worst.extend(told.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }));
    }
    for failure in absent {
        let rest = untold.within(failure.range);
        worst.extend(rest.ranges().iter().map(|range| GapFailure { range: *range, ..failure.clone() }));
    }
    worst.sort_by_key(|failure| failure.range);
    worst
}

/// Whether a failure's code says that the source does not have the ledgers.
fn is_lack(code: &str) -> bool {
    is_absence(code) && code != NOT_TIED
}

/// The failures of one reading.
#[derive(Default)]
pub(super) struct Failures {
    placed: Vec<GapFailure>,
    /// The first fault of an object that does not tell which ledgers it holds.
    unplaced: Option<(&'static str, String)>,
}

impl Failures {
    /// Adds a failure; no range where it is not known which ledgers are lost.
    pub(super) fn add(&mut self, range: Option<LedgerRange>, code: &'static str, message: String) {
        let Some(range) = range else {
            self.unplaced.get_or_insert((code, message));
            return;
        };
        let listed = self.placed.len();
        if let Some(last) = self.placed.last_mut()
            && listed >= LISTED_SINGLY
            && last.code == code
            && last.range.to_inclusive().next() == Some(range.from_inclusive())
        {
            let from = last.range.from_inclusive();
            last.range = LedgerRange::new(from, range.to_inclusive()).expect("the range was extended upwards");
            return;
        }
        self.placed.push(GapFailure { range, code: code.to_owned(), message });
    }

    /// Says of each ledger of `missing`, once, why it is: another object may have brought what a bad one lacked, so
    /// only what is still missing has failed.
    pub(super) fn explain(self, missing: &Coverage, late: &Coverage, source_name: &str) -> Vec<GapFailure> {
        let mut unexplained = missing.clone();
        let mut explained = Vec::new();
        let mut explain = |range: LedgerRange, code: &str, message: &str| {
            let rest = unexplained.within(range);
            unexplained.remove(range);
            explained.extend(rest.ranges().iter().map(|range| GapFailure {
                range: *range,
                code: code.to_owned(),
                message: message.to_owned(),
            }));
        };
        for failure in &self.placed {
            explain(failure.range, &failure.code, &failure.message);
        }
        for range in late.ranges() {
            let message = format!("{source_name} holds it behind later ledgers: run the same command again");
            explain(*range, OUT_OF_ORDER, &message);
        }
        let (code, message) =
            self.unplaced.unwrap_or_else(|| (NOT_IN_SOURCE, format!("{source_name} does not hold it")));
        for range in missing.ranges() {
            explain(*range, code, &message);
        }
        explained.sort_by_key(|failure| failure.range);
        explained
    }
}

#[cfg(test)]
mod tests {
    use annals_core::LedgerSeq;

    use super::*;

    fn failure(from: u32, to: u32, code: &str) -> GapFailure {
        let seq = |number| LedgerSeq::new(number).unwrap();
        let range = LedgerRange::new(seq(from), seq(to)).unwrap();
        GapFailure { range, code: code.to_owned(), message: String::new() }
    }

    #[test]
    fn a_contradiction_is_not_told_over_by_an_absence_and_an_absence_is() {
        let earlier = [
            failure(1, 9, "BELOW_RETENTION"),
            failure(3, 4, "UNDECODABLE_LEDGER"),
            failure(4, 6, "CONTRADICTS_STORED"),
        ];
        let later = vec![failure(2, 8, NOT_IN_SOURCE), failure(10, 10, "DOES_NOT_LINK")];
        let told = [
            failure(2, 2, NOT_IN_SOURCE),
            failure(3, 3, "UNDECODABLE_LEDGER"),
            failure(4, 6, "CONTRADICTS_STORED"),
            failure(7, 8, NOT_IN_SOURCE),
            failure(10, 10, "DOES_NOT_LINK"),
        ];
        assert_eq!(worst(&earlier, later), told);
        assert_eq!(worst(&earlier, vec![failure(5, 5, "DOES_NOT_LINK")]), [failure(5, 5, "DOES_NOT_LINK")]);
    }
}
