//! What holds for every request, whatever its path: methods, sizes, time, and the headers of every answer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, ORIGIN,
    TRANSFER_ENCODING, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use super::Api;
use super::code::Code;
use super::error::ApiError;
use super::limits::{HEADER_BYTES_MAX, HEADERS_MAX, URL_BYTES_MAX};
use crate::config::AllowedOrigins;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");
const ANY: HeaderValue = HeaderValue::from_static("*");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What `access-control-allow-origin` says to a request; none where it says nothing.
fn allow_origin(allowed: &AllowedOrigins, headers: &HeaderMap) -> Option<HeaderValue> {
    match allowed {
        AllowedOrigins::Any => Some(ANY),
        AllowedOrigins::Listed(origins) => {
            let origin = headers.get(ORIGIN)?;
            origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()).then(|| origin.clone())
        }
    }
}

/// Decides before anything is routed what can be decided so, and writes the headers that every answer has.
pub(super) async fn answer(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let for_browsers = is_under_v1(request.uri().path());
    let allow_origin = if for_browsers { allow_origin(&api.allowed_origins, request.headers()) } else { None };
    let mut response = match check(&request) {
        Err(error) => error.into_response(),
        Ok(()) if method == Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => match timeout(api.limits.answer, next.run(request)).await {
            // The compression alone says so, over whatever the route answered.
            Ok(response) if response.status() == StatusCode::NOT_ACCEPTABLE => {
                ApiError::from(Code::NotAcceptable).into_response()
            }
            Ok(response) => response,
            Err(_) => ApiError::from(Code::TimedOut).into_response(),
        },
    };
    let status = response.status();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, NO_STORE);
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::METHOD_NOT_ALLOWED) {
        headers.insert(ALLOW, METHODS);
    }
    if for_browsers {
        if matches!(api.allowed_origins, AllowedOrigins::Listed(_)) {
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
        if let Some(origin) = allow_origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
            if method == Method::OPTIONS {
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ANY);
                headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
            }
        }
    }
    response
}

fn is_under_v1(path: &str) -> bool {
    path.strip_prefix("/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check(request: &Request) -> Result<(), ApiError> {
    if ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return Err(Code::MethodNotAllowed.into());
    }
    if request.uri().path_and_query().is_some_and(|path| path.as_str().len() > URL_BYTES_MAX) {
        return Err(Code::UriTooLong.into());
    }
    let headers = request.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        return Err(Code::HeadersTooLarge.into());
    }
    let has_body = headers.contains_key(TRANSFER_ENCODING)
        || headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if has_body { Err(Code::BodyTooLarge.into()) } else { Ok(()) }
}
