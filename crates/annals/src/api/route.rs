//! The routes: what each takes, answers and refuses. Requests are read by this table, and the OpenAPI document is
//! written from it.

use super::code::Code;

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub name: &'static str,
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
    /// The parameters that stand in the path.
    pub in_path: &'static [Parameter],
    /// The parameters that stand in the query.
    pub in_query: &'static [Parameter],
    /// The name of its answer's schema in the document.
    pub answer: &'static str,
    /// What it refuses beside what every route refuses.
    pub codes: &'static [Code],
    /// Whether it reads the archive.
    pub reads: bool,
    /// Whether its answer comes with 503 as well, beside errors.
    pub fails: bool,
}

impl Route {
    /// The names of the parameters that stand in the query.
    pub fn query_names(&self) -> impl Iterator<Item = &'static str> {
        self.in_query.iter().map(|parameter| parameter.name)
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

const fn parameter(name: &'static str, schema: &'static str, about: &'static str) -> Parameter {
    Parameter { name, schema, about }
}

const CONTRACT: Parameter = parameter("contract", "ContractId", "The contract.");
const ACCOUNT: Parameter = parameter(
    "account",
    "Address",
    "Whose events: an account G…, a contract C…, a claimable balance B… or a liquidity pool L…. A muxed account M… has \
     no history of its own: ask for the account under it.",
);
const AT_LEDGER: Parameter =
    parameter("at_ledger", "LedgerSeq", "Only events up to this ledger; `ingested_through` where left out.");

const FROM_LEDGER: Parameter =
    parameter("from_ledger", "LedgerSeq", "The window's first ledger; the contract's origin where left out.");
const TO_LEDGER: Parameter =
    parameter("to_ledger", "LedgerSeq", "The window's last ledger; `ingested_through` where left out.");

/// What a page of events is asked for with.
const PAGE: [Parameter; 12] = [
    FROM_LEDGER,
    TO_LEDGER,
    parameter("types", "Types", "Only events whose topic 0 is one of these symbols, with commas between."),
    parameter("topic0", "Topic", "Only events with this topic 0: base64 XDR of an ScVal."),
    parameter("topic1", "Topic", "Only events with this topic 1."),
    parameter("topic2", "Topic", "Only events with this topic 2."),
    parameter("topic3", "Topic", "Only events with this topic 3."),
    parameter("tx_hash", "TxHash", "Only events of this transaction."),
    parameter("limit", "Limit", "At most so many events: 200 where left out, 0 counts as 1, more than 1000 as 1000."),
    parameter(
        "cursor",
        "Cursor",
        "Where the page before ended. The other parameters may be left out or be the same; `limit` may change.",
    ),
    parameter(
        "after_id",
        "EventId",
        "Only events above this id, in both directions; no event need have it, so that the cursor with which the \
         network's RPC ended a page will do. Not beside a cursor.",
    ),
    parameter("order", "Order", "`asc`, the order of the ledger, or `desc`, the same backwards."),
];

/// What one account's contract, account and ledger are refused with.
const ACCOUNT_CODES: [Code; 4] = [Code::BadContract, Code::BadAccount, Code::BadLedger, Code::UnknownContract];

/// What a page of events is refused with.
const PAGE_CODES: [Code; 12] = [
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
];

/// What a page of one account's events is refused with.
const ACCOUNT_PAGE_CODES: [Code; 13] = {
    let mut codes = [Code::BadAccount; 13];
    let mut place = 0;
    while place < PAGE_CODES.len() {
        codes[place] = PAGE_CODES[place];
        place += 1;
    }
    codes
};

pub(super) const HEALTH: Route = Route {
    path: "/v1/health",
    aliases: &[],
    operation: "getHealth",
    about: "How far the history of a contract reaches without a gap; without a contract that of the whole archive, \
            where its scope is all. `gaps` lists the first hundred.",
    in_path: &[],
    in_query: &[parameter("contract_id", "ContractId", "The contract; needed unless the archive's scope is all.")],
    answer: "Health",
    codes: &[Code::BadContract, Code::ContractRequired, Code::UnknownContract],
    reads: true,
    fails: false,
};

pub(super) const CONTRACTS: Route = Route {
    path: "/v1/contracts",
    aliases: &[],
    operation: "listContracts",
    about: "The contracts that the archive watches or was told of, by id; under scope all every other contract is \
            watched too.",
    in_path: &[],
    in_query: &[],
    answer: "Contracts",
    codes: &[],
    reads: true,
    fails: false,
};

pub(super) const EVENTS: Route = Route {
    path: "/v1/tokens/{contract}/events",
    aliases: &["/v1/contracts/{contract}/events"],
    operation: "listEvents",
    about: "A page of one contract's events, and whether the window asked for is gap-free. Pages together are the \
            window as it was when the first one was read. An incomplete window is an answer like any other and says \
            so: rely on the absence of events only where `complete` is true.",
    in_path: &[CONTRACT],
    in_query: &PAGE,
    answer: "EventPage",
    codes: &PAGE_CODES,
    reads: true,
    fails: false,
};

pub(super) const ACCOUNT_EVENTS: Route = Route {
    path: "/v1/tokens/{contract}/accounts/{account}/events",
    aliases: &["/v1/contracts/{contract}/accounts/{account}/events"],
    operation: "listAccountEvents",
    about: "A page of those of a contract's events that belong to one account, by the roles that the contract's schema \
            gives to topics; filters apply to these. The window is complete only where it is gap-free and every event \
            in it could be told whose it is.",
    in_path: &[CONTRACT, ACCOUNT],
    in_query: &PAGE,
    answer: "AccountEventPage",
    codes: &ACCOUNT_PAGE_CODES,
    reads: true,
    fails: false,
};

pub(super) const DIGEST: Route = Route {
    path: "/v1/tokens/{contract}/digest",
    aliases: &["/v1/contracts/{contract}/digest"],
    operation: "getDigest",
    about: "The digest of one contract's events in a window: docs/history-digest.md. Two archives that hold the same events \
            of the same window give the same one, whatever else they hold; where they do not, `parts` says where to look.",
    in_path: &[CONTRACT],
    in_query: &[FROM_LEDGER, TO_LEDGER],
    answer: "HistoryDigest",
    codes: &[Code::BadContract, Code::BadLedger, Code::WindowTooWide, Code::UnknownContract],
    reads: true,
    fails: false,
};

pub(super) const ACCOUNT_DIGEST: Route = Route {
    path: "/v1/tokens/{contract}/accounts/{account}/digest",
    aliases: &["/v1/contracts/{contract}/accounts/{account}/digest"],
    operation: "getAccountDigest",
    about: "The same of those of a contract's events that belong to one account.",
    in_path: &[CONTRACT, ACCOUNT],
    in_query: &[FROM_LEDGER, TO_LEDGER],
    answer: "HistoryDigest",
    codes: &[Code::BadContract, Code::BadAccount, Code::BadLedger, Code::WindowTooWide, Code::UnknownContract],
    reads: true,
    fails: false,
};

pub(super) const CHECKPOINT: Route = Route {
    path: "/v1/tokens/{contract}/accounts/{account}/checkpoint",
    aliases: &["/v1/contracts/{contract}/accounts/{account}/checkpoint"],
    operation: "getCheckpoint",
    about: "The account's latest checkpoint: the event, of which the account is the owner, that gives its balance anew. \
            `complete` says that there is no gap and no event of unknown parties from the checkpoint's ledger on, \
            without one from the contract's origin on: only then is it surely the latest.",
    in_path: &[CONTRACT, ACCOUNT],
    in_query: &[AT_LEDGER],
    answer: "Checkpoint",
    codes: &ACCOUNT_CODES,
    reads: true,
    fails: false,
};

pub(super) const REPLAY_WINDOW: Route = Route {
    path: "/v1/tokens/{contract}/accounts/{account}/replay-window",
    aliases: &["/v1/contracts/{contract}/accounts/{account}/replay-window"],
    operation: "getReplayWindow",
    about: "Where a replay of the account's events begins: at T0, the last event at or before the latest checkpoint, by \
            its full position, that folded what was received into the spendable balance; without one, at the event that \
            opened the account. The window reaches from the ledger of T0, without one from the contract's origin.",
    in_path: &[CONTRACT, ACCOUNT],
    in_query: &[AT_LEDGER],
    answer: "ReplayWindow",
    codes: &ACCOUNT_CODES,
    reads: true,
    fails: false,
};

pub(super) const EVENT: Route = Route {
    path: "/v1/events/{id}",
    aliases: &[],
    operation: "getEvent",
    about: "One event. Where there is none, the code says whether its ledger was scanned for every contract.",
    in_path: &[parameter("id", "EventId", "The event's id, the same that the network's RPC gives it.")],
    in_query: &[],
    answer: "Event",
    codes: &[Code::BadEventId, Code::EventNotFound, Code::LedgerNotCovered],
    reads: true,
    fails: false,
};

pub(super) const LEDGER: Route = Route {
    path: "/v1/ledgers/{seq}",
    aliases: &[],
    operation: "getLedger",
    about: "One ledger: its hashes, its header, and how many events of which proof class it holds, whatever the \
            archive's scope. Where there is no row, the code says whether the ledger was scanned.",
    in_path: &[parameter("seq", "LedgerSeq", "The ledger's sequence number.")],
    in_query: &[],
    answer: "Ledger",
    codes: &[Code::BadLedger, Code::LedgerNotCovered, Code::NoLedgerRow],
    reads: true,
    fails: false,
};

pub(super) const EVENT_PROOF: Route = Route {
    path: "/v1/events/{id}/proof",
    aliases: &[],
    operation: "getEventProof",
    about: "What ties one event to a ledger header, as a bundle that anybody can check offline: docs/proof-format.md. The \
            bundle of an event that the protocol does not commit to, or that the source gave alone, says so.",
    in_path: &[parameter("id", "EventId", "The event's id, the same that the network's RPC gives it.")],
    in_query: &[],
    answer: "ProofBundle",
    codes: &[Code::BadEventId, Code::EventNotFound, Code::LedgerNotCovered, Code::NotProvable],
    reads: true,
    fails: false,
};

pub(super) const LEDGER_PROOF: Route = Route {
    path: "/v1/ledgers/{seq}/proof",
    aliases: &[],
    operation: "getLedgerProof",
    about: "All committed events of one contract in one ledger or in consecutive ones, as a bundle that proves that there \
            is no other: docs/proof-format.md. The contract need not be one that the archive watches.",
    in_path: &[parameter("seq", "LedgerSeq", "The first ledger's sequence number.")],
    in_query: &[
        parameter("contract_id", "ContractId", "The contract; needed."),
        parameter("to_ledger", "LedgerSeq", "The last ledger, at most 63 above the first; the first where left out."),
    ],
    answer: "ProofBundle",
    codes: &[
        Code::BadContract,
        Code::BadLedger,
        Code::BadRange,
        Code::ContractRequired,
        Code::LedgerNotCovered,
        Code::NoLedgerRow,
        Code::NotProvable,
    ],
    reads: true,
    fails: false,
};

pub(super) const DOCUMENT: Route = Route {
    path: "/v1/openapi.json",
    aliases: &[],
    operation: "getDocument",
    about: "This document.",
    in_path: &[],
    in_query: &[],
    answer: "Document",
    codes: &[],
    reads: false,
    fails: false,
};

pub(super) const HEALTHZ: Route = Route {
    path: "/healthz",
    aliases: &[],
    operation: "getAlive",
    about: "Whether the process answers and the archive can be read; says nothing of how fresh it is.",
    in_path: &[],
    in_query: &[],
    answer: "Alive",
    codes: &[Code::ArchiveUnreadable],
    reads: true,
    fails: false,
};

pub(super) const READYZ: Route = Route {
    path: "/readyz",
    aliases: &[],
    operation: "getReady",
    about: "Whether the archive can be relied on now, part by part, for whoever watches over it: 503 where a part fails, \
            which it names, else 200. `degraded` says that something is missing, such as ledgers of a gap; every answer \
            about events says for itself whether that touches it.",
    in_path: &[],
    in_query: &[],
    answer: "Readiness",
    codes: &[],
    reads: true,
    fails: true,
};

/// The page for people; it is in no document.
pub(super) const INDEX: Route = Route {
    path: "/",
    aliases: &[],
    operation: "getIndex",
    about: "What this is, and where to go on.",
    in_path: &[],
    in_query: &[],
    answer: "",
    codes: &[],
    reads: false,
    fails: false,
};

/// Every route of the document.
pub(super) const ALL: [&Route; 15] = [
    &HEALTH,
    &CONTRACTS,
    &EVENTS,
    &ACCOUNT_EVENTS,
    &DIGEST,
    &ACCOUNT_DIGEST,
    &CHECKPOINT,
    &REPLAY_WINDOW,
    &EVENT,
    &EVENT_PROOF,
    &LEDGER,
    &LEDGER_PROOF,
    &DOCUMENT,
    &HEALTHZ,
    &READYZ,
];
