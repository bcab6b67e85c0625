//! Why an RPC did not give what it was asked for, typed by what the caller does next.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::source::HttpFault;

/// A request that an endpoint did not fulfil.
#[derive(Debug)]
pub struct RequestFault {
    /// The endpoint, as it may be shown.
    pub endpoint: String,
    /// The method.
    pub method: &'static str,
    /// What is wrong.
    pub kind: RequestFaultKind,
}

impl fmt::Display for RequestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.endpoint, self.method, self.kind)
    }
}

/// The kind is part of the sentence, so the next cause is the kind's own.
impl Error for RequestFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.kind.source()
    }
}

/// The kinds of [`RequestFault`].
#[derive(Debug, thiserror::Error)]
pub enum RequestFaultKind {
    /// There was no whole answer.
    #[error(transparent)]
    Http(#[from] HttpFault),
    /// An answer of HTTP that is none of JSON-RPC.
    #[error("it answers with HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// Status 200 and a page for people.
    #[error("it answers with a web page and not with JSON")]
    WebPage,
    /// A body that is no JSON, or ends before its JSON does.
    #[error("its answer is no whole JSON")]
    NotJson(#[source] serde_json::Error),
    /// JSON that is no answer of JSON-RPC 2.0.
    #[error("it does not answer in JSON-RPC")]
    NotRpc,
    /// An answer to another request.
    #[error("it answers another request")]
    OtherId,
    /// `"result": null`, as a replica says that lags behind.
    #[error("its result is null")]
    NullResult,
    /// A result that lacks what the method promises.
    #[error("its result is not of the method's form")]
    BadResult(#[source] serde_json::Error),
    /// An error of JSON-RPC.
    #[error("it answers with error {code}: {message}")]
    Error {
        /// The code.
        code: i64,
        /// The server's own words, shortened.
        message: String,
    },
    /// A page that does not begin where it was asked to.
    #[error("asked for ledger {asked} its page begins with {first}")]
    Astray {
        /// The ledger asked for.
        asked: u32,
        /// The first ledger of the page.
        first: u32,
    },
    /// A page without a ledger, below the ledger that the endpoint says it has.
    #[error("it says that it has ledgers up to {latest} and gives none from {asked} on")]
    Unserved {
        /// The ledger asked for.
        asked: u32,
        /// The endpoint's own latest.
        latest: u32,
    },
    /// Ledger metadata that is no base64.
    #[error("its metadata of ledger {seq} is no base64")]
    NotBase64 {
        /// The ledger.
        seq: u32,
    },
    /// A page of events that is none, or does not follow.
    #[error("its page of events {wrong}")]
    Page {
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// Events with ids that are no positions.
    #[error(
        "it numbers events as stellar-rpc before version 23 did, by which nobody else finds them: name a newer one"
    )]
    OldIds,
    /// A transaction that is told of by an event and by nothing else.
    #[error("it has events of a transaction of ledger {ledger} and not the transaction")]
    NoTransaction {
        /// The ledger.
        ledger: u32,
    },
    /// An envelope that is not that of the transaction which was asked for.
    #[error("what it gives for the envelope of a transaction of ledger {ledger} is not its own")]
    OtherEnvelope {
        /// The ledger.
        ledger: u32,
    },
    /// The endpoint is of another network than the first that answered.
    #[error("it is of the network \"{claimed}\"")]
    OtherNetwork {
        /// The passphrase that it claims.
        claimed: String,
    },
}

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Ask what the endpoint holds: the ledger lies outside it, or the page is longer than its operator allows.
    AskRange,
    /// The same again, later or elsewhere.
    Again,
    /// Less at once, later or elsewhere.
    Smaller,
    /// Not again: it takes an operator.
    Never,
}

impl RequestFaultKind {
    /// What the caller does next. Codes are those of stellar-rpc: -32001 over the time budget, -32003 and -32603
    /// internal, -32600 outside the ledger range and, of `getLedgers`, more ledgers than the operator allows, -32601 no
    /// such method, -32602 wrong parameters.
    #[must_use]
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Http(HttpFault::TooLarge { .. } | HttpFault::TimedOut | HttpFault::Broken(_)) => NextStep::Smaller,
            Self::Status { status: 413, .. } => NextStep::Smaller,
            Self::Http(_) => NextStep::Again,
            Self::Status { status: 408 | 425 | 429 | 500..=599, .. } => NextStep::Again,
            Self::Status { .. } | Self::NotRpc | Self::OtherNetwork { .. } | Self::OldIds => NextStep::Never,
            Self::NotJson(_) | Self::BadResult(_) | Self::NotBase64 { .. } | Self::NullResult => NextStep::Smaller,
            Self::WebPage | Self::OtherId | Self::Astray { .. } | Self::Unserved { .. } => NextStep::Again,
            Self::OtherEnvelope { .. } => NextStep::Again,
            Self::Page { .. } | Self::NoTransaction { .. } => NextStep::Smaller,
            Self::Error { code: -32600, .. } => NextStep::AskRange,
            Self::Error { code: -32601 | -32700, .. } => NextStep::Never,
            Self::Error { code: -32001 | -32602, .. } => NextStep::Smaller,
            Self::Error { .. } => NextStep::Again,
        }
    }

    /// How long the server asks to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let Self::Status { retry_after, .. } = self else { return None };
        *retry_after
    }

    /// Whether an RPC answered, if only with what cannot be used.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::BadResult(_) | Self::NullResult)
    }

    /// Whether the server itself answered, so that another ledger may fare better.
    pub(super) fn is_about_the_ledger(&self) -> bool {
        match self {
            Self::Http(fault) => matches!(fault, HttpFault::TooLarge { .. } | HttpFault::Broken(_)),
            Self::Error { .. } | Self::NotJson(_) | Self::BadResult(_) | Self::NullResult => true,
            Self::Astray { .. } | Self::Unserved { .. } | Self::NotBase64 { .. } => true,
            Self::Page { .. } | Self::NoTransaction { .. } | Self::OtherEnvelope { .. } => true,
            Self::Status { .. } | Self::WebPage | Self::NotRpc | Self::OtherId | Self::OtherNetwork { .. } => false,
            Self::OldIds => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_says_what_to_do_next() {
        let status = |status| RequestFaultKind::Status { status, retry_after: None };
        let error = |code| RequestFaultKind::Error { code, message: String::new() };
        let not_json = || serde_json::from_str::<u32>("{").unwrap_err();
        for (kind, step) in [
            (status(429), NextStep::Again),
            (status(503), NextStep::Again),
            (status(502), NextStep::Again),
            (status(413), NextStep::Smaller),
            (status(401), NextStep::Never),
            (status(403), NextStep::Never),
            (status(404), NextStep::Never),
            (status(301), NextStep::Never),
            (error(-32001), NextStep::Smaller),
            (error(-32003), NextStep::Again),
            (error(-32603), NextStep::Again),
            (error(-32600), NextStep::AskRange),
            (error(-32601), NextStep::Never),
            (error(-32602), NextStep::Smaller),
            (error(7), NextStep::Again),
            (HttpFault::TimedOut.into(), NextStep::Smaller),
            (HttpFault::TooLarge { bytes_max: 1 }.into(), NextStep::Smaller),
            (RequestFaultKind::NotJson(not_json()), NextStep::Smaller),
            (RequestFaultKind::WebPage, NextStep::Again),
            (RequestFaultKind::NullResult, NextStep::Smaller),
            (RequestFaultKind::NotRpc, NextStep::Never),
            (RequestFaultKind::OtherNetwork { claimed: String::new() }, NextStep::Never),
        ] {
            assert_eq!(kind.next_step(), step, "{kind:?}");
        }
    }
}
