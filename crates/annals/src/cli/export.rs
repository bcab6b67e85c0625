//! `annals export`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES};
use crate::export::{self, Exported};

/// How many bytes are gathered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

const AFTER_HELP: &str = "\
Examples:
  annals export --format jsonl > events.jsonl
  annals export --format jsonl --output events.jsonl
  annals export --format jsonl | jq -r 'select(.proof == \"committed\") | .id'

Each line is one event: {id, contract_id, kind, ledger_seq, close_time, closed_at, tx_hash, tx_application_order,
operation_index, event_index, stage, tx_order, event_type, topics_xdr, data_xdr, payload_xdr, payload_state,
successful, proof, rewritten}.
The export holds what is committed when it begins, all of it, and says on stderr whether that is gap-free. It ends
with 1 when ledgers that were asked for are missing. With --output the file appears whole, at the end.";

/// How events are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON object a line
    Jsonl,
}

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// How events are written
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    let Format::Jsonl = arguments.format;
    let store = context.open_reader()?;
    let exported = match &arguments.output {
        Some(path) => to_file(path, |out| export::run(&store, out).map_err(CliError::from))?,
        None => export::run(&store, &mut BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock()))?,
    };
    for sentence in exported.sentences() {
        writeln!(io::stderr(), "{sentence}").map_err(CliError::Output)?;
    }
    Ok(if exported.lacks_ledgers() { Outcome::Incomplete } else { Outcome::Done })
}

/// Writes to a temporary file beside `path` and gives it its name once it is whole and on the disk.
fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Exported, CliError>,
) -> Result<Exported, CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    };
    let mut partial = name.to_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(partial);
    let file = File::create(&partial).map_err(failed)?;
    let written = || {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        let exported = write(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        fs::rename(&partial, path).map_err(failed)?;
        Ok(exported)
    };
    let outcome = written();
    if outcome.is_err() {
        // The first error is the one to tell; a leftover is named so that it is seen to be one.
        let _ = fs::remove_file(&partial);
    }
    outcome
}
