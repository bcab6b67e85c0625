//! Finds the first ledger in which two archives differ, and which of them can prove its version.
//!
//! Both are asked over what anybody can ask them, and neither is believed: a digest has to follow from its parts, the
//! digest of a part has to be the one that stood among the parts of the whole, the events of a ledger have to hash to
//! its digest, and of what an archive shows in that ledger only what its own proof proves is called proved. That two
//! digests are equal says that both archives say the same of the window, and no more.

mod archive;
mod chain;
mod deadline;
mod http;
mod judge;
mod standing;

use std::fmt;

use annals_core::history_digest::cut;
use annals_core::{Address, ContractId, HistoryDigest, LedgerRange, LedgerSeq, Position};

pub use archive::{Archive, ArchiveFault, Incomplete, Marks, ShownEvent, ShownHeader, ShownProof, Whose, WindowDigest};
pub use chain::Fork;
pub use deadline::Deadline;
pub use http::HttpArchive;
pub use judge::{Kind, Reason};
pub use standing::{ProofState, Standing};

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Something of each of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Both<T> {
    /// Of the first.
    pub a: T,
    /// Of the second.
    pub b: T,
}

impl<T> Both<T> {
    /// That of one.
    pub fn of(&self, side: Side) -> &T {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The contract.
    pub contract: ContractId,
    /// Whose events of it are compared; everybody's if left out.
    pub account: Option<Address>,
    /// The first ledger; where both are gap-free from if left out.
    pub from: Option<LedgerSeq>,
    /// The last ledger; where both are gap-free up to if left out.
    pub to: Option<LedgerSeq>,
}

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The ledgers that were compared; none where the archives are of two networks.
    pub window: Option<LedgerRange>,
    /// What was found.
    pub verdict: Verdict,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Both say the same of the window.
    Equal {
        /// How many events it holds.
        events: u64,
        /// Their digest.
        digest: HistoryDigest,
        /// What each says it lacks in the window; where one does, equality is not decided.
        incomplete: Both<Option<Incomplete>>,
    },
    /// They are of two networks, here as they name them.
    OtherNetwork(Both<String>),
    /// One of them contradicts itself before a difference could be judged.
    Contradicts {
        /// Which.
        side: Side,
        /// How.
        lie: Lie,
    },
    /// They differ.
    Differ(Box<Difference>),
}

/// How an archive contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lie {
    /// A digest is not that of its parts.
    #[error("its digest of {} does not follow from the parts that it gives beside it", Ledgers(*.0))]
    Digest(LedgerRange),
    /// A part has another digest once it is asked for alone.
    #[error("its digest of {} is another than it gave as a part of the whole", Ledgers(*.0))]
    Part(LedgerRange),
    /// The events of a ledger do not hash to the ledger's digest.
    #[error("the events that it shows in ledger {0} are not those of its own digest")]
    Events(LedgerSeq),
    /// Some of the account's events in a ledger are not among the contract's.
    #[error("the account's events that it shows in ledger {0} are not among the contract's events that it shows there")]
    Account(LedgerSeq),
    /// One of the account's events in a ledger does not name the account.
    #[error("an event that it shows as the account's in ledger {0} does not name the account")]
    NotNamed(LedgerSeq),
    /// A header does not hash to the ledger's hash, is of another ledger, or is not the one that the proof hangs on.
    #[error("the header that it shows of ledger {0} is not that of the ledger, or not that of its own proof")]
    Header(LedgerSeq),
}

impl Lie {
    /// The stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Digest(_) => "BAD_DIGEST",
            Self::Part(_) | Self::Events(_) | Self::Account(_) | Self::NotNamed(_) | Self::Header(_) => "INCONSISTENT",
        }
    }
}

/// The first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The first ledger in which the archives differ.
    pub ledger: LedgerSeq,
    /// The first place in it where they do.
    pub position: Position,
    /// What differs there.
    pub kind: Kind,
    /// Why.
    pub reason: Reason,
    /// What each of them says of the ledger, and can prove.
    pub standings: Both<Standing>,
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// One of the archives gave no answer that can be read.
    #[error("archive {}", .side.name())]
    Archive {
        /// Which.
        side: Side,
        /// Why.
        #[source]
        fault: ArchiveFault,
    },
    /// No ledgers are known to be gap-free in both.
    #[error("no ledger lies where both archives say that they are gap-free: name the ledgers by --from and --to")]
    NoCommonWindow,
    /// What an archive says changes faster than it can be compared.
    #[error(
        "archive {} takes in ledgers or reads its events anew, and says another thing of the same ledgers each time it is \
         asked: compare those that it is done with, by --to",
        .side.name()
    )]
    Changing {
        /// Which.
        side: Side,
    },
}

impl CompareError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Archive { fault, .. } => fault.code(),
            Self::NoCommonWindow => "NO_COMMON_WINDOW",
            Self::Changing { .. } => "CHANGING",
        }
    }
}

/// Ledgers, as they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledgers(pub LedgerRange);

impl fmt::Display for Ledgers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.0.count() == 1 { "ledger" } else { "ledgers" }, self.0)
    }
}

/// A comparison begins no more often because an archive took in ledgers meanwhile.
const COMPARISONS_MAX: u32 = 3;

/// Compares two archives. An archive may take in ledgers while it is asked. What it says of ledgers only ever grows, so
/// that what it said before all other answers and says again after them was so throughout: a difference and a
/// contradiction are told only of such, and else all is compared again.
///
/// # Errors
/// [`CompareError`].
pub fn run(asked: &Asked, a: &dyn Archive, b: &dyn Archive) -> Result<Comparison, CompareError> {
    let pair = Pair { asked, archives: [a, b] };
    let mut comparisons = 1;
    loop {
        match pair.compare()? {
            Ok(comparison) => return Ok(comparison),
            Err(Changed(side)) if comparisons == COMPARISONS_MAX => return Err(CompareError::Changing { side }),
            Err(Changed(_)) => comparisons += 1,
        }
    }
}

/// The two archives, and what they are asked about.
struct Pair<'a> {
    asked: &'a Asked,
    archives: [&'a dyn Archive; 2],
}

/// Why a comparison ends before a difference is judged.
enum Halt {
    Error(CompareError),
    Lie(Side, Lie),
    Changed(Changed),
}

/// One of them says another thing than before.
struct Changed(Side);

impl From<CompareError> for Halt {
    fn from(error: CompareError) -> Self {
        Self::Error(error)
    }
}

/// Where two histories part.
enum Found {
    Nowhere(Both<WindowDigest>),
    Ledger(LedgerSeq, Both<WindowDigest>),
}

impl Pair<'_> {
    fn compare(&self) -> Result<Result<Comparison, Changed>, CompareError> {
        let marks = self.each(|_, archive| archive.marks())?;
        if let (Some(a), Some(b)) = (&marks.a.network, &marks.b.network)
            && a != b
        {
            let verdict = Verdict::OtherNetwork(Both { a: a.clone(), b: b.clone() });
            return Ok(Ok(Comparison { window: None, verdict }));
        }
        let window = self.window(&marks)?;
        let verdict = match self.verdict(window, &marks) {
            Ok(verdict) => verdict,
            Err(Halt::Lie(side, lie)) => Verdict::Contradicts { side, lie },
            Err(Halt::Changed(changed)) => return Ok(Err(changed)),
            Err(Halt::Error(error)) => return Err(error),
        };
        Ok(Ok(Comparison { window: Some(window), verdict }))
    }

    fn verdict(&self, window: LedgerRange, marks: &Both<Marks>) -> Result<Verdict, Halt> {
        match self.find(window)? {
            Found::Nowhere(Both { a, b }) => {
                let incomplete = Both { a: a.incomplete, b: b.incomplete };
                Ok(Verdict::Equal { events: a.events, digest: a.digest, incomplete })
            }
            Found::Ledger(ledger, digests) => {
                let difference = judge::difference(self, ledger, window, &digests, marks);
                if let Ok(_) | Err(Halt::Lie(..)) = difference {
                    for side in Side::BOTH {
                        self.still(side, LedgerRange::single(ledger), digests.of(side))?;
                    }
                }
                Ok(Verdict::Differ(Box::new(difference?)))
            }
        }
    }

    /// The ledgers to compare: what is left out ends where the archives cease to be gap-free.
    fn window(&self, marks: &Both<Marks>) -> Result<LedgerRange, CompareError> {
        let from = || Some(marks.a.first?.max(marks.b.first?));
        let to = || Some(marks.a.through?.min(marks.b.through?));
        let ends = self.asked.from.or_else(from).zip(self.asked.to.or_else(to));
        ends.and_then(|(from, to)| LedgerRange::new(from, to).ok()).ok_or(CompareError::NoCommonWindow)
    }

    /// Goes from the window to the first ledger of which the archives do not say the same, each time down the first of
    /// the parts that differ.
    fn find(&self, window: LedgerRange) -> Result<Found, Halt> {
        let mut range = window;
        let mut digests = self.digests(range)?;
        if digests.a.whole() == digests.b.whole() {
            return Ok(Found::Nowhere(digests));
        }
        while range.count() > 1 {
            let next = cut(range).find(|part| digests.a.part(*part) != digests.b.part(*part));
            let next = next.expect("digests that follow from the same parts are the same");
            let parts = self.digests(next)?;
            for side in Side::BOTH {
                if parts.of(side).whole() != digests.of(side).part(next) {
                    self.still(side, range, digests.of(side))?;
                    return Err(Halt::Lie(side, Lie::Part(next)));
                }
            }
            (range, digests) = (next, parts);
        }
        Ok(Found::Ledger(range.from_inclusive(), digests))
    }

    /// Both archives' digests of a window, each of which follows from its parts.
    fn digests(&self, window: LedgerRange) -> Result<Both<WindowDigest>, Halt> {
        let digests = self.each(|_, archive| archive.digest(window))?;
        for side in Side::BOTH {
            if !digests.of(side).follows(window) {
                return Err(Halt::Lie(side, Lie::Digest(window)));
            }
        }
        Ok(digests)
    }

    /// Sees that an archive says of a window what it said before.
    fn still(&self, side: Side, window: LedgerRange, said: &WindowDigest) -> Result<(), Halt> {
        let says = self.ask(side, |_, archive| archive.digest(window))?;
        if says == *said { Ok(()) } else { Err(Halt::Changed(Changed(side))) }
    }

    /// Asks both.
    fn each<T>(&self, ask: impl Fn(Side, &dyn Archive) -> Result<T, ArchiveFault>) -> Result<Both<T>, CompareError> {
        Ok(Both { a: self.ask(Side::A, &ask)?, b: self.ask(Side::B, &ask)? })
    }

    /// Asks one.
    fn ask<T>(
        &self,
        side: Side,
        ask: impl Fn(Side, &dyn Archive) -> Result<T, ArchiveFault>,
    ) -> Result<T, CompareError> {
        let archive = self.archives[side as usize];
        ask(side, archive).map_err(|fault| CompareError::Archive { side, fault })
    }
}

#[cfg(test)]
mod tests;
