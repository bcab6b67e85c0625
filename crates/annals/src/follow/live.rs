//! The loop at the tip.

use std::sync::Arc;
use std::time::Duration;

use annals_core::{CheckedLedger, LedgerSeq};

use super::asker::Asker;
use super::confirm::Doubt;
use super::gaps::GapWorker;
use super::pace::Pace;
use super::shared::Shared;
use super::state::{Voice, Why};
use super::{Ended, FollowError, FollowJob, FollowOptions};
use crate::clock::{Clock, Stop};
use crate::source::{LedgerObject, Poll, RequestFault, Tip, TipSource};
use crate::store::{FollowStateName, Store};

/// A page holds at most so many ledgers.
pub(super) const PAGE_LEDGERS_MAX: u32 = 200;

/// What the loop does next.
pub(super) enum Step {
    /// Finds out where archive and network stand, and where to go on.
    Begin,
    /// Waits for the moment and asks for the next ledger.
    Ask,
    /// Takes what came.
    Take(Poll),
    /// Compares a stored ledger with the source's.
    Confirm(Doubt),
    /// Waits, for the reason given, and goes on where it says.
    Rest(Why, Duration, Then),
}

/// What follows a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Begin,
    Ask,
}

pub(super) struct Live<'a> {
    pub(super) job: &'a FollowJob,
    pub(super) options: &'a FollowOptions,
    pub(super) store: &'a dyn Store,
    pub(super) clock: &'a dyn Clock,
    pub(super) stop: &'a Stop,
    pub(super) source: Arc<dyn TipSource>,
    pub(super) shared: Arc<Shared>,
    pub(super) asker: Asker,
    pub(super) gaps: GapWorker,
    pub(super) voice: Voice<'a>,
    pub(super) pace: Pace,
    /// The ledger that is to be stored next.
    pub(super) next: LedgerSeq,
    /// The highest ledger that was stored or compared; none before there is one.
    pub(super) stored: Option<LedgerSeq>,
    /// Ledgers below `next` that nothing ties to the network yet.
    pub(super) held: Vec<CheckedLedger>,
    /// Whether more is there than the last page held.
    pub(super) is_behind: bool,
    /// Since when the source has said less than is stored.
    pub(super) receded: Option<Duration>,
    /// The highest ledger that a source is known to have come to: it was served, and was one.
    pub(super) backed: Option<LedgerSeq>,
    /// Before this moment no other ledger is asked for because a source announces it.
    pub(super) doubts_until: Duration,
    /// A ledger that is not served although the source says that it has come far above it, and since when.
    pub(super) withheld: Option<(LedgerSeq, Duration)>,
    /// How often in a row what came could not be used.
    pub(super) unusable: u32,
    /// When nodes were asked last which protocol they know.
    pub(super) looked_ahead: Option<Duration>,
    /// Whether archive and network were found to belong together.
    pub(super) has_begun: bool,
    pub(super) ended: Ended,
}

impl Live<'_> {
    pub(super) fn run(&mut self) -> Result<Ended, FollowError> {
        let mut step = Step::Begin;
        while !self.stop.is_stopped() {
            step = match step {
                Step::Begin => self.begin()?,
                Step::Ask => self.ask()?,
                Step::Take(poll) => self.take(poll)?,
                Step::Confirm(doubt) => self.confirm(doubt)?,
                Step::Rest(why, at_most, then) => self.rest(why, at_most, then)?,
            };
        }
        Ok(self.ended)
    }

    fn ask(&mut self) -> Result<Step, FollowError> {
        let wait = if self.is_behind { Duration::ZERO } else { self.pace.wait(self.clock.monotonic()) };
        self.pause(wait)?;
        Ok(self.poll(self.next, PAGE_LEDGERS_MAX)?.map_or(Step::Ask, Step::Take))
    }

    fn rest(&mut self, why: Why, at_most: Duration, then: Then) -> Result<Step, FollowError> {
        self.voice.state(FollowStateName::Waiting, Some(why))?;
        self.pause(at_most.max(self.options.poll_min))?;
        Ok(match then {
            Then::Begin => Step::Begin,
            Then::Ask => Step::Ask,
        })
    }

    /// Waits, and gives signs of life; ends early where all is to end.
    pub(super) fn pause(&mut self, at_most: Duration) -> Result<(), FollowError> {
        let until = self.clock.monotonic().saturating_add(at_most);
        loop {
            self.look_after()?;
            let left = until.saturating_sub(self.clock.monotonic());
            if left.is_zero() || self.stop.wait(left.min(self.options.heartbeat)) {
                return Ok(());
            }
        }
    }

    /// Asks for ledgers; none when all is to end.
    pub(super) fn poll(&mut self, next: LedgerSeq, ledgers_max: u32) -> Result<Option<Poll>, FollowError> {
        let Self { asker, voice, gaps, stop, .. } = self;
        asker.poll(next, ledgers_max, &mut || patience(voice, gaps, stop))
    }

    /// Asks each endpoint for its tip; nothing when all is to end.
    pub(super) fn ask_announced(&mut self) -> Result<Vec<Result<Tip, Arc<RequestFault>>>, FollowError> {
        let Self { asker, voice, gaps, stop, .. } = self;
        asker.announced(&mut || patience(voice, gaps, stop))
    }

    /// Asks for one ledger whoever says that it has it; none where nobody gives it, or all is to end.
    pub(super) fn ask_ledger(
        &mut self,
        seq: LedgerSeq,
    ) -> Result<Result<LedgerObject, Option<Arc<RequestFault>>>, FollowError> {
        let Self { asker, voice, gaps, stop, .. } = self;
        asker.ledger(seq, &mut || patience(voice, gaps, stop))
    }

    /// Asks for the highest protocol that a node knows.
    pub(super) fn ask_protocol(&mut self) -> Result<Option<u32>, FollowError> {
        let Self { asker, voice, gaps, stop, .. } = self;
        asker.protocol(&mut || patience(voice, gaps, stop))
    }

    fn look_after(&mut self) -> Result<(), FollowError> {
        self.gaps.check()?;
        self.voice.beat()
    }
}

/// What whoever waits for an answer does meanwhile.
fn patience(voice: &mut Voice<'_>, gaps: &GapWorker, stop: &Stop) -> Result<bool, FollowError> {
    gaps.check()?;
    voice.beat()?;
    Ok(!stop.is_stopped())
}
