//! The bounds of what readers can ask of a server.

use std::time::Duration;

/// Bytes of a request's path and query.
pub(super) const URL_BYTES_MAX: usize = 60_000;
/// Header fields of a request.
pub(super) const HEADERS_MAX: usize = 100;
/// Bytes of all names and values of a request's header fields.
pub(super) const HEADER_BYTES_MAX: usize = 16_384;
/// Bytes that are buffered of a request's head, at most; what does not fit is refused by the HTTP library.
pub(super) const HEAD_BUFFER_BYTES: usize = 128 << 10;
/// Header fields that the HTTP library reads before it refuses.
pub(super) const HEADERS_READ_MAX: usize = 256;
/// Bytes of all topics of a query: as many as the events of one transaction can have on the public network.
pub(super) const TOPIC_BYTES_MAX: usize = 16 << 10;
/// Types of a query.
pub(super) const TYPES_MAX: usize = 64;
/// Bytes of a type: a symbol's, `Stellar-contract.x`.
pub(super) const TYPE_BYTES_MAX: usize = 32;
/// Events of a page that names no limit.
pub(super) const PAGE_EVENTS_DEFAULT: u32 = 200;
/// Events of a page.
pub(super) const PAGE_EVENTS_MAX: u32 = 1000;
/// Ranges that an answer lists of what is missing.
pub(super) const MISSING_RANGES_MAX: usize = 100;
/// Contracts that an answer lists.
pub(super) const CONTRACTS_MAX: usize = 1000;

// A cursor holds the topics and the types, and comes back in a URL beside them.
const _: () = assert!(URL_BYTES_MAX > 2 * (TOPIC_BYTES_MAX * 4 / 3) + 2 * TYPES_MAX * (TYPE_BYTES_MAX + 1) + 4096);
const _: () = assert!(HEAD_BUFFER_BYTES > URL_BYTES_MAX + HEADER_BYTES_MAX);
const _: () = assert!(HEADERS_READ_MAX > HEADERS_MAX);

/// The bounds that a server can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections that are served at once; more wait to be accepted.
    pub connections: usize,
    /// Reads of the archive at once; more wait for [`Limits::turn`].
    pub reads: usize,
    /// How long a request waits for its turn to read.
    pub turn: Duration,
    /// How long a request may take from its last byte to its answer.
    pub answer: Duration,
    /// How long a request's head may take to come; also how long a connection may be idle.
    pub head: Duration,
    /// How long a client may take none of an answer's bytes.
    pub stall: Duration,
    /// How long requests may go on after the server was told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// As many reads as the store opens connections for readers.
    fn default() -> Self {
        Self {
            connections: 512,
            reads: 4,
            turn: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            head: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(7),
        }
    }
}
