//! The digest of a contract's history, or of one account's.

use std::sync::Arc;

use annals_core::{HistoryDigest, LedgerSeq, Part, RangeDigest};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use serde::Serialize;

use super::answer::Answer;
use super::code::Code;
use super::error::ApiError;
use super::judge::Vouched;
use super::query::Query;
use super::reads::ReadError;
use super::route::{ACCOUNT_DIGEST, DIGEST};
use super::{Api, contract_and_account, segment, value};
use crate::store::{DigestAnswer, DigestQuery, Digested, Store};

#[derive(Debug, Serialize)]
struct ShownPart {
    from_ledger: u32,
    to_ledger: u32,
    events: u64,
    digest: String,
}

impl From<&Part> for ShownPart {
    fn from(part: &Part) -> Self {
        Self {
            from_ledger: part.range.from_inclusive().get(),
            to_ledger: part.range.to_inclusive().get(),
            events: part.events,
            digest: part.digest.to_string(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Shown {
    from_ledger: Option<u32>,
    to_ledger: Option<u32>,
    version: u8,
    digest: Option<String>,
    events: Option<u64>,
    parts: Vec<ShownPart>,
    #[serde(flatten)]
    vouched: Vouched,
}

impl Shown {
    fn of(found: &DigestAnswer, range: Option<&RangeDigest>) -> Self {
        let window = found.window.window;
        Self {
            from_ledger: window.from_inclusive.map(LedgerSeq::get),
            to_ledger: window.to_inclusive.map(LedgerSeq::get),
            version: HistoryDigest::VERSION,
            digest: range.map(|range| range.digest.to_string()),
            events: range.map(|range| range.events),
            parts: range.iter().flat_map(|range| &range.parts).map(ShownPart::from).collect(),
            vouched: Vouched::of(&found.window, &found.view),
        }
    }
}

/// Answers the digest of a contract's events.
pub(super) async fn of_contract(
    State(api): State<Arc<Api>>,
    contract: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let contract = value::contract(&segment(contract)?)?;
    let query = Query::read(&uri, &DIGEST)?;
    let (asked_from, asked_to) = window(&query)?;
    of(api, DigestQuery { contract, account: None, asked_from, asked_to }).await
}

/// Answers the digest of those of a contract's events that belong to an account.
pub(super) async fn of_account(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let (contract, account) = contract_and_account(path)?;
    let query = Query::read(&uri, &ACCOUNT_DIGEST)?;
    let (asked_from, asked_to) = window(&query)?;
    of(api, DigestQuery { contract, account: Some(account), asked_from, asked_to }).await
}

fn window(query: &Query) -> Result<(Option<LedgerSeq>, Option<LedgerSeq>), ApiError> {
    Ok((query.parse("from_ledger", value::ledger)?, query.parse("to_ledger", value::ledger)?))
}

async fn of(api: Arc<Api>, query: DigestQuery) -> Result<Answer, ApiError> {
    api.reads.run(move |store| answer(store, &query)).await
}

fn answer(store: &dyn Store, query: &DigestQuery) -> Result<Answer, ReadError> {
    let found = store.digest(query)?;
    if !found.view.in_scope {
        return Err(Code::UnknownContract.into());
    }
    match &found.digested {
        Digested::TooWide => Err(Code::WindowTooWide.into()),
        Digested::NoRange => Answer::new(&Shown::of(&found, None)),
        Digested::Range(range) => Answer::new(&Shown::of(&found, Some(range))),
    }
}
