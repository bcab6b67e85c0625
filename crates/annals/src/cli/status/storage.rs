//! What the archive takes, and how long the disk will do.

use serde::Serialize;

use crate::cli::output::grouped;
use crate::readiness::Cadence;
use crate::store::ArchiveBytes;

/// Of fewer ledgers nobody tells what one takes: what the database takes of itself would count.
const LEDGERS_MIN: u64 = 1_000;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Storage {
    database_bytes: u64,
    log_bytes: u64,
    free_bytes: Option<u64>,
    bytes_a_day: Option<u64>,
    days_left: Option<u64>,
}

impl Storage {
    /// Reckons from what is there: a day takes what `ledgers` took on average, as often as they close now. The log is
    /// bounded and counts as none; nor do the last `reserve` bytes count as free for days to come.
    pub fn of(bytes: ArchiveBytes, ledgers: u64, cadence: Option<Cadence>, free: Option<u64>, reserve: u64) -> Self {
        let measured = cadence.filter(|_| ledgers >= LEDGERS_MIN);
        let bytes_a_day = measured.map(|cadence| {
            let bytes = u128::from(bytes.database) * u128::from(cadence.ledgers_a_day()) / u128::from(ledgers);
            u64::try_from(bytes).unwrap_or(u64::MAX)
        });
        let days_left = free.zip(bytes_a_day).and_then(|(free, a_day)| free.saturating_sub(reserve).checked_div(a_day));
        Self { database_bytes: bytes.database, log_bytes: bytes.log, free_bytes: free, bytes_a_day, days_left }
    }

    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let size = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| format!("{} bytes", grouped(bytes)));
        let total = size(Some(self.database_bytes.saturating_add(self.log_bytes)));
        let days = self.days_left.map_or(String::new(), |days| format!(", room for about {} days", grouped(days)));
        vec![
            ("size", format!("{total}, {} of them its log", grouped(self.log_bytes))),
            ("a day", size(self.bytes_a_day)),
            ("free", format!("{}{days}", size(self.free_bytes))),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVE: u64 = 1_000;

    fn of(ledgers: u64, cadence: Option<Cadence>, free: Option<u64>) -> (Option<u64>, Option<u64>) {
        let bytes = ArchiveBytes { database: 50_000_000, log: 7_000_000 };
        let storage = Storage::of(bytes, ledgers, cadence, free, RESERVE);
        assert_eq!((storage.database_bytes, storage.log_bytes, storage.free_bytes), (50_000_000, 7_000_000, free));
        (storage.bytes_a_day, storage.days_left)
    }

    #[test]
    fn a_day_takes_what_a_ledger_took_as_often_as_ledgers_close() {
        // A ledger of 5,000 bytes every five seconds.
        let usual = Cadence::new(100, 500_000);
        let a_day = 5_000 * 17_280;
        assert_eq!(of(10_000, usual, Some(10 * a_day + RESERVE)), (Some(a_day), Some(10)));
        assert_eq!(of(10_000, usual, Some(10 * a_day)), (Some(a_day), Some(9)), "the reserve is not free");
        assert_eq!(of(10_000, usual, Some(5)), (Some(a_day), Some(0)));
        assert_eq!(of(10_000, usual, None), (Some(a_day), None));
        // The same ledgers five times a second take 25 times as much.
        assert_eq!(of(10_000, Cadence::new(100, 20_000), None), (Some(25 * a_day), None));
    }

    #[test]
    fn what_cannot_be_known_is_null_and_no_number() {
        let usual = Cadence::new(100, 500_000);
        assert_eq!(of(999, usual, Some(1 << 40)), (None, None));
        assert_eq!(of(0, usual, Some(1 << 40)), (None, None));
        assert_eq!(of(10_000, None, Some(1 << 40)), (None, None));
        // Ledgers so seldom that a day has none take nothing, for ever.
        assert_eq!(of(10_000, Cadence::new(1, u64::MAX), Some(1 << 40)), (Some(0), None));
    }
}
