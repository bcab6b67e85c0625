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
    /// A window with more events than one request digests.
    WindowTooWide,
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
    pub const ALL: [Self; 35] = [
        Self::BadRequest,
        Self::BadEncoding,
        Self::UnknownParameter,
        Self::RepeatedParameter,
        Self::BadContract,
        Self::BadAccount,
        Self::ContractRequired,
        Self::BadLedger,
        Self::BadRange,
        Self::WindowTooWide,
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

    /// The code as written, and its sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::BadRequest => ("BAD_REQUEST", "the request is no HTTP/1.1"),
            Self::BadEncoding => ("BAD_ENCODING", "the percent-encoding is no UTF-8"),
            Self::UnknownParameter => ("UNKNOWN_PARAMETER", "the route has no such parameter"),
            Self::RepeatedParameter => ("REPEATED_PARAMETER", "a parameter is given once"),
            Self::BadContract => ("BAD_CONTRACT", "a contract is a strkey of 56 characters, C…"),
            Self::BadAccount => (
                "BAD_ACCOUNT",
                "an account is a strkey that starts with G, C, B or L: of a muxed account M… ask for the G… under it",
            ),
            Self::ContractRequired => {
                ("CONTRACT_REQUIRED", "this archive holds some contracts: name one by contract_id")
            }
            Self::BadLedger => ("BAD_LEDGER", "a ledger is a whole number from 1 to 2147483647"),
            Self::BadRange => ("BAD_RANGE", "to_ledger is the first ledger or at most 63 above: ask for fewer"),
            Self::WindowTooWide => {
                ("WINDOW_TOO_WIDE", "the window has more events than one request digests: ask for fewer ledgers")
            }
            Self::BadLimit => ("BAD_LIMIT", "a limit is a whole number in digits"),
            Self::BadOrder => ("BAD_ORDER", "an order is asc or desc"),
            Self::BadTypes => ("BAD_TYPES", "types are symbols of 1 to 32 letters, digits or _, with commas between"),
            Self::BadTopic => ("BAD_TOPIC", "a topic is the base64 of one canonical ScVal"),
            Self::BadTxHash => ("BAD_TX_HASH", "a transaction hash is 64 hexadecimal digits"),
            Self::BadEventId => (
                "BAD_EVENT_ID",
                "an event id is 19 digits, a hyphen and 10 digits, and names a place in a ledger that can be",
            ),
            Self::BadCursor => {
                ("BAD_CURSOR", "this archive did not issue this cursor for this contract and account: begin anew")
            }
            Self::CursorMismatch => ("CURSOR_MISMATCH", "the cursor is of another query: leave its parameters out"),
            Self::NotFound => ("NOT_FOUND", "there is nothing at this path: see /v1/openapi.json"),
            Self::UnknownContract => ("UNKNOWN_CONTRACT", "this archive does not watch the contract"),
            Self::EventNotFound => {
                ("EVENT_NOT_FOUND", "the ledger was scanned for every contract and has no such event")
            }
            Self::LedgerNotCovered => {
                ("LEDGER_NOT_COVERED", "the ledger was not scanned, so nothing can be said of it")
            }
            Self::NoLedgerRow => ("NO_LEDGER_ROW", "the ledger was scanned, from a source that gave no header"),
            Self::NotProvable => ("NOT_PROVABLE", "the archive keeps too little of the ledger to prove it"),
            Self::MethodNotAllowed => ("METHOD_NOT_ALLOWED", "nothing can be written here: use GET, HEAD or OPTIONS"),
            Self::NotAcceptable => ("NOT_ACCEPTABLE", "an answer comes plain, or coded with gzip or zstd"),
            Self::RequestTimeout => ("REQUEST_TIMEOUT", "the request came too slowly"),
            Self::StaleCursor => ("STALE_CURSOR", "the archive was rolled back after it issued the cursor: begin anew"),
            Self::BodyTooLarge => ("BODY_TOO_LARGE", "no route takes a body"),
            Self::UriTooLong => ("URI_TOO_LONG", "a URL has at most 60000 bytes"),
            Self::HeadersTooLarge => ("HEADERS_TOO_LARGE", "a request has at most 100 headers of together 16384 bytes"),
            Self::Internal => ("INTERNAL", "the archive failed: its log says how"),
            Self::Overloaded => ("OVERLOADED", "too many readers at once: try again shortly"),
            Self::TimedOut => ("TIMED_OUT", "the archive took too long: ask for a smaller window or limit"),
            Self::ArchiveUnreadable => ("ARCHIVE_UNREADABLE", "the archive cannot be read: its log says why"),
        }
    }

    /// The status of an answer with this code.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NotFound
            | Self::UnknownContract
            | Self::EventNotFound
            | Self::LedgerNotCovered
            | Self::NoLedgerRow
            | Self::NotProvable => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::StaleCursor => StatusCode::GONE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Overloaded | Self::TimedOut | Self::ArchiveUnreadable => StatusCode::SERVICE_UNAVAILABLE,
            Self::BadRequest
            | Self::BadEncoding
            | Self::UnknownParameter
            | Self::RepeatedParameter
            | Self::BadContract
            | Self::BadAccount
            | Self::ContractRequired
            | Self::BadLedger
            | Self::BadRange
            | Self::WindowTooWide
            | Self::BadLimit
            | Self::BadOrder
            | Self::BadTypes
            | Self::BadTopic
            | Self::BadTxHash
            | Self::BadEventId
            | Self::BadCursor
            | Self::CursorMismatch => StatusCode::BAD_REQUEST,
        }
    }

    /// The code as written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    /// What is wrong, and what would be right.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.words().1
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
