//! `annals verify`.

use std::io::{self, Write as _};

use super::error::CliError;
use super::outcome::Outcome;
use super::output::{few, grouped};
use super::{Context, progress};
use crate::verify;

pub(super) const AFTER_HELP: &str = "\
Examples:
  annals verify
  annals verify --json

Nothing is fetched. Each stored header is hashed and linked again; each committed event is proven from its
invocation's pre-image through the transaction's result to the header; where the archive keeps every event, each
ledger's digest is made again; of single contracts an uncommitted event that is gone is not noticed, and the number
of such ledgers is told as undigested. Whom events belong to is compared with their contract's schema; of how many
contracts it could not be, as their schema was not given or they wait, is told as uncompared.
What does not hold is told on stderr, one line each, and the exit code is 3.
With --json the last line on stdout is
{ledgers, events, committed, rewritten, uncommitted, unverified, undigested, uncompared, chains, faults, faults_found},
where chains tells of each run of ledgers that link what vouches for it beside the source, and up to which ledger.";

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_reader()?;
    let progress = progress::on_stderr("verify", context.clock.clone());
    let report = verify::run(&store, progress.as_ref(), &mut |fault| {
        // The report and the exit code tell it too.
        let _ = writeln!(io::stderr(), "fault: {fault}");
    })?;
    if context.output.is_json() {
        context.output.object(&report.to_json())?;
    } else {
        let events = report.events;
        context.output.line(format_args!(
            "{} ledgers hashed and linked, {} events: {} committed, {} rewritten, {} uncommitted, {} unverified",
            grouped(report.ledgers),
            grouped(events.total()),
            grouped(events.committed),
            grouped(events.rewritten),
            grouped(events.uncommitted),
            grouped(events.unverified),
        ))?;
        let chains: Vec<String> = report.chains.iter().rev().map(ToString::to_string).collect();
        for line in few(&chains, str::to_owned) {
            context.output.line(line)?;
        }
        if report.undigested > 0 {
            context.output.line(format_args!(
                "{} ledgers of single contracts: an uncommitted event that is gone from them is not noticed",
                grouped(report.undigested)
            ))?;
        }
        if report.uncompared > 0 {
            context.output.line(format_args!(
                "{} contracts whose parties are not compared: their schema is not given, or they wait for `annals \
                 reattribute`",
                grouped(report.uncompared)
            ))?;
        }
        context.output.line(match report.faults_found {
            0 => "everything holds".to_owned(),
            1 => "1 fault".to_owned(),
            faults => format!("{} faults", grouped(faults)),
        })?;
    }
    Ok(if report.faults_found == 0 { Outcome::Done } else { Outcome::Contradicted })
}
