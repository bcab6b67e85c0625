//! What the server answers in place of a result.

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code, as on the wire.
    pub code: i32,
    /// The text, as on the wire.
    pub message: String,
    /// What is said beside it, as on the wire.
    pub data: Option<serde_json::Value>,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The body is no JSON.
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    /// The request is none, or asks for a ledger outside the node's range.
    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// The node has no such method.
    pub(super) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("no such method {method:?}"))
    }

    /// The parameters are wrong.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The node failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }
}
