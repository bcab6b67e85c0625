//! What is said of each part, and from when on.

use super::{Cadence, OwnState, Part, Surroundings};
use crate::store::{
    DISK_FULL, DISK_NEARLY_FULL, FollowStateName, Freshness, Gap, INCIDENT_OPEN, Status, TIP_UNREADABLE, TIP_UNSERVED,
    UNKNOWN_PROTOCOL,
};

pub(super) const DATABASE: &str = "database";
const WRITER: &str = "writer";
const SOURCE: &str = "source";
const TIP: &str = "tip";
const DISK: &str = "disk";
const GAPS: &str = "gaps";
const INCIDENTS: &str = "incidents";
const PROTOCOL: &str = "protocol";

/// Every part, in the order in which they are told.
pub(super) const NAMES: [&str; 8] = [DATABASE, WRITER, SOURCE, TIP, DISK, GAPS, INCIDENTS, PROTOCOL];

/// A follower that has said nothing for so long is dead. It says that it lives every few seconds.
pub(super) const WRITER_DEAD_MS: u64 = 60_000;
/// A source that has answered nothing but failures for so long hangs.
pub(super) const SOURCE_HUNG_MS: u64 = 60_000;
/// A tip that so many ledgers' time has not moved is stuck, within the bounds below.
pub(super) const TIP_STUCK_LEDGERS: u64 = 12;
/// However often ledgers close, a tip may stand so long: networks pause.
pub(super) const TIP_STUCK_MIN_MS: u64 = 60_000;
/// However seldom ledgers seem to close, a tip that stands so long is stuck.
pub(super) const TIP_STUCK_MAX_MS: u64 = 600_000;
/// An archive that is behind the tip and has not grown for so long does not catch up.
pub(super) const NOT_GROWING_MS: u64 = 300_000;
/// An archive is behind the tip when ledgers are missing that took so long to close…
pub(super) const BEHIND_MS: u64 = 15_000;
/// … and that are more than so many.
pub(super) const BEHIND_LEDGERS: u64 = 3;
/// How far ahead of this clock a sign of life may be dated: clocks are corrected in small steps all the time.
pub(super) const AHEAD_MS: u64 = 5_000;
/// How far ahead of this clock a ledger may have closed: validators take close times up to 60 seconds ahead
/// (stellar-core, `Herder::MAX_TIME_SLIP_SECONDS`).
pub(super) const CLOSE_AHEAD_MS: u64 = 60_000;
/// The cadence of the public networks, for an archive that has too few ledgers to tell its own.
const USUAL_LEDGER_MS: u64 = 5_000;

const _: () = assert!(TIP_STUCK_MIN_MS <= TIP_STUCK_MAX_MS);

/// Whether the follower of this process has failed, so that what it said last says nothing any more.
fn has_failed(around: &Surroundings) -> bool {
    matches!(around.own_follower, Some(OwnState::Failed(_)))
}

/// What a follower says that has neither ended in order nor failed.
fn follower<'a>(status: &'a Status, around: &Surroundings) -> Option<&'a Freshness> {
    let said = status.freshness.as_ref()?;
    (said.state != FollowStateName::Stopped && !has_failed(around)).then_some(said)
}

/// The same where it waits for nothing but a source: else it asks none, or nobody can tell what it was answered.
fn asker<'a>(status: &'a Status, around: &Surroundings) -> Option<&'a Freshness> {
    let others = [UNKNOWN_PROTOCOL, DISK_FULL, DISK_NEARLY_FULL, INCIDENT_OPEN];
    let waits_for_other = waits_for(status, around).is_some_and(|code| others.contains(&code));
    follower(status, around).filter(|_| !waits_for_other)
}

/// Whether the network is followed, or is to be.
fn is_followed(status: &Status, around: &Surroundings) -> bool {
    around.own_follower.is_some() || follower(status, around).is_some()
}

/// The code of what a follower waits for.
fn waits_for<'a>(status: &'a Status, around: &Surroundings) -> Option<&'a str> {
    if around.own_follower == Some(OwnState::DiskFull) {
        return Some(DISK_FULL);
    }
    let said = follower(status, around)?;
    if said.state == FollowStateName::Waiting { said.code.as_deref() } else { None }
}

/// Whether this process is to fill the archive and has no right to.
fn lacks_rights(around: &Surroundings) -> bool {
    around.own_follower.is_some() && !around.is_writable
}

fn seconds(ms: u64) -> u64 {
    ms / 1000
}

pub(super) fn database(around: &Surroundings) -> Part {
    if lacks_rights(around) {
        let message = "the archive is to be filled and cannot be written: give this user the right to write its files, \
                       on a file system that is not mounted for reading alone";
        return Part::failing(DATABASE, "DATABASE_READ_ONLY", message);
    }
    Part::ok(DATABASE)
}

pub(super) fn writer(status: &Status, around: &Surroundings) -> Part {
    match around.own_follower {
        Some(OwnState::Failed(code)) => {
            let message = "following has failed, and nothing new is stored: put right what the log of this server says of \
                           it, and start the server again";
            return Part::failing(WRITER, code, message);
        }
        // That it says nothing is the disk's fault.
        Some(OwnState::DiskFull) => return Part::ok(WRITER),
        _ => {}
    }
    let Some(said) = follower(status, around) else {
        if around.own_follower.is_some() {
            let message = "this process is to follow the network and has not said yet that it does: wait a moment, and see \
                           that the archive can be written if this stays";
            return Part::failing(WRITER, "WRITER_SILENT", message);
        }
        return Part::off(WRITER);
    };
    let ahead_ms = said.heartbeat_ms.saturating_sub(around.now_ms);
    if ahead_ms > AHEAD_MS {
        let message = format!(
            "the follower's last sign of life is dated {} s ahead of this machine's clock, so that nobody can tell \
             whether it lives: set the clock right, and start the follower again if this stays",
            seconds(ahead_ms)
        );
        return Part::failing(WRITER, "CLOCK_AHEAD", message);
    }
    let silent_ms = around.now_ms.saturating_sub(said.heartbeat_ms);
    if silent_ms > WRITER_DEAD_MS {
        let message = format!(
            "whoever followed the network has said nothing for {} s and did not end in order: start it again, or make \
             room if it runs and its disk is full",
            seconds(silent_ms)
        );
        return Part::failing(WRITER, "WRITER_DEAD", message);
    }
    Part::ok(WRITER)
}

pub(super) fn source(status: &Status, around: &Surroundings) -> Part {
    let Some(said) = asker(status, around) else { return Part::off(SOURCE) };
    match waits_for(status, around) {
        Some(TIP_UNREADABLE) => {
            let message = "a source answers, and not with the ledger that is the network's last: `annals status` says what \
                           is wrong with it; give another one beside it";
            return Part::failing(SOURCE, TIP_UNREADABLE, message);
        }
        Some(TIP_UNSERVED) => {
            let message = "a source says that there are ledgers which it does not give: give another one beside it if this \
                           stays";
            return Part::failing(SOURCE, TIP_UNSERVED, message);
        }
        _ => {}
    }
    let Some(answered_ms) = said.source_answered_ms else {
        let message = "no source has answered yet with anything but failures: see what `annals status` says of them, and whether the \
                       given addresses are right";
        return Part::failing(SOURCE, "SOURCE_HUNG", message);
    };
    let silent_ms = around.now_ms.saturating_sub(answered_ms);
    if silent_ms > SOURCE_HUNG_MS {
        let message = format!(
            "for {} s sources have answered with failures or not at all: see that one can be reached, or give another one \
             beside it",
            seconds(silent_ms)
        );
        return Part::failing(SOURCE, "SOURCE_HUNG", message);
    }
    if said.state == FollowStateName::Waiting {
        let code = said.code.clone().unwrap_or_else(|| "WAITING".to_owned());
        return Part::degraded(SOURCE, code, "the follower waits for a source: `annals status` says for what");
    }
    Part::ok(SOURCE)
}

/// How long a tip may stand.
fn stuck_after_ms(cadence: Option<Cadence>) -> u64 {
    let usual = TIP_STUCK_LEDGERS * USUAL_LEDGER_MS;
    cadence.map_or(usual, |cadence| cadence.of_ledgers_ms(TIP_STUCK_LEDGERS)).clamp(TIP_STUCK_MIN_MS, TIP_STUCK_MAX_MS)
}

/// How many ledgers an archive may be behind the tip without being told so.
fn tolerated_ledgers(cadence: Option<Cadence>) -> u64 {
    let within = cadence.map_or(BEHIND_MS / USUAL_LEDGER_MS, |cadence| cadence.ledgers_within(BEHIND_MS));
    within.max(BEHIND_LEDGERS)
}

pub(super) fn tip(status: &Status, around: &Surroundings) -> Part {
    let Some(said) = asker(status, around) else { return Part::off(TIP) };
    let Some(tip) = said.tip else {
        return Part::degraded(TIP, "TIP_UNKNOWN", "no source has said yet which ledger is the network's last");
    };
    let (ledger, now_ms) = (tip.ledger, around.now_ms);
    let stuck_after_ms = stuck_after_ms(around.cadence);
    let standing_ms = now_ms.saturating_sub(tip.seen_ms);
    if standing_ms > stuck_after_ms {
        let message = format!(
            "no source has said a ledger above {ledger} for {} s: the network stands, or the source does; ask another one",
            seconds(standing_ms)
        );
        return Part::failing(TIP, "TIP_STUCK", message);
    }
    let held = status.latest_ledger.map_or(0, annals_core::LedgerSeq::get);
    let behind = u64::from(ledger.get().saturating_sub(held));
    let is_behind = behind > tolerated_ledgers(around.cadence);
    let idle_ms = status.grown_ms.map(|grown_ms| now_ms.saturating_sub(grown_ms));
    if is_behind && idle_ms.is_none_or(|idle_ms| idle_ms > NOT_GROWING_MS) {
        let since = idle_ms.map_or("yet".to_owned(), |idle_ms| format!("for {} s", seconds(idle_ms)));
        let why = waits_for(status, around).map_or_else(
            || "no source gives what can be stored; name another one beside it if this stays".to_owned(),
            |code| format!("the follower waits ({code}), and `annals status` says for what"),
        );
        let message = format!("the tip is ledger {ledger}, and nothing new was stored {since}: {why}");
        return Part::failing(TIP, "NOT_GROWING", message);
    }
    let ahead_ms = tip.closed_ms.map_or(0, |closed_ms| closed_ms.saturating_sub(now_ms));
    if ahead_ms > CLOSE_AHEAD_MS {
        let message = format!(
            "ledger {ledger} closed {} s ahead of this machine's clock, so that no age is right: set the clock",
            seconds(ahead_ms)
        );
        return Part::degraded(TIP, "CLOCK_BEHIND", message);
    }
    if is_behind {
        return Part::degraded(TIP, "CATCHING_UP", format!("{behind} ledgers are missing up to the tip, {ledger}"));
    }
    let closed_ago_ms = tip.closed_ms.map_or(0, |closed_ms| now_ms.saturating_sub(closed_ms));
    if closed_ago_ms > stuck_after_ms {
        let message = format!(
            "ledger {ledger}, the last one that a source has, closed {} s ago: the source is behind its network",
            seconds(closed_ago_ms)
        );
        return Part::degraded(TIP, "SOURCE_BEHIND", message);
    }
    Part::ok(TIP)
}

pub(super) fn disk(status: &Status, around: &Surroundings) -> Part {
    let waits_for = waits_for(status, around);
    if waits_for == Some(DISK_FULL) {
        let message =
            "the disk where the archive lies is full, and nothing is stored: make room, and it goes on by itself";
        return Part::failing(DISK, DISK_FULL, message);
    }
    let is_low = around.free_bytes.is_some_and(|free| free < around.reserve_bytes);
    if waits_for == Some(DISK_NEARLY_FULL) || is_low {
        let message = "little space is left where the archive lies: make room, or move it to a larger disk";
        // Nobody fills an archive that only answers readers.
        return if is_followed(status, around) {
            Part::failing(DISK, DISK_NEARLY_FULL, message)
        } else {
            Part::degraded(DISK, DISK_NEARLY_FULL, message)
        };
    }
    if around.free_bytes.is_some() { Part::ok(DISK) } else { Part::off(DISK) }
}

pub(super) fn gaps(status: &Status, around: &Surroundings) -> Part {
    // What a follower asked for above the highest ledger is just about to come; the tip tells whether it does.
    let is_ahead = |gap: &Gap| is_followed(status, around) && Some(gap.range.from_inclusive()) > status.latest_ledger;
    let open: Vec<&Gap> = status.gaps.iter().filter(|gap| !is_ahead(gap)).collect();
    if has_failed(around) || lacks_rights(around) || waits_for(status, around) == Some(DISK_FULL) {
        let message = format!(
            "nothing can be stored, so that nobody can tell what is missing by now; {} gaps were open before",
            open.len()
        );
        return Part::degraded(GAPS, "GAPS_UNKNOWN", message);
    }
    let Some(first) = open.iter().map(|gap| gap.range).min() else { return Part::ok(GAPS) };
    let (from, to) = (first.from_inclusive(), first.to_inclusive());
    let message =
        format!("gaps are open, {} in all, the first of ledgers {from} to {to}: see `annals gaps`", open.len());
    Part::degraded(GAPS, "GAPS_OPEN", message)
}

pub(super) fn incidents(status: &Status) -> Part {
    match status.open_incidents {
        0 => Part::ok(INCIDENTS),
        open => {
            let message = format!(
                "contradictions wait for an operator, {open} in all, and nothing is stored: see `annals incidents list`"
            );
            Part::failing(INCIDENTS, INCIDENT_OPEN, message)
        }
    }
}

pub(super) fn protocol(status: &Status, around: &Surroundings) -> Part {
    let Some(said) = follower(status, around) else {
        let is_to_come = around.own_follower.is_some() && !has_failed(around);
        return if is_to_come { Part::ok(PROTOCOL) } else { Part::off(PROTOCOL) };
    };
    if waits_for(status, around) == Some(UNKNOWN_PROTOCOL) {
        let message = "the network goes by a protocol that this version does not read, and nothing is stored: install a \
                       newer version";
        return Part::failing(PROTOCOL, UNKNOWN_PROTOCOL, message);
    }
    if said.announced.is_some() {
        let message = "the network is about to go by a protocol that this version does not read: install a newer \
                       version before it does";
        return Part::degraded(PROTOCOL, "PROTOCOL_AHEAD", message);
    }
    Part::ok(PROTOCOL)
}
