//! The stable codes of errors on the wire.

use axum::http::StatusCode;

/// Why a request is refused or failed; stable, one word a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Bytes that are no HTTP request.
    BadRequest,
    /// Percent-encoding that is no UTF-8.
    BadEncoding,
    /// A parameter that the route does not know.
    UnknownParameter,
    /// A parameter given twice.
    RepeatedParameter,
    /// A contract id that is none.
    BadContract,
    /// An account that none can be.
    BadAccount,
    /// No contract where one is needed.
    ContractRequired,
    /// A ledger sequence that is none.
    BadLedger,
    /// Ledgers that no proof holds together.
    BadRange,
    /// A limit that is no number.
    BadLimit,
    /// An order that is none.
    BadOrder,
    /// Event types that are none.
    BadTypes,
    /// A topic that is no canonical `ScVal`.
    BadTopic,
    /// A transaction hash that is none.
    BadTxHash,
    /// An event id that is none.
    BadEventId,
    /// A cursor that this archive did not issue for this contract.
    BadCursor,
    /// A cursor beside a parameter that is not its own.
    CursorMismatch,
    /// A path that nothing stands at.
    NotFound,
    /// A contract out of the archive's scope.
    UnknownContract,
    /// No such event in a scanned ledger.
    EventNotFound,
    /// The ledger was not scanned.
    LedgerNotCovered,
    /// The ledger was scanned, by a source that gave no header.
    NoLedgerRow,
    /// The archive keeps too little to prove it.
    NotProvable,
    /// Another method than those that read.
    MethodNotAllowed,
    /// An answer that may be neither plain nor coded in a way the server knows.
    NotAcceptable,
    /// The request came too slowly.
    RequestTimeout,
    /// A cursor of before a rollback, or of a copy of the archive that is ahead of this one.
    StaleCursor,
    /// A request with a body.
    BodyTooLarge,
    /// A URL beyond the limit.
    UriTooLong,
    /// Headers beyond the limit.
    HeadersTooLarge,
    /// A failure of the archive or of the program.
    Internal,
    /// Too many readers at once.
    Overloaded,
    /// The archive took too long to answer.
    TimedOut,
    /// The archive cannot be read.
    ArchiveUnreadable,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 34] = [
        Self::BadRequest,
        Self::BadEncoding,
        Self::UnknownParameter,
        Self::RepeatedParameter,
        Self::BadContract,
        Self::BadAccount,
        Self::ContractRequired,
        Self::BadLedger,
        Self::BadRange,
        Self::BadLimit,
        Self::BadOrder,
        Self::BadTypes,
        Self::BadTopic,
        Self::BadTxHash,
        Self::BadEventId,
        Self::BadCursor,
        Self::CursorMismatch,
        Self::NotFound,
        Self::UnknownContract,
        Self::EventNotFound,
        Self::LedgerNotCovered,
        Self::NoLedgerRow,
        Self::NotProvable,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::RequestTimeout,
        Self::StaleCursor,
        Self::BodyTooLarge,
        Self::UriTooLong,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::Overloaded,
        Self::TimedOut,
        Self::ArchiveUnreadable,
    ];

    fn row(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::BadRequest => (S::BAD_REQUEST, "BAD_REQUEST", "the request is no HTTP/1.1"),
            Self::BadEncoding => (S::BAD_REQUEST, "BAD_ENCODING", "the percent-encoding is no UTF-8"),
            Self::UnknownParameter => (S::BAD_REQUEST, "UNKNOWN_PARAMETER", "the route has no such parameter"),
            Self::RepeatedParameter => (S::BAD_REQUEST, "REPEATED_PARAMETER", "a parameter is given once"),
            Self::BadContract => (S::BAD_REQUEST, "BAD_CONTRACT", "a contract is a strkey of 56 characters, C…"),
            Self::BadAccount => (
                S::BAD_REQUEST,
                "BAD_ACCOUNT",
                "an account is a strkey that starts with G, C, B or L: of a muxed account M… ask for the G… under it",
            ),
            Self::ContractRequired => {
                (S::BAD_REQUEST, "CONTRACT_REQUIRED", "this archive holds some contracts: name one by contract_id")
            }
            Self::BadLedger => (S::BAD_REQUEST, "BAD_LEDGER", "a ledger is a whole number from 1 to 2147483647"),
            Self::BadRange => (
                S::BAD_REQUEST,
                "BAD_RANGE",
                "to_ledger is at or above the first ledger, and a proof holds at most 64 ledgers",
            ),
            Self::BadLimit => (S::BAD_REQUEST, "BAD_LIMIT", "a limit is a whole number in digits"),
            Self::BadOrder => (S::BAD_REQUEST, "BAD_ORDER", "an order is asc or desc"),
            Self::BadTypes => {
                (S::BAD_REQUEST, "BAD_TYPES", "types are symbols of 1 to 32 letters, digits or _, with commas between")
            }
            Self::BadTopic => (S::BAD_REQUEST, "BAD_TOPIC", "a topic is the base64 of one canonical ScVal"),
            Self::BadTxHash => (S::BAD_REQUEST, "BAD_TX_HASH", "a transaction hash is 64 hexadecimal digits"),
            Self::BadEventId => (
                S::BAD_REQUEST,
                "BAD_EVENT_ID",
                "an event id is 19 digits, a hyphen and 10 digits, and names a place in a ledger that can be",
            ),
            Self::BadCursor => (
                S::BAD_REQUEST,
                "BAD_CURSOR",
                "this archive did not issue this cursor for this contract and account: begin anew",
            ),
            Self::CursorMismatch => {
                (S::BAD_REQUEST, "CURSOR_MISMATCH", "the cursor is of another query: leave its parameters out")
            }
            Self::NotFound => (S::NOT_FOUND, "NOT_FOUND", "there is nothing at this path: see /v1/openapi.json"),
            Self::UnknownContract => (S::NOT_FOUND, "UNKNOWN_CONTRACT", "this archive does not watch the contract"),
            Self::EventNotFound => {
                (S::NOT_FOUND, "EVENT_NOT_FOUND", "the ledger was scanned for every contract and has no such event")
            }
            Self::LedgerNotCovered => {
                (S::NOT_FOUND, "LEDGER_NOT_COVERED", "the ledger was not scanned, so nothing can be said of it")
            }
            Self::NoLedgerRow => {
                (S::NOT_FOUND, "NO_LEDGER_ROW", "the ledger was scanned, from a source that gave no header")
            }
            Self::NotProvable => {
                (S::NOT_FOUND, "NOT_PROVABLE", "the archive keeps too little of the ledger to prove anything of it")
            }
            Self::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "nothing can be written here: use GET, HEAD or OPTIONS")
            }
            Self::NotAcceptable => {
                (S::NOT_ACCEPTABLE, "NOT_ACCEPTABLE", "an answer comes plain, or coded with gzip or zstd")
            }
            Self::RequestTimeout => (S::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "the request came too slowly"),
            Self::StaleCursor => {
                (S::GONE, "STALE_CURSOR", "the archive was rolled back after it issued the cursor: begin anew")
            }
            Self::BodyTooLarge => (S::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "no route takes a body"),
            Self::UriTooLong => (S::URI_TOO_LONG, "URI_TOO_LONG", "a URL has at most 60000 bytes"),
            Self::HeadersTooLarge => (
                S::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "HEADERS_TOO_LARGE",
                "a request has at most 100 headers of together 16384 bytes",
            ),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "INTERNAL", "the archive failed: its log says how"),
            Self::Overloaded => (S::SERVICE_UNAVAILABLE, "OVERLOADED", "too many readers at once: try again shortly"),
            Self::TimedOut => {
                (S::SERVICE_UNAVAILABLE, "TIMED_OUT", "the archive took too long: ask for a smaller window or limit")
            }
            Self::ArchiveUnreadable => {
                (S::SERVICE_UNAVAILABLE, "ARCHIVE_UNREADABLE", "the archive cannot be read: its log says why")
            }
        }
    }

    /// The status of an answer with this code.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.row().0
    }

    /// The code as written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// What is wrong, and what would be right.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.row().2
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::limits::{HEADER_BYTES_MAX, HEADERS_MAX, URL_BYTES_MAX};

    #[test]
    fn every_code_is_listed_once_and_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = Code::ALL.into_iter().map(Code::as_str).collect();
        assert_eq!(words.len(), Code::ALL.len());
        let places: Vec<usize> = Code::ALL.into_iter().map(|code| code as usize).collect();
        assert_eq!(places, (0..Code::ArchiveUnreadable as usize + 1).collect::<Vec<_>>());
    }

    #[test]
    fn the_sentences_name_the_limits_in_force() {
        assert!(Code::UriTooLong.sentence().contains(&URL_BYTES_MAX.to_string()));
        let headers = Code::HeadersTooLarge.sentence();
        assert!(headers.contains(&HEADERS_MAX.to_string()) && headers.contains(&HEADER_BYTES_MAX.to_string()));
    }
}
