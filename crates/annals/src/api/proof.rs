//! Proof bundles.

use std::sync::Arc;

use annals_core::LedgerRange;
use annals_core::bundle::BuildFault;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;

use super::answer::Answer;
use super::code::Code;
use super::error::ApiError;
use super::query::Query;
use super::reads::ReadError;
use super::route::{EVENT_PROOF, LEDGER_PROOF};
use super::{Api, segment, value};
use crate::prove::{self, ProveError};

/// What is said where no contract is named.
const CONTRACT_NEEDED: &str = "a proof is of one contract: name it by contract_id";

/// Answers the bundle of one event.
pub(super) async fn of_event(
    State(api): State<Arc<Api>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let id = value::event_id(&segment(id)?)?;
    Query::read(&uri, &EVENT_PROOF)?;
    api.reads.run(move |store| Ok(Answer::of_json(prove::event(store, id)?))).await
}

/// Answers the bundle of one contract's events in consecutive ledgers.
pub(super) async fn of_ledgers(
    State(api): State<Arc<Api>>,
    seq: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let from = value::ledger(&segment(seq)?)?;
    let query = Query::read(&uri, &LEDGER_PROOF)?;
    let contract = query.parse("contract_id", value::contract)?;
    let contract = contract.ok_or_else(|| ApiError::new(Code::ContractRequired, CONTRACT_NEEDED))?;
    let to = query.parse("to_ledger", value::ledger)?.unwrap_or(from);
    let range = LedgerRange::new(from, to).map_err(|_| Code::BadRange)?;
    api.reads.run(move |store| Ok(Answer::of_json(prove::ledgers(store, contract, range)?))).await
}

impl From<ProveError> for ReadError {
    fn from(error: ProveError) -> Self {
        let code = match error {
            ProveError::Store(error) => return Self::Store(error),
            ProveError::NoSuchEvent { .. } => Code::EventNotFound,
            ProveError::NotCovered { .. } => Code::LedgerNotCovered,
            ProveError::NoLedgerRow { .. } => Code::NoLedgerRow,
            ProveError::Build(BuildFault::Ledgers { .. }) | ProveError::TooLarge { .. } => Code::BadRange,
            ProveError::Build(BuildFault::NoMaterial { .. } | BuildFault::InvocationsNotKept { .. }) => {
                Code::NotProvable
            }
            damaged @ (ProveError::Build(_) | ProveError::Damaged(_)) => return Self::Damaged(Box::new(damaged)),
        };
        // The sentence names ledgers and events alone.
        ApiError::new(code, error.to_string()).into()
    }
}
