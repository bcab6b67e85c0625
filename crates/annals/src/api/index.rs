//! The page that people see who ask for nothing in particular.

use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::query::Query;
use super::route::INDEX;

/// Where to go on, and what is there.
const LINKS: [(&str, &str); 4] = [
    ("/v1/openapi.json", "the API, as an OpenAPI document"),
    ("/v1/health", "how far the history reaches without a gap"),
    ("/readyz", "whether the archive can be relied on now, part by part"),
    ("/healthz", "whether this server answers"),
];

const ABOUT: &str = "An archive of Stellar contract events. Every answer says whether its window is gap-free, and what \
    ties each event to the ledger headers.";

/// Answers with a page for browsers, and as plain text for everybody else.
pub(super) async fn get(uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    Query::read(&uri, &INDEX)?;
    let (kind, page) =
        if wants_html(&headers) { ("text/html; charset=utf-8", html()) } else { ("text/plain; charset=utf-8", text()) };
    let mut response = page.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// Browsers name HTML before anything else; other programs take what comes.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|value| value.split(',')).any(|kind| {
        let mut parts = kind.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"));
        is_html && !parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)))
    })
}

fn text() -> String {
    let links: String = LINKS.iter().map(|(path, about)| format!("{path:<17} {about}\n")).collect();
    format!("Annals {}\n\n{ABOUT}\n\n{links}", env!("CARGO_PKG_VERSION"))
}

fn html() -> String {
    let link = |(path, about): &(&str, &str)| format!("<li><a href=\"{path}\">{path}</a>: {about}</li>\n");
    let links: String = LINKS.iter().map(link).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Annals</title>\n<h1>Annals {}</h1>\n\
         <p>{ABOUT}</p>\n<ul>\n{links}</ul>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
