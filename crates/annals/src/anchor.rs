//! What an archive's chain of headers hangs on, and asking others than the source for it.
//!
//! Headers carry no signature: that a chain is the network's own is somebody's word. The word of the source is the
//! weakest; [`check`] asks for better ones and has them recorded, and [`HangsOn`] judges which of them a window has.

mod check;
mod error;

use annals_core::{Coverage, LedgerRange, LedgerSeq, Window};
use serde::Serialize;

pub use self::check::{Anchored, Unheard, Witnesses, check};
pub use self::error::AnchorError;
use crate::store::{Anchor, AnchorKind, Pin, Status};

/// What the headers of a window hang on, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HangsOn {
    /// A hash that the operator vouched for.
    Pinned,
    /// A hash that somebody beside the source confirmed.
    Confirmed(AnchorKind),
    /// The word of the source.
    Source,
}

impl HangsOn {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Confirmed(kind) => kind.as_str(),
            Self::Source => "source",
        }
    }

    /// Judges a window: the strongest of what lies at or above its end where verified ledgers link all of it to that,
    /// and else the word of the source. `anchors` holds at least the highest of each kind within each range of `verified`.
    #[must_use]
    pub fn of(window: Window, verified: &Coverage, pins: &[Pin], anchors: &[Anchor]) -> Self {
        let lowest = || verified.ranges().first().map(|range| range.from_inclusive());
        let (Some(from), Some(to)) = (window.from_inclusive.or_else(lowest), window.to_inclusive) else {
            return Self::Source;
        };
        let reaches = |ledger: LedgerSeq| {
            let linked = LedgerRange::new(from, ledger).is_ok_and(|range| verified.covers(range));
            from <= to && to <= ledger && linked
        };
        let pinned = pins.iter().filter(|pin| reaches(pin.seq)).map(|_| Self::Pinned);
        let confirmed = anchors.iter().filter(|anchor| reaches(anchor.ledger));
        pinned.chain(confirmed.map(|anchor| Self::Confirmed(anchor.kind))).min().unwrap_or(Self::Source)
    }

    /// The same of ledgers of an archive.
    #[must_use]
    pub fn of_range(range: LedgerRange, status: &Status) -> Self {
        let window = Window { from_inclusive: Some(range.from_inclusive()), to_inclusive: Some(range.to_inclusive()) };
        Self::of(window, &status.verified, &status.pins, &status.anchors)
    }
}

/// A ledger of a chain that others than the source vouch for, and so for all below it in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Foothold {
    /// The ledger.
    pub ledger: u32,
    /// What vouches for it.
    pub anchor: &'static str,
    /// Who that is; null for an operator.
    pub said_by: Option<String>,
}

impl std::fmt::Display for Foothold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ledger {} [{}", self.ledger, self.anchor)?;
        self.said_by.iter().try_for_each(|name| write!(f, ", {name}"))?;
        f.write_str("]")
    }
}

/// Verified ledgers that link without a gap, and what they hang on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainFooting {
    /// The first ledger.
    pub from: u32,
    /// The last ledger.
    pub to: u32,
    /// The highest ledger that is vouched for, of each kind, the strongest kind first. What lies above them hangs on the
    /// word of the source.
    pub footholds: Vec<Foothold>,
}

impl ChainFooting {
    /// The chains of an archive, the lowest first.
    pub fn of(status: &Status) -> impl DoubleEndedIterator<Item = Self> {
        status.verified.ranges().iter().map(|range| Self::of_chain(*range, status))
    }

    fn of_chain(range: LedgerRange, status: &Status) -> Self {
        let pin = status.pins.iter().map(|pin| pin.seq).filter(|seq| range.contains(*seq)).max();
        let pinned = pin.map(|seq| (HangsOn::Pinned, seq, None));
        let within = status.anchors.iter().filter(|anchor| range.contains(anchor.ledger));
        let confirmed =
            within.map(|anchor| (HangsOn::Confirmed(anchor.kind), anchor.ledger, Some(anchor.said_by.clone())));
        let mut found: Vec<_> = pinned.into_iter().chain(confirmed).collect();
        found.sort_by_key(|(on, ..)| *on);
        let foothold = |(on, ledger, said_by): (HangsOn, LedgerSeq, Option<String>)| Foothold {
            ledger: ledger.get(),
            anchor: on.as_str(),
            said_by,
        };
        Self {
            from: range.from_inclusive().get(),
            to: range.to_inclusive().get(),
            footholds: found.into_iter().map(foothold).collect(),
        }
    }

    /// The strongest thing that any of it hangs on.
    #[must_use]
    pub fn strongest(&self) -> &'static str {
        self.footholds.first().map_or(HangsOn::Source.as_str(), |foothold| foothold.anchor)
    }
}

impl std::fmt::Display for ChainFooting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ledgers {}-{} hang on ", self.from, self.to)?;
        for (number, foothold) in self.footholds.iter().enumerate() {
            write!(f, "{}{foothold}", if number > 0 { ", " } else { "" })?;
        }
        match self.footholds.iter().map(|foothold| foothold.ledger).max() {
            None => f.write_str("the word of the source"),
            Some(highest) if highest < self.to => f.write_str(", and above on the word of the source"),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
