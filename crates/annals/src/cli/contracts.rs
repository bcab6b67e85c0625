//! `annals contracts`.

use std::collections::BTreeMap;

use annals_core::{ContractId, LedgerSeq, SchemaChoice};
use clap::{Subcommand, ValueEnum};
use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES, Json};
use crate::config::parse_seq;
use crate::store::{Contract, ContractKind, Store};

const AFTER_HELP: &str = "\
Examples:
  annals contracts add CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA
  annals contracts declare CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA --origin 2 --kind asset
  annals contracts declare CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA --schema confidential-token
  annals contracts list
  annals contracts schemas

A contract that is added is watched, and its answers are incomplete until `annals backfill --contract` scanned
ledgers for it: adding never claims the past. The origin is the first ledger in which the contract can have events;
answers without a first ledger begin there. A contract counts as an asset contract, whose answers need the events of
classic operations, until it is declared a Wasm contract. What was found while scanning (a creation, an
asset contract) counts where nothing was declared; a contract that was found to be an asset's stays one.

The schema says whom the contract's events belong to: without one the account routes answer no_schema. NAME@VERSION
takes the shapes of that version alone, and the schema none takes a declaration back. A contract whose events are stored
already then waits for `annals reattribute`.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Watch a contract
    Add(Named),
    /// List the contracts that were named
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Say where a contract begins, what it is, or which schema reads it
    #[command(group(clap::ArgGroup::new("said").required(true).multiple(true).args(["origin", "kind", "schema"])))]
    Declare(Named),
    /// List the schemas that a contract can have, and their versions
    Schemas {
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The contract
    #[arg(value_name = "CONTRACT")]
    id: ContractId,
    /// The first ledger in which it can have events
    #[arg(long, value_name = "LEDGER", value_parser = parse_seq)]
    origin: Option<LedgerSeq>,
    /// What it is
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Which schema says whom its events belong to; none takes a declaration back
    #[arg(long, value_name = "NAME[@VERSION]")]
    schema: Option<SchemaChoice>,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// A contract of its own code
    Wasm,
    /// A Stellar asset's contract
    Asset,
}

impl From<Kind> for ContractKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Wasm => Self::Wasm,
            Kind::Asset => Self::Asset,
        }
    }
}

impl Arguments {
    pub fn is_json(&self) -> bool {
        match &self.verb {
            Verb::Add(named) | Verb::Declare(named) => named.json.json,
            Verb::List { json } | Verb::Schemas { json } => json.json,
        }
    }
}

/// Where what is known of a contract comes from: `declared` by somebody or `found` while scanning, also where somebody
/// declared something else; none where nothing is known.
fn provenance<T: PartialEq>(known: Option<&T>, declared: Option<&T>) -> Option<&'static str> {
    known.map(|known| if declared == Some(known) { "declared" } else { "found" })
}

#[derive(Debug, Serialize)]
struct Reported {
    contract_id: String,
    origin_ledger: Option<u32>,
    origin_from: Option<&'static str>,
    kind: Option<&'static str>,
    kind_from: Option<&'static str>,
    schema: Option<String>,
    schema_from: Option<&'static str>,
    unattributed: bool,
}

impl Reported {
    /// `known` is what counts of a contract, `declared` what somebody said of it.
    fn of(known: &Contract, declared: Option<&Contract>, unattributed: &[ContractId]) -> Self {
        Self {
            contract_id: known.id.to_string(),
            origin_ledger: known.origin.map(LedgerSeq::get),
            origin_from: provenance(known.origin.as_ref(), declared.and_then(|said| said.origin.as_ref())),
            kind: known.kind.map(ContractKind::as_str),
            kind_from: provenance(known.kind.as_ref(), declared.and_then(|said| said.kind.as_ref())),
            schema: known.schema.as_ref().map(ToString::to_string),
            schema_from: provenance(known.schema.as_ref(), declared.and_then(|said| said.schema.as_ref())),
            unattributed: unattributed.contains(&known.id),
        }
    }

    fn line(&self) -> String {
        let from = |from: Option<&str>| from.map_or(String::new(), |from| format!(" ({from})"));
        let origin = self.origin_ledger.map_or("origin unknown".to_owned(), |seq| format!("origin {seq}"));
        let (kind, schema) = (self.kind.unwrap_or("kind unknown"), self.schema.as_deref());
        let schema = schema.map_or("no schema".to_owned(), |schema| format!("schema {schema}"));
        let waits = if self.unattributed { "; waits for `annals reattribute`" } else { "" };
        format!(
            "{}: {origin}{}, {kind}{}, {schema}{}{waits}",
            self.contract_id,
            from(self.origin_from),
            from(self.kind_from),
            from(self.schema_from)
        )
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    contracts: Vec<Reported>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    match &arguments.verb {
        Verb::Add(named) | Verb::Declare(named) => declare(named, context),
        Verb::List { .. } => list(context),
        Verb::Schemas { .. } => schemas(context),
    }
}

fn declare(named: &Named, context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_writer()?;
    let Named { id, origin, kind, schema, json: _ } = named;
    let said = Contract { id: *id, origin: *origin, kind: kind.map(ContractKind::from), schema: schema.clone() };
    let fence = store.acquire()?;
    store.declare(&said, fence)?;
    let reported = reports(&store)?.into_iter().find(|reported| reported.contract_id == id.to_string());
    let reported = reported.expect("a contract that was declared is listed");
    if context.output.is_json() {
        context.output.object(&reported)?;
    } else {
        context.output.line(reported.line())?;
    }
    Ok(Outcome::Done)
}

/// Everything that is known of the contracts that somebody named, by id.
fn reports(store: &dyn Store) -> Result<Vec<Reported>, CliError> {
    let declared: BTreeMap<ContractId, Contract> =
        store.declared()?.into_iter().map(|contract| (contract.id, contract)).collect();
    let unattributed = store.status()?.unattributed;
    let known = store.contracts()?;
    Ok(known.iter().map(|known| Reported::of(known, declared.get(&known.id), &unattributed)).collect())
}

fn list(context: &Context) -> Result<Outcome, CliError> {
    let contracts = reports(&context.open_reader()?)?;
    if context.output.is_json() {
        context.output.object(&Listed { contracts })?;
        return Ok(Outcome::Done);
    }
    if contracts.is_empty() {
        context.output.line("no contract was named")?;
    }
    for contract in &contracts {
        context.output.line(contract.line())?;
    }
    Ok(Outcome::Done)
}

#[derive(Debug, Serialize)]
struct KnownSchemas {
    schemas: Vec<KnownSchema>,
}

#[derive(Debug, Serialize)]
struct KnownSchema {
    schema: String,
    versions: Vec<String>,
}

/// Reads no archive: the schemas are the program's, and those of the operator's file.
fn schemas(context: &Context) -> Result<Outcome, CliError> {
    let registry = context.settings.registry()?;
    let known = |(schema, versions): (&str, Vec<&str>)| KnownSchema {
        schema: schema.to_owned(),
        versions: versions.into_iter().map(str::to_owned).collect(),
    };
    let schemas: Vec<KnownSchema> = registry.schemas().map(known).collect();
    if context.output.is_json() {
        context.output.object(&KnownSchemas { schemas })?;
        return Ok(Outcome::Done);
    }
    for KnownSchema { schema, versions } in &schemas {
        let versions = if versions.is_empty() { "one version".to_owned() } else { versions.join(", ") };
        context.output.line(format_args!("{schema}: {versions}"))?;
    }
    Ok(Outcome::Done)
}
