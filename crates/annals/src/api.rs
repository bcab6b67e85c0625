//! What readers are told over HTTP: routes under `/v1`, whether the process is alive and the archive to be relied on,
//! and a page that says what this is.
//!
//! Nothing here writes. Each answer is made of one read of the store, or of reads whose facts cannot contradict
//! each other; a page and what judges it are of one snapshot. The store blocks, so its verbs run on threads of
//! their own, a bounded number at once.

use std::future::Future;
use std::sync::Arc;

use annals_core::{Address, ContractId};
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::net::TcpListener;
use tower_http::compression::predicate::SizeAbove;
use tower_http::compression::{CompressionLayer, CompressionLevel};

use crate::clock::Clock;
use crate::config::AllowedOrigins;
use crate::readiness::Place;
use crate::store::{Store, StoreError};

mod answer;
mod checkpoint;
mod code;
mod connection;
mod contracts;
mod cursor;
mod error;
mod event;
mod events;
mod front;
mod health;
mod history;
mod index;
mod judge;
mod ledger;
mod limits;
mod openapi;
mod page;
mod proof;
mod query;
mod reads;
mod ready;
mod route;
mod value;

pub use code::Code;
pub use limits::Limits;

use answer::Answer;
use cursor::CursorKey;
use error::ApiError;
use query::Query;
use reads::Reads;

/// Answers shorter than this, in bytes, are not worth compressing.
const COMPRESSED_BYTES_MIN: u64 = 1024;

/// What every request is answered from.
struct Api {
    reads: Reads,
    clock: Arc<dyn Clock>,
    cursors: CursorKey,
    allowed_origins: AllowedOrigins,
    limits: Limits,
    document: String,
    place: Place,
}

/// A server over one archive that has not begun yet.
pub struct Server {
    api: Api,
}

impl Server {
    /// Prepares to answer from `store`.
    ///
    /// # Errors
    /// [`StoreError`] when the archive cannot be read.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        allowed_origins: AllowedOrigins,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let cursors = CursorKey::new(store.cursor_key()?);
        let reads = Reads::new(store, &limits);
        let document = format!("{:#}\n", openapi::document());
        let place = Place::nowhere();
        Ok(Self { api: Api { reads, clock, cursors, allowed_origins, limits, document, place } })
    }

    /// Says where the store lies and who fills it, which tells readers whether it can be relied on.
    #[must_use]
    pub fn in_place(mut self, place: Place) -> Self {
        self.api.place = place;
        self
    }

    /// Answers whoever connects until `stop` comes, then lets the requests that run end. Needs a runtime with
    /// network and time.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let limits = self.api.limits;
        connection::serve(listener, router(Arc::new(self.api)), limits, stop).await;
    }
}

fn router(api: Arc<Api>) -> Router {
    let mut router = Router::new()
        .route(route::HEALTH.path, get(health::get))
        .route(route::CONTRACTS.path, get(contracts::list))
        .route(route::EVENT.path, get(event::get))
        .route(route::LEDGER.path, get(ledger::get))
        .route(route::EVENT_PROOF.path, get(proof::of_event))
        .route(route::LEDGER_PROOF.path, get(proof::of_ledgers))
        .route(route::DOCUMENT.path, get(document))
        .route(route::HEALTHZ.path, get(health::alive))
        .route(route::READYZ.path, get(ready::get))
        .route(route::INDEX.path, get(index::get));
    for (route, handler) in [
        (&route::EVENTS, get(events::list)),
        (&route::ACCOUNT_EVENTS, get(events::list_of_account)),
        (&route::DIGEST, get(history::of_contract)),
        (&route::ACCOUNT_DIGEST, get(history::of_account)),
        (&route::CHECKPOINT, get(checkpoint::latest)),
        (&route::REPLAY_WINDOW, get(checkpoint::replay_window)),
    ] {
        for path in [route.path].iter().chain(route.aliases) {
            router = router.route(path, handler.clone());
        }
    }
    let compression =
        CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(COMPRESSED_BYTES_MIN));
    router
        .fallback(nothing_here)
        .layer(compression)
        .layer(from_fn_with_state(Arc::clone(&api), front::answer))
        .with_state(api)
}

async fn nothing_here() -> ApiError {
    Code::NotFound.into()
}

async fn document(State(api): State<Arc<Api>>, uri: Uri) -> Result<Answer, ApiError> {
    Query::read(&uri, &route::DOCUMENT)?;
    Ok(Answer::of_json(api.document.clone()))
}

/// The contract and the account that the path of an account's route names.
fn contract_and_account(
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<(ContractId, Address), ApiError> {
    let Path((contract, account)) = path.map_err(|_| Code::BadEncoding)?;
    Ok((value::contract(&contract)?, value::account(&account)?))
}

/// The part of a path that a route's parameter stands for.
fn segment(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    // The pattern of a route has the parameters that its handler takes, so that only their encoding can be at fault.
    path.map(|Path(segment)| segment).map_err(|_| Code::BadEncoding.into())
}
