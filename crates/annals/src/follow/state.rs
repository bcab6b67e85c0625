//! What the follower says of itself: to whoever watches, to the log, and to the store for other processes.

use std::sync::Arc;
use std::time::Duration;

use super::latency::Times;
use super::shared::Shared;
use super::{FollowError, FollowOptions, FollowState, Visible, Watch};
use crate::clock::Clock;
use crate::source::Tip;
use crate::store::{FollowStateName, Freshness, INCIDENT_OPEN, SeenTip, Store, StoreError, UNKNOWN_PROTOCOL};

/// Why nothing is committed: a stable code, and one sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) code: &'static str,
    pub(super) message: String,
}

pub(super) struct Voice<'a> {
    watch: &'a dyn Watch,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    shared: Arc<Shared>,
    heartbeat: Duration,
    said: Freshness,
    /// When the tip was said last, by the clock that never goes back.
    tip_said: Duration,
    /// How long a tip is told after that while sources say less.
    tip_stays: Duration,
    state: Option<FollowState>,
    times: Times,
    /// When it was written last, by the clock that never goes back.
    written: Option<Duration>,
    /// Whether it was told that it cannot be written.
    is_mute: bool,
}

impl<'a> Voice<'a> {
    pub(super) fn new(
        watch: &'a dyn Watch,
        store: &'a dyn Store,
        clock: &'a dyn Clock,
        shared: Arc<Shared>,
        options: &FollowOptions,
    ) -> Self {
        Self {
            watch,
            store,
            clock,
            shared,
            heartbeat: options.heartbeat,
            said: Freshness::beginning(clock.now_unix_ms()),
            tip_said: Duration::ZERO,
            tip_stays: options.behind_max,
            state: None,
            times: Times::default(),
            written: None,
            is_mute: false,
        }
    }

    /// Says what the follower does, where that changed.
    pub(super) fn state(&mut self, doing: FollowStateName, why: Option<Why>) -> Result<(), FollowError> {
        let state = FollowState { doing, code: why.as_ref().map(|why| why.code), message: why.map(|why| why.message) };
        if self.state.as_ref() == Some(&state) {
            return Ok(());
        }
        let is_news = self.state.as_ref().is_none_or(|said| (said.doing, said.code) != (state.doing, state.code));
        self.said.state = doing;
        self.said.code = state.code.map(str::to_owned);
        self.said.message.clone_from(&state.message);
        if is_news {
            log(&state);
        }
        // Whoever is told finds it in the store.
        let written = self.write();
        self.watch.state(&state);
        self.state = Some(state);
        written
    }

    /// Takes note of what a source answered. A lower tip than before is told once no source has said as much for long.
    pub(super) fn heard(&mut self, tip: Option<Tip>) {
        let now_ms = self.clock.now_unix_ms();
        self.said.source_answered_ms = Some(now_ms);
        let Some(tip) = tip else { return };
        let now = self.clock.monotonic();
        let is_less = |said: SeenTip| tip.latest < said.ledger && now.saturating_sub(self.tip_said) < self.tip_stays;
        if self.said.tip.is_some_and(is_less) {
            return;
        }
        self.tip_said = now;
        if self.said.tip.is_none_or(|said| tip.latest != said.ledger) {
            self.said.tip = Some(SeenTip { ledger: tip.latest, closed_ms: tip.latest_closed_unix_ms, seen_ms: now_ms });
        }
    }

    pub(super) fn committed(&mut self, ledger: &Visible) {
        self.times.add(ledger);
        self.watch.committed(ledger);
    }

    /// Announces what lies ahead, once.
    pub(super) fn announce(&mut self, message: String) {
        if self.said.announced.as_ref() != Some(&message) {
            tracing::warn!("{message}");
            self.watch.announce(&message);
            self.said.announced = Some(message);
        }
    }

    /// Gives a sign of life where it is time for one.
    pub(super) fn beat(&mut self) -> Result<(), FollowError> {
        let now = self.clock.monotonic();
        match self.written {
            Some(written) if now.saturating_sub(written) < self.heartbeat => Ok(()),
            _ => self.write(),
        }
    }

    fn write(&mut self) -> Result<(), FollowError> {
        self.written = Some(self.clock.monotonic());
        self.said.heartbeat_ms = self.clock.now_unix_ms();
        self.said.latency = self.times.latency();
        match self.store.note_freshness(&self.said, self.shared.fence) {
            Ok(()) => self.is_mute = false,
            Err(StoreError::StaleFence) => return Err(StoreError::StaleFence.into()),
            // What cannot be said keeps nothing from being archived; a commit that fails tells of itself.
            Err(error) if !self.is_mute => {
                self.is_mute = true;
                tracing::warn!(error = &error as &dyn std::error::Error, "the follower's state could not be written");
            }
            Err(_) => {}
        }
        Ok(())
    }
}

fn log(state: &FollowState) {
    match (state.doing, state.code, &state.message) {
        (_, Some(code @ (INCIDENT_OPEN | UNKNOWN_PROTOCOL)), Some(message)) => tracing::error!("{message} ({code})"),
        (FollowStateName::Waiting, Some(code), Some(message)) => tracing::warn!("waiting: {message} ({code})"),
        (doing, ..) => tracing::info!("{}", doing.as_str().replace('_', " ")),
    }
}
