//! Whether the archive can be relied on now.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

use super::Api;
use super::answer::Answer;
use super::error::ApiError;
use super::query::Query;
use super::route::READYZ;
use crate::readiness::{Level, Readiness};

/// Answers how each part is; 503 where one fails.
pub(super) async fn get(State(api): State<Arc<Api>>, uri: Uri) -> Result<Response, ApiError> {
    Query::read(&uri, &READYZ)?;
    let (place, now_ms) = (api.place.clone(), api.clock.now_unix_ms());
    let ask = move |store: &dyn crate::store::Store| place.readiness(store, now_ms);
    let readiness = api.reads.ask(ask, Readiness::unreadable).await?;
    let status = if readiness.status == Level::Failing { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let answer = Answer::of_json(serde_json::to_string(&readiness).expect("words and texts are always JSON"));
    Ok((status, answer).into_response())
}
