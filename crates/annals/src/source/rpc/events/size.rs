//! How many ledgers and how many events to ask for at once.

use super::super::fault::{NextStep, RequestFaultKind};

/// A window has so many ledgers at most: more than this stellar-rpc scans for nobody.
const LEDGERS_MAX: u32 = 10_000;
/// What was too much is asked for again with so much less: a few tries come down to one.
const SHRINK: u32 = 4;
/// The first page.
const FIRST_EVENTS: u32 = 1_000;
/// What stellar-rpc gives where nobody asks for a number, so that no endpoint refuses it.
const EVENTS_USUAL: u32 = 100;
/// What stellar-rpc allows.
const EVENTS_MAX: u32 = 10_000;
/// After a window was too much the next so many are no larger.
const CALM_STEPS: u32 = 8;

const _: () = assert!(SHRINK > 1 && EVENTS_USUAL <= FIRST_EVENTS && FIRST_EVENTS <= EVENTS_MAX);

/// The size of windows and pages, which follows what the endpoints can do; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanSize {
    /// Ledgers in a window.
    pub(super) ledgers: u32,
    /// Events in a page.
    pub(super) events: u32,
    events_max: u32,
    calm: u32,
}

impl ScanSize {
    pub(super) fn new() -> Self {
        Self { ledgers: LEDGERS_MAX, events: FIRST_EVENTS, events_max: EVENTS_MAX, calm: 0 }
    }

    /// Takes note of a window that was scanned.
    pub(super) fn served(&mut self) {
        if self.calm == 0 {
            self.ledgers = self.ledgers.saturating_mul(2).min(LEDGERS_MAX);
            self.events = self.events.saturating_mul(2).min(self.events_max);
        }
        self.calm = self.calm.saturating_sub(1);
    }

    /// Takes note of a window of `ledgers` that failed.
    ///
    /// Over its time (-32001) an endpoint is asked for fewer ledgers. Behind a cursor it goes on for as many as it likes
    /// until the page is full, so that a page has to hold a whole ledger; only where a window is one ledger already, and
    /// there was no end to be reached sooner, the page becomes smaller.
    pub(super) fn failed(&mut self, ledgers: u64, kind: &RequestFaultKind, behind_cursor: bool) {
        if kind.next_step() != NextStep::Smaller {
            return;
        }
        self.calm = CALM_STEPS;
        match kind {
            RequestFaultKind::Error { code: -32602, .. } => {
                let less = if self.events > EVENTS_USUAL { EVENTS_USUAL } else { (self.events / SHRINK).max(1) };
                (self.events, self.events_max) = (less, less);
                return;
            }
            RequestFaultKind::Error { .. } if behind_cursor => {
                self.events = self.events.saturating_mul(2).min(self.events_max);
            }
            RequestFaultKind::Error { .. } if ledgers > 1 => {}
            _ => self.events = (self.events / 2).max(1),
        }
        self.ledgers = (u32::try_from(ledgers).unwrap_or(u32::MAX) / SHRINK).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_time() -> RequestFaultKind {
        RequestFaultKind::Error { code: -32001, message: String::new() }
    }

    #[test]
    fn a1_windows_shrink_to_one_ledger_are_never_empty_and_grow_again() {
        let mut size = ScanSize::new();
        let mut asked = Vec::new();
        for _ in 0..8 {
            asked.push(size.ledgers);
            size.failed(size.ledgers.into(), &over_time(), false);
        }
        assert_eq!(asked, [10_000, 2_500, 625, 156, 39, 9, 2, 1]);
        assert_eq!((size.ledgers, size.events), (1, FIRST_EVENTS / 2), "one ledger is asked for by fewer events");
        let steps = (0..100).take_while(|_| {
            size.served();
            size.ledgers < LEDGERS_MAX
        });
        assert_eq!(steps.count(), 21, "8 calm ones, then 14 doublings reach the bound");
        size.failed(21, &over_time(), false);
        assert_eq!(size.ledgers, 5, "less than was asked for, which may be less than it might have been");
    }

    #[test]
    fn a_page_behind_a_cursor_has_to_reach_the_end_of_its_ledger() {
        let mut size = ScanSize::new();
        (0..8).for_each(|_| size.failed(1, &over_time(), true));
        assert_eq!((size.ledgers, size.events), (1, EVENTS_MAX));
        let not_allowed = RequestFaultKind::Error { code: -32602, message: String::new() };
        for allowed in [100, 25, 6, 1, 1] {
            size.failed(1, &not_allowed, true);
            size.failed(1, &over_time(), true);
            assert_eq!(size.events, allowed, "the endpoint allows no more");
        }
        (0..20).for_each(|_| size.failed(1, &RequestFaultKind::NullResult, false));
        assert_eq!((size.ledgers, size.events), (1, 1));
        size.failed(1, &RequestFaultKind::WebPage, false);
        (0..40).for_each(|_| size.served());
        assert_eq!((size.ledgers, size.events), (LEDGERS_MAX, 1));
    }
}
