//! How following gets on, as log lines. What it does and why it waits it logs itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use annals_core::wire::rfc3339;

use super::output::grouped;
use crate::clock::Clock;
use crate::follow::{FollowState, Visible, Watch};
use crate::store::FollowStateName;

/// How often a line is written while ledgers of the past are taken.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Writes a line when following has caught up, and every few seconds while ledgers of the past are taken.
pub(super) struct FollowLog {
    clock: Arc<dyn Clock>,
    is_catching_up: AtomicBool,
    caught_up: AtomicBool,
    taken: Mutex<Rate>,
    filled: Mutex<Rate>,
}

/// Ledgers since the last line.
#[derive(Default)]
struct Rate {
    ledgers: u64,
    at: Option<Duration>,
}

impl Rate {
    /// Counts, and says every few seconds how many ledgers come in a second.
    fn count(&mut self, ledgers: u64, now: Duration) -> Option<f64> {
        let began = *self.at.get_or_insert(now);
        self.ledgers += ledgers;
        let took = now.saturating_sub(began);
        if took < LINE_EVERY {
            return None;
        }
        let rate = self.ledgers as f64 / took.as_secs_f64();
        *self = Self { ledgers: 0, at: Some(now) };
        Some(rate)
    }
}

impl FollowLog {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (is_catching_up, caught_up) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { clock, is_catching_up, caught_up, taken: Mutex::default(), filled: Mutex::default() }
    }

    /// Ledgers of the gaps were stored.
    pub fn filled(&self, ledgers: u64) {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = filled.count(ledgers, self.clock.monotonic()) {
            tracing::info!("filling gaps: {rate:.1} ledgers/s");
        }
    }
}

impl Watch for FollowLog {
    fn state(&self, state: &FollowState) {
        self.is_catching_up.store(state.doing == FollowStateName::CatchingUp, Ordering::Relaxed);
        if state.doing == FollowStateName::Following && !self.caught_up.swap(true, Ordering::Relaxed) {
            tracing::info!("caught up: from now on each ledger is stored as it closes");
        }
    }

    fn committed(&self, ledger: &Visible) {
        if !self.is_catching_up.load(Ordering::Relaxed) {
            return;
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = taken.count(1, self.clock.monotonic()) {
            let (seq, closed) = (grouped(ledger.seq.get().into()), rfc3339(ledger.closed_unix_ms));
            tracing::info!("catching up: ledger {seq} of {closed}, {rate:.1} ledgers/s");
        }
    }

    fn announce(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_every_five_seconds_of_the_ledgers_since() {
        let mut rate = Rate::default();
        let mut told = Vec::new();
        for second in 10..=20 {
            told.extend(rate.count(if second < 15 { 10 } else { 20 }, Duration::from_secs(second)));
        }
        assert_eq!(told, [14.0, 20.0]);
    }
}
