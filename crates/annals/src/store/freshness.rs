//! What whoever follows the network says of itself, for every process that reads the archive.

use annals_core::LedgerSeq;

use super::Status;

/// The code of a [`FollowStateName::Waiting`] at a protocol version that this program does not decode.
pub const UNKNOWN_PROTOCOL: &str = "UNKNOWN_PROTOCOL";
/// The code of a [`FollowStateName::Waiting`] for room on a disk that takes nothing more.
pub const DISK_FULL: &str = "DISK_FULL";
/// The code of a [`FollowStateName::Waiting`] for free space, of which some is left.
pub const DISK_NEARLY_FULL: &str = "DISK_NEARLY_FULL";
/// The code of a [`FollowStateName::Waiting`] for an operator who resolves an incident.
pub const INCIDENT_OPEN: &str = "INCIDENT_OPEN";
/// The code of a [`FollowStateName::Waiting`] for a ledger that is announced and not served.
pub const TIP_UNSERVED: &str = "TIP_UNSERVED";
/// The code of a [`FollowStateName::Waiting`] for a source that answers and does not say which ledger is the last.
pub const TIP_UNREADABLE: &str = "TIP_UNREADABLE";

/// What a follower does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowStateName {
    /// Takes each ledger as it closes.
    Following,
    /// Takes the ledgers between the archive and the tip.
    CatchingUp,
    /// Takes none until what [`Freshness::code`] names has passed.
    Waiting,
    /// Has ended in order.
    Stopped,
}

impl FollowStateName {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Following, Self::CatchingUp, Self::Waiting, Self::Stopped];

    /// The word in store and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::CatchingUp => "catching_up",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }

    /// The state that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// The highest ledger that a source said there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenTip {
    /// The ledger.
    pub ledger: LedgerSeq,
    /// When it closed, Unix milliseconds; none where the source does not say.
    pub closed_ms: Option<u64>,
    /// When it was first said, Unix milliseconds: a tip that is only repeated grows old. The store keeps the earlier
    /// time where the same ledger is noted again, so that a follower may give the present.
    pub seen_ms: u64,
}

impl SeenTip {
    /// How old it is: since it closed, or since it was first said, whichever is longer ago, so that a clock that is
    /// behind the network's makes no old tip young. Milliseconds.
    #[must_use]
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.closed_ms.map_or(self.seen_ms, |closed_ms| closed_ms.min(self.seen_ms)))
    }
}

/// How long ledgers took to be seen by readers, over the last ones that were followed. Milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Over how many ledgers.
    pub ledgers: u32,
    /// From the close until the commit, half of the ledgers.
    pub close_to_visible_p50_ms: u64,
    /// The same, 99 of 100 ledgers.
    pub close_to_visible_p99_ms: u64,
    /// From the source's answer until the commit, half of the ledgers.
    pub seen_to_visible_p50_ms: u64,
    /// The same, 99 of 100 ledgers.
    pub seen_to_visible_p99_ms: u64,
}

/// What a follower last said of itself; times are of its own clock, Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    /// What it does.
    pub state: FollowStateName,
    /// The stable code of why it waits; none where it does not.
    pub code: Option<String>,
    /// The same as one sentence; holds no payload.
    pub message: Option<String>,
    /// The highest ledger that a source said there is; none before one did.
    pub tip: Option<SeenTip>,
    /// When a source last answered with anything but a failure; none before one did.
    pub source_answered_ms: Option<u64>,
    /// When the follower last said that it lives.
    pub heartbeat_ms: u64,
    /// What lies ahead, as one sentence: an upgrade to a protocol that this program does not decode.
    pub announced: Option<String>,
    /// How long ledgers took; none before one was followed.
    pub latency: Option<Latency>,
}

impl Freshness {
    /// A follower's first word: it lives, and knows nothing yet.
    #[must_use]
    pub fn beginning(now_ms: u64) -> Self {
        Self {
            state: FollowStateName::CatchingUp,
            code: None,
            message: None,
            tip: None,
            source_answered_ms: None,
            heartbeat_ms: now_ms,
            announced: None,
            latency: None,
        }
    }
}

impl Status {
    /// The highest ledger that is known of: what a source said last, or a ledger that was stored since. None before a
    /// source said one.
    #[must_use]
    pub fn tip(&self) -> Option<SeenTip> {
        let said = self.freshness.as_ref()?.tip?;
        let latest = self.latest_ledger.filter(|latest| *latest > said.ledger);
        Some(latest.map_or(said, |ledger| {
            let seen_ms = self.grown_ms.map_or(said.seen_ms, |grown_ms| grown_ms.max(said.seen_ms));
            SeenTip { ledger, closed_ms: None, seen_ms }
        }))
    }
}
