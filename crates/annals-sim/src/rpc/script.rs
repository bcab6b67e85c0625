//! When a server misbehaves, and how.

use std::fmt;
use std::ops::{RangeFrom, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

use annals_core::{LedgerRange, LedgerSeq, Position};
use serde_json::{Value, json};

use super::held::HeldLedgers;

/// Which requests a rule is for. Its calls are counted by the rule itself, from 1: those that its method and its
/// ledgers fit.
#[derive(Debug, Clone, Default)]
pub struct When {
    method: Option<String>,
    ledgers: Option<LedgerRange>,
    calls: Option<RangeInclusive<u64>>,
    every: Option<(u64, u64)>,
}

impl When {
    /// Every request.
    #[must_use]
    pub fn always() -> Self {
        Self::default()
    }

    /// Requests of this method.
    #[must_use]
    pub fn method(name: &str) -> Self {
        Self { method: Some(name.to_owned()), ..Self::default() }
    }

    /// Of these, requests that begin with one of `ledgers`: with `startLedger`, or with what follows a cursor.
    #[must_use]
    pub fn from_ledgers(self, ledgers: LedgerRange) -> Self {
        Self { ledgers: Some(ledgers), ..self }
    }

    /// Of these, the calls of these numbers.
    #[must_use]
    pub fn calls(self, numbers: RangeInclusive<u64>) -> Self {
        Self { calls: Some(numbers), ..self }
    }

    /// Of these, this call alone.
    #[must_use]
    pub fn call(self, number: u64) -> Self {
        self.calls(number..=number)
    }

    /// Of these, the calls from this number on.
    #[must_use]
    pub fn from_call(self, numbers: RangeFrom<u64>) -> Self {
        self.calls(numbers.start..=u64::MAX)
    }

    /// Of these, the calls `first`, `first + step`, and so on.
    ///
    /// # Panics
    /// When `step` is 0.
    #[must_use]
    pub fn every(self, step: u64, first: u64) -> Self {
        assert!(step > 0, "a step of 0 comes back to the same call for ever");
        Self { every: Some((step, first)), ..self }
    }

    fn fits(&self, method: &str, begins_with: Option<LedgerSeq>) -> bool {
        let fits_ledger = |ledgers: &LedgerRange| begins_with.is_some_and(|seq| ledgers.contains(seq));
        self.method.as_deref().is_none_or(|name| name == method) && self.ledgers.as_ref().is_none_or(fits_ledger)
    }

    fn takes(&self, call: u64) -> bool {
        let in_step = |(step, first): &(u64, u64)| call >= *first && (call - first).is_multiple_of(*step);
        self.calls.as_ref().is_none_or(|calls| calls.contains(&call)) && self.every.as_ref().is_none_or(in_step)
    }
}

/// A function that changes something in place.
#[derive(Clone)]
pub struct Edit<T: ?Sized>(pub(super) Arc<dyn Fn(&mut T) + Send + Sync>);

impl<T: ?Sized> Edit<T> {
    /// Wraps a function.
    pub fn new(edit: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(edit))
    }
}

impl<T: ?Sized> fmt::Debug for Edit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edit")
    }
}

/// What is wrong with an answer. All that fit a request apply, in the order of the script; of those that replace the
/// whole answer the last one does.
#[derive(Debug, Clone)]
pub enum Misbehaviour {
    /// The answer comes later; several add up.
    Latency(Duration),
    /// The answer never comes, and the connection stays open.
    Hang,
    /// The connection is reset.
    Reset,
    /// Another answer of HTTP altogether.
    Http {
        /// The status code.
        status: u16,
        /// Seconds in `Retry-After`.
        retry_after_seconds: Option<u32>,
        /// `Content-Type`.
        content_type: &'static str,
        /// The body.
        body: String,
    },
    /// The body ends after so many bytes of those that `Content-Length` promises.
    Truncated {
        /// How many bytes come.
        bytes: usize,
    },
    /// A JSON-RPC error.
    Error {
        /// Its code.
        code: i32,
        /// Its text.
        message: String,
    },
    /// The answer is to a request of another id.
    OtherId,
    /// The node is so many ledgers behind the network.
    Behind(u32),
    /// The node stopped at this ledger.
    StuckAt(LedgerSeq),
    /// The node keeps nothing below this ledger.
    OldestLedger(LedgerSeq),
    /// The newest so many ledgers are the latest, but no page holds them yet.
    UnservedTip(u32),
    /// The pages leave these ledgers and what is in them out.
    OmitLedgers(LedgerRange),
    /// The bytes of a ledger are others. What is read out of them follows: its header, where it still has one,
    /// its transactions and events.
    EditLedger(LedgerSeq, Edit<Vec<u8>>),
    /// The node is one of another chain.
    OtherChain(HeldLedgers),
    /// `getNetwork` gives this passphrase.
    Passphrase(String),
    /// The result is changed.
    EditResult(Edit<Value>),
}

impl Misbehaviour {
    /// `429 Too Many Requests`.
    #[must_use]
    pub fn too_many_requests(retry_after_seconds: Option<u32>) -> Self {
        Self::plain(429, retry_after_seconds, "too many requests")
    }

    /// `503 Service Unavailable`, as where the backlog of requests is full.
    #[must_use]
    pub fn unavailable(retry_after_seconds: Option<u32>) -> Self {
        Self::plain(503, retry_after_seconds, "Service Unavailable")
    }

    /// Text with this status.
    #[must_use]
    pub fn plain(status: u16, retry_after_seconds: Option<u32>, body: &str) -> Self {
        Self::Http { status, retry_after_seconds, content_type: "text/plain; charset=utf-8", body: body.to_owned() }
    }

    /// A page for people with status 200, as a proxy or another server gives.
    #[must_use]
    pub fn html() -> Self {
        let body = "<!doctype html><title>Welcome</title><h1>It works</h1>".to_owned();
        Self::Http { status: 200, retry_after_seconds: None, content_type: "text/html; charset=utf-8", body }
    }

    /// -32001, of a request that took longer than the node allows.
    #[must_use]
    pub fn over_limit() -> Self {
        Self::error(-32001, "request exceeded processing limit threshold")
    }

    /// An error of JSON-RPC.
    #[must_use]
    pub fn error(code: i32, message: &str) -> Self {
        Self::Error { code, message: message.to_owned() }
    }

    /// -32601: the node has no such method.
    #[must_use]
    pub fn no_such_method(name: &str) -> Self {
        Self::Error { code: -32601, message: format!("no such method {name:?}") }
    }

    /// `"result": null`.
    #[must_use]
    pub fn null_result() -> Self {
        Self::edit_result(|result| *result = Value::Null)
    }

    /// `"result": {}`.
    #[must_use]
    pub fn empty_result() -> Self {
        Self::edit_result(|result| *result = json!({}))
    }

    /// The result is changed by this function.
    pub fn edit_result(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::EditResult(Edit::new(edit))
    }

    /// The node says that its latest ledger is one that lies so many above it.
    #[must_use]
    pub fn announced_ahead(ledgers: u32) -> Self {
        Self::edit_result(move |result| {
            if let Some(latest) = result["latestLedger"].as_u64() {
                result["latestLedger"] = json!(latest + u64::from(ledgers));
            }
        })
    }

    /// The cursor of the answer is always this one: of the same page, it repeats; of one before, it goes in circles.
    #[must_use]
    pub fn cursor(cursor: &str) -> Self {
        let cursor = cursor.to_owned();
        Self::edit_result(move |result| result["cursor"] = json!(cursor))
    }

    /// `getEvents` leaves this event out.
    #[must_use]
    pub fn omit_event(position: Position) -> Self {
        let id = position.to_string();
        Self::edit_result(move |result| {
            if let Some(events) = result["events"].as_array_mut() {
                events.retain(|event| event["id"] != id.as_str());
            }
        })
    }

    /// `getEvents` gives this event another value: base64 of an XDR void.
    #[must_use]
    pub fn alter_event(position: Position) -> Self {
        let id = position.to_string();
        Self::edit_result(move |result| {
            let events = result["events"].as_array_mut().into_iter().flatten();
            for event in events.filter(|event| event["id"] == id.as_str()) {
                event["value"] = json!("AAAAAQ==");
            }
        })
    }

    /// The bytes of a ledger are changed by this function; see [`crate::edit_meta`] and [`crate::edit_header`].
    pub fn edit_ledger(seq: LedgerSeq, edit: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Self::EditLedger(seq, Edit::new(edit))
    }
}

/// Rules for a server. The same requests in the same order meet the same answers.
#[derive(Debug, Clone, Default)]
pub struct Script {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    when: When,
    what: Misbehaviour,
    calls: u64,
}

impl Script {
    /// A server that behaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a rule more, which comes behind the others.
    #[must_use]
    pub fn on(mut self, when: When, what: Misbehaviour) -> Self {
        self.rules.push(Rule { when, what, calls: 0 });
        self
    }

    /// Counts a request, and says what is wrong with its answer.
    pub(super) fn take(&mut self, method: &str, begins_with: Option<LedgerSeq>) -> Vec<Misbehaviour> {
        let mut taken = Vec::new();
        for rule in self.rules.iter_mut().filter(|rule| rule.when.fits(method, begins_with)) {
            rule.calls += 1;
            if rule.when.takes(rule.calls) {
                taken.push(rule.what.clone());
            }
        }
        taken
    }
}
