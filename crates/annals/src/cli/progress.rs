//! How a long verb gets on: a bar on a terminal, a log line every few seconds elsewhere.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::output::grouped;
use crate::backfill::Progress;
use crate::clock::Clock;
use crate::store::GapFailure;

/// How often a log line is written.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// How many failures are told one by one; the rest is in the list of gaps.
const FAULTS_TOLD_MAX: u64 = 20;

const TEMPLATE: &str = "{prefix} {bar:30} {human_pos}/{human_len} ledgers, {msg}, {rate}, {eta} left";

/// The progress that fits stderr. `doing` says what is done, as in `backfill`.
pub(super) fn on_stderr(doing: &'static str, clock: Arc<dyn Clock>) -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(BarProgress { doing, bar: ProgressBar::hidden(), counts: Mutex::default() })
    } else {
        Box::new(LineProgress { doing, clock, state: Mutex::default(), tell: |line| tracing::info!("{line}") })
    }
}

/// Tells of a ledger that could not be stored, whatever shows the progress.
fn tell_fault(failure: &GapFailure, told: u64) {
    if told < FAULTS_TOLD_MAX {
        tracing::warn!("ledgers {} are missing: {} [{}]", failure.range, failure.message, failure.code);
    } else if told == FAULTS_TOLD_MAX {
        tracing::warn!("further missing ledgers are not told one by one: see `annals gaps`");
    }
}

struct BarProgress {
    doing: &'static str,
    bar: ProgressBar,
    counts: Mutex<Counts>,
}

/// What a bar counts beside ledgers.
#[derive(Default)]
struct Counts {
    events: u64,
    envelopes: u64,
    faults: u64,
}

impl Counts {
    /// As they are shown; envelopes only where some were asked for.
    fn told(&self) -> String {
        let envelopes = match self.envelopes {
            0 => String::new(),
            asked => format!(", {} envelopes", grouped(asked)),
        };
        format!("{} events{envelopes}", grouped(self.events))
    }
}

impl Progress for BarProgress {
    fn begin(&self, ledgers: u64, already: u64) {
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is well-formed");
        // What cannot be written to the bar is not shown; the next drawing tries again.
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = write!(out, "{:.1} ledgers/s", state.per_sec());
        };
        self.bar.set_style(style.with_key("rate", rate));
        self.bar.set_prefix(self.doing);
        self.bar.set_message("0 events");
        self.bar.set_length(ledgers);
        self.bar.set_position(already);
        // The rate is of this run alone, not of what was there before it.
        self.bar.reset_eta();
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }

    fn advance(&self, ledgers: u64, events: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.events += events;
        self.bar.set_message(counts.told());
        self.bar.inc(ledgers);
    }

    fn advance_envelopes(&self, asked: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.envelopes += asked;
        self.bar.set_message(counts.told());
    }

    fn fault(&self, failure: &GapFailure) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        self.bar.suspend(|| tell_fault(failure, counts.faults));
        counts.faults += 1;
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[derive(Default)]
struct LineState {
    ledgers: u64,
    already: u64,
    done: u64,
    counts: Counts,
    began: Duration,
    told: Duration,
}

struct LineProgress {
    doing: &'static str,
    clock: Arc<dyn Clock>,
    state: Mutex<LineState>,
    tell: fn(&str),
}

impl Progress for LineProgress {
    fn begin(&self, ledgers: u64, already: u64) {
        let now = self.clock.monotonic();
        let state = LineState { ledgers, already, began: now, told: now, ..LineState::default() };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        let rest = ledgers.saturating_sub(already);
        (self.tell)(&format!("{}: {} of {} ledgers to go", self.doing, grouped(rest), grouped(ledgers)));
    }

    fn advance(&self, ledgers: u64, events: u64) {
        self.advance_by(|state| {
            state.done += ledgers;
            state.counts.events += events;
        });
    }

    fn advance_envelopes(&self, asked: u64) {
        self.advance_by(|state| state.counts.envelopes += asked);
    }

    fn fault(&self, failure: &GapFailure) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        tell_fault(failure, state.counts.faults);
        state.counts.faults += 1;
    }

    fn end(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (self.tell)(&state.line(self.doing, self.clock.monotonic()));
    }
}

impl LineProgress {
    /// Counts, and writes a line where it is time for one.
    fn advance_by(&self, count: impl FnOnce(&mut LineState)) {
        let now = self.clock.monotonic();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut state);
        if now.saturating_sub(state.told) >= LINE_EVERY {
            state.told = now;
            (self.tell)(&state.line(self.doing, now));
        }
    }
}

impl LineState {
    fn line(&self, doing: &str, now: Duration) -> String {
        let passed = self.already + self.done;
        let mut line =
            format!("{doing}: {}/{} ledgers, {}", grouped(passed), grouped(self.ledgers), self.counts.told());
        let seconds = now.saturating_sub(self.began).as_secs_f64();
        let rate = self.done as f64 / seconds;
        if self.done > 0 && rate.is_finite() {
            let left = self.ledgers.saturating_sub(passed) as f64 / rate;
            line.push_str(&format!(", {rate:.1} ledgers/s, {left:.0} s left"));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static TOLD: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    }

    #[derive(Default)]
    struct HandClock(Mutex<Duration>);

    impl Clock for HandClock {
        fn now_unix_ms(&self) -> u64 {
            0
        }

        fn monotonic(&self) -> Duration {
            *self.0.lock().unwrap()
        }

        fn sleep(&self, duration: Duration) {
            *self.0.lock().unwrap() += duration;
        }
    }

    #[test]
    fn a_line_is_told_every_five_seconds_with_rate_and_time_left() {
        let clock = Arc::new(HandClock::default());
        let tell = |line: &str| TOLD.with_borrow_mut(|told| told.push(line.to_owned()));
        let progress =
            LineProgress { doing: "backfill", clock: Arc::<HandClock>::clone(&clock), state: Mutex::default(), tell };
        progress.begin(2000, 1000);
        for _ in 0..10 {
            clock.sleep(Duration::from_secs(1));
            progress.advance(50, 500);
        }
        progress.advance_envelopes(1);
        progress.end();
        assert_eq!(
            TOLD.with_borrow(Clone::clone),
            [
                "backfill: 1,000 of 2,000 ledgers to go",
                "backfill: 1,250/2,000 ledgers, 2,500 events, 50.0 ledgers/s, 15 s left",
                "backfill: 1,500/2,000 ledgers, 5,000 events, 50.0 ledgers/s, 10 s left",
                "backfill: 1,500/2,000 ledgers, 5,000 events, 1 envelopes, 50.0 ledgers/s, 10 s left",
            ]
        );
    }
}
