//! An answer in JSON.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::reads::ReadError;

/// An answer's text, made where the store is read, so that no thread of the network is kept busy by a long page.
#[derive(Debug)]
pub(super) struct Answer(Vec<u8>);

impl Answer {
    /// Writes a value.
    pub fn new(value: &impl Serialize) -> Result<Self, ReadError> {
        serde_json::to_vec(value).map(Self).map_err(|error| ReadError::Damaged(Box::new(error)))
    }

    /// Takes what is JSON already.
    pub fn of_json(json: impl Into<Vec<u8>>) -> Self {
        Self(json.into())
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
