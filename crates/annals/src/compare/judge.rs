//! Why two archives differ in a ledger.

use annals_core::{IncompleteReason, LedgerRange, LedgerSeq, Position, ProofClass, Stage};

use super::chain::{self, Fork};
use super::standing::{self, ProvedEvents, Standing};
use super::{Both, Difference, Halt, Incomplete, Marks, Pair, ShownEvent, Side, WindowDigest};

/// What differs in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only one of them has an event there.
    OnlyIn(Side),
    /// Both have one, with other bytes.
    OtherBytes,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnlyIn(Side::A) => "only_in_a",
            Self::OnlyIn(Side::B) => "only_in_b",
            Self::OtherBytes => "other_bytes",
        }
    }
}

/// Why they differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The one that lacks the event says that it is not complete over the ledger.
    #[error(
        "{} lacks event {position}{} and says that it is not complete over the ledger: {reason}",
        .side.name(),
        who_lists(*.side, .listed)
    )]
    Gap {
        /// Which.
        side: Side,
        /// The event.
        position: Position,
        /// Its word for why.
        reason: String,
        /// Whose proof of the ledger lists the event.
        listed: Both<bool>,
    },
    /// One of them does not show an event that its own proof lists.
    #[error("{} withholds event {position}: its own proof of the ledger lists it", .side.name())]
    Withheld {
        /// Which.
        side: Side,
        /// The event.
        position: Position,
    },
    /// One of them shows an event with other bytes than its own proof.
    #[error("{} shows event {position} with other bytes than its own proof of the ledger", .side.name())]
    OtherBytes {
        /// Which.
        side: Side,
        /// The event.
        position: Position,
    },
    /// One of them calls an event proved that its own proof does not list.
    #[error("{} calls event {position} proved, and its own proof of the ledger does not list it", .side.name())]
    NotListed {
        /// Which.
        side: Side,
        /// The event.
        position: Position,
    },
    /// They hold two chains.
    #[error("they hold two chains: ledger {} has two hashes{}", .0.differs_from, through(.0))]
    OtherChain(Fork),
    /// The protocol commits to no such event, as whoever shows it says.
    #[error("by what is shown of it the protocol commits to no such event, so that neither can prove its version")]
    UncommittedDiffers,
    /// Those that cannot prove their version.
    #[error("{}", not_provable(.0))]
    NotProvable(Both<bool>),
    /// Both hold the same events of the contract, and read differently whom they belong to.
    #[error(
        "both show the same events of the contract there, and read differently whose they are: compare its schemas"
    )]
    OtherAttribution,
    /// Each proves its version, and nothing shows how both can be.
    #[error(
        "each proves what it shows, and nothing tells which is right: one of them shows no header of the ledger, or they \
         differ in the index of an event of protocol 23, which no hash covers"
    )]
    CannotJudge,
}

fn who_lists(side: Side, listed: &Both<bool>) -> String {
    match (*listed.of(side), *listed.of(side.other())) {
        (true, _) => ", which its own proof of the ledger lists,".to_owned(),
        (false, true) => format!(", which {} proves,", side.other().name()),
        (false, false) => String::new(),
    }
}

fn through(fork: &Fork) -> String {
    match fork.same_through {
        Some(same) if same.next() == Some(fork.differs_from) => ", the first that differs".to_owned(),
        Some(same) => format!(", ledger {same} one, and between them one of both lacks headers"),
        None => ", and below it one of both lacks headers".to_owned(),
    }
}

fn not_provable(unable: &Both<bool>) -> String {
    match (unable.a, unable.b) {
        (true, true) => "neither can prove its version".to_owned(),
        (a, _) => {
            let side = if a { Side::A } else { Side::B };
            format!("{} cannot prove its version, and {} proves its own", side.name(), side.other().name())
        }
    }
}

impl Reason {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gap { .. } => "GAP",
            Self::Withheld { .. } => "WITHHELD",
            Self::OtherBytes { .. } => "OTHER_BYTES",
            Self::NotListed { .. } => "INCONSISTENT",
            Self::OtherChain(_) => "OTHER_CHAIN",
            Self::UncommittedDiffers => "UNCOMMITTED_DIFFERS",
            Self::NotProvable(_) => "NOT_PROVABLE",
            Self::OtherAttribution => "OTHER_ATTRIBUTION",
            Self::CannotJudge => "CANNOT_JUDGE",
        }
    }

    /// Whom it is about, where it is about one of them.
    #[must_use]
    pub fn side(&self) -> Option<Side> {
        match self {
            Self::Gap { side, .. }
            | Self::Withheld { side, .. }
            | Self::OtherBytes { side, .. }
            | Self::NotListed { side, .. } => Some(*side),
            Self::NotProvable(Both { a: true, b: false }) => Some(Side::A),
            Self::NotProvable(Both { a: false, b: true }) => Some(Side::B),
            Self::NotProvable(_)
            | Self::OtherChain(_)
            | Self::UncommittedDiffers
            | Self::OtherAttribution
            | Self::CannotJudge => None,
        }
    }
}

/// Judges the first ledger in which the archives differ.
pub(super) fn difference(
    pair: &Pair<'_>,
    ledger: LedgerSeq,
    window: LedgerRange,
    digests: &Both<WindowDigest>,
    marks: &Both<Marks>,
) -> Result<Difference, Halt> {
    let events = |side| standing::events(pair, side, ledger, digests.of(side));
    let shown = Both { a: events(Side::A)?, b: events(Side::B)? };
    let hashes = chain::hashes(pair, ledger)?;
    let proof = |side: Side| {
        let network = marks.of(side).network.as_deref();
        standing::proof(pair, side, ledger, *hashes.of(side), network)
    };
    let ((a, proved_a), (b, proved_b)) = (proof(Side::A)?, proof(Side::B)?);
    let standing = |side: Side, proof| {
        let WindowDigest { events, digest, incomplete, anchor, .. } = digests.of(side).clone();
        Standing { events, digest, incomplete, hash: *hashes.of(side), anchor, proof }
    };
    let standings = Both { a: standing(Side::A, a), b: standing(Side::B, b) };
    let (position, kind) = first(&shown).expect("two lists of two digests are not the same");
    let whole = match pair.asked.account {
        Some(_) => {
            let events = |side| standing::contract_events(pair, side, ledger, shown.of(side));
            Some(Both { a: events(Side::A)?, b: events(Side::B)? })
        }
        None => None,
    };
    let case = Case {
        subject: (position, kind),
        shown: whole.as_ref().unwrap_or(&shown),
        proved: Both { a: proved_a, b: proved_b },
        incomplete: Both { a: standings.a.incomplete.as_ref(), b: standings.b.incomplete.as_ref() },
    };
    let reason = case.reason(|| chain::fork(pair, ledger, window, &hashes, marks))?;
    Ok(Difference { ledger, position, kind, reason, standings })
}

/// The first place in which two lists in canonical order differ.
fn first(shown: &Both<Vec<ShownEvent>>) -> Option<(Position, Kind)> {
    let parts = |at: usize| (shown.a.get(at), shown.b.get(at));
    let is_other = |at: &usize| match parts(*at) {
        (Some(a), Some(b)) => (a.position, &a.xdr) != (b.position, &b.xdr),
        _ => true,
    };
    let at = (0..shown.a.len().max(shown.b.len())).find(is_other)?;
    match parts(at) {
        (Some(a), Some(b)) if a.position == b.position => Some((a.position, Kind::OtherBytes)),
        (Some(a), Some(b)) if a.position > b.position => Some((b.position, Kind::OnlyIn(Side::B))),
        (Some(a), _) => Some((a.position, Kind::OnlyIn(Side::A))),
        (None, b) => b.map(|b| (b.position, Kind::OnlyIn(Side::B))),
    }
}

/// All that a reason is found by.
struct Case<'a> {
    /// The first place in which what was compared differs.
    subject: (Position, Kind),
    /// The contract's events that each shows.
    shown: &'a Both<Vec<ShownEvent>>,
    /// What each one's proof proves.
    proved: Both<Option<ProvedEvents>>,
    /// What each says it lacks.
    incomplete: Both<Option<&'a Incomplete>>,
}

impl Case<'_> {
    /// Why the archives differ. What an archive says against itself comes first, then that they hold two chains, then
    /// what the proof of one says, and only of what is left the word of the one that lacks something.
    fn reason(&self, fork: impl FnOnce() -> Result<Option<Fork>, Halt>) -> Result<Reason, Halt> {
        if let Some(contradiction) = Side::BOTH.into_iter().find_map(|side| self.contradiction(side)) {
            return Ok(contradiction);
        }
        if let Some(fork) = fork()? {
            return Ok(Reason::OtherChain(fork));
        }
        Ok(match first(self.shown) {
            Some((position, kind)) => self.judge(position, kind),
            None => self.attribution(),
        })
    }

    /// Why the archives differ in a place.
    fn judge(&self, position: Position, kind: Kind) -> Reason {
        let reason = match (&self.proved.a, &self.proved.b) {
            // Two proofs against one header prove the same, but for the indices of protocol 23.
            (Some(a), Some(b)) if a != b => Reason::CannotJudge,
            (Some(truth), _) | (_, Some(truth)) => self.by(truth, position),
            (None, None) if self.is_uncommitted(position) => Reason::UncommittedDiffers,
            (None, None) => Reason::NotProvable(Both { a: true, b: true }),
        };
        let is_open = matches!(reason, Reason::UncommittedDiffers | Reason::NotProvable(Both { a: true, b: true }));
        match self.lack(kind) {
            Some((side, lacks)) if !is_of_attribution(lacks) && (is_open || self.is_unscanned(side)) => {
                self.gap(side, position, lacks)
            }
            _ => reason,
        }
    }

    /// Why the archives differ in what they say whose an event is.
    fn attribution(&self) -> Reason {
        let (position, kind) = self.subject;
        match self.lack(kind) {
            Some((side, lacks)) if is_of_attribution(lacks) => self.gap(side, position, lacks),
            _ => Reason::OtherAttribution,
        }
    }

    /// The one without an event, where it says that it is not complete, and how it says it.
    fn lack(&self, kind: Kind) -> Option<(Side, &Incomplete)> {
        let Kind::OnlyIn(side) = kind else { return None };
        self.incomplete.of(side.other()).map(|lacks| (side.other(), lacks))
    }

    fn gap(&self, side: Side, position: Position, lacks: &Incomplete) -> Reason {
        let listed = |side| self.proved.of(side).as_ref().is_some_and(|proved| proved.contains_key(&position));
        let listed = Both { a: listed(Side::A), b: listed(Side::B) };
        Reason::Gap { side, position, reason: lacks.reason.clone(), listed }
    }

    /// Whether an archive says that it did not scan the ledger for the contract, and shows nothing of the contract there.
    /// It may prove the ledger all the same, which it holds for the sake of another contract.
    fn is_unscanned(&self, side: Side) -> bool {
        self.shown.of(side).is_empty() && self.incomplete.of(side).is_some_and(|lacks| lacks.missing.is_some())
    }

    /// What an archive shows that its own proof contradicts.
    fn contradiction(&self, side: Side) -> Option<Reason> {
        let proved = self.proved.of(side).as_ref().filter(|_| !self.is_unscanned(side))?;
        for (position, xdr) in proved {
            match self.at(side, *position) {
                Some(event) if event.xdr != *xdr => return Some(Reason::OtherBytes { side, position: *position }),
                Some(_) => {}
                None => return Some(Reason::Withheld { side, position: *position }),
            }
        }
        let is_beyond = |event: &&ShownEvent| event.class.is_proven() && !proved.contains_key(&event.position);
        let beyond = self.shown.of(side).iter().find(is_beyond)?;
        Some(Reason::NotListed { side, position: beyond.position })
    }

    /// What the one proof that there is says of a place in which the archives differ.
    fn by(&self, truth: &ProvedEvents, position: Position) -> Reason {
        let unable = |side: Side| match (truth.get(&position), self.at(side, position)) {
            (Some(proved), shown) => shown.is_none_or(|shown| shown.xdr != *proved),
            (None, shown) => shown.is_some_and(|shown| shown.class.is_proven()),
        };
        match (unable(Side::A), unable(Side::B)) {
            (false, false) => Reason::UncommittedDiffers,
            (a, b) => Reason::NotProvable(Both { a, b }),
        }
    }

    /// Whether no ledger can commit to an event in this place, or whoever shows one there says so.
    fn is_uncommitted(&self, position: Position) -> bool {
        let shown = Side::BOTH.into_iter().filter_map(|side| self.at(side, position));
        let mut classes = shown.map(|event| event.class);
        position.stage() != Stage::Op || classes.all(|class| class == ProofClass::Uncommitted)
    }

    fn at(&self, side: Side, position: Position) -> Option<&ShownEvent> {
        let shown = self.shown.of(side);
        shown.binary_search_by_key(&position, |event| event.position).ok().map(|at| &shown[at])
    }
}

/// Whether what an archive says it lacks is only whose events are.
fn is_of_attribution(lacks: &Incomplete) -> bool {
    [IncompleteReason::NoSchema, IncompleteReason::UnattributedEvents].iter().any(|own| own.as_str() == lacks.reason)
}

#[cfg(test)]
mod tests;
