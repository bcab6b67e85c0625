//! An error on its way to the wire.

use std::borrow::Cow;

use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::code::Code;

/// After how many seconds a reader who was turned away may come back.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// An answer that refuses or fails; holds no payload and no word of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    code: Code,
    message: Cow<'static, str>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'a str,
    message: &'a str,
}

impl ApiError {
    /// Says more than the code's own sentence; never what came from outside.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    /// The envelope's text.
    pub fn body(&self) -> String {
        let envelope = Envelope { error: Body { code: self.code.as_str(), message: &self.message } };
        serde_json::to_string(&envelope).expect("two texts are always JSON")
    }

    /// The code.
    #[cfg(test)]
    pub fn code(&self) -> Code {
        self.code
    }
}

impl From<Code> for ApiError {
    fn from(code: Code) -> Self {
        Self::new(code, code.sentence())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.code.status(), self.body()).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if matches!(self.code, Code::Overloaded | Code::TimedOut) {
            response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        response
    }
}
