//! `annals reattribute`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use annals_core::ContractId;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::error::CliError;
use super::outcome::Outcome;
use super::output::{few, grouped};
use super::{Context, EXIT_CODES, Json, progress};
use crate::reattribute::{self, Reread, STEP_EVENTS};

const AFTER_HELP: &str = "\
Examples:
  annals reattribute
  annals reattribute CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA
  annals reattribute --schemas own.toml --json

To run once a contract's schema was declared, taken back or corrected; `annals status` lists the contracts that wait.
Nothing is fetched, and no event changes: only whom it belongs to. Until the end a contract's account answers say
unattributed_events. SIGINT or SIGTERM ends it between two steps with 1, and the next run goes on there. An event that
fits no shape stays in quarantine and is counted. With --json the last line on stdout is
{contracts: [{contract_id, events, changed, quarantined, done}], interrupted, waiting}. It ends with 1 where a contract
that it was run for waits still: interrupted, or of a schema that is not there.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// The contracts [default: all that wait]
    #[arg(value_name = "CONTRACT")]
    contracts: Vec<ContractId>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Serialize)]
struct Reported {
    contract_id: String,
    events: u64,
    changed: u64,
    quarantined: u64,
    done: bool,
}

impl Reported {
    fn of(reread: &Reread, waiting: &[ContractId]) -> Self {
        let Reread { contract, events, changed, quarantined } = *reread;
        let done = !waiting.contains(&contract);
        Self { contract_id: contract.to_string(), events, changed, quarantined, done }
    }

    fn line(&self) -> String {
        let Self { contract_id, events, changed, quarantined, .. } = self;
        let (events, changed, quarantined) = (grouped(*events), grouped(*changed), grouped(*quarantined));
        format!("{contract_id}: {events} events read, {changed} changed, {quarantined} fit no shape")
    }
}

#[derive(Debug, Serialize)]
struct Report {
    contracts: Vec<Reported>,
    interrupted: bool,
    waiting: Vec<String>,
}

/// Remembers that somebody asked the program to end, for as long as it lives.
struct Interrupt {
    asked: Arc<AtomicBool>,
    _runtime: Runtime,
}

impl Interrupt {
    fn listen() -> Result<Self, io::Error> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let asked = Arc::new(AtomicBool::new(false));
        let (mut interrupt, mut terminate) = {
            let _within = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let flag = Arc::clone(&asked);
        runtime.spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            flag.store(true, Ordering::Relaxed);
            tracing::info!("stopping once the step that runs is done");
        });
        Ok(Self { asked, _runtime: runtime })
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    let interrupt = Interrupt::listen().map_err(CliError::Signals)?;
    let store = context.open_writer()?;
    let progress = progress::on_stderr("reattribute", context.clock.clone());
    let stop = || interrupt.is_asked();
    let summary = reattribute::run(&arguments.contracts, &store, STEP_EVENTS, progress.as_ref(), &stop)?;
    let reported = summary.contracts.iter().map(|reread| Reported::of(reread, &summary.waiting));
    let report = Report {
        contracts: reported.collect(),
        interrupted: summary.interrupted,
        waiting: summary.waiting.iter().map(ToString::to_string).collect(),
    };
    tell(&report, context)?;
    let done = !summary.interrupted && report.contracts.iter().all(|contract| contract.done);
    Ok(if done { Outcome::Done } else { Outcome::Incomplete })
}

fn tell(report: &Report, context: &Context) -> Result<(), CliError> {
    let output = &context.output;
    if output.is_json() {
        return output.object(report);
    }
    if report.contracts.is_empty() {
        output.line("no contract waits")?;
    }
    for contract in &report.contracts {
        output.line(contract.line())?;
    }
    if report.interrupted {
        output.line("interrupted: run the same again to go on")?;
    }
    for line in few(&report.waiting, |contract| format!("waiting still: {contract}")) {
        output.line(line)?;
    }
    Ok(())
}
