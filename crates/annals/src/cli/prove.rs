//! `annals prove`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use annals_core::Position;

use super::error::CliError;
use super::export::to_file;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES};
use crate::prove;

const AFTER_HELP: &str = "\
Examples:
  annals prove 0270982294110212096-0000000000 --out proof.json
  annals prove 0270982294110212096-0000000000 | gzip -9 > proof.json.gz

The id is the event's own, as export and /v1 write it. The bundle is one line of JSON that `annals check`, or anybody
with docs/proof-format.md, checks without this archive: the event, its invocation, the ledger's results and header, and
the headers up to the nearest pinned ledger or the next checkpoint. Of an event that the protocol does not commit to,
the bundle says so. With --out the file appears whole, at the end.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// The event's id
    id: Position,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_reader()?;
    let mut line = prove::event(&store, arguments.id)?;
    line.push(b'\n');
    match &arguments.out {
        Some(path) => {
            to_file(path, |out| out.write_all(&line).map_err(|source| CliError::File { path: path.clone(), source }))?
        }
        None => io::stdout().lock().write_all(&line).map_err(CliError::Output)?,
    }
    Ok(Outcome::Done)
}
