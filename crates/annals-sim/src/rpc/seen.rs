//! The requests that a server saw.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_core::LedgerSeq;
use serde_json::Value;

use crate::clock::Stopwatch;

/// A request, as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRequest {
    /// Its number, from 1.
    pub number: u64,
    /// When it came, since the server started.
    pub at: Duration,
    /// Its method; empty for what is no request of JSON-RPC.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// The ledger that it begins with.
    pub begins_with: Option<LedgerSeq>,
    /// Whether the script had something for it.
    pub misbehaved: bool,
}

/// The journal of a server.
#[derive(Debug)]
pub(super) struct Seen {
    started: Stopwatch,
    /// How many requests are remembered; older ones are forgotten.
    requests_max: usize,
    requests: Mutex<VecDeque<SeenRequest>>,
    came: Condvar,
}

impl Seen {
    pub(super) fn new(requests_max: usize) -> Self {
        let requests_max = requests_max.max(1);
        Self { started: Stopwatch::started(), requests_max, requests: Mutex::default(), came: Condvar::new() }
    }

    pub(super) fn add(&self, method: &str, params: &Value, begins_with: Option<LedgerSeq>, misbehaved: bool) {
        let mut requests = self.lock();
        let number = requests.back().map_or(0, |last| last.number) + 1;
        if requests.len() == self.requests_max {
            requests.pop_front();
        }
        requests.push_back(SeenRequest {
            number,
            at: self.started.elapsed(),
            method: method.to_owned(),
            params: params.clone(),
            begins_with,
            misbehaved,
        });
        self.came.notify_all();
    }

    pub(super) fn all(&self) -> Vec<SeenRequest> {
        self.lock().iter().cloned().collect()
    }

    /// Waits until the requests are as `enough` says, and tells whether they are.
    pub(super) fn wait(&self, at_most: Duration, mut enough: impl FnMut(&[SeenRequest]) -> bool) -> bool {
        let is_short = |requests: &mut VecDeque<SeenRequest>| !enough(requests.make_contiguous());
        let waited = self.came.wait_timeout_while(self.lock(), at_most, is_short);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SeenRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
