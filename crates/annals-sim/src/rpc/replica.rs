//! What one answer is given from: the ledgers that a node holds, as the script bends them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use annals_core::{LedgerRange, NetworkId};

use super::error::RpcError;
use super::held::HeldLedgers;
use super::ledger::NodeLedger;
use super::script::{Edit, Misbehaviour};

/// A node at one moment.
pub(super) struct Replica<'a> {
    ledgers: &'a BTreeMap<u32, Arc<NodeLedger>>,
    held: &'a HeldLedgers,
    passphrase: &'a str,
    oldest: u32,
    latest: u32,
    /// The last ledger that pages hold.
    served_to: u32,
    omitted: Vec<LedgerRange>,
    edits: Vec<(u32, &'a Edit<Vec<u8>>)>,
}

/// The ends of what a node holds.
pub(super) struct Ends {
    pub(super) oldest: Arc<NodeLedger>,
    pub(super) latest: Arc<NodeLedger>,
}

impl<'a> Replica<'a> {
    pub(super) fn new(
        held: &'a HeldLedgers,
        ledgers: &'a BTreeMap<u32, Arc<NodeLedger>>,
        misbehaviours: &'a [Misbehaviour],
    ) -> Self {
        let [oldest, latest] =
            [ledgers.first_key_value(), ledgers.last_key_value()].map(|end| end.map_or(0, |(seq, _)| *seq));
        let mut replica = Self {
            ledgers,
            held,
            passphrase: held.network().passphrase(),
            oldest,
            latest,
            served_to: latest,
            omitted: Vec::new(),
            edits: Vec::new(),
        };
        let mut unserved = 0;
        for misbehaviour in misbehaviours {
            match misbehaviour {
                Misbehaviour::Behind(count) => replica.latest = replica.latest.saturating_sub(*count),
                Misbehaviour::StuckAt(seq) => replica.latest = replica.latest.min(seq.get()),
                Misbehaviour::OldestLedger(seq) => replica.oldest = replica.oldest.max(seq.get()),
                Misbehaviour::UnservedTip(count) => unserved += count,
                Misbehaviour::OmitLedgers(range) => replica.omitted.push(*range),
                Misbehaviour::EditLedger(seq, edit) => replica.edits.push((seq.get(), edit)),
                Misbehaviour::Passphrase(passphrase) => replica.passphrase = passphrase,
                _ => {}
            }
        }
        replica.served_to = replica.latest.saturating_sub(unserved);
        replica
    }

    pub(super) fn passphrase(&self) -> &str {
        self.passphrase
    }

    pub(super) fn network_id(&self) -> NetworkId {
        self.held.network().id()
    }

    pub(super) fn retention(&self) -> u32 {
        self.held.retention()
    }

    /// The oldest and the latest ledger.
    ///
    /// # Errors
    /// [`RpcError`] of a node that holds none.
    pub(super) fn ends(&self) -> Result<Ends, RpcError> {
        let mut within = self.within(self.oldest..=self.latest);
        let oldest = within.next().ok_or_else(|| RpcError::internal("DB is empty"))?;
        let latest = within.next_back().unwrap_or_else(|| Arc::clone(&oldest));
        Ok(Ends { oldest, latest })
    }

    /// The ledgers of these numbers that pages hold.
    pub(super) fn served(&self, seqs: RangeInclusive<u32>) -> impl DoubleEndedIterator<Item = Arc<NodeLedger>> {
        let from = (*seqs.start()).max(self.oldest);
        let to = (*seqs.end()).min(self.served_to);
        let omitted = |seq: u32| {
            let holds =
                |range: &LedgerRange| (range.from_inclusive().get()..=range.to_inclusive().get()).contains(&seq);
            self.omitted.iter().any(holds)
        };
        self.within(from..=to).filter(move |ledger| !omitted(ledger.seq))
    }

    fn within(&self, seqs: RangeInclusive<u32>) -> impl DoubleEndedIterator<Item = Arc<NodeLedger>> {
        // An inverted range is a panic of the map's.
        let seqs = if seqs.is_empty() { None } else { Some(seqs) };
        let ledgers = seqs.into_iter().flat_map(|seqs| self.ledgers.range(seqs));
        ledgers.map(|(seq, ledger)| self.edited(*seq, ledger))
    }

    fn edited(&self, seq: u32, ledger: &Arc<NodeLedger>) -> Arc<NodeLedger> {
        let mut edits = self.edits.iter().filter(|(edited, _)| *edited == seq).peekable();
        if edits.peek().is_none() {
            return Arc::clone(ledger);
        }
        let mut xdr = ledger.xdr.clone();
        edits.for_each(|(_, edit)| (edit.0)(&mut xdr));
        Arc::new(NodeLedger::edited(ledger, xdr))
    }
}
