//! The query of a URL: every parameter known, and given once.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

use super::code::Code;
use super::error::ApiError;
use super::route::Route;

/// The parameters of one request.
#[derive(Debug)]
pub(super) struct Query {
    given: Vec<(&'static str, String)>,
}

impl Query {
    /// Reads the query of `uri`. A plus sign stands for itself, as base64 has it, and not for a space, which no
    /// value has.
    ///
    /// # Errors
    /// [`Code::BadEncoding`], [`Code::UnknownParameter`]: a filter that is misspelt must never be ignored,
    /// [`Code::RepeatedParameter`].
    pub fn read(uri: &Uri, route: &Route) -> Result<Self, ApiError> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        for pair in uri.query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            let Some(known) = route.query_names().find(|known| *known == name) else {
                return Err(unknown(route));
            };
            if given.iter().any(|(name, _)| *name == known) {
                return Err(ApiError::new(Code::RepeatedParameter, format!("{known} is given once")));
            }
            given.push((known, decode(value)?));
        }
        Ok(Self { given })
    }

    /// The value of a parameter; none where it was left out.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Reads the value of a parameter.
    pub fn parse<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, ApiError>) -> Result<Option<T>, ApiError> {
        self.get(name).map(read).transpose()
    }
}

fn decode(text: &str) -> Result<String, ApiError> {
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded.map_err(|_| Code::BadEncoding)?.into_owned())
}

fn unknown(route: &Route) -> ApiError {
    let names: Vec<&str> = route.query_names().collect();
    let message = match names.as_slice() {
        [] => "this route takes no parameter".to_owned(),
        names => format!("this route's parameters are {}", names.join(", ")),
    };
    ApiError::new(Code::UnknownParameter, message)
}
