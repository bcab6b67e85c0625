//! The contracts that an archive watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use annals_core::window::marks_begin;
use annals_core::{ContractId, LedgerSeq, ScopeKey};
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;

use super::Api;
use super::answer::Answer;
use super::error::ApiError;
use super::health::is_of_all;
use super::limits::CONTRACTS_MAX;
use super::query::Query;
use super::reads::ReadError;
use super::route::CONTRACTS;
use crate::store::{Contract, Status, Store};

#[derive(Debug, Serialize)]
struct Listed {
    scope: &'static str,
    contracts: Vec<Watched>,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Watched {
    contract_id: String,
    origin_ledger: Option<u32>,
    kind: Option<&'static str>,
    schema: Option<String>,
    unattributed: bool,
    latest_ledger: Option<u32>,
    ingested_through: Option<u32>,
}

/// Answers which contracts the archive watches.
pub(super) async fn list(State(api): State<Arc<Api>>, uri: Uri) -> Result<Answer, ApiError> {
    Query::read(&uri, &CONTRACTS)?;
    api.reads.run(answer).await
}

fn answer(store: &dyn Store) -> Result<Answer, ReadError> {
    let status = store.status()?;
    let mut contracts: BTreeMap<ContractId, Option<Contract>> = BTreeMap::new();
    let keys = status.coverage.iter().map(|(key, _)| *key).chain(status.gaps.iter().map(|gap| gap.key));
    for key in keys {
        if let ScopeKey::Contract(id) = key {
            contracts.insert(id, None);
        }
    }
    contracts.extend(store.contracts()?.into_iter().map(|contract| (contract.id, Some(contract))));
    let truncated = contracts.len() > CONTRACTS_MAX;
    let listed = contracts.into_iter().take(CONTRACTS_MAX).map(|(id, contract)| watched(id, contract, &status));
    let scope = if is_of_all(&status) { "all" } else { "contracts" };
    Answer::new(&Listed { scope, contracts: listed.collect(), truncated })
}

fn watched(id: ContractId, contract: Option<Contract>, status: &Status) -> Watched {
    let origin = contract.as_ref().and_then(|contract| contract.origin);
    let coverage = status.covered(ScopeKey::Contract(id));
    let ingested = marks_begin(origin, status.start).and_then(|first| coverage.watermark(first));
    Watched {
        contract_id: id.to_string(),
        origin_ledger: origin.map(LedgerSeq::get),
        kind: contract.as_ref().and_then(|contract| contract.kind).map(|kind| kind.as_str()),
        schema: contract.and_then(|contract| contract.schema).map(|schema| schema.to_string()),
        unattributed: status.unattributed.contains(&id),
        latest_ledger: coverage.latest().map(LedgerSeq::get),
        ingested_through: ingested.map(LedgerSeq::get),
    }
}
