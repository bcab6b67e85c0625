//! `annals gaps`.

use serde::Serialize;

use super::Context;
use super::error::CliError;
use super::outcome::Outcome;
use crate::marks::{self, Hole};
use crate::store::Store as _;

pub(super) const AFTER_HELP: &str = "\
Examples:
  annals gaps
  annals gaps --json | jq '.gaps[] | select(.asked_for)'

Lists everything that is missing between the start and the highest ledger that was asked for or is held, with the
last failure where one is known. It ends with 1 when ledgers that were asked for are among it.";

#[derive(Debug, Serialize)]
struct Report {
    from: Option<u32>,
    to: Option<u32>,
    gaps: Vec<Hole>,
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_reader()?;
    let status = store.status()?;
    let window = marks::window(&status);
    let gaps = marks::holes(&status);
    let lacks_ledgers = gaps.iter().any(|hole| hole.asked_for);
    if context.output.is_json() {
        let from = window.map(|window| window.from_inclusive().get());
        let to = window.map(|window| window.to_inclusive().get());
        context.output.object(&Report { from, to, gaps })?;
    } else if gaps.is_empty() {
        context.output.line(match window {
            Some(window) => format!("nothing is missing in ledgers {window}"),
            None => "nothing was asked for yet".to_owned(),
        })?;
    } else {
        for hole in &gaps {
            context.output.line(line(hole))?;
        }
    }
    Ok(if lacks_ledgers { Outcome::Incomplete } else { Outcome::Done })
}

fn line(hole: &Hole) -> String {
    let mut line = format!("{} of {}", hole.ledgers(), hole.scope);
    if !hole.asked_for {
        line.push_str(": never asked for");
    }
    if hole.attempts > 0 {
        let attempts = if hole.attempts == 1 { "attempt" } else { "attempts" };
        line.push_str(&format!(": {} {attempts}", hole.attempts));
    }
    if let (Some(message), Some(code)) = (&hole.last_error, &hole.last_code) {
        line.push_str(&format!(": {message} [{code}]"));
    }
    line
}
