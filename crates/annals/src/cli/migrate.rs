//! `annals migrate`.

use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES, Json};
use crate::store::Store as _;

/// How many blocks of ledgers are digested in one transaction: so few that it takes a second.
const BLOCKS_A_STEP: u32 = 8;

const AFTER_HELP: &str = "\
Examples:
  annals migrate --data-dir ./annals-data

An archive that an older Annals filled is given the digests of its histories, which takes as long as reading all its
events does. Whoever stops that loses nothing: it goes on where it was, or a little with each backfill.

An archive of a newer Annals is refused, and a folder without an archive stays as it is.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Serialize)]
struct Report {
    schema_before: u32,
    schema: u32,
    blocks_digested: u64,
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_writer()?;
    let migrated = store.migrated().expect("a store that was opened for writing was migrated");
    let fence = store.acquire()?;
    let mut blocks_digested = 0;
    loop {
        let blocks = store.seal(BLOCKS_A_STEP, fence)?;
        blocks_digested += u64::from(blocks);
        if blocks < BLOCKS_A_STEP {
            break;
        }
    }
    let report = Report { schema_before: migrated.from, schema: migrated.to, blocks_digested };
    if context.output.is_json() {
        context.output.object(&report)?;
    } else if report.schema_before == report.schema {
        context.output.line(format_args!("the archive has schema {} already", report.schema))?;
    } else {
        context.output.line(format_args!("migrated from schema {} to {}", report.schema_before, report.schema))?;
    }
    Ok(Outcome::Done)
}
