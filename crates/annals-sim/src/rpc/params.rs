//! The parameters of the methods, as they come.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::RpcError;
use super::method::QueryFilter;

/// What `getLedgers` and `getTransactions` take.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageParams {
    pub(super) start_ledger: Option<u32>,
    pub(super) pagination: Option<Pagination>,
    pub(super) xdr_format: Option<String>,
}

/// What `getEvents` takes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EventsParams {
    pub(super) start_ledger: Option<u32>,
    pub(super) end_ledger: Option<u32>,
    pub(super) filters: Option<Vec<FilterParams>>,
    pub(super) pagination: Option<Pagination>,
    pub(super) xdr_format: Option<String>,
}

/// What `queryEvents` takes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct QueryParams {
    pub(super) min_ledger: Option<u32>,
    pub(super) max_ledger: Option<u32>,
    pub(super) order: Option<String>,
    pub(super) filters: Option<Vec<QueryFilter>>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) xdr_format: Option<String>,
}

/// One filter of `getEvents`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FilterParams {
    #[serde(rename = "type")]
    pub(super) kinds: Option<String>,
    pub(super) contract_ids: Option<Vec<String>>,
    pub(super) topics: Option<Vec<Vec<String>>>,
}

/// Where a page begins and how long it may be.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pagination {
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<u32>,
}

/// What `getTransaction` takes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TransactionParams {
    pub(super) hash: String,
    pub(super) xdr_format: Option<String>,
}

/// Reads parameters by name. What is absent or null has its zero value, as in Go.
///
/// # Errors
/// [`RpcError`] -32602 for a list, and for a value of another type.
pub(super) fn read<T: DeserializeOwned + Default>(params: &Value) -> Result<T, RpcError> {
    match params {
        Value::Null => Ok(T::default()),
        Value::Object(_) => T::deserialize(params).map_err(|error| RpcError::invalid_params(error.to_string())),
        _ => Err(RpcError::invalid_params("invalid parameters: they are given by name")),
    }
}

impl Pagination {
    /// The cursor, where one is set. An empty one is none.
    pub(super) fn cursor_of(pagination: Option<&Self>) -> Option<&str> {
        pagination?.cursor.as_deref().filter(|cursor| !cursor.is_empty())
    }

    /// How long a page may be.
    pub(super) fn limit_of(pagination: Option<&Self>, default: u32) -> u32 {
        pagination.and_then(|pagination| pagination.limit).filter(|limit| *limit > 0).unwrap_or(default)
    }

    /// # Errors
    /// What the node says of a page that is too long.
    pub(super) fn check_limit(pagination: Option<&Self>, max: u32) -> Result<(), TooLong> {
        let limit = pagination.and_then(|pagination| pagination.limit).unwrap_or(0);
        if limit > max { Err(TooLong(max)) } else { Ok(()) }
    }
}

/// A page that is too long.
#[derive(Debug, thiserror::Error)]
#[error("limit must not exceed {0}")]
pub(super) struct TooLong(u32);

/// A name of a format that is none, or of one that is not simulated.
#[derive(Debug, thiserror::Error)]
pub(super) enum FormatError {
    #[error("got '{0}': expected base64, json for optional 'xdrFormat'")]
    Unknown(String),
    #[error("this simulated node answers in base64 alone")]
    Json,
}

/// Checks `xdrFormat`.
///
/// # Errors
/// [`FormatError`] for all but base64.
pub(super) fn check_format(format: Option<&str>) -> Result<(), FormatError> {
    match format {
        None | Some("" | "base64") => Ok(()),
        Some("json") => Err(FormatError::Json),
        Some(other) => Err(FormatError::Unknown(other.to_owned())),
    }
}
