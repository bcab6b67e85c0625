//! `queryEvents`, as the full-history servers of the network's foundation have it in place of `getEvents`.
//!
//! It says what it scanned: `scannedLedger` is the last ledger whose events are all in this page or in those before it.
//! Its cursor holds the whole query, so that nothing else may be said beside one. Downwards it does not scan here.
//!
//! Source: `protocols/rpc` of stellar/go-stellar-sdk, the branch `feature/full-history` of stellar/stellar-rpc.

use annals_core::ContractId;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::events::info;
use crate::rpc::RpcOptions;
use crate::rpc::contents::NodeEvent;
use crate::rpc::error::RpcError;
use crate::rpc::params::{QueryParams, check_format};
use crate::rpc::replica::{Ends, Replica};

const FILTERS_MAX: usize = 256;
const EVENTS_DEFAULT: u32 = 100;
const EVENTS_MAX: u32 = 1_000;
const CURSOR_PREFIX: &str = "gec1_";

/// A query, and the place in it that is behind the last page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Query {
    max: u32,
    filters: Vec<QueryFilter>,
    /// The first ledger that is not scanned to its end …
    ledger: u32,
    /// … and how many of its events, of all contracts, are behind.
    behind: usize,
}

/// All of what it names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::rpc) struct QueryFilter {
    contract_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    topic0: Option<String>,
    topic1: Option<String>,
    topic2: Option<String>,
    topic3: Option<String>,
}

impl Query {
    /// Reads a cursor.
    pub(super) fn parse(cursor: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor.strip_prefix(CURSOR_PREFIX)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(super) fn begins_with(&self) -> u32 {
        self.ledger
    }

    fn cursor(&self) -> String {
        let json = serde_json::to_vec(self).expect("a query in memory has text");
        format!("{CURSOR_PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }

    fn takes(&self, event: &NodeEvent) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| filter.takes(event))
    }
}

impl QueryFilter {
    fn check(&self) -> Result<(), RpcError> {
        let right = |id: &String| id.parse::<ContractId>().is_ok();
        let kind = self.kind.as_deref().is_none_or(|kind| ["contract", "system"].contains(&kind));
        match self.contract_id.as_ref().is_none_or(right) && kind {
            true => Ok(()),
            false => Err(invalid("a filter names no contract or no type")),
        }
    }

    fn takes(&self, event: &NodeEvent) -> bool {
        let contract = || event.contract.map(|contract| contract.to_string());
        let topics = [&self.topic0, &self.topic1, &self.topic2, &self.topic3];
        let fits = |(place, topic): (usize, &&Option<String>)| {
            topic.as_ref().is_none_or(|topic| event.topics.get(place).is_some_and(|own| STANDARD.encode(own) == *topic))
        };
        (self.contract_id.is_none() || self.contract_id == contract())
            && self.kind.as_deref().is_none_or(|kind| kind == event.kind)
            && topics.iter().enumerate().all(fits)
    }
}

/// Answers a page: at most so many events of at most so many ledgers.
pub(super) fn page(params: &QueryParams, replica: &Replica<'_>, options: &RpcOptions) -> Result<Value, RpcError> {
    let mut query = asked(params)?;
    let ends = replica.ends()?;
    check_range(&query, &ends)?;
    let limit = params.limit.filter(|limit| *limit > 0).unwrap_or(EVENTS_DEFAULT) as usize;
    let stop = query.ledger.saturating_add(options.events_scan_ledgers).min(query.max.saturating_add(1));
    let mut found = Vec::new();
    while query.ledger < stop && query.ledger <= ends.latest.seq {
        let Some(ledger) = replica.served(query.ledger..=query.ledger).next() else { break };
        let contents = ledger.contents().ok_or_else(|| RpcError::internal("the ledger's events cannot be read"))?;
        for (number, event) in contents.events.iter().enumerate().skip(query.behind) {
            if !query.takes(event) {
                continue;
            }
            if found.len() == limit {
                return Ok(answer(found, &query, "HAS_MORE", &ends));
            }
            found.push(info(event, &ledger, options));
            query.behind = number + 1;
        }
        (query.ledger, query.behind) = (query.ledger + 1, 0);
    }
    let status = match query.ledger {
        ledger if ledger > query.max => "COMPLETE",
        ledger if ledger > ends.latest.seq => "WAITING_FOR_LEDGERS",
        _ => "HAS_MORE",
    };
    Ok(answer(found, &query, status, &ends))
}

/// Of a query that is answered to its end there is nothing to go on with.
fn answer(events: Vec<Value>, query: &Query, status: &str, ends: &Ends) -> Value {
    let mut answer = json!({
        "events": events,
        "scanStatus": status,
        "scannedLedger": query.ledger - 1,
        "oldestLedger": ends.oldest.seq,
        "latestLedger": ends.latest.seq,
    });
    if status != "COMPLETE" {
        answer["cursor"] = json!(query.cursor());
    }
    answer
}

fn asked(params: &QueryParams) -> Result<Query, RpcError> {
    check_format(params.xdr_format.as_deref()).map_err(|error| invalid(&error.to_string()))?;
    if params.limit.is_some_and(|limit| limit > EVENTS_MAX) {
        return Err(invalid("limit must not exceed 1000"));
    }
    let bounds = (params.min_ledger, params.max_ledger);
    if let Some(cursor) = &params.cursor {
        if bounds != (None, None) || params.filters.is_some() || params.order.is_some() {
            return Err(invalid("a cursor holds its query: nothing may be said beside it"));
        }
        let text = "the cursor is none of this method's";
        return Query::parse(cursor).ok_or_else(|| refused("cursor_malformed", text, json!({})));
    }
    let (Some(min), Some(max)) = bounds else { return Err(invalid("minLedger and maxLedger are missing")) };
    let filters = params.filters.clone().unwrap_or_default();
    if min == 0 || max < min || filters.len() > FILTERS_MAX {
        return Err(invalid("the range is none, or the filters are too many"));
    }
    if params.order.as_deref().is_some_and(|order| order != "asc") {
        return Err(invalid("this simulated node scans upwards alone"));
    }
    filters.iter().try_for_each(QueryFilter::check)?;
    Ok(Query { max, filters, ledger: min, behind: 0 })
}

/// A query may end above the latest ledger, and begins with one that there is or that comes next.
fn check_range(query: &Query, ends: &Ends) -> Result<(), RpcError> {
    let (oldest, latest) = (ends.oldest.seq, ends.latest.seq);
    let missing = query.ledger;
    if (oldest..=latest.saturating_add(1)).contains(&missing) {
        return Ok(());
    }
    let data = json!({"missingLedger": missing, "oldestLedger": oldest, "latestLedger": latest});
    Err(refused("ledger_out_of_range", "a ledger of the range is not held", data))
}

fn invalid(text: &str) -> RpcError {
    refused("invalid_params", text, json!({}))
}

fn refused(reason: &str, text: &str, mut data: Value) -> RpcError {
    data["reason"] = json!(reason);
    RpcError { data: Some(data), ..RpcError::invalid_params(text) }
}
