//! Envelopes of transactions whose events alone are known, by `getTransaction`.
//!
//! An envelope is taken if it hashes to the very transaction that an event names, and from whoever gives it: the hash is
//! all that is believed. What an endpoint lacks or gives wrong is asked of the others, and its events are read all the
//! same.

use std::borrow::Cow;
use std::sync::Arc;

use annals_core::{CheckedEnvelope, LedgerRange, LedgerSeq, Network, NetworkId, TransactionKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::super::RpcSource;
use super::super::answer::Number;
use super::super::endpoint::{Endpoint, Verdict};
use super::super::fault::{NextStep, RequestFault, RequestFaultKind};
use super::super::pool::{LOST_IN_A_ROW_MAX, Pool};
use super::super::tip::Tip;
use super::transaction::{BYTES_MAX, METHOD};
use crate::source::{LedgerSource as _, ObjectFault, ObjectFaultKind};

/// The most of an envelope, bytes: several times what any network's settings allow a transaction.
const ENVELOPE_BYTES_MAX: usize = 1 << 20;

/// `getTransaction`, as far as it is read here.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    envelope_xdr: Option<Cow<'a, str>>,
    latest_ledger: Option<Number>,
    oldest_ledger: Option<Number>,
}

/// Asks a source's endpoints for envelopes, and remembers what they do not have.
pub struct EnvelopeReader {
    pool: Arc<Pool>,
    source_name: String,
    network: NetworkId,
    /// By endpoint.
    standings: Vec<Standing>,
    lost_in_a_row: u32,
    /// Why nobody is asked any more.
    given_up: Option<Arc<RequestFault>>,
}

/// What one endpoint was found to lack.
#[derive(Default)]
struct Standing {
    /// Why it has no envelope at all.
    refusal: Option<Arc<RequestFault>>,
    /// The oldest ledger whose transactions it keeps.
    oldest: Option<LedgerSeq>,
    /// Whether it was told that it gives wrong ones.
    is_told: bool,
}

impl RpcSource {
    /// A reader of envelopes over the source's endpoints.
    #[must_use]
    pub fn envelopes(&self) -> EnvelopeReader {
        let standings = self.pool.endpoints.iter().map(|_| Standing::default()).collect();
        EnvelopeReader {
            pool: Arc::clone(&self.pool),
            source_name: self.name(),
            network: Network::new(self.pool.passphrase.as_str()).id(),
            standings,
            lost_in_a_row: 0,
            given_up: None,
        }
    }
}

impl EnvelopeReader {
    /// The envelope of a transaction.
    ///
    /// # Errors
    /// [`ObjectFault`] with the reason why no endpoint gives it. After a few that endpoints failed for, and did not
    /// merely lack, nobody is asked any more.
    pub fn read(&mut self, transaction: TransactionKey) -> Result<CheckedEnvelope, ObjectFault> {
        let mut wrong = None;
        let asked = match &self.given_up {
            Some(fault) => Err(ObjectFaultKind::NotServed(Arc::clone(fault))),
            None => {
                let (pool, standings, network) = (Arc::clone(&self.pool), &mut self.standings, self.network);
                let asked = pool.ask(|place, endpoint| {
                    endpoint.check_network(&pool.passphrase)?;
                    standings[place].ask(endpoint, network, transaction, &mut wrong)
                });
                asked.map_err(|unserved| unserved.kind)
            }
        };
        let kind = match asked {
            Ok(envelope) => {
                self.lost_in_a_row = 0;
                return Ok(envelope);
            }
            Err(kind) => kind,
        };
        self.count_loss(transaction, &kind);
        let range = Some(LedgerRange::single(transaction.ledger));
        let kind = wrong.map_or(kind, ObjectFaultKind::WrongEnvelope);
        Err(ObjectFault { object: self.source_name.clone(), range, kind })
    }

    /// Gives up where endpoints fail for whatever they are asked, or lag for too long.
    fn count_loss(&mut self, transaction: TransactionKey, kind: &ObjectFaultKind) {
        let fault = match kind {
            ObjectFaultKind::NotServed(fault) => match fault.kind {
                RequestFaultKind::NoTransaction { .. } | RequestFaultKind::OtherEnvelope { .. } => return,
                ref kind if kind.next_step() == NextStep::Never => return,
                _ => Arc::clone(fault),
            },
            ObjectFaultKind::AboveTip { .. } => {
                let kind = RequestFaultKind::NoTransaction { ledger: transaction.ledger.get() };
                Arc::new(RequestFault { endpoint: self.source_name.clone(), method: METHOD, kind })
            }
            // What is kept no more, or left out, costs no waits.
            _ => return,
        };
        self.lost_in_a_row += 1;
        // A server may break at one transaction and give all others.
        let may_be_alone =
            fault.kind.is_about_the_ledger() || matches!(fault.kind, RequestFaultKind::Status { status: 500, .. });
        if self.lost_in_a_row >= LOST_IN_A_ROW_MAX || !may_be_alone {
            self.given_up = Some(fault);
        }
    }
}

impl Standing {
    fn ask(
        &mut self,
        endpoint: &Endpoint,
        network: NetworkId,
        transaction: TransactionKey,
        wrong: &mut Option<Arc<RequestFault>>,
    ) -> Result<CheckedEnvelope, Verdict> {
        if let Some(refusal) = &self.refusal {
            return Err(Verdict::Lacks(Arc::clone(refusal)));
        }
        if let Some(oldest) = self.oldest.filter(|oldest| transaction.ledger < *oldest) {
            return Err(Verdict::BelowOldest(oldest));
        }
        let asked = ask(endpoint, network, transaction);
        match &asked {
            Err(Verdict::BelowOldest(oldest)) => self.oldest = Some(*oldest),
            Err(Verdict::Lacks(fault)) if matches!(fault.kind, RequestFaultKind::OtherEnvelope { .. }) => {
                if !std::mem::replace(&mut self.is_told, true) {
                    tracing::warn!("{fault}");
                }
                *wrong = Some(Arc::clone(fault));
            }
            // That it has no such method is no reason to ask it for no events.
            Err(Verdict::Failed(fault)) if fault.kind.next_step() == NextStep::Never => {
                self.refusal = Some(Arc::clone(fault));
                return Err(Verdict::Lacks(Arc::clone(fault)));
            }
            _ => {}
        }
        asked
    }
}

fn ask(endpoint: &Endpoint, network: NetworkId, transaction: TransactionKey) -> Result<CheckedEnvelope, Verdict> {
    let params = json!({"hash": transaction.hash.to_string(), "xdrFormat": "base64"});
    let body = endpoint.caller.call(METHOD, &params, BYTES_MAX)?;
    let answer: Answer<'_> = endpoint.caller.result(METHOD, &body)?;
    let ledger = transaction.ledger.get();
    let lacks = |kind| Verdict::Lacks(Arc::new(endpoint.caller.fault(METHOD, kind)));
    if !matches!(&*answer.status, "SUCCESS" | "FAILED") {
        let oldest = answer.oldest_ledger.and_then(Number::seq);
        return Err(match (oldest, answer.latest_ledger.and_then(Number::seq)) {
            (Some(oldest), _) if transaction.ledger < oldest => Verdict::BelowOldest(oldest),
            (_, Some(latest)) if latest < transaction.ledger => {
                Verdict::Behind(Tip { latest, oldest, latest_closed_unix_ms: None })
            }
            _ => lacks(RequestFaultKind::NoTransaction { ledger }),
        });
    }
    let Some(text) = answer.envelope_xdr else { return Err(lacks(RequestFaultKind::NoTransaction { ledger })) };
    let xdr = STANDARD.decode(text.as_bytes()).ok().filter(|xdr| xdr.len() <= ENVELOPE_BYTES_MAX);
    let envelope = xdr.and_then(|xdr| CheckedEnvelope::check(network, transaction, xdr).ok());
    envelope.ok_or_else(|| lacks(RequestFaultKind::OtherEnvelope { ledger }))
}
