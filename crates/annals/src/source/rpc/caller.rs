//! One request to one endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::json;

use super::answer::{Envelope, Id};
use super::fault::{RequestFault, RequestFaultKind};
use crate::clock::Clock;
use crate::source::http::{Address, Answer, HttpClient};

/// The most of a server's own words that is kept, characters.
const MESSAGE_CHARS_MAX: usize = 200;

/// Asks the server at one address.
pub(super) struct Caller {
    pub(super) http: HttpClient,
    pub(super) address: Address,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: AtomicU64,
}

/// A whole answer, still to be read.
pub(super) struct Body(Vec<u8>);

impl Caller {
    /// Sends one request, and takes an answer of at most `bytes_max`.
    pub(super) fn call(
        &self,
        method: &'static str,
        params: &serde_json::Value,
        bytes_max: u64,
    ) -> Result<(u64, Body), RequestFault> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params.clone();
        }
        let answered = self.http.post(&self.address, request.to_string().as_bytes(), bytes_max);
        let answer = answered.map_err(|fault| self.fault(method, fault.into()))?;
        if answer.is_success() {
            return match answer.is_html {
                true => Err(self.fault(method, RequestFaultKind::WebPage)),
                false => Ok((id, Body(answer.body))),
            };
        }
        Err(self.fault(method, self.refusal(&answer)))
    }

    /// Reads the result of an answer to request `id`, and says how long the answer was, bytes.
    pub(super) fn result<'a, T: Deserialize<'a>>(
        &self,
        method: &'static str,
        (id, body): &'a (u64, Body),
    ) -> Result<T, RequestFault> {
        read_result(*id, &body.0).map_err(|kind| self.fault(method, kind))
    }

    pub(super) fn fault(&self, method: &'static str, kind: RequestFaultKind) -> RequestFault {
        use RequestFaultKind::{BadResult, Error, NotJson};
        // What a server says is told in part, and without what it may have read in the request.
        let kind = match kind {
            Error { code, message } => Error { code, message: self.told(&message) },
            BadResult(cause) => BadResult(serde::de::Error::custom(self.told(&cause.to_string()))),
            NotJson(cause) => NotJson(serde::de::Error::custom(self.told(&cause.to_string()))),
            other => other,
        };
        RequestFault { endpoint: self.address.to_string(), method, kind }
    }

    /// A server's words as they may be shown and kept.
    fn told(&self, words: &str) -> String {
        let in_one_line = |text: char| if text.is_control() { ' ' } else { text };
        self.address.conceal(words).chars().take(MESSAGE_CHARS_MAX).map(in_one_line).collect()
    }

    /// What is wrong where the status is no success: some servers send errors of JSON-RPC with one of HTTP.
    fn refusal(&self, answer: &Answer) -> RequestFaultKind {
        let in_json = serde_json::from_slice::<Envelope<serde::de::IgnoredAny>>(&answer.body);
        match in_json.ok().and_then(|envelope| envelope.error) {
            Some(error) if (400..429).contains(&answer.status) && error.code < 0 => error.into(),
            _ => {
                let retry_after = answer.retry_after(self.clock.now_unix_ms());
                RequestFaultKind::Status { status: answer.status, retry_after }
            }
        }
    }
}

impl Body {
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl From<super::answer::ErrorObject> for RequestFaultKind {
    fn from(error: super::answer::ErrorObject) -> Self {
        Self::Error { code: error.code, message: error.message }
    }
}

fn read_result<'a, T: Deserialize<'a>>(id: u64, body: &'a [u8]) -> Result<T, RequestFaultKind> {
    match serde_json::from_slice::<Envelope<T>>(body) {
        // An error may come without the id of what it is about (JSON-RPC 2.0, section 5).
        Ok(Envelope { error: Some(error), id: of, .. }) if of == Id::Null || of == Id::Number(id) => Err(error.into()),
        Ok(Envelope { id: Id::Null, error: None, result: None }) => Err(RequestFaultKind::NotRpc),
        Ok(Envelope { id: of, .. }) if of != Id::Number(id) => Err(RequestFaultKind::OtherId),
        Ok(Envelope { result: Some(result), .. }) => Ok(result),
        Ok(_) => Err(RequestFaultKind::NullResult),
        Err(cause) if cause.is_data() => Err(RequestFaultKind::BadResult(cause)),
        Err(cause) => Err(RequestFaultKind::NotJson(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    struct Result1 {
        list: Vec<u32>,
    }

    fn read(body: &str) -> String {
        match read_result::<Result1>(7, body.as_bytes()) {
            Ok(result) => format!("{result:?}"),
            Err(kind) => kind.to_string(),
        }
    }

    #[test]
    fn h1_null_error_emptiness_and_rubbish_are_told_apart() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"list":[]}}"#, "Result1 { list: [] }"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"list":[1],"more":{}},"extra":1}"#, "Result1 { list: [1] }"),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "its result is null"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "its result is not of the method's form"),
            (r#"{"jsonrpc":"2.0","id":8,"result":{"list":[]}}"#, "it answers another request"),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"list":[]}}"#, "it answers another request"),
            (r#"{"id":7,"error":{"code":-32001,"message":"a\nb"}}"#, "it answers with error -32001: a\nb"),
            (r#"{"id":null,"error":{"code":-32700,"message":""}}"#, "it answers with error -32700: "),
            (r#"{"id":8,"error":{"code":-32001,"message":""}}"#, "it answers another request"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"list":["#, "its answer is no whole JSON"),
            ("<html>", "its answer is no whole JSON"),
            ("", "its answer is no whole JSON"),
            (r#"{"_links":{}}"#, "it does not answer in JSON-RPC"),
            ("[]", "its result is not of the method's form"),
        ] {
            assert_eq!(read(body), expected, "{body}");
        }
    }
}
