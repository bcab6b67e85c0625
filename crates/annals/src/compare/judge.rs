//! Why two archives differ in a ledger.

use annals_core::{LedgerHash, LedgerSeq, Position, ProofClass, Stage};

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
    #[error("{} lacks the event and says that it is not complete over the ledger: {reason}", .side.name())]
    Gap {
        /// Which.
        side: Side,
        /// Its word for why.
        reason: String,
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
    #[error("they hold two chains: ledger {} has two hashes{}", .fork.differs_from, through(.fork))]
    OtherChain {
        /// Where the chains part.
        fork: Fork,
        /// The ledger's hash in each.
        hashes: Both<LedgerHash>,
    },
    /// The protocol commits to no such event.
    #[error("the protocol commits to no such event, so that neither can prove its version")]
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

fn through(fork: &Fork) -> String {
    match fork.same_through {
        Some(same) if same.next() == Some(fork.differs_from) => ", the first that differs".to_owned(),
        Some(same) => format!(", ledger {same} one, and between them one of both holds no headers"),
        None => ", the lowest of which both hold the header".to_owned(),
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
            Self::OtherChain { .. } => "OTHER_CHAIN",
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
            | Self::OtherChain { .. }
            | Self::UncommittedDiffers
            | Self::OtherAttribution
            | Self::CannotJudge => None,
        }
    }

    /// Whether it says that an archive contradicts itself.
    pub(super) fn blames_one(&self) -> bool {
        matches!(self, Self::Withheld { .. } | Self::OtherBytes { .. } | Self::NotListed { .. })
    }
}

/// Judges the first ledger in which the archives differ.
pub(super) fn difference(
    pair: &Pair<'_>,
    ledger: LedgerSeq,
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
    let whole = match pair.asked.of_account {
        true => {
            let events = |side| standing::contract_events(pair, side, ledger, shown.of(side));
            Some(Both { a: events(Side::A)?, b: events(Side::B)? })
        }
        false => None,
    };
    let case = Case {
        shown: whole.as_ref().unwrap_or(&shown),
        proved: Both { a: proved_a, b: proved_b },
        hashes,
        incomplete: Both { a: standings.a.incomplete.clone(), b: standings.b.incomplete.clone() },
    };
    let reason = match (case.gap(kind), first(case.shown)) {
        (Some(gap), _) => gap,
        (None, None) => Reason::OtherAttribution,
        (None, Some((position, kind))) => match case.judge(position, kind) {
            Judged::Reason(reason) => reason,
            Judged::TwoChains(hashes) => {
                let fork = chain::fork(pair, ledger, marks)?;
                Reason::OtherChain { fork, hashes }
            }
        },
    };
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
    /// The contract's events that each shows.
    shown: &'a Both<Vec<ShownEvent>>,
    /// What each one's proof proves.
    proved: Both<Option<ProvedEvents>>,
    /// The ledger's hash in each.
    hashes: Both<Option<LedgerHash>>,
    /// What each says it lacks.
    incomplete: Both<Option<Incomplete>>,
}

enum Judged {
    Reason(Reason),
    TwoChains(Both<LedgerHash>),
}

impl Case<'_> {
    /// That the one without the event says that it is not complete.
    fn gap(&self, kind: Kind) -> Option<Reason> {
        let Kind::OnlyIn(side) = kind else { return None };
        let side = side.other();
        let incomplete = self.incomplete.of(side).as_ref()?;
        Some(Reason::Gap { side, reason: incomplete.reason.clone() })
    }

    /// Why the archives differ in `position`. What an archive says of itself comes before what two of them say.
    fn judge(&self, position: Position, kind: Kind) -> Judged {
        let contradiction = Side::BOTH.into_iter().find_map(|side| self.contradiction(side));
        if let Some(reason) = self.gap(kind).or(contradiction) {
            return Judged::Reason(reason);
        }
        if let Both { a: Some(a), b: Some(b) } = self.hashes
            && a != b
        {
            return Judged::TwoChains(Both { a, b });
        }
        Judged::Reason(match (&self.proved.a, &self.proved.b) {
            // Two proofs against one header prove the same, but for the indices of protocol 23.
            (Some(a), Some(b)) if a != b => Reason::CannotJudge,
            (Some(truth), _) | (_, Some(truth)) => self.by(truth, position),
            (None, None) if self.is_uncommitted(position) => Reason::UncommittedDiffers,
            (None, None) => Reason::NotProvable(Both { a: true, b: true }),
        })
    }

    /// What an archive shows that its own proof contradicts.
    fn contradiction(&self, side: Side) -> Option<Reason> {
        let proved = self.proved.of(side).as_ref()?;
        for (position, xdr) in proved {
            match self.at(side, *position) {
                Some(event) if event.xdr != *xdr => return Some(Reason::OtherBytes { side, position: *position }),
                Some(_) => {}
                // Whoever says that something is missing withholds nothing.
                None if self.incomplete.of(side).is_some() => {}
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

#[cfg(test)]
mod tests;
