//! The routes: what each takes, answers and refuses. Requests are read by this table, and the OpenAPI document is
//! written from it.

use super::code::Code;

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub name: &'static str,
    pub place: Place,
    /// The name of its schema in the document.
    pub schema: &'static str,
    pub about: &'static str,
}

/// One route; all are read by GET and HEAD.
#[derive(Debug)]
pub(super) struct Route {
    /// The path, as router and document write it.
    pub path: &'static str,
    /// Other paths of the same.
    pub aliases: &'static [&'static str],
    /// Its name for generated clients.
    pub operation: &'static str,
    pub about: &'static str,
    pub parameters: &'static [Parameter],
    /// The name of its answer's schema in the document.
    pub answer: &'static str,
    /// What it refuses beside what every route refuses.
    pub codes: &'static [Code],
    /// Whether it reads the archive.
    pub reads: bool,
}

impl Route {
    /// The names of the parameters that stand in the query.
    pub fn query_names(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().filter(|parameter| parameter.place == Place::Query).map(|parameter| parameter.name)
    }

    /// Every code that the route's answers can have.
    pub fn all_codes(&self) -> impl Iterator<Item = Code> {
        let reading: &[Code] = if self.reads { &READING } else { &[] };
        // A path that ends where its parameter was to begin is another one.
        let ends_early: &[Code] = if self.path.ends_with('}') { &[Code::NotFound] } else { &[] };
        EVERYWHERE.iter().chain(self.codes).chain(reading).chain(ends_early).copied()
    }
}

/// What every route refuses.
const EVERYWHERE: [Code; 10] = [
    Code::BadRequest,
    Code::BadEncoding,
    Code::UnknownParameter,
    Code::RepeatedParameter,
    Code::MethodNotAllowed,
    Code::NotAcceptable,
    Code::RequestTimeout,
    Code::BodyTooLarge,
    Code::UriTooLong,
    Code::HeadersTooLarge,
];
/// How reading the archive fails.
const READING: [Code; 3] = [Code::Internal, Code::Overloaded, Code::TimedOut];

const fn path(name: &'static str, schema: &'static str, about: &'static str) -> Parameter {
    Parameter { name, place: Place::Path, schema, about }
}

const fn query(name: &'static str, schema: &'static str, about: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, schema, about }
}

pub(super) const HEALTH: Route = Route {
    path: "/v1/health",
    aliases: &[],
    operation: "getHealth",
    about: "How far the history of a contract reaches without a gap; without a contract that of the whole archive, \
            where its scope is all. `gaps` lists the first hundred.",
    parameters: &[query("contract_id", "ContractId", "The contract; needed unless the archive's scope is all.")],
    answer: "Health",
    codes: &[Code::BadContract, Code::ContractRequired, Code::UnknownContract],
    reads: true,
};

pub(super) const CONTRACTS: Route = Route {
    path: "/v1/contracts",
    aliases: &[],
    operation: "listContracts",
    about: "The contracts that the archive watches or was told of, by id; under scope all every other contract is \
            watched too.",
    parameters: &[],
    answer: "Contracts",
    codes: &[],
    reads: true,
};

pub(super) const EVENTS: Route = Route {
    path: "/v1/tokens/{contract}/events",
    aliases: &["/v1/contracts/{contract}/events"],
    operation: "listEvents",
    about: "A page of one contract's events, and whether the window asked for is gap-free. Pages together are the \
            window as it was when the first one was read. An incomplete window is an answer like any other and says \
            so: rely on the absence of events only where `complete` is true.",
    parameters: &[
        path("contract", "ContractId", "The contract."),
        query("from_ledger", "LedgerSeq", "The window's first ledger; the contract's origin where left out."),
        query("to_ledger", "LedgerSeq", "The window's last ledger; `ingested_through` where left out."),
        query("types", "Types", "Only events whose topic 0 is one of these symbols, with commas between."),
        query("topic0", "Topic", "Only events with this topic 0: base64 XDR of an ScVal."),
        query("topic1", "Topic", "Only events with this topic 1."),
        query("topic2", "Topic", "Only events with this topic 2."),
        query("topic3", "Topic", "Only events with this topic 3."),
        query("tx_hash", "TxHash", "Only events of this transaction."),
        query("limit", "Limit", "At most so many events: 200 where left out, 0 counts as 1, more than 1000 as 1000."),
        query(
            "cursor",
            "Cursor",
            "Where the page before ended. The other parameters may be left out or be the same; `limit` may change.",
        ),
        query(
            "after_id",
            "EventId",
            "Only events above this id, in both directions; no event need have it, so that the cursor with which the \
             network's RPC ended a page will do. Not beside a cursor.",
        ),
        query("order", "Order", "`asc`, the order of the ledger, or `desc`, the same backwards."),
    ],
    answer: "EventPage",
    codes: &[
        Code::BadContract,
        Code::BadLedger,
        Code::BadTypes,
        Code::BadTopic,
        Code::BadTxHash,
        Code::BadLimit,
        Code::BadCursor,
        Code::CursorMismatch,
        Code::BadEventId,
        Code::BadOrder,
        Code::UnknownContract,
        Code::StaleCursor,
    ],
    reads: true,
};

pub(super) const EVENT: Route = Route {
    path: "/v1/events/{id}",
    aliases: &[],
    operation: "getEvent",
    about: "One event. Where there is none, the code says whether its ledger was scanned for every contract.",
    parameters: &[path("id", "EventId", "The event's id, the same that the network's RPC gives it.")],
    answer: "Event",
    codes: &[Code::BadEventId, Code::EventNotFound, Code::LedgerNotCovered],
    reads: true,
};

pub(super) const LEDGER: Route = Route {
    path: "/v1/ledgers/{seq}",
    aliases: &[],
    operation: "getLedger",
    about: "One ledger: its hashes, its header, and how many events of which proof class it holds, whatever the \
            archive's scope. Where there is no row, the code says whether the ledger was scanned.",
    parameters: &[path("seq", "LedgerSeq", "The ledger's sequence number.")],
    answer: "Ledger",
    codes: &[Code::BadLedger, Code::LedgerNotCovered, Code::NoLedgerRow],
    reads: true,
};

pub(super) const DOCUMENT: Route = Route {
    path: "/v1/openapi.json",
    aliases: &[],
    operation: "getDocument",
    about: "This document.",
    parameters: &[],
    answer: "Document",
    codes: &[],
    reads: false,
};

pub(super) const HEALTHZ: Route = Route {
    path: "/healthz",
    aliases: &[],
    operation: "getAlive",
    about: "Whether the process answers and the archive can be read; says nothing of how fresh it is.",
    parameters: &[],
    answer: "Alive",
    codes: &[Code::ArchiveUnreadable],
    reads: true,
};

/// Every route.
pub(super) const ALL: [&Route; 7] = [&HEALTH, &CONTRACTS, &EVENTS, &EVENT, &LEDGER, &DOCUMENT, &HEALTHZ];
