//! The command line: reads it, runs the verb, says how it ended.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use annals_core::{Network, Registry};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::clock::{Clock, SystemClock};
use crate::config::{ConfigError, Flags, Key, Layers, Settings};
use crate::store::{SqliteStore, Store as _, StoreError};

mod backfill;
mod check;
mod compare;
mod contracts;
mod demo;
mod error;
mod export;
mod follow_log;
mod following;
mod gaps;
mod incidents;
mod logging;
mod migrate;
mod outcome;
mod output;
mod progress;
mod prove;
mod reattribute;
mod serve;
mod service;
mod sources;
mod status;
mod verify;

use error::CliError;
use outcome::Outcome;
use output::Output;

const EXIT_CODES: &str = "\
Exit codes:
  0  all that was asked for is covered
  1  failed, or ledgers that were asked for are missing
  2  usage
  3  something contradicts the chain";

/// A verb's help with what its exit codes mean.
fn with_exit_codes(help: &str) -> String {
    format!("{help}\n\n{EXIT_CODES}")
}

const AFTER_HELP: &str = "\
Examples:
  annals backfill --network pubnet --lake ./lake --from 63092982 --to 63092991
  annals status
  annals export --format jsonl --output events.jsonl
  annals verify
  annals prove 0270982294110212096-0000000000 --out proof.json
  annals serve

Configuration: a flag --x-y is also the environment variable X_Y and the line x_y = … of annals.toml; a flag
beats the environment, which beats the file. Lists are repeated flags, a value with commas in the environment,
and an array in the file.

Errors are one line on stderr, `error: … [CODE]`; with --json the last line on stdout is
{\"error\":{\"code\":…,\"message\":…}} as well. Log lines and progress go to stderr.";

/// What stands above the options that every verb takes.
const SHARED_HEADING: &str = "Options of every verb";

/// Archives every contract event of a Stellar network, byte for byte, and proves it against the ledger headers.
#[derive(Debug, Parser)]
#[command(name = "annals", version, after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
struct Arguments {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    verb: Verb,
}

/// What every verb takes.
#[derive(Debug, Args)]
struct Shared {
    /// The archive's folder [default: annals-data]
    #[arg(long, value_name = "DIR", global = true, help_heading = SHARED_HEADING)]
    data_dir: Option<String>,
    /// The configuration file [default: annals.toml, where there is one]
    #[arg(long, value_name = "FILE", global = true, help_heading = SHARED_HEADING)]
    config: Option<PathBuf>,
    /// A TOML file of schemas beside those that are shipped: see `annals contracts schemas`
    #[arg(long, value_name = "FILE", global = true, help_heading = SHARED_HEADING)]
    schemas: Option<String>,
    /// Which log lines are shown on stderr, as in warn or info,annals::source=debug [default: info]
    #[arg(long, value_name = "FILTER", global = true, help_heading = SHARED_HEADING)]
    log: Option<String>,
}

/// Whether a verb reports to a program.
#[derive(Debug, Clone, Copy, Args)]
struct Json {
    /// Report as JSON on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Archive a simulated network and answer readers: no network, no configuration
    Demo(demo::Arguments),
    /// Fill the archive with ledgers of a lake, of RPC endpoints or of a file, and verify each
    Backfill(Box<backfill::Arguments>),
    /// Follow a network, and answer readers over HTTP
    Serve(Box<serve::Arguments>),
    /// Write every event in canonical order
    Export(export::Arguments),
    /// Hash and link everything stored again, offline
    #[command(after_help = with_exit_codes(verify::AFTER_HELP))]
    Verify(Json),
    /// Write what proves one event to whoever has no archive
    Prove(prove::Arguments),
    /// Check a proof with nothing but its file
    Check(check::Arguments),
    /// Find where two archives differ, and which of them can prove its version
    Compare(Box<compare::Arguments>),
    /// Show what the archive holds and how far it reaches without a gap
    #[command(after_help = with_exit_codes(status::AFTER_HELP))]
    Status(Json),
    /// List the ledgers that are missing
    #[command(after_help = with_exit_codes(gaps::AFTER_HELP))]
    Gaps(Json),
    /// Name the contracts to watch, and say what they are
    Contracts(contracts::Arguments),
    /// Read stored events with their schema again, and correct whom they belong to
    Reattribute(reattribute::Arguments),
    /// List what contradicted the archive, and resolve it
    Incidents(incidents::Arguments),
    /// Bring the archive's schema up to this version
    #[command(after_help = with_exit_codes(migrate::AFTER_HELP))]
    Migrate(Json),
}

impl Verb {
    fn is_json(&self) -> bool {
        match self {
            Self::Demo(_) | Self::Export(_) | Self::Prove(_) => false,
            Self::Check(verb) => verb.json.json,
            Self::Compare(verb) => verb.json.json,
            Self::Backfill(verb) => verb.json.json,
            Self::Serve(verb) => verb.json.json,
            Self::Contracts(verb) => verb.is_json(),
            Self::Verify(json) => json.json,
            Self::Status(json) => json.json,
            Self::Gaps(json) => json.json,
            Self::Reattribute(verb) => verb.json.json,
            Self::Incidents(verb) => verb.is_json(),
            Self::Migrate(json) => json.json,
        }
    }

    /// Which log lines are shown where nobody says it. A demonstration tells of itself.
    fn log(&self) -> &'static str {
        match self {
            Self::Demo(_) => "warn",
            _ => "info",
        }
    }

    fn flags(&self, shared: &Shared) -> Flags {
        let mut flags = match self {
            Self::Backfill(verb) => verb.flags(),
            Self::Serve(verb) => verb.flags(),
            _ => Flags::default(),
        };
        flags.give(Key::DataDir, shared.data_dir.clone());
        flags.give(Key::Schemas, shared.schemas.clone());
        flags.give(Key::Log, shared.log.clone());
        flags
    }
}

/// What a verb works with.
struct Context {
    settings: Settings,
    clock: Arc<dyn Clock>,
    output: Output,
}

impl Context {
    /// Where the archive is and what reads its events; nothing is opened yet.
    fn archive(&self) -> Result<Archive, CliError> {
        let registry = Arc::new(self.settings.registry()?);
        Ok(Archive { data_dir: self.settings.data_dir()?, registry, clock: Arc::clone(&self.clock) })
    }

    /// The network that is configured, else the archive's own.
    fn network(&self) -> Result<Network, CliError> {
        if let Some(network) = self.settings.network()? {
            return Ok(network);
        }
        match self.open_reader() {
            Ok(store) => store.status()?.passphrase.map(Network::new).ok_or_else(missing_network),
            Err(CliError::Store(StoreError::NoArchive { .. })) => Err(missing_network()),
            Err(error) => Err(error),
        }
    }

    /// Opens the archive for reading.
    fn open_reader(&self) -> Result<SqliteStore, CliError> {
        self.archive()?.open_reader()
    }

    /// Opens an archive that exists for writing.
    fn open_writer(&self) -> Result<SqliteStore, CliError> {
        self.archive()?.open_writer()
    }
}

/// Nothing says which network it is.
fn missing_network() -> CliError {
    let right = "--network pubnet, testnet, futurenet or local, or --network-passphrase TEXT";
    ConfigError::Missing { what: "the network", right }.into()
}

/// What an archive is opened with.
struct Archive {
    data_dir: PathBuf,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
}

impl Archive {
    /// Opens the archive for reading.
    fn open_reader(&self) -> Result<SqliteStore, CliError> {
        Ok(SqliteStore::open_reader(&self.data_dir, self.clock())?.with_registry(self.registry()))
    }

    /// Opens an archive that exists for writing.
    fn open_writer(&self) -> Result<SqliteStore, CliError> {
        Ok(SqliteStore::open_writer(&self.data_dir, self.clock())?.with_registry(self.registry()))
    }

    /// Opens the archive for writing, and makes it where there is none.
    fn create_or_open(&self) -> Result<SqliteStore, CliError> {
        Ok(SqliteStore::create_or_open(&self.data_dir, self.clock())?.with_registry(self.registry()))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }
}

/// Runs the program with these arguments, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Whoever asked for JSON gets it for a mistake in the other arguments too.
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let parsed =
        Arguments::command().try_get_matches_from(arguments).and_then(|matches| Arguments::from_arg_matches(&matches));
    match parsed {
        Ok(arguments) => {
            let json = arguments.verb.is_json();
            finish(run(arguments), json)
        }
        Err(error) if !error.use_stderr() => {
            // Nobody is left to tell when the help itself cannot be written.
            let _ = write!(io::stdout(), "{}", error.render());
            ExitCode::SUCCESS
        }
        Err(error) => finish(Err(CliError::from(error)), wants_json),
    }
}

fn run(arguments: Arguments) -> Result<Outcome, CliError> {
    let Arguments { shared, verb } = arguments;
    let flags = verb.flags(&shared);
    let layers = match verb {
        Verb::Demo(_) => Layers::of_flags(flags),
        _ => Layers::load(flags, |name| std::env::var_os(name), shared.config.as_deref())?,
    };
    let settings = Settings::new(layers);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    logging::start(settings.log(verb.log())?, Arc::clone(&clock));
    let context = Context { settings, clock, output: Output::new(verb.is_json()) };
    match verb {
        Verb::Demo(verb) => demo::run(&verb, shared.data_dir.as_deref().map(Path::new), &context),
        Verb::Backfill(_) => backfill::run(&context),
        Verb::Serve(_) => serve::run(&context),
        Verb::Contracts(verb) => contracts::run(&verb, &context),
        Verb::Export(verb) => export::run(&verb, &context),
        Verb::Verify(_) => verify::run(&context),
        Verb::Prove(verb) => prove::run(&verb, &context),
        Verb::Check(verb) => check::run(&verb, &context),
        Verb::Compare(verb) => compare::run(&verb, &context),
        Verb::Status(_) => status::run(&context),
        Verb::Gaps(_) => gaps::run(&context),
        Verb::Reattribute(verb) => reattribute::run(&verb, &context),
        Verb::Incidents(verb) => incidents::run(&verb, &context),
        Verb::Migrate(_) => migrate::run(&context),
    }
}

fn finish(ended: Result<Outcome, CliError>, json: bool) -> ExitCode {
    let error = match ended {
        Ok(outcome) => return outcome.into(),
        Err(error) if error.is_broken_pipe() => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let message = error.sentence();
    // Nobody is left to tell when the error itself cannot be written; the exit code still does.
    let _ = writeln!(io::stderr(), "error: {message} [{}]", error.code());
    if json {
        let object = serde_json::json!({ "error": { "code": error.code(), "message": message } });
        let _ = writeln!(io::stdout(), "{object}");
    }
    error.outcome().into()
}
