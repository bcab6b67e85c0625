//! How many ledgers to ask for at once.

use super::fault::{NextStep, RequestFaultKind};

/// A page is to be about so long, bytes of JSON.
const PAGE_BYTES_GOAL: u64 = 8 << 20;
/// A page of several ledgers may be so long, bytes.
const PAGE_BYTES_MAX: u64 = 4 * PAGE_BYTES_GOAL;
/// A page of one ledger may be so long, bytes: some two hundred times a full ledger of today.
const LEDGER_BYTES_MAX: u64 = 256 << 20;
/// The first page.
const FIRST_LEDGERS: u32 = 4;
/// What stellar-rpc allows.
const LEDGERS_MAX: u32 = 200;
/// After a page was too large the next so many are no larger.
const CALM_PAGES: u32 = 8;

const _: () = assert!(PAGE_BYTES_GOAL < PAGE_BYTES_MAX && PAGE_BYTES_MAX < LEDGER_BYTES_MAX);
const _: () = assert!(0 < FIRST_LEDGERS && FIRST_LEDGERS <= LEDGERS_MAX);

/// The size of pages, which follows the size of ledgers and what the endpoint can do.
#[derive(Debug)]
pub(super) struct PageSize {
    ledgers: u32,
    ledgers_max: u32,
    calm: u32,
    /// The page that an endpoint refused last.
    refused: Option<u32>,
}

impl PageSize {
    pub(super) fn new() -> Self {
        Self { ledgers: FIRST_LEDGERS, ledgers_max: LEDGERS_MAX, calm: 0, refused: None }
    }

    /// How many ledgers to ask for where `wanted` are; never none.
    pub(super) fn ledgers(&self, wanted: u64) -> u32 {
        u32::try_from(wanted).unwrap_or(u32::MAX).min(self.ledgers).max(1)
    }

    /// How long a page of so many ledgers may be, bytes.
    pub(super) fn bytes_max(ledgers: u32) -> u64 {
        if ledgers == 1 { LEDGER_BYTES_MAX } else { PAGE_BYTES_MAX }
    }

    /// Takes note of a page.
    pub(super) fn served(&mut self, ledgers: usize, bytes: u64) {
        let per_ledger = (bytes / (ledgers as u64).max(1)).max(1);
        let fits = u32::try_from(PAGE_BYTES_GOAL / per_ledger).unwrap_or(u32::MAX);
        let grown = if self.calm > 0 { self.ledgers } else { self.ledgers.saturating_mul(2) };
        self.calm = self.calm.saturating_sub(1);
        self.ledgers = fits.clamp(1, grown.min(self.ledgers_max));
    }

    /// Takes note of a page of `ledgers` that failed.
    pub(super) fn failed(&mut self, ledgers: u32, kind: &RequestFaultKind) {
        match kind {
            RequestFaultKind::Error { code: -32600 | -32602, .. } => self.refused(ledgers),
            kind if kind.next_step() == NextStep::Smaller => self.too_large(ledgers),
            _ => {}
        }
    }

    /// Takes note of a page of `ledgers` that was too much.
    pub(super) fn too_large(&mut self, ledgers: u32) {
        self.ledgers = (ledgers / 2).max(1);
        self.calm = CALM_PAGES;
    }

    /// Takes note of a page of `ledgers` that an endpoint refused and that may have been too long for it. Once may be
    /// for another reason, as of a replica that lags; twice is its operator's bound.
    fn refused(&mut self, ledgers: u32) {
        self.too_large(ledgers);
        if self.refused.replace(ledgers) == Some(ledgers) && ledgers > 1 {
            self.ledgers_max = self.ledgers;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h4_pages_grow_to_their_bytes_halve_to_one_and_grow_again() {
        let mut size = PageSize::new();
        let mut asked = Vec::new();
        for _ in 0..6 {
            asked.push(size.ledgers(1_000));
            size.served(asked[asked.len() - 1] as usize, u64::from(asked[asked.len() - 1]) * (1 << 18));
        }
        assert_eq!(asked, [4, 8, 16, 32, 32, 32], "ledgers of 256 KiB");
        for halved in [16, 8, 4, 2, 1, 1] {
            size.too_large(size.ledgers(1_000));
            assert_eq!(size.ledgers(1_000), halved);
        }
        let mut pages = 0;
        while size.ledgers(1_000) < 32 {
            size.served(size.ledgers(1_000) as usize, u64::from(size.ledgers(1_000)) * (1 << 18));
            pages += 1;
        }
        assert_eq!(pages, CALM_PAGES + 5);
    }

    #[test]
    fn a_page_is_never_empty_and_never_more_than_wanted_or_allowed() {
        let mut size = PageSize::new();
        assert_eq!((size.ledgers(3), size.ledgers(0)), (3, 1));
        (0..20).for_each(|_| size.served(200, 1));
        assert_eq!(size.ledgers(u64::MAX), LEDGERS_MAX);
        size.refused(200);
        (0..20).for_each(|_| size.served(100, 1));
        assert_eq!(size.ledgers(1_000), 200, "once is no bound");
        size.refused(200);
        (0..20).for_each(|_| size.served(100, 1));
        assert_eq!(size.ledgers(1_000), 100);
        size.served(1, 100 << 20);
        assert_eq!(size.ledgers(1_000), 1);
        assert!(PageSize::bytes_max(1) > PageSize::bytes_max(2));
    }
}
