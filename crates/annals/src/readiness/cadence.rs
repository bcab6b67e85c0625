//! How often a network's ledgers close.

use annals_core::LedgerSeq;

use crate::store::{Status, Store, StoreError};

/// Over how many ledgers the cadence is measured: enough that close times in whole seconds tell the cadence of
/// ledgers that close several times a second, too.
const LEDGERS_MEASURED: u32 = 100;
/// One day in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// The time that some consecutive ledgers took to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// How many ledgers closed after the first; at least 1.
    ledgers: u64,
    /// How long that took, milliseconds; at least 1.
    elapsed_ms: u64,
}

impl Cadence {
    /// The cadence of `ledgers` that closed within `elapsed_ms`; none where one of both is zero.
    #[must_use]
    pub fn new(ledgers: u64, elapsed_ms: u64) -> Option<Self> {
        (ledgers > 0 && elapsed_ms > 0).then_some(Self { ledgers, elapsed_ms })
    }

    /// Measures it over the highest stored ledgers that follow on each other; none where their close times do not
    /// tell.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn observe(store: &dyn Store, status: &Status) -> Result<Option<Self>, StoreError> {
        let Some(chain) = status.verified.ranges().last() else { return Ok(None) };
        let last = chain.to_inclusive();
        let first = LedgerSeq::new(last.get().saturating_sub(LEDGERS_MEASURED)).unwrap_or(LedgerSeq::MIN);
        let first = first.max(chain.from_inclusive());
        let closed = |seq| -> Result<_, StoreError> {
            Ok(store.ledgers(seq, 1)?.first().filter(|row| row.seq == seq).map(|row| row.close_time_ms))
        };
        let (Some(from_ms), Some(to_ms)) = (closed(first)?, closed(last)?) else { return Ok(None) };
        Ok(Self::new(u64::from(last.get() - first.get()), to_ms.saturating_sub(from_ms)))
    }

    /// How long so many ledgers take, milliseconds.
    #[must_use]
    pub fn of_ledgers_ms(self, ledgers: u64) -> u64 {
        scaled(self.elapsed_ms, ledgers, self.ledgers)
    }

    /// How many ledgers close within a time.
    #[must_use]
    pub fn ledgers_within(self, elapsed_ms: u64) -> u64 {
        scaled(self.ledgers, elapsed_ms, self.elapsed_ms)
    }

    /// How many ledgers close in a day.
    #[must_use]
    pub fn ledgers_a_day(self) -> u64 {
        self.ledgers_within(DAY_MS)
    }
}

/// `value * times / divisor`; the greatest number where that is beyond it.
fn scaled(value: u64, times: u64, divisor: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(times) / u128::from(divisor)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_that_close_five_times_a_second_are_counted_and_none_divides_by_nothing() {
        let fast = Cadence::new(100, 20_000).unwrap();
        assert_eq!((fast.of_ledgers_ms(12), fast.ledgers_within(15_000), fast.ledgers_a_day()), (2_400, 75, 432_000));
        let usual = Cadence::new(99, 99 * 5_000).unwrap();
        assert_eq!((usual.of_ledgers_ms(12), usual.ledgers_a_day()), (60_000, 17_280));
        assert_eq!((Cadence::new(0, 5), Cadence::new(5, 0)), (None, None));
        let absurd = Cadence::new(1, u64::MAX).unwrap();
        assert_eq!((absurd.of_ledgers_ms(u64::MAX), absurd.ledgers_a_day()), (u64::MAX, 0));
    }
}
