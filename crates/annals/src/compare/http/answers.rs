//! The fields of answers that are read, and what they have to be.

use annals_core::decode::EventView;
use annals_core::history_digest::Part;
use annals_core::{ContractId, EventKind, HistoryDigest, LedgerHash, LedgerRange, LedgerSeq, Position, ProofClass};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::unlike;
use crate::compare::archive::{ArchiveFault, Incomplete, Marks, ShownEvent, ShownHeader, WindowDigest};

/// No longer word of an archive is told.
const WORD_LEN_MAX: usize = 40;

#[derive(Deserialize)]
pub(super) struct ErrorAnswer {
    pub error: ErrorObject,
}

#[derive(Deserialize)]
pub(super) struct ErrorObject {
    pub code: String,
}

#[derive(Deserialize)]
pub(super) struct HealthAnswer {
    network: Option<String>,
    start_ledger: Option<u32>,
    origin_ledger: Option<u32>,
    ingested_through: Option<u32>,
    latest_ledger: Option<u32>,
}

impl HealthAnswer {
    pub fn into_marks(self) -> Result<Marks, ArchiveFault> {
        let start = self.start_ledger.map(seq).transpose()?;
        let origin = self.origin_ledger.map(seq).transpose()?;
        let through = self.ingested_through.map(seq).transpose()?;
        let latest = self.latest_ledger.map(seq).transpose()?;
        // An archive counts from the origin or from its start; from the higher of both on it is gap-free either way.
        Ok(Marks { network: self.network, start, first: origin.max(start), through, latest })
    }
}

#[derive(Deserialize)]
struct Ledgers {
    from: u32,
    to: u32,
}

#[derive(Deserialize)]
struct PartAnswer {
    from_ledger: u32,
    to_ledger: u32,
    digest: String,
    events: u64,
}

impl PartAnswer {
    fn into_part(self) -> Result<Part, ArchiveFault> {
        let range = range(self.from_ledger, self.to_ledger)?;
        Ok(Part { range, events: self.events, digest: digest(&self.digest)? })
    }
}

#[derive(Deserialize)]
pub(super) struct DigestAnswer {
    from_ledger: u32,
    to_ledger: u32,
    version: u64,
    digest: String,
    events: u64,
    parts: Vec<PartAnswer>,
    complete: bool,
    incomplete_reason: Option<String>,
    missing: Vec<Ledgers>,
    anchor: String,
}

impl DigestAnswer {
    pub fn into_digest(self, asked: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
        if self.version != u64::from(HistoryDigest::VERSION) {
            return Err(ArchiveFault::OtherDigest { version: self.version, known: HistoryDigest::VERSION });
        }
        if range(self.from_ledger, self.to_ledger)? != asked {
            return Err(unlike("a digest is of other ledgers than were asked for"));
        }
        let incomplete = match (self.complete, self.incomplete_reason) {
            (true, None) if self.missing.is_empty() => None,
            (false, Some(reason)) => {
                let missing = self.missing.first().map(|first| range(first.from, first.to)).transpose()?;
                Some(Incomplete { reason: word(reason)?, missing })
            }
            _ => return Err(unlike("a window is complete and not, or neither")),
        };
        let parts = self.parts.into_iter().map(PartAnswer::into_part).collect::<Result<_, _>>()?;
        let digest = digest(&self.digest)?;
        Ok(WindowDigest { events: self.events, digest, parts, incomplete, anchor: word(self.anchor)? })
    }
}

#[derive(Deserialize)]
struct EventAnswer {
    id: String,
    contract_id: String,
    kind: String,
    topics_xdr: Vec<String>,
    data_xdr: String,
    proof: String,
}

impl EventAnswer {
    fn into_event(self) -> Result<ShownEvent, ArchiveFault> {
        let position: Position = self.id.parse().map_err(|_| unlike("an event's id is none"))?;
        let contract: ContractId = self.contract_id.parse().map_err(|_| unlike("an event's contract is none"))?;
        let kind = EventKind::from_name(&self.kind).ok_or(unlike("an event's kind is none"))?;
        let class = ProofClass::from_name(&self.proof).ok_or(unlike("an event's proof class is none"))?;
        let topics = self.topics_xdr.iter().map(|topic| bytes(topic)).collect::<Result<Vec<_>, _>>()?;
        let xdr = EventView::join(Some(contract), kind, &topics, &bytes(&self.data_xdr)?);
        Ok(ShownEvent { position, xdr, class })
    }
}

#[derive(Deserialize)]
pub(super) struct EventsAnswer {
    events: Vec<EventAnswer>,
    cursor: Option<String>,
}

impl EventsAnswer {
    /// The events, and the cursor of the page that follows.
    pub fn into_events(self) -> Result<(Vec<ShownEvent>, Option<String>), ArchiveFault> {
        let events = self.events.into_iter().map(EventAnswer::into_event).collect::<Result<_, _>>()?;
        Ok((events, self.cursor))
    }
}

#[derive(Deserialize)]
pub(super) struct LedgerAnswer {
    hash: String,
    header_xdr: String,
}

impl LedgerAnswer {
    pub fn into_header(self) -> Result<ShownHeader, ArchiveFault> {
        let hash: LedgerHash = self.hash.parse().map_err(|_| unlike("a ledger's hash is none"))?;
        Ok(ShownHeader { hash, xdr: bytes(&self.header_xdr)? })
    }
}

fn seq(number: u32) -> Result<LedgerSeq, ArchiveFault> {
    LedgerSeq::new(number).map_err(|_| unlike("a ledger's number is none"))
}

fn range(from: u32, to: u32) -> Result<LedgerRange, ArchiveFault> {
    LedgerRange::new(seq(from)?, seq(to)?).map_err(|_| unlike("a range of ledgers is inverted"))
}

fn digest(text: &str) -> Result<HistoryDigest, ArchiveFault> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).map_err(|_| unlike("a digest is none"))?;
    Ok(HistoryDigest(digest))
}

fn bytes(text: &str) -> Result<Vec<u8>, ArchiveFault> {
    STANDARD.decode(text).map_err(|_| unlike("base64 is none"))
}

/// A word that an archive says, fit to be told.
fn word(text: String) -> Result<String, ArchiveFault> {
    let is_word =
        (1..=WORD_LEN_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_word { Ok(text) } else { Err(unlike("a word is none")) }
}
