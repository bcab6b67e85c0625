//! An archive as its `/v1` answers.

mod answers;

use std::time::Duration;

use annals_core::bundle::BUNDLE_BYTES_MAX;
use annals_core::{Address as AccountId, ContractId, LedgerRange, LedgerSeq};
use serde::de::DeserializeOwned;

use self::answers::{DigestAnswer, ErrorAnswer, EventsAnswer, HealthAnswer, LedgerAnswer};
use super::archive::{Archive, ArchiveFault, Marks, ShownEvent, ShownHeader, ShownProof, Whose, WindowDigest};
use super::deadline::Deadline;
use crate::source::{Address, Answer, HttpClient, HttpFault, Timeouts};

/// An answer of a few fields is no longer than this, bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// A page of events is no longer than this, bytes.
const PAGE_BYTES_MAX: u64 = 64 << 20;
/// Events of a page.
const PAGE_EVENTS: u32 = 1000;
/// More pages of one ledger are not read: a ledger has room for far fewer events.
const LEDGER_PAGES_MAX: u32 = 200;
/// No more events of one ledger are held, bytes of XDR.
const LEDGER_BYTES_MAX: usize = 256 << 20;
/// No more pages of one ledger are read that bring nothing and name a next one.
const EMPTY_PAGES_MAX: u32 = 3;
/// No longer code of a refusal is told.
const CODE_LEN_MAX: usize = 40;
/// No request takes longer.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// No request is repeated more often because the server asks to be left alone for a while.
const WAITS_MAX: u32 = 5;
/// A server that asks to be left alone for less is left alone for so long.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// An archive at an address.
#[derive(Debug)]
pub struct HttpArchive {
    client: HttpClient,
    address: Address,
    contract: ContractId,
    account: Option<AccountId>,
    deadline: Deadline,
}

/// What came: what was asked for, or a refusal.
enum Came {
    Body(Vec<u8>),
    Refusal { status: u16, code: String },
}

impl HttpArchive {
    /// Asks nothing yet, and nothing after `deadline`.
    #[must_use]
    pub fn new(address: Address, contract: ContractId, account: Option<AccountId>, deadline: Deadline) -> Self {
        Self { client: HttpClient::new(Timeouts::default()), address, contract, account, deadline }
    }

    /// The path of a route of the contract, or of the account.
    fn route(&self, whose: Whose, name: &str) -> String {
        match (whose, &self.account) {
            (Whose::Subject, Some(account)) => format!("v1/tokens/{}/accounts/{account}/{name}", self.contract),
            _ => format!("v1/tokens/{}/{name}", self.contract),
        }
    }

    fn get(&self, path: &str, query: &str, bytes_max: u64) -> Result<Came, ArchiveFault> {
        let address = self.address.asking(path, query).map_err(|_| unlike("its cursor is none"))?;
        let mut waits = 0;
        loop {
            let answer = self.request(&address, bytes_max)?;
            match answer.status {
                200 => return Ok(Came::Body(answer.body)),
                429 | 503 => {
                    let asked = answer.retry_after(self.deadline.now_unix_ms());
                    let waited = waits < WAITS_MAX && asked.is_some_and(|wait| self.deadline.wait(wait.max(WAIT_MIN)));
                    if !waited {
                        return Err(ArchiveFault::Busy { status: answer.status, retry_after: asked });
                    }
                    waits += 1;
                }
                status @ 500.. => return Err(ArchiveFault::Failed { status }),
                _ => return refusal(&answer),
            }
        }
    }

    /// Asks once, for no longer than the deadline leaves.
    fn request(&self, address: &Address, bytes_max: u64) -> Result<Answer, ArchiveFault> {
        let left = self.deadline.left().ok_or(ArchiveFault::Deadline)?;
        self.client.get_within(address, bytes_max, left.min(REQUEST_MAX)).map_err(|fault| match fault {
            HttpFault::TooLarge { .. } => unlike("an answer is too long"),
            HttpFault::NotHttp(_) => unlike("it does not speak HTTP"),
            _ if self.deadline.left().is_none() => ArchiveFault::Deadline,
            HttpFault::TimedOut => ArchiveFault::TimedOut,
            fault => ArchiveFault::Unreachable(fault),
        })
    }

    /// Reads an answer that has to come.
    fn read<T: DeserializeOwned>(&self, path: &str, query: &str, bytes_max: u64) -> Result<T, ArchiveFault> {
        match self.get(path, query, bytes_max)? {
            Came::Body(body) => parse(&body),
            Came::Refusal { status, code } => Err(refused(status, code)),
        }
    }
}

/// What a refusal of something that has to come is.
fn refused(status: u16, code: String) -> ArchiveFault {
    match code.as_str() {
        "UNKNOWN_CONTRACT" => ArchiveFault::UnknownContract,
        _ => ArchiveFault::Refused { status, code },
    }
}

/// Reads the one form that all refusals have. What a server says in its own words is not passed on.
fn refusal(answer: &Answer) -> Result<Came, ArchiveFault> {
    let ErrorAnswer { error } =
        serde_json::from_slice(&answer.body).map_err(|_| unlike("a refusal is not its form"))?;
    let is_code = (1..=CODE_LEN_MAX).contains(&error.code.len())
        && error.code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    match is_code {
        true => Ok(Came::Refusal { status: answer.status, code: error.code }),
        false => Err(unlike("a refusal's code is none")),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ArchiveFault> {
    serde_json::from_slice(body).map_err(|_| unlike("an answer is not its form"))
}

fn unlike(what: &'static str) -> ArchiveFault {
    ArchiveFault::NotAnnals { what }
}

impl Archive for HttpArchive {
    fn marks(&self) -> Result<Marks, ArchiveFault> {
        let query = format!("contract_id={}", self.contract);
        match self.get("v1/health", &query, ANSWER_BYTES_MAX)? {
            Came::Body(body) => parse::<HealthAnswer>(&body)?.into_marks(),
            // Every version has this route.
            Came::Refusal { status: 404, code } if code == "NOT_FOUND" => Err(unlike("it has no /v1/health")),
            Came::Refusal { status, code } => Err(refused(status, code)),
        }
    }

    fn digest(&self, window: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
        let query = in_window(window);
        match self.get(&self.route(Whose::Subject, "digest"), &query, ANSWER_BYTES_MAX)? {
            Came::Body(body) => parse::<DigestAnswer>(&body)?.into_digest(window),
            // No route is refused like that by a server that has it.
            Came::Refusal { status: 404, code } if code == "NOT_FOUND" => Err(ArchiveFault::Older),
            Came::Refusal { code, .. } if code == "WINDOW_TOO_WIDE" => Err(ArchiveFault::TooWide),
            Came::Refusal { status, code } => Err(refused(status, code)),
        }
    }

    fn events(&self, ledger: LedgerSeq, whose: Whose) -> Result<Vec<ShownEvent>, ArchiveFault> {
        let path = self.route(whose, "events");
        let first = format!("{}&limit={PAGE_EVENTS}", in_window(LedgerRange::single(ledger)));
        let mut query = first.clone();
        let mut events: Vec<ShownEvent> = Vec::new();
        let (mut bytes, mut empty) = (0, 0);
        for _ in 0..LEDGER_PAGES_MAX {
            let page: EventsAnswer = self.read(&path, &query, PAGE_BYTES_MAX)?;
            let (shown, cursor) = page.into_events()?;
            empty += u32::from(shown.is_empty());
            let last = events.last().map(|event| event.position);
            let goes_on = shown.first().is_none_or(|first| Some(first.position) > last);
            bytes += shown.iter().map(|event| event.xdr.len()).sum::<usize>();
            events.extend(shown);
            let Some(cursor) = cursor else { return Ok(events) };
            if !goes_on || empty > EMPTY_PAGES_MAX {
                return Err(ArchiveFault::NoProgress { ledger });
            }
            if bytes > LEDGER_BYTES_MAX {
                break;
            }
            let cursor = percent_encoding::utf8_percent_encode(&cursor, percent_encoding::NON_ALPHANUMERIC);
            query = format!("{first}&cursor={cursor}");
        }
        Err(ArchiveFault::TooMany { ledger })
    }

    fn header(&self, ledger: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault> {
        match self.get(&format!("v1/ledgers/{ledger}"), "", ANSWER_BYTES_MAX)? {
            Came::Body(body) => parse::<LedgerAnswer>(&body)?.into_header().map(Some),
            Came::Refusal { status: 404, .. } => Ok(None),
            Came::Refusal { status, code } => Err(refused(status, code)),
        }
    }

    fn proof(&self, ledger: LedgerSeq) -> Result<ShownProof, ArchiveFault> {
        let query = format!("contract_id={}", self.contract);
        match self.get(&format!("v1/ledgers/{ledger}/proof"), &query, BUNDLE_BYTES_MAX as u64)? {
            Came::Body(body) => Ok(ShownProof::Bundle(body)),
            Came::Refusal { status: 404, code } => Ok(ShownProof::Absent(code)),
            Came::Refusal { status, code } => Err(refused(status, code)),
        }
    }
}

fn in_window(window: LedgerRange) -> String {
    format!("from_ledger={}&to_ledger={}", window.from_inclusive(), window.to_inclusive())
}
