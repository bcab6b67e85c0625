//! Bringing the envelopes that events want whose source gives events alone.
//!
//! An envelope that cannot be had is no reason to leave its events out: their payloads stay `pending`, and a later run
//! over the same ledgers asks again.

use std::collections::BTreeMap;

use annals_core::{CheckedEnvelope, TransactionKey};

use super::{BackfillError, Job, Progress, Summary, whole_chain};
use crate::source::{EnvelopeReader, ObjectFaultKind, RpcSource};
use crate::store::{Fence, Store, WantedQuery};

/// A commit waits for so many envelopes, or for those of one ledger: what is waited for is lost with the process.
pub(super) const PER_COMMIT: usize = 32;

/// Brings envelopes, and counts those that it cannot bring.
pub(super) struct Envelopes<'a> {
    reader: EnvelopeReader,
    progress: &'a dyn Progress,
    fetched: u64,
    lacking: BTreeMap<&'static str, Lack>,
    wrong: u64,
}

/// Envelopes that could not be had for one reason.
struct Lack {
    count: u64,
    /// What was said of the first.
    message: String,
}

impl<'a> Envelopes<'a> {
    pub(super) fn new(source: &RpcSource, progress: &'a dyn Progress) -> Self {
        Self { reader: source.envelopes(), progress, fetched: 0, lacking: BTreeMap::new(), wrong: 0 }
    }

    /// The envelopes of `wanted` that an endpoint has.
    pub(super) fn bring(&mut self, wanted: &[TransactionKey]) -> Vec<CheckedEnvelope> {
        let mut brought = Vec::new();
        for transaction in wanted {
            match self.reader.read(*transaction) {
                Ok(envelope) => brought.push(envelope),
                Err(fault) => {
                    self.wrong += u64::from(matches!(fault.kind, ObjectFaultKind::WrongEnvelope(_)));
                    let lack = self.lacking.entry(fault.code());
                    lack.or_insert_with(|| Lack { count: 0, message: whole_chain(&fault) }).count += 1;
                }
            }
            self.progress.advance_envelopes(1);
        }
        self.fetched += brought.len() as u64;
        brought
    }

    /// Brings what stored events want.
    pub(super) fn catch_up(&mut self, job: &Job, store: &dyn Store, fence: Fence) -> Result<(), BackfillError> {
        let limit = u32::try_from(PER_COMMIT).unwrap_or(u32::MAX);
        let mut query = WantedQuery { scope: &job.scope, range: job.range, after: None, limit };
        loop {
            let wanted = store.wanted_envelopes(&query)?;
            let brought = self.bring(&wanted.transactions);
            if !self.progress.may_go_on() {
                return Err(BackfillError::Stopped);
            }
            if !brought.is_empty() {
                store.add_envelopes(&brought, fence)?;
            }
            query.after = wanted.next;
            if query.after.is_none() {
                return Ok(());
            }
        }
    }

    /// Tells what could not be had, and adds what was done to the summary.
    pub(super) fn report(self, summary: Summary) -> Summary {
        for (code, Lack { count, message }) in &self.lacking {
            tracing::warn!(
                "{count} envelopes are lacking, and the payloads of their events stay pending: {message} [{code}]"
            );
        }
        let lacking = self.lacking.values().map(|lack| lack.count).sum();
        Summary { envelopes_fetched: self.fetched, envelopes_lacking: lacking, wrong_envelopes: self.wrong, ..summary }
    }
}
