//! Which tip counts. Nothing durable is decided on a number that an endpoint only says: a tip is backed by a ledger that
//! was served and checked, or is little above one.

use std::cmp::Reverse;

use annals_core::LedgerSeq;

use super::FollowError;
use super::live::{Live, Step, Then};
use super::state::Why;
use super::take::{Unusable, read};
use crate::backfill::whole_chain;
use crate::source::Tip;
use crate::store::{TIP_UNREADABLE, TIP_UNSERVED};

/// Ledgers that are announced so little above one that was served may only just be closing.
const ANNOUNCED_AHEAD_MAX: u32 = 8;
/// Which ledgers below the announced one are asked for until one is served: replicas that rotate behind one address
/// announce what another of them has.
const BELOW: [u32; 3] = [0, 1, ANNOUNCED_AHEAD_MAX];

impl Live<'_> {
    /// The highest tip that counts of those that endpoints announce, none where what is stored is all that is known to be
    /// there; and the highest ledger that is.
    ///
    /// # Errors
    /// Within: the rest to take where none is.
    pub(super) fn find_tip(&mut self) -> Result<Result<(Option<Tip>, LedgerSeq), Step>, FollowError> {
        let (mut tips, mut faults) = (Vec::new(), Vec::new());
        for announced in self.ask_announced()? {
            match announced {
                Ok(tip) => tips.push(tip),
                Err(fault) => faults.push(fault),
            }
        }
        if tips.is_empty() {
            let answer = faults.iter().find(|fault| fault.kind.is_answer());
            let told = answer.or(faults.first()).map_or(String::new(), |fault| format!(": {}", whole_chain(fault)));
            let why = match answer {
                Some(_) => {
                    self.voice.heard(None);
                    let message =
                        format!("what is answered does not say how far the network is, name another --rpc{told}");
                    Why { code: TIP_UNREADABLE, message }
                }
                None => Why { code: "NO_TIP", message: format!("no endpoint says how far the network is{told}") },
            };
            return Ok(Err(Step::Rest(why, self.options.rest, Then::Begin)));
        }
        self.voice.heard(None);
        tips.sort_by_key(|tip| Reverse(tip.latest));
        tips.dedup_by_key(|tip| tip.latest);
        let mut doubt = None;
        for tip in tips {
            match self.back(tip.latest)? {
                Ok(()) => return Ok(Ok((Some(tip), self.backed.unwrap_or(tip.latest)))),
                Err(unusable) => doubt = Some(unusable),
            }
        }
        Ok(match (self.backed, doubt) {
            (Some(backed), _) => Ok((None, backed)),
            (None, Some(unusable)) if unusable.code != TIP_UNSERVED => Err(self.unusable(unusable).then_begin()),
            (None, doubt) => {
                let message = doubt.map_or(String::new(), |unusable| unusable.message);
                Err(Step::Rest(Why { code: TIP_UNSERVED, message }, self.options.rest, Then::Begin))
            }
        })
    }

    /// Whether a tip that was announced while following counts; one that does is told. Ledgers are asked for in doubt
    /// every so often and not with each answer.
    pub(super) fn weigh(&mut self, tip: Tip) -> Result<Result<(), Unusable>, FollowError> {
        let now = self.clock.monotonic();
        let outcome = if self.is_ordinary(tip.latest) {
            Ok(())
        } else if now < self.doubts_until {
            Err(self.unserved(tip.latest, ""))
        } else {
            self.doubts_until = now.saturating_add(self.options.rest);
            self.back(tip.latest)?
        };
        self.voice.heard(outcome.is_ok().then_some(tip));
        Ok(outcome)
    }

    /// Whether a ledger of this number is stored, was served, or may only just be closing.
    fn is_ordinary(&self, seq: LedgerSeq) -> bool {
        self.backed.is_some_and(|backed| seq.get().saturating_sub(backed.get()) <= ANNOUNCED_AHEAD_MAX)
    }

    /// Asks for an announced ledger, or one little below, where it is not an ordinary one.
    fn back(&mut self, announced: LedgerSeq) -> Result<Result<(), Unusable>, FollowError> {
        let mut outcome = Ok(());
        for below in BELOW {
            if self.is_ordinary(announced) {
                return Ok(Ok(()));
            }
            let Ok(seq) = LedgerSeq::new(announced.get().saturating_sub(below)) else { break };
            outcome = self.prove(seq)?;
        }
        Ok(if self.is_ordinary(announced) { Ok(()) } else { outcome })
    }

    /// Asks for one ledger of which somebody says that it is there.
    pub(super) fn prove(&mut self, seq: LedgerSeq) -> Result<Result<(), Unusable>, FollowError> {
        let object = match self.ask_ledger(seq)? {
            Ok(object) => object,
            Err(fault) => {
                let told = fault.map_or(String::new(), |fault| format!(": {fault}"));
                return Ok(Err(self.unserved(seq, &told)));
            }
        };
        Ok(match read(object, seq, &self.job.network) {
            Ok(ledger) => {
                self.backed = self.backed.max(Some(ledger.seq));
                Ok(())
            }
            Err(unusable) => {
                self.source.pass_over();
                Err(unusable)
            }
        })
    }

    fn unserved(&self, seq: LedgerSeq, told: &str) -> Unusable {
        let message = format!(
            "{} announces ledger {seq} and does not give it, and on its word alone nothing is begun or left out: it goes on \
             once ledgers come, and another --rpc beside it may have them{told}",
            self.source.name()
        );
        Unusable { code: TIP_UNSERVED, message }
    }

    /// What is announced does not count: others were asked, and where it stays so it is said.
    pub(super) fn doubt(&mut self, Unusable { code, message }: Unusable) -> Step {
        self.is_behind = false;
        if self.waited_for_next() < self.options.behind_max {
            return Step::Ask;
        }
        Step::Rest(Why { code, message }, self.options.rest, Then::Ask)
    }
}
