//! Writing every event of an archive as lines of JSON.

use std::io::{self, Write};

use annals_core::decode::DecodeError;
use annals_core::wire::ExportedEvent;
use annals_core::{Position, ScopeKey};

use crate::marks::{self, Hole, Marks};
use crate::store::{EventQuery, Status, Store, StoreError};

/// How many events are in memory at once.
const PAGE_EVENTS: u32 = 1000;

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store failed.
    #[error("the archive could not be read")]
    Store(#[from] StoreError),
    /// A stored event is none.
    #[error("the archive is damaged: event {position} cannot be decoded")]
    Event {
        /// Its position.
        position: Position,
        /// The cause.
        #[source]
        source: DecodeError,
    },
    /// An event has no form in JSON.
    #[error("event {position} could not be written as JSON")]
    Json {
        /// Its position.
        position: Position,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// Nobody takes the lines.
    #[error("the export could not be written")]
    Write(#[source] io::Error),
}

/// What was exported, judged by the status that was read before the first event.
#[derive(Debug, Clone)]
pub struct Exported {
    /// How many events.
    pub events: u64,
    /// The archive's status; the export holds what was committed at or before its feed position.
    pub status: Status,
}

impl Exported {
    /// Whether ledgers that somebody asked for are missing.
    #[must_use]
    pub fn lacks_ledgers(&self) -> bool {
        !self.status.gaps.is_empty()
    }

    /// One sentence that says what the export holds, and one for each thing that it does not.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let status = &self.status;
        let events = self.events;
        let (Some(start), Some(latest)) = (status.start, status.latest_ledger) else {
            let mut sentences = vec![format!("exported {events} events: the archive holds no ledger yet")];
            sentences.extend(missing(&marks::holes(status)));
            return sentences;
        };
        let whose = match status.coverage.iter().any(|(key, _)| *key == ScopeKey::All) {
            true => "all contracts".to_owned(),
            false => format!("{} contracts", status.coverage.len()),
        };
        let holes = marks::holes(status);
        let mut sentences = match Marks::of(status).ingested_through {
            Some(through) if holes.is_empty() => {
                vec![format!("exported {events} events of {whose}, gap-free over ledgers {start}-{through}")]
            }
            Some(through) => vec![format!(
                "exported {events} events of {whose} up to ledger {latest}: gap-free only over ledgers {start}-{through}"
            )],
            None => vec![format!(
                "exported {events} events of {whose} up to ledger {latest}: incomplete from the start, ledger {start}, on"
            )],
        };
        sentences.extend(missing(&holes));
        if status.classic == annals_core::ClassicPolicy::Drop {
            sentences
                .push("classic and fee events were left out: the archive was begun with --classic drop".to_owned());
        }
        if status.open_incidents > 0 {
            let open = status.open_incidents;
            sentences.push(format!("{open} incidents wait for an operator: see `annals incidents list`"));
        }
        sentences
    }
}

/// Says what is missing, asked for or not.
fn missing(holes: &[Hole]) -> impl Iterator<Item = String> {
    const NAMED_MAX: usize = 10;
    let say = |asked_for: bool, what: &str| {
        let ranges: Vec<_> = holes.iter().filter(|hole| hole.asked_for == asked_for).collect();
        let named: Vec<String> = ranges.iter().take(NAMED_MAX).map(|hole| name(hole)).collect();
        let more = ranges.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
        (!ranges.is_empty()).then(|| format!("{what}: {}{more}; see `annals gaps`", named.join(", ")))
    };
    let asked = say(true, "missing although asked for");
    let never = say(false, "never asked for");
    asked.into_iter().chain(never)
}

fn name(hole: &Hole) -> String {
    let range = hole.ledgers();
    if hole.scope == "*" { range } else { format!("{range} of {}", hole.scope) }
}

/// Writes every event that is committed now, in canonical order, one JSON object a line.
///
/// # Errors
/// [`ExportError`]; what was written until then is whole lines, or the beginning of one.
pub fn run(store: &dyn Store, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let status = store.status()?;
    let mut exported = Exported { events: 0, status };
    let Some(latest) = exported.status.latest_ledger else { return Ok(exported) };
    let mut after = None;
    loop {
        let as_of = exported.status.feed_position;
        let page = store.events(&EventQuery { after, to_inclusive: latest, as_of, limit: PAGE_EVENTS })?;
        let payloads = store.payloads(&page)?;
        for (event, payload) in page.iter().zip(&payloads) {
            let position = event.position;
            let line = ExportedEvent::new(event, payload).map_err(|source| ExportError::Event { position, source })?;
            let line = serde_json::to_string(&line).map_err(|source| ExportError::Json { position, source })?;
            writeln!(out, "{line}").map_err(ExportError::Write)?;
        }
        exported.events += page.len() as u64;
        match page.last() {
            Some(last) => after = Some(last.position),
            None => break,
        }
    }
    out.flush().map_err(ExportError::Write)?;
    Ok(exported)
}
