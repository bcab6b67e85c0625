//! `annals backfill`.

use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::output::{few, grouped};
use super::sources::Source;
use super::{Context, EXIT_CODES, Json, progress, sources};
use crate::anchor::{self, HangsOn, Witnesses};
use crate::backfill::{self, Job, Summary};
use crate::config::{ConfigError, Flags, Key, SourceChoice};
use crate::store::{SqliteStore, Store as _};

const AFTER_HELP: &str = "\
Examples:
  annals backfill --network pubnet --lake ./lake --from 63092982 --to 63092991
  annals backfill --network pubnet --lake ./lake --from 63M:+100k
  annals backfill --network testnet --rpc https://soroban-testnet.stellar.org --from 3M:+5k
  annals backfill --network testnet --rpc https://rpc.example --rpc-mode events --from 3M:+5k --contract CAS3…
  annals backfill --network testnet --ledgers meta.xdr.zst --from 2:5000 --json
  annals backfill --network pubnet --lake ./lake --from 63M:64M --contract CAS3… --contract CCW6… --classic drop

A ledger is a number, also as 63M, 1.5M or 100k. --from takes a whole range too: A:B, both ends included, or A:+N
for N ledgers from A on. What is stored already is not fetched again; a bad object is named, its ledgers stay a
gap, and the rest goes on. --rpc-mode events is for an RPC without getLedgers: it takes what getEvents or queryEvents
tell, as class unverified, and covers what the RPC says that it scanned; a later backfill of the same range from whole
ledgers verifies it. Where a contract's schema says that the invocation carries a payload, the transaction's envelope is
taken from getTransaction and must hash to the transaction; the same command again asks for those that are lacking.

With --json the last line on stdout is
{ledgers, fetched, events, committed, uncommitted, rewritten, unverified, verified_through, ingested_through, gaps,
unverified_ranges, unattributed, envelopes_fetched, envelopes_lacking, anchor}, where unattributed are the contracts that
wait for `annals reattribute`, and envelopes_lacking counts the envelopes that no endpoint gave.

unverified_ranges are ledgers that are covered and not verified, since they are known by events alone and this source
lacks them or gives events alone, too. They are no gap: the exit code is 0, and verified_through stops below them.

anchor is what the range hangs on at the end: pinned, history-archive, sources-agree or source, the word of the source
alone. Where --history-archive names archives, or --rpc endpoints of two hosts, they are asked for the newest stored
ledger. One that does not answer is told and no more; one that gives a stored ledger another hash ends the run with 3.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// The network, by its name: pubnet, testnet, futurenet or local; an archive that has one needs none
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// The network, by its passphrase
    #[arg(long, value_name = "TEXT")]
    network_passphrase: Option<String>,
    /// Take the ledgers from a SEP-54 lake in this folder, or at this https:// address; public for pubnet's public one
    #[arg(long, value_name = "PATH|URL|public")]
    lake: Option<String>,
    /// Take the ledgers from the Stellar RPC at this address; may be repeated, the first that can serves
    #[arg(long, value_name = "URL")]
    rpc: Vec<String>,
    /// What to ask the RPC for: whole ledgers, or events alone, which stay unverified [default: ledgers]
    #[arg(long, value_name = "ledgers|events")]
    rpc_mode: Option<String>,
    /// Take the ledgers from this file of framed LedgerCloseMeta, plain or zstd
    #[arg(long, value_name = "FILE")]
    ledgers: Option<String>,
    /// The first ledger, or a whole range
    #[arg(long, value_name = "LEDGER", allow_negative_numbers = true)]
    from: Option<String>,
    /// The last ledger
    #[arg(long, value_name = "LEDGER", allow_negative_numbers = true)]
    to: Option<String>,
    /// Keep this contract's events alone; may be repeated [default: all contracts]
    #[arg(long, value_name = "C…")]
    contract: Vec<String>,
    /// Refuse a chain in which this ledger has another hash; may be repeated
    #[arg(long, value_name = "LEDGER:HASH")]
    pin: Vec<String>,
    /// Have the history archive at this address confirm what the chain hangs on; may be repeated
    #[arg(long, value_name = "URL")]
    history_archive: Vec<String>,
    /// Keep or drop classic and fee events, for good [default: keep]
    #[arg(long, value_name = "keep|drop")]
    classic: Option<String>,
    /// Take a lake whose objects hold different numbers of ledgers
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mixed_layout: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

impl Arguments {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.give(Key::Network, self.network.clone());
        flags.give(Key::NetworkPassphrase, self.network_passphrase.clone());
        flags.give(Key::Lake, self.lake.clone());
        flags.give(Key::Rpc, self.rpc.clone());
        flags.give(Key::RpcMode, self.rpc_mode.clone());
        flags.give(Key::Ledgers, self.ledgers.clone());
        flags.give(Key::From, self.from.clone());
        flags.give(Key::To, self.to.clone());
        flags.give(Key::Contract, self.contract.clone());
        flags.give(Key::Pin, self.pin.clone());
        flags.give(Key::HistoryArchive, self.history_archive.clone());
        flags.give(Key::Classic, self.classic.clone());
        flags.give(Key::MixedLayout, self.mixed_layout.clone());
        flags
    }
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let settings = &context.settings;
    let missing = |what, right| ConfigError::Missing { what, right };
    let range = settings.window()?.ok_or(missing("the range of ledgers", "--from and --to, or --from A:+N"))?;
    let choice = settings.source()?.ok_or(missing("the source", "--lake PATH, --rpc URL or --ledgers FILE"))?;
    let (scope, classic, pins) = (settings.scope()?, settings.classic()?, settings.pins()?);
    let archive = context.archive()?;
    let network = context.network()?;
    let witnesses = witnesses(&choice, context)?;
    let source = sources::open(choice, &network, context.clock.clone())?;
    let job = Job { network, scope, classic, range, pins };
    // A source that contradicts the job leaves no trace, not even an empty archive.
    match &source {
        Source::Ledgers(source) => backfill::check_source(&job, source.as_ref())?,
        Source::Events(source) => backfill::check_event_source(&job, source)?,
    }
    let store = archive.create_or_open()?;
    let progress = progress::on_stderr("backfill", context.clock.clone());
    let summary = match &source {
        Source::Ledgers(source) => backfill::run(&job, &store, source.as_ref(), progress.as_ref())?,
        Source::Events(source) => backfill::run_events(&job, &store, source, progress.as_ref())?,
    };
    confirm(&store, &witnesses, context)?;
    report(&summary, HangsOn::of_range(range, &store.status()?), context)?;
    Ok(match (summary.contradicts_chain(), summary.gaps.is_empty()) {
        (true, _) => Outcome::Contradicted,
        (false, false) => Outcome::Incomplete,
        (false, true) => Outcome::Done,
    })
}

/// Who can be asked beside the source: archives, and each endpoint about the others.
fn witnesses(choice: &SourceChoice, context: &Context) -> Result<Witnesses, CliError> {
    let endpoints = match choice {
        SourceChoice::Rpc { addresses, .. } => addresses.as_slice(),
        _ => &[],
    };
    Ok(Witnesses::new(&context.settings.history_archives()?, endpoints, &context.clock))
}

/// Has what is stored confirmed.
fn confirm(store: &SqliteStore, witnesses: &Witnesses, context: &Context) -> Result<(), CliError> {
    if !witnesses.can_confirm() {
        return Ok(());
    }
    let anchored = anchor::check(store, store.acquire()?, witnesses, context.clock.as_ref())?;
    for unheard in anchored.unheard {
        tracing::warn!("{} confirms nothing: {} [{}]", unheard.witness, unheard.message, unheard.code);
    }
    Ok(())
}

fn report(summary: &Summary, on: HangsOn, context: &Context) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Reported<'a> {
        #[serde(flatten)]
        summary: &'a Summary,
        anchor: &'static str,
    }
    let output = &context.output;
    if output.is_json() {
        return output.object(&Reported { summary, anchor: on.as_str() });
    }
    let through = |mark: Option<u32>| mark.map_or("nothing yet".to_owned(), |seq| format!("ledger {seq}"));
    output.line(format_args!(
        "{} ledgers asked for, {} fetched, {} events: {} committed, {} rewritten, {} uncommitted, {} unverified",
        grouped(summary.ledgers),
        grouped(summary.fetched),
        grouped(summary.events),
        grouped(summary.committed),
        grouped(summary.rewritten),
        grouped(summary.uncommitted),
        grouped(summary.unverified),
    ))?;
    output.line(format_args!(
        "gap-free from the start through {}, verified through {}",
        through(summary.ingested_through),
        through(summary.verified_through)
    ))?;
    output.line(format_args!("anchor: {}", on.as_str()))?;
    let (fetched, lacking) = (summary.envelopes_fetched, summary.envelopes_lacking);
    if fetched + lacking > 0 {
        output.line(format_args!("{} envelopes fetched, {} lacking", grouped(fetched), grouped(lacking)))?;
    }
    for gap in &summary.gaps {
        output.line(format_args!("missing: ledgers {}-{}; see `annals gaps`", gap.from, gap.to))?;
    }
    for known in &summary.unverified_ranges {
        output.line(format_args!(
            "unverified: ledgers {}-{} are known by events alone; read them from a source of whole ledgers",
            known.from, known.to
        ))?;
    }
    for line in few(&summary.unattributed, |contract| format!("waiting for `annals reattribute`: {contract}")) {
        output.line(line)?;
    }
    Ok(())
}
