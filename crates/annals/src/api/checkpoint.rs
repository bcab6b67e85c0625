//! The latest checkpoint of an account, and where a replay of its events begins.

use std::sync::Arc;

use annals_core::LedgerSeq;
use annals_core::wire::ExportedEvent;
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
use super::route::{CHECKPOINT, REPLAY_WINDOW, Route};
use super::{Api, contract_and_account, value};
use crate::store::{CheckpointAnswer, CheckpointQuery, ContractView, JudgedWindow, PageEvent};

/// An event as the account's pages show it.
#[derive(Debug, Serialize)]
struct AccountEvent {
    #[serde(flatten)]
    event: ExportedEvent,
    roles: Vec<String>,
}

impl AccountEvent {
    fn new(shown: PageEvent) -> Result<Self, ReadError> {
        let event = ExportedEvent::new(&shown.event, &shown.payload);
        Ok(Self { event: event.map_err(|error| ReadError::Damaged(Box::new(error)))?, roles: shown.roles })
    }
}

/// A window, and whether the archive vouches for it.
#[derive(Debug, Serialize)]
struct VouchedWindow {
    from_ledger: Option<u32>,
    to_ledger: Option<u32>,
    #[serde(flatten)]
    vouched: Vouched,
}

impl VouchedWindow {
    fn of(judged: &JudgedWindow, view: &ContractView) -> Self {
        Self {
            from_ledger: judged.window.from_inclusive.map(LedgerSeq::get),
            to_ledger: judged.window.to_inclusive.map(LedgerSeq::get),
            vouched: Vouched::of(judged, view),
        }
    }
}

#[derive(Debug, Serialize)]
struct Checkpoint {
    event: Option<AccountEvent>,
    #[serde(flatten)]
    window: VouchedWindow,
}

#[derive(Debug, Serialize)]
struct ReplayWindow {
    checkpoint: Option<AccountEvent>,
    t0: Option<AccountEvent>,
    t0_anchor: Option<String>,
    #[serde(flatten)]
    window: VouchedWindow,
}

/// Answers an account's latest checkpoint.
pub(super) async fn latest(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let read = |found: CheckpointAnswer| {
        let window = VouchedWindow::of(&found.window, &found.view);
        Answer::new(&Checkpoint { event: found.checkpoint.map(AccountEvent::new).transpose()?, window })
    };
    answer(api, path, &uri, &CHECKPOINT, read).await
}

/// Answers where a replay of an account's events begins.
pub(super) async fn replay_window(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let read = |found: CheckpointAnswer| {
        let window = VouchedWindow::of(&found.replay_window, &found.view);
        let t0 = found.t0.map(AccountEvent::new).transpose()?;
        Answer::new(&ReplayWindow {
            checkpoint: found.checkpoint.map(AccountEvent::new).transpose()?,
            t0_anchor: t0.as_ref().and_then(|shown| shown.event.event_type.clone()),
            t0,
            window,
        })
    };
    answer(api, path, &uri, &REPLAY_WINDOW, read).await
}

async fn answer(
    api: Arc<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: &Uri,
    route: &Route,
    write: impl FnOnce(CheckpointAnswer) -> Result<Answer, ReadError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let (contract, account) = contract_and_account(path)?;
    let at = Query::read(uri, route)?.parse("at_ledger", value::ledger)?;
    let query = CheckpointQuery { contract, account, at };
    let read = api.reads.run(move |store| {
        let found = store.checkpoint(&query)?;
        if found.view.in_scope { write(found) } else { Err(Code::UnknownContract.into()) }
    });
    read.await
}
