//! What whoever follows the network says of itself, to the operator alone: its sentences may name addresses.

use serde::Serialize;

use crate::cli::output::grouped;
use crate::store::{Freshness, Latency};

#[derive(Debug, Serialize)]
pub(super) struct Follower {
    state: &'static str,
    code: Option<String>,
    message: Option<String>,
    announced: Option<String>,
    silent_seconds: u64,
    source_silent_seconds: Option<u64>,
    latency: Option<Measured>,
}

#[derive(Debug, Serialize)]
struct Measured {
    ledgers: u32,
    close_to_visible_p50_ms: u64,
    close_to_visible_p99_ms: u64,
    seen_to_visible_p50_ms: u64,
    seen_to_visible_p99_ms: u64,
}

impl Measured {
    fn of(latency: Latency) -> Self {
        let Latency {
            ledgers,
            close_to_visible_p50_ms,
            close_to_visible_p99_ms,
            seen_to_visible_p50_ms,
            seen_to_visible_p99_ms,
        } = latency;
        Self {
            ledgers,
            close_to_visible_p50_ms,
            close_to_visible_p99_ms,
            seen_to_visible_p50_ms,
            seen_to_visible_p99_ms,
        }
    }
}

impl Follower {
    pub fn of(said: &Freshness, now_ms: u64) -> Self {
        let age_seconds = |then_ms: u64| now_ms.saturating_sub(then_ms) / 1000;
        Self {
            state: said.state.as_str(),
            code: said.code.clone(),
            message: said.message.clone(),
            announced: said.announced.clone(),
            silent_seconds: age_seconds(said.heartbeat_ms),
            source_silent_seconds: said.source_answered_ms.map(age_seconds),
            latency: said.latency.map(Measured::of),
        }
    }

    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let why = self.code.as_ref().zip(self.message.as_ref());
        let why = why.map_or(String::new(), |(code, message)| format!(": {message} [{code}]"));
        let silent = grouped(self.silent_seconds);
        let mut lines = vec![("follower", format!("{}{why}, last heard of {silent} s ago", self.state))];
        lines.extend(self.announced.iter().map(|ahead| ("ahead", ahead.clone())));
        lines.extend(self.latency.iter().map(|latency| {
            let (half, most) = (grouped(latency.close_to_visible_p50_ms), grouped(latency.close_to_visible_p99_ms));
            ("close to visible", format!("{half} ms of half, {most} ms of 99 % of {} ledgers", latency.ledgers))
        }));
        lines
    }
}
