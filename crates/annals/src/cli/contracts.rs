//! `annals contracts`.

use annals_core::{ContractId, LedgerSeq};
use clap::{Subcommand, ValueEnum};
use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES, Json};
use crate::config::parse_seq;
use crate::store::{Contract, ContractKind, SqliteStore, Store as _};

const AFTER_HELP: &str = "\
Examples:
  annals contracts add CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA
  annals contracts declare CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA --origin 2 --kind asset
  annals contracts list

A contract that is added is watched, and its answers are incomplete until `annals backfill --contract` scanned
ledgers for it: adding never claims the past. The origin is the first ledger in which the contract can have events;
answers without a first ledger begin there. A contract counts as an asset contract, whose answers need the events of
classic operations, until it is declared a Wasm contract.";

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
    /// Say where a contract begins, or what it is
    #[command(group(clap::ArgGroup::new("said").required(true).multiple(true).args(["origin", "kind"])))]
    Declare(Named),
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
            Verb::List { json } => json.json,
        }
    }
}

#[derive(Debug, Serialize)]
struct Reported {
    contract_id: String,
    origin_ledger: Option<u32>,
    kind: Option<&'static str>,
}

impl Reported {
    fn of(contract: &Contract) -> Self {
        Self {
            contract_id: contract.id.to_string(),
            origin_ledger: contract.origin.map(LedgerSeq::get),
            kind: contract.kind.map(ContractKind::as_str),
        }
    }

    fn line(&self) -> String {
        let origin = self.origin_ledger.map_or("origin unknown".to_owned(), |seq| format!("origin {seq}"));
        format!("{}: {origin}, {}", self.contract_id, self.kind.unwrap_or("kind unknown"))
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
    }
}

fn declare(named: &Named, context: &Context) -> Result<Outcome, CliError> {
    let store = SqliteStore::open_writer(&context.settings.data_dir()?, context.clock.clone())?;
    let said = Contract { id: named.id, origin: named.origin, kind: named.kind.map(ContractKind::from), schema: None };
    let fence = store.acquire()?;
    store.declare(&said, fence)?;
    let known = store.contracts()?.into_iter().find(|contract| contract.id == named.id).unwrap_or(said);
    let reported = Reported::of(&known);
    if context.output.is_json() {
        context.output.object(&reported)?;
    } else {
        context.output.line(reported.line())?;
    }
    Ok(Outcome::Done)
}

fn list(context: &Context) -> Result<Outcome, CliError> {
    let store = SqliteStore::open_reader(&context.settings.data_dir()?, context.clock.clone())?;
    let contracts: Vec<Reported> = store.contracts()?.iter().map(Reported::of).collect();
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
