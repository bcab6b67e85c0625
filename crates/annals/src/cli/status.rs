//! `annals status`.

use annals_core::{LedgerSeq, Network};
use serde::Serialize;

mod follower;
mod storage;

use self::follower::Follower;
use self::storage::Storage;
use super::Context;
use super::error::CliError;
use super::outcome::Outcome;
use super::output::{few, grouped};
use crate::anchor::{ChainFooting, Foothold};
use crate::marks::{self, Hole, Marks};
use crate::readiness::{Part, Place, Readiness};
use crate::store::{SqliteStore, Store as _};

pub(super) const AFTER_HELP: &str = "\
Examples:
  annals status
  annals status --json | jq .ingested_through

Marks: ingested_through is the last ledger without a gap from the start on, verified_through the same of ledgers
whose hashes and links held, latest_ledger the highest one held. Each is null until it means something. The anchor
is the strongest thing that the highest chain hangs on: pinned, history-archive, sources-agree, or source, the word of
the source alone. footholds are the ledgers up to which each holds, and who says so. unattributed_events counts the
events in quarantine, which fit no shape of their contract's schema and so belong to no account; unattributed lists the
contracts that wait for `annals reattribute`.
readiness is what /readyz answers: each part, and the worst of them. Of the disk it takes the reserve that the environment
or annals.toml gives, since it cannot know the flags of a server. tip_ledger is the network's last ledger as a source
last told whoever follows it, and lag_seconds how long ago ingested_through closed. storage tells what the archive takes
and what is free; bytes_a_day is what a ledger takes on average times the ledgers of a day as they close now, and null
with less than 1000 ledgers, in which what the database takes of itself would count.
A report ends with 0, whatever it says; `annals gaps` ends with 1 when ledgers that were asked for are missing.";

#[derive(Debug, Serialize)]
struct Report {
    network: Option<String>,
    passphrase: Option<String>,
    classic: Option<&'static str>,
    start_ledger: Option<u32>,
    latest_ledger: Option<u32>,
    ingested_through: Option<u32>,
    verified_through: Option<u32>,
    ledgers: u64,
    events: Events,
    coverage: Vec<Covered>,
    gaps: Vec<Hole>,
    open_incidents: u64,
    unattributed_events: u64,
    unattributed: Vec<String>,
    anchor: Option<&'static str>,
    footholds: Vec<Foothold>,
    pins: Vec<Pinned>,
    feed_position: u64,
    epoch: u64,
    tip_ledger: Option<u32>,
    tip_age_seconds: Option<u64>,
    lag_seconds: Option<u64>,
    follower: Option<Follower>,
    readiness: Readiness,
    storage: Storage,
}

#[derive(Debug, Serialize)]
struct Events {
    total: u64,
    committed: u64,
    rewritten: u64,
    uncommitted: u64,
    unverified: u64,
}

#[derive(Debug, Serialize)]
struct Covered {
    scope: String,
    from: u32,
    to: u32,
}

#[derive(Debug, Serialize)]
struct Pinned {
    ledger: u32,
    hash: String,
}

impl Report {
    fn read(store: &SqliteStore, place: &Place, now_ms: u64) -> Result<Self, CliError> {
        let status = &store.status()?;
        let around = place.look(store, status, now_ms)?;
        let tip = status.tip();
        let marks = Marks::of(status);
        let name = |passphrase: &str| Network::PRESETS.iter().find(|(_, preset)| *preset == passphrase);
        let known = status.passphrase.as_deref().and_then(name).map(|(name, _)| (*name).to_owned());
        let covered = status.coverage.iter().flat_map(|(key, coverage)| {
            coverage.ranges().iter().map(|range| Covered {
                scope: key.to_string(),
                from: range.from_inclusive().get(),
                to: range.to_inclusive().get(),
            })
        });
        let events = status.events;
        let chain = ChainFooting::of(status).next_back();
        let ledgers = marks::covered_by_any(status).count();
        Ok(Self {
            network: known,
            passphrase: status.passphrase.clone(),
            classic: status.passphrase.as_ref().map(|_| status.classic.as_str()),
            start_ledger: status.start.map(LedgerSeq::get),
            latest_ledger: status.latest_ledger.map(LedgerSeq::get),
            ingested_through: marks.ingested_through.map(LedgerSeq::get),
            verified_through: marks.verified_through.map(LedgerSeq::get),
            ledgers,
            events: Events {
                total: events.total(),
                committed: events.committed,
                rewritten: events.rewritten,
                uncommitted: events.uncommitted,
                unverified: events.unverified,
            },
            coverage: covered.collect(),
            gaps: marks::holes(status),
            open_incidents: status.open_incidents,
            unattributed_events: status.quarantined,
            unattributed: status.unattributed.iter().map(ToString::to_string).collect(),
            anchor: chain.as_ref().map(ChainFooting::strongest),
            footholds: chain.map_or(Vec::new(), |chain| chain.footholds),
            pins: status.pins.iter().map(|pin| Pinned { ledger: pin.seq.get(), hash: pin.hash.to_string() }).collect(),
            feed_position: status.feed_position.0,
            epoch: status.epoch,
            tip_ledger: tip.map(|tip| tip.ledger.get()),
            tip_age_seconds: tip.map(|tip| tip.age_ms(now_ms) / 1000),
            lag_seconds: closed_ms(store, marks.ingested_through)?.map(|closed| now_ms.saturating_sub(closed) / 1000),
            follower: status.freshness.as_ref().map(|said| Follower::of(said, now_ms)),
            readiness: Readiness::of(status, &around),
            storage: Storage::of(store.bytes()?, ledgers, around.cadence, around.free_bytes, around.reserve_bytes),
        })
    }
}

/// When a ledger closed, where it has a row.
fn closed_ms(store: &SqliteStore, seq: Option<LedgerSeq>) -> Result<Option<u64>, CliError> {
    let Some(seq) = seq else { return Ok(None) };
    Ok(store.ledgers(seq, 1)?.first().filter(|row| row.seq == seq).map(|row| row.close_time_ms))
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let store = context.open_reader()?;
    let mut place = Place::of(&store);
    if let Some(bytes) = context.settings.disk_reserve()? {
        place.reserve_bytes = bytes;
    }
    let report = Report::read(&store, &place, context.clock.now_unix_ms())?;
    if context.output.is_json() {
        context.output.object(&report)?;
    } else {
        for (label, value) in report.lines() {
            context.output.line(format_args!("{label:<16} {value}"))?;
        }
    }
    Ok(Outcome::Done)
}

impl Report {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mark = |mark: Option<u32>| mark.map_or("-".to_owned(), |seq| seq.to_string());
        let network = self.network.as_ref().or(self.passphrase.as_ref());
        let events = &self.events;
        let mut lines = vec![
            ("network", network.cloned().unwrap_or("-".to_owned())),
            ("classic events", self.classic.unwrap_or("-").to_owned()),
            ("start", mark(self.start_ledger)),
            ("gap-free through", mark(self.ingested_through)),
            ("verified through", mark(self.verified_through)),
            ("latest", mark(self.latest_ledger)),
            ("anchor", self.anchor.unwrap_or("-").to_owned()),
            ("ledgers", grouped(self.ledgers)),
            (
                "events",
                format!(
                    "{}: {} committed, {} rewritten, {} uncommitted, {} unverified",
                    grouped(events.total),
                    grouped(events.committed),
                    grouped(events.rewritten),
                    grouped(events.uncommitted),
                    grouped(events.unverified)
                ),
            ),
        ];
        lines.extend(
            self.coverage.iter().map(|held| ("covered", format!("{}-{} of {}", held.from, held.to, held.scope))),
        );
        let gaps = |gap: &Hole| ("missing", format!("{} of {}", gap.ledgers(), gap.scope));
        lines.extend(self.gaps.iter().map(gaps));
        lines.extend(self.footholds.iter().map(|held| ("vouched through", held.to_string())));
        lines.extend(self.pins.iter().map(|pin| ("pin", format!("{}:{}", pin.ledger, pin.hash))));
        if self.open_incidents > 0 {
            lines.push(("open incidents", format!("{}: see `annals incidents list`", self.open_incidents)));
        }
        if self.unattributed_events > 0 {
            let events = grouped(self.unattributed_events);
            lines.push(("in quarantine", format!("{events} events that fit no shape of their contract's schema")));
        }
        let waiting = few(&self.unattributed, |contract| format!("{contract}: see `annals reattribute`"));
        lines.extend(waiting.map(|line| ("unattributed", line)));
        lines.extend(self.freshness());
        lines.extend(self.storage.lines());
        lines.extend(self.readiness());
        lines
    }

    fn freshness(&self) -> Vec<(&'static str, String)> {
        let ago = |seconds: Option<u64>| seconds.map_or("-".to_owned(), |seconds| format!("{} s", grouped(seconds)));
        let mut lines = vec![("lag", ago(self.lag_seconds))];
        if let Some(tip) = self.tip_ledger {
            lines.push(("tip", format!("{tip}, {} old", ago(self.tip_age_seconds))));
        }
        lines.extend(self.follower.iter().flat_map(Follower::lines));
        lines
    }

    fn readiness(&self) -> Vec<(&'static str, String)> {
        let part = |part: &Part| {
            let why = part.code.as_ref().zip(part.message.as_ref());
            let why = why.map_or(String::new(), |(code, message)| format!(": {message} [{code}]"));
            ("", format!("{} {}{why}", part.name, part.status.as_str()))
        };
        let worst = ("readiness", self.readiness.status.as_str().to_owned());
        core::iter::once(worst).chain(self.readiness.parts.iter().map(part)).collect()
    }
}
