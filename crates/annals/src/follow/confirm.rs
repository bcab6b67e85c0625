//! Comparing a stored ledger with the source's: what tells another chain from an endpoint that lags.
//!
//! The stored ledger is offered to the store again. The same is no news; another hash is an incident, which the store
//! records with both versions.

use annals_core::LedgerSeq;

use super::FollowError;
use super::live::{Live, Step, Then};
use super::take::{Refusal, Unusable, read};
use crate::source::Poll;

/// Why a stored ledger is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubt {
    /// The stored ledger.
    pub(super) stored: LedgerSeq,
    pub(super) reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Following begins: the network may have been reset meanwhile.
    Start,
    /// The source has stayed below what is stored.
    Receded { tip: LedgerSeq },
    /// The next ledger does not link to the stored one.
    NoLink { seq: LedgerSeq },
}

impl Live<'_> {
    pub(super) fn confirm(&mut self, doubt: Doubt) -> Result<Step, FollowError> {
        match self.poll(doubt.stored, 1)? {
            Some(Poll::Ledgers(objects, _)) => {
                self.voice.heard(None);
                let Some(object) = objects.into_iter().next() else { return Ok(Step::Ask) };
                match read(object, doubt.stored, &self.job.network) {
                    Ok(ledger) => match self.store_batch(vec![ledger])? {
                        Ok(()) => Ok(self.is_the_same(doubt)),
                        Err(Refusal::Rest(step)) => Ok(step.then_begin()),
                        Err(Refusal::Store(error)) => self.not_taken(error),
                    },
                    Err(unusable) => Ok(self.unusable(unusable).then_begin()),
                }
            }
            Some(Poll::NotServed { fault, retry_after }) => Ok(self.not_served(&fault, retry_after, Then::Begin)),
            // The source has nothing to compare with.
            Some(Poll::AtTip(_) | Poll::BelowRetention { .. } | Poll::LeftOut { .. }) => Ok(self.is_the_same(doubt)),
            None => Ok(Step::Ask),
        }
    }

    fn is_the_same(&mut self, doubt: Doubt) -> Step {
        match doubt.reason {
            Reason::Start => Step::Ask,
            Reason::Receded { tip } => self.behind(self.stored.unwrap_or(doubt.stored), tip),
            Reason::NoLink { seq } => {
                let message = format!("ledger {seq} does not link to the stored ledger {}", doubt.stored);
                self.unusable(Unusable { code: "DOES_NOT_LINK", message })
            }
        }
    }
}

impl Step {
    /// The same rest, after which all is looked at anew.
    pub(super) fn then_begin(self) -> Self {
        match self {
            Self::Rest(why, at_most, _) => Self::Rest(why, at_most, Then::Begin),
            step => step,
        }
    }
}
