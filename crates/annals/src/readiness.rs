//! Whether an archive can be relied on now, part by part.
//!
//! [`Readiness::of`] is pure: what the archive says and what surrounds it are judged by the time at which both were
//! read. Ages are of the wall clock, the only one that processes share: none is below zero, and what is dated ahead of
//! this machine's clock is said to be and never taken for fresh. No sentence here is another room's: they are read by
//! whoever can reach the server, and a source's own may name its address.

use std::borrow::Cow;

use serde::Serialize;

use crate::store::Status;

mod cadence;
mod own;
mod parts;
mod place;
#[cfg(test)]
mod tests;

pub use cadence::Cadence;
pub use own::{OwnFollower, OwnState};
pub use place::Place;

/// How a part is, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It is not in use, or nothing can be said of it.
    Off,
    /// It does what it is for.
    Ok,
    /// It does, and something is missing.
    Degraded,
    /// It does not.
    Failing,
}

impl Level {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Failing => "failing",
        }
    }
}

/// One part of what an archive's readers rely on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its name: `database`, `writer`, `source`, `tip`, `disk`, `gaps`, `incidents` or `protocol`.
    pub name: &'static str,
    /// How it is.
    pub status: Level,
    /// The stable code of why; none while it is well or off.
    pub code: Option<Cow<'static, str>>,
    /// The same as one sentence that says what to do.
    pub message: Option<String>,
}

impl Part {
    fn plain(name: &'static str, status: Level) -> Self {
        Self { name, status, code: None, message: None }
    }

    fn off(name: &'static str) -> Self {
        Self::plain(name, Level::Off)
    }

    fn ok(name: &'static str) -> Self {
        Self::plain(name, Level::Ok)
    }

    fn degraded(name: &'static str, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { name, status: Level::Degraded, code: Some(code.into()), message: Some(message.into()) }
    }

    fn failing(name: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: Level::Failing, code: Some(code.into()), message: Some(message.into()) }
    }
}

/// What is known beside an archive's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// The wall clock's time, Unix milliseconds.
    pub now_ms: u64,
    /// How the follower of this process does; none where it is not this process that is to follow the network.
    pub own_follower: Option<OwnState>,
    /// Whether this process may write the database; asked only where it follows, because of another's follower each
    /// sign of life, which stands in the database, proves it.
    pub is_writable: bool,
    /// How many bytes are free where the archive lies; none where nobody can tell.
    pub free_bytes: Option<u64>,
    /// Below how many free bytes the disk is nearly full.
    pub reserve_bytes: u64,
    /// How often ledgers close; none where too few are stored to tell.
    pub cadence: Option<Cadence>,
}

/// How an archive and each of its parts are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// The worst of the parts; `ok` where all are well or off.
    pub status: Level,
    /// The parts, always the same ones in the same order.
    pub parts: Vec<Part>,
}

impl Readiness {
    /// Judges an archive that can be read.
    #[must_use]
    pub fn of(status: &Status, around: &Surroundings) -> Self {
        Self::of_parts(vec![
            parts::database(around),
            parts::writer(status, around),
            parts::source(status, around),
            parts::tip(status, around),
            parts::disk(status, around),
            parts::gaps(status, around),
            parts::incidents(status),
            parts::protocol(status, around),
        ])
    }

    /// Says that the archive cannot be read, so that nothing can be said of the rest.
    #[must_use]
    pub fn unreadable() -> Self {
        let database = Part::failing(
            parts::DATABASE,
            "DATABASE_UNREADABLE",
            "the archive cannot be read: the log of the server says why",
        );
        let rest = parts::NAMES.into_iter().filter(|name| *name != parts::DATABASE).map(Part::off);
        Self::of_parts(core::iter::once(database).chain(rest).collect())
    }

    fn of_parts(parts: Vec<Part>) -> Self {
        let worst = parts.iter().map(|part| part.status).max().unwrap_or(Level::Ok);
        Self { status: worst.max(Level::Ok), parts }
    }
}
