//! `annals migrate`.

use std::sync::Arc;

use annals_core::history_digest::BLOCK_LEDGERS;
use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, progress};
use crate::store::Store;

/// How many blocks of ledgers are digested in one transaction: so few that it takes a second.
const BLOCKS_A_STEP: u32 = 8;

pub(super) const AFTER_HELP: &str = "\
Examples:
  annals migrate --data-dir ./annals-data

An archive that an older Annals filled is given the digests of its histories, which takes as long as reading all its
events does. Whoever stops that loses nothing: it goes on where it was, or a little with each backfill.

An archive of a newer Annals is refused, and a folder without an archive stays as it is.";

#[derive(Debug, Serialize)]
struct Report {
    schema_before: u32,
    schema: u32,
    blocks_digested: u64,
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_writer()?;
    let migrated = store.migrated().expect("a store that was opened for writing was migrated");
    let blocks_digested = digest(&store, context)?;
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

/// Digests what is left over; returns how many blocks that were.
fn digest(store: &dyn Store, context: &Context) -> Result<u64, CliError> {
    let ledgers_of = |blocks: u64| blocks * u64::from(BLOCK_LEDGERS);
    let fence = store.acquire()?;
    let mut left = store.seal(0, fence)?.left;
    let all = left;
    if all == 0 {
        return Ok(0);
    }
    let progress = progress::on_stderr("digest", Arc::clone(&context.clock));
    progress.begin(ledgers_of(all), 0);
    while left > 0 {
        let sealed = store.seal(BLOCKS_A_STEP, fence)?;
        progress.advance(ledgers_of(sealed.blocks.into()), sealed.events);
        left = sealed.left;
    }
    progress.end();
    Ok(all)
}
