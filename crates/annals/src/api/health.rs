//! How far the archive reaches, and whether it answers.

use std::sync::Arc;

use annals_core::{ContractId, LedgerRange, LedgerSeq, Network, ScopeKey};
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;

use super::answer::Answer;
use super::code::Code;
use super::error::ApiError;
use super::judge::Ledgers;
use super::query::Query;
use super::reads::ReadError;
use super::route::{HEALTH, HEALTHZ};
use super::{Api, ledger, value};
use crate::store::{Contract, Status, Store};

#[derive(Debug, Serialize)]
struct Health {
    contract_id: Option<String>,
    network: Option<String>,
    version: &'static str,
    latest_ledger: Option<u32>,
    ingested_through: Option<u32>,
    verified_through: Option<u32>,
    tip_ledger: Option<u32>,
    tip_age_seconds: Option<u64>,
    lag_seconds: Option<u64>,
    start_ledger: Option<u32>,
    origin_ledger: Option<u32>,
    gaps: Vec<Ledgers>,
    incidents: u64,
    schema: Option<String>,
    unattributed: bool,
    unattributed_events: u64,
}

/// Answers how far one contract's history reaches, or the whole archive's.
pub(super) async fn get(State(api): State<Arc<Api>>, uri: Uri) -> Result<Answer, ApiError> {
    let query = Query::read(&uri, &HEALTH)?;
    let contract = query.parse("contract_id", value::contract)?;
    let now_ms = api.clock.now_unix_ms();
    let read = api.reads.run(move |store| {
        let health = match contract {
            Some(contract) => of_contract(store, contract, now_ms)?,
            None => of_archive(store, now_ms)?,
        };
        Answer::new(&health)
    });
    read.await
}

fn of_archive(store: &dyn Store, now_ms: u64) -> Result<Health, ReadError> {
    let status = store.status()?;
    if !is_of_all(&status) {
        return Err(Code::ContractRequired.into());
    }
    of(store, &status, ScopeKey::All, status.start, now_ms)
}

fn of_contract(store: &dyn Store, id: ContractId, now_ms: u64) -> Result<Health, ReadError> {
    let view = store.contract(id)?;
    if !view.in_scope {
        return Err(Code::UnknownContract.into());
    }
    let status = store.status()?;
    let first = Contract::counted_from(view.contract.as_ref(), status.start);
    let health = of(store, &status, ScopeKey::Contract(id), first, now_ms)?;
    let (origin, schema) = view.contract.map_or((None, None), |contract| (contract.origin, contract.schema));
    Ok(Health {
        contract_id: Some(id.to_string()),
        origin_ledger: origin.map(LedgerSeq::get),
        schema: schema.map(|schema| schema.to_string()),
        unattributed: status.unattributed.contains(&id),
        unattributed_events: store.quarantined(id)?,
        ..health
    })
}

/// Whether the archive's scope is everything, or nobody has said yet what it is.
pub(super) fn is_of_all(status: &Status) -> bool {
    let mut keys = status.coverage.iter().map(|(key, _)| *key).chain(status.gaps.iter().map(|gap| gap.key)).peekable();
    keys.peek().is_none() || keys.any(|key| key == ScopeKey::All)
}

/// Every mark is read off one status.
fn of(
    store: &dyn Store,
    status: &Status,
    key: ScopeKey,
    first: Option<LedgerSeq>,
    now_ms: u64,
) -> Result<Health, ReadError> {
    let coverage = status.covered(key);
    let through = |held: &annals_core::Coverage| first.and_then(|first| held.watermark(first));
    let ingested = through(&coverage);
    let asked = status.gaps.iter().filter(|gap| gap.key == key || gap.key == ScopeKey::All);
    let last = asked.map(|gap| gap.range.to_inclusive()).max().max(coverage.latest());
    let window = first.zip(last).and_then(|(first, last)| LedgerRange::new(first, last).ok());
    let missing = window.map(|window| coverage.missing(window)).unwrap_or_default();
    let closed = match ingested {
        Some(seq) => ledger::row(store, seq)?.map(|ledger| ledger.close_time_ms),
        None => None,
    };
    let tip = status.tip();
    Ok(Health {
        contract_id: None,
        network: status.passphrase.as_deref().map(|passphrase| Network::new(passphrase).to_string()),
        version: env!("CARGO_PKG_VERSION"),
        latest_ledger: coverage.latest().map(LedgerSeq::get),
        ingested_through: ingested.map(LedgerSeq::get),
        verified_through: through(&coverage.intersection(&status.verified)).map(LedgerSeq::get),
        tip_ledger: tip.map(|tip| tip.ledger.get()),
        tip_age_seconds: tip.map(|tip| tip.age_ms(now_ms) / 1000),
        lag_seconds: closed.map(|closed_ms| now_ms.saturating_sub(closed_ms) / 1000),
        start_ledger: status.start.map(LedgerSeq::get),
        origin_ledger: None,
        gaps: Ledgers::of(&missing).0,
        incidents: status.open_incidents,
        schema: None,
        unattributed: !status.unattributed.is_empty(),
        unattributed_events: status.quarantined,
    })
}

#[derive(Debug, Serialize)]
struct Alive {
    status: &'static str,
}

/// Answers that the process runs and the archive can be read.
pub(super) async fn alive(State(api): State<Arc<Api>>, uri: Uri) -> Result<Answer, ApiError> {
    Query::read(&uri, &HEALTHZ)?;
    api.reads.probe().await?;
    Ok(Answer::of_json(serde_json::to_string(&Alive { status: "ok" }).expect("a text is always JSON")))
}
