//! `annals incidents`.

use annals_core::wire::rfc3339;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES, Json};
use crate::store::{Incident, SqliteStore, Store as _, StoreError};

const AFTER_HELP: &str = "\
Examples:
  annals incidents list
  annals incidents resolve 1 --note 'the second lake was of a fork'

An incident is another hash for a stored ledger, or other bytes under a stored event. Both versions are kept,
nothing is written until it is resolved, and reads go on. Resolving keeps what is stored. Where the other hash is given by
a ledger that links up to what is stored above, offered_xdr is the header of that ledger: what is stored is then of two
chains, and the gap between them stays a gap after it was resolved.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List all incidents, oldest first
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Mark an open incident as resolved
    Resolve {
        /// Its number
        id: u64,
        /// Why it is resolved; kept with it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        #[command(flatten)]
        json: Json,
    },
}

impl Arguments {
    pub fn is_json(&self) -> bool {
        match &self.verb {
            Verb::List { json } | Verb::Resolve { json, .. } => json.json,
        }
    }
}

#[derive(Debug, Serialize)]
struct Reported {
    id: u64,
    kind: &'static str,
    ledger: u32,
    event: Option<String>,
    source: String,
    stored_xdr: String,
    offered_xdr: String,
    recorded_at: String,
    resolved_at: Option<String>,
    note: Option<String>,
}

impl Reported {
    fn of(incident: &Incident) -> Self {
        Self {
            id: incident.id,
            kind: incident.kind.as_str(),
            ledger: incident.ledger.get(),
            event: incident.position.map(|position| position.to_string()),
            source: incident.source.clone(),
            stored_xdr: STANDARD.encode(&incident.stored_xdr),
            offered_xdr: STANDARD.encode(&incident.offered_xdr),
            recorded_at: rfc3339(incident.recorded_at_ms),
            resolved_at: incident.resolved_at_ms.map(rfc3339),
            note: incident.note.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    incidents: Vec<Reported>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    match &arguments.verb {
        Verb::List { .. } => list(context),
        Verb::Resolve { id, note, .. } => resolve(*id, note.as_deref(), context),
    }
}

fn list(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_reader()?;
    let incidents: Vec<Reported> = store.incidents()?.iter().map(Reported::of).collect();
    if context.output.is_json() {
        context.output.object(&Listed { incidents })?;
        return Ok(Outcome::Done);
    }
    if incidents.is_empty() {
        context.output.line("there are no incidents")?;
    }
    for incident in &incidents {
        let what = incident.event.as_ref().map_or("its hash".to_owned(), |event| format!("event {event}"));
        let state = incident.resolved_at.as_ref().map_or("open".to_owned(), |at| format!("resolved {at}"));
        let note = incident.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        context.output.line(format_args!(
            "{}: {state}{note}: ledger {}: {} contradicts {what}, recorded {}",
            incident.id, incident.ledger, incident.source, incident.recorded_at
        ))?;
    }
    Ok(Outcome::Done)
}

fn resolve(id: u64, note: Option<&str>, context: &Context) -> Result<Outcome, CliError> {
    let store = match context.open_writer() {
        Ok(store) => {
            let fence = store.acquire()?;
            store.resolve_incident(id, note, fence)?;
            store
        }
        // Whoever follows the network waits for this very act, and goes on then.
        Err(CliError::Store(StoreError::WriterBusy)) => {
            let archive = context.archive()?;
            SqliteStore::resolve_beside(&archive.data_dir, id, note, archive.clock.as_ref())?;
            context.open_reader()?
        }
        Err(error) => return Err(error),
    };
    if context.output.is_json() {
        let resolved = store.incidents()?.iter().find(|incident| incident.id == id).map(Reported::of);
        context.output.object(&resolved)?;
    } else {
        context.output.line(format_args!("incident {id} is resolved; what was stored stays"))?;
    }
    Ok(Outcome::Done)
}
