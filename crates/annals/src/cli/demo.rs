//! `annals demo`: a network, an archive that follows it and readers, all in one process and out of nothing.

mod folder;
mod simulated;
mod tour;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use annals_core::{ClassicPolicy, Registry, Scope};

use self::folder::Folder;
use self::simulated::Simulated;
use self::tour::Tour;
use super::error::CliError;
use super::following::{FollowPlan, Following, WatchMaker};
use super::outcome::Outcome;
use super::output::grouped;
use super::service::{self, Service};
use super::{Archive, Context};
use crate::clock::Stop;
use crate::config::{AllowedOrigins, FollowChoice};
use crate::follow::FollowOptions;
use crate::source::Address;
use crate::store::Store as _;

/// The most ledgers that a simulated network may close in a second.
const SPEED_MAX: f64 = 1000.0;

const AFTER_HELP: &str = "\
Examples:
  annals demo
  annals demo --speed 20 --seed 7
  annals demo --ledgers 20 --speed 50 --data-dir ./demo

Needs no network and reads no configuration: only what is said on its command line counts. It simulates a network that
closes a ledger a second, among them transactions of a confidential token, follows its RPC as `annals serve` follows a
real one, and prints queries that answer. Ctrl-C ends it and removes the archive, unless --data-dir names an empty
folder for it: then `annals verify --data-dir ./demo` and every other verb read what is left.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    /// How many ledgers close in a second, up to 1000
    #[arg(long, value_name = "LEDGERS", default_value_t = 1.0, value_parser = parse_speed)]
    speed: f64,
    /// What decides what happens on the network
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// End once so many ledgers were archived as they closed [default: when it is stopped]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    ledgers: Option<u32>,
}

fn parse_speed(text: &str) -> Result<f64, &'static str> {
    let right = "give a number of ledgers above 0 and up to 1000";
    text.parse().ok().filter(|speed| *speed > 0.0 && *speed <= SPEED_MAX).ok_or(right)
}

pub(super) fn run(arguments: &Arguments, data_dir: Option<&Path>, context: &Context) -> Result<Outcome, CliError> {
    let folder = match data_dir {
        Some(path) => Folder::kept(path)?,
        None => Folder::temporary()?,
    };
    let archive = Arc::new(Archive {
        data_dir: folder.path().to_path_buf(),
        registry: Arc::new(Registry::builtin()),
        clock: Arc::clone(&context.clock),
    });
    let simulated = Simulated::begun(arguments.seed, context.clock.as_ref())?;
    let (speed, ledgers) = (arguments.speed, arguments.ledgers);
    let prepared = Arc::clone(&archive);
    let outcome = service::run(arguments.listen, &context.output, move |stop| {
        prepare(simulated, speed, ledgers, &prepared, stop)
    })?;
    if outcome == Outcome::Done {
        report(&archive, &folder, context)?;
    }
    Ok(outcome)
}

fn prepare(
    mut simulated: Simulated,
    speed: f64,
    ledgers: Option<u32>,
    archive: &Archive,
    stop: &Stop,
) -> Result<Service, CliError> {
    simulated.name_token(&archive.create_or_open()?)?;
    let rpc = Address::parse(&simulated.url()).expect("the address of a socket is one");
    let plan = FollowPlan {
        choice: FollowChoice { rpc: vec![rpc], lakes: Vec::new() },
        network: Some(simulated.network().clone()),
        scope: Scope::All,
        classic: ClassicPolicy::Keep,
        from: Some(simulated.first()),
        pins: Vec::new(),
        archives: Vec::new(),
        options: FollowOptions::default(),
    };
    let following = Following::prepare(plan, archive, stop)?;
    simulated.close_ledgers(speed, stop)?;
    let tour = Tour::new(simulated, archive.open_reader()?, archive.clock(), ledgers, stop.clone());
    let watch: WatchMaker = Box::new(|address| Arc::new(tour.at(address)));
    Service::over(archive, Some((following, watch)), AllowedOrigins::Any)
}

/// Says what was archived, and where it is.
fn report(archive: &Archive, folder: &Folder, context: &Context) -> Result<(), CliError> {
    let status = archive.open_reader()?.status()?;
    let (ledgers, events) = (status.verified.count(), status.events.total());
    context.output.line(format_args!("archived {} events of {} ledgers", grouped(events), grouped(ledgers)))?;
    if folder.is_kept() {
        let folder = folder.path().display();
        context.output.line(format_args!("they are kept: annals verify --data-dir {folder}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_number_of_ledgers_that_can_be_waited_for() {
        assert_eq!(["1", "0.5", "1000"].map(parse_speed), [Ok(1.0), Ok(0.5), Ok(1000.0)]);
        for text in ["", "0", "-1", "NaN", "inf", "1000.1", "fast"] {
            assert!(parse_speed(text).is_err(), "{text}");
        }
    }
}
