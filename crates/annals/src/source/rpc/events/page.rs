//! One page of events, whichever method gives it.

use std::borrow::Cow;

use annals_core::{LedgerSeq, Position};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::super::answer::Number;
use super::super::fault::{RequestFault, RequestFaultKind};
use super::super::tip::Tip;
use super::scan::{Begin, Scan};

/// The most of a page, bytes: 10,000 events of some six kilobytes.
const BYTES_MAX: u64 = 64 << 20;
/// Contracts in a filter of `getEvents`.
const FILTER_CONTRACTS_MAX: usize = 5;
/// Events in a page of `queryEvents`.
const QUERY_EVENTS_MAX: u32 = 1_000;
/// `getEvents` looks for the oldest ledger and then for the events, and a ledger may be dropped between the two. What is
/// so close to the oldest is not believed to be whole, ledgers. One closes in a second or so and an answer takes ten.
const RETENTION_MARGIN: u32 = 64;

/// The method by which an endpoint gives events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `getEvents`.
    Get,
    /// `queryEvents`.
    Query,
}

/// A page of events.
pub(super) struct Page {
    pub(super) entries: Vec<Value>,
    /// The last ledger of which this page and those before it hold all; none where they end inside the first.
    pub(super) through: Option<LedgerSeq>,
    pub(super) next: Next,
    /// The first ledger that is sure to be whole there; none where the endpoint does not say.
    pub(super) floor: Option<LedgerSeq>,
    pub(super) tip: Tip,
}

/// How it goes on behind a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// With this cursor, at this endpoint.
    Cursor(String),
    /// With the ledger above the last whole one.
    Above,
    /// When more ledgers have closed.
    Later,
}

/// What both methods answer, as far as it is read.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    events: Vec<Value>,
    #[serde(borrow)]
    cursor: Option<Cow<'a, str>>,
    latest_ledger: Number,
    oldest_ledger: Option<Number>,
    #[serde(borrow)]
    scan_status: Option<Cow<'a, str>>,
    scanned_ledger: Option<Number>,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "getEvents",
            Self::Query => "queryEvents",
        }
    }

    /// The first ledger that is sure to be whole where `oldest` is the oldest. One that keeps the network's first ledger
    /// has dropped none.
    pub(super) fn floor(self, oldest: LedgerSeq) -> LedgerSeq {
        match self {
            Self::Get if oldest > LedgerSeq::FIRST_EXPORTED => {
                LedgerSeq::new(oldest.get().saturating_add(RETENTION_MARGIN)).unwrap_or(LedgerSeq::MAX)
            }
            Self::Get | Self::Query => oldest,
        }
    }
}

impl Scan<'_> {
    /// Asks for one page.
    pub(super) fn page(&self, begin: &Begin) -> Result<Page, RequestFault> {
        let (caller, method) = (&self.endpoint.caller, self.method.name());
        let params = match self.method {
            Method::Get => self.get_params(begin),
            Method::Query => self.query_params(begin),
        };
        let body = caller.call(method, &params, BYTES_MAX)?;
        let answer: Answer<'_> = caller.result(method, &body)?;
        let page = match self.method {
            Method::Get => of_get(answer),
            Method::Query => of_query(answer),
        };
        page.map_err(|kind| caller.fault(method, kind))
    }

    /// A request names a range or a cursor, never both. The range's end is exclusive.
    fn get_params(&self, begin: &Begin) -> Value {
        // Each filter names its types and its contracts: one that leaves either open, beside others, loses events
        // before version 27.1.1.
        let filter = |contracts: &[_]| {
            let contracts: Vec<String> = contracts.iter().map(ToString::to_string).collect();
            json!({"type": "contract,system", "contractIds": contracts})
        };
        let filters: Vec<Value> = self.pass.0.chunks(FILTER_CONTRACTS_MAX).map(filter).collect();
        let mut params = json!({"filters": filters, "pagination": {"limit": self.events}, "xdrFormat": "base64"});
        match begin {
            Begin::Ledger(seq) => {
                params["startLedger"] = json!(seq.get());
                params["endLedger"] = json!(self.window.to_inclusive().get() + 1);
            }
            Begin::Cursor(cursor) => params["pagination"]["cursor"] = json!(cursor),
        }
        params
    }

    /// A cursor holds its query; a range's both ends are inclusive.
    fn query_params(&self, begin: &Begin) -> Value {
        let limit = self.events.min(QUERY_EVENTS_MAX);
        match begin {
            Begin::Ledger(seq) => json!({
                "minLedger": seq.get(),
                "maxLedger": self.window.to_inclusive().get(),
                "order": "asc",
                "filters": self.pass.0.iter().map(|id| json!({"contractId": id.to_string()})).collect::<Vec<_>>(),
                "limit": limit,
                "xdrFormat": "base64",
            }),
            Begin::Cursor(cursor) => json!({"cursor": cursor, "limit": limit, "xdrFormat": "base64"}),
        }
    }
}

/// Reads a page of `getEvents`. Its cursor is a place and not always an event's: on a page that ends with its window
/// it is the end of the window's last ledger, and else its last event.
fn of_get(answer: Answer<'_>) -> Result<Page, RequestFaultKind> {
    let tip = tip(&answer)?;
    let cursor = answer.cursor.ok_or(RequestFaultKind::Page { wrong: "has no cursor" })?;
    let end = Position::bound_from_text(&cursor);
    let end = end.map_err(|_| RequestFaultKind::Page { wrong: "has a cursor that is no place" })?;
    let ledger = end.ledger();
    let (through, next) = if end == Position::last_of(ledger) {
        (Some(ledger.min(tip.latest)), Next::Above)
    } else if answer.events.last().is_some_and(|last| last["id"] == *cursor) {
        (ledger.previous(), Next::Cursor(cursor.into_owned()))
    } else {
        return Err(RequestFaultKind::Page { wrong: "has a cursor that is neither its last event nor a window's end" });
    };
    let floor = tip.oldest.map(|oldest| Method::Get.floor(oldest));
    Ok(Page { entries: answer.events, through, next, floor, tip })
}

/// Reads a page of `queryEvents`. What it scanned is what `scannedLedger` says, and nothing else; where its last event
/// is of that ledger and there is more, the ledger counts with the next page.
fn of_query(answer: Answer<'_>) -> Result<Page, RequestFaultKind> {
    let tip = tip(&answer)?;
    let scanned = answer.scanned_ledger.and_then(Number::seq);
    let last = answer.events.last().and_then(|last| Number::deserialize(&last["ledger"]).ok()).and_then(Number::seq);
    let (through, next) = match answer.scan_status.as_deref() {
        Some("HAS_MORE") => {
            let through =
                if last.is_some() && last == scanned { scanned.and_then(LedgerSeq::previous) } else { scanned };
            (through, answer.cursor.map_or(Next::Above, |cursor| Next::Cursor(cursor.into_owned())))
        }
        Some("COMPLETE" | "OLDEST_REACHED") => (scanned, Next::Above),
        Some("WAITING_FOR_LEDGERS") => (scanned, Next::Later),
        _ => return Err(RequestFaultKind::Page { wrong: "does not say how far it scanned" }),
    };
    let floor = tip.oldest.map(|oldest| Method::Query.floor(oldest));
    Ok(Page { entries: answer.events, through, next, floor, tip })
}

fn tip(answer: &Answer<'_>) -> Result<Tip, RequestFaultKind> {
    let latest = answer.latest_ledger.seq().ok_or(RequestFaultKind::Page { wrong: "has no latest ledger" })?;
    Ok(Tip { latest, oldest: answer.oldest_ledger.and_then(Number::seq), latest_closed_unix_ms: None })
}
