//! Choosing where a source holds several sound versions of one ledger, as overlapping objects do.
//!
//! What links wins, whichever came first: a version that its successor names, then one that names what was chosen
//! before it; a pin decides over both. Where nothing tells two versions apart, neither is taken.

use annals_core::chain::Neighbours;
use annals_core::{CheckedLedger, LedgerHash, LedgerRange, LedgerSeq};

use crate::store::Pin;

/// So many versions of one ledger are looked at; the rest is dropped.
const VERSIONS_MAX: usize = 4;

/// A sound ledger and the object that it came from.
pub(super) type Item = (Box<CheckedLedger>, String);

/// What was decided about one ledger.
pub(super) enum Choice {
    /// This version goes on.
    Taken(Item),
    /// Nothing tells the versions apart; they came from these objects.
    Undecided(LedgerSeq, Vec<String>),
}

/// The versions of two neighbouring ledgers of one gap, taken in ascending order.
pub(super) struct Rivals<'a> {
    pins: &'a [Pin],
    last: LedgerSeq,
    after: Option<LedgerHash>,
    /// The ledger chosen last, or the one below the gap.
    tip: Option<LedgerHash>,
    tip_seq: Option<LedgerSeq>,
    older: Vec<Item>,
    newer: Vec<Item>,
}

impl<'a> Rivals<'a> {
    pub(super) fn new(gap: LedgerRange, neighbours: Neighbours, pins: &'a [Pin]) -> Self {
        Self {
            pins,
            last: gap.to_inclusive(),
            after: neighbours.after,
            tip: neighbours.before,
            tip_seq: gap.from_inclusive().previous(),
            older: Vec::new(),
            newer: Vec::new(),
        }
    }

    /// Takes the next version; appends what is decided to `out`. False when the ledger's turn is over.
    pub(super) fn push(&mut self, item: Item, out: &mut Vec<Choice>) -> bool {
        let seq = item.0.seq;
        match self.newer.first().map(|held| held.0.seq) {
            Some(newest) if seq < newest => return false,
            Some(newest) if seq == newest => {
                let known = self.newer.iter().any(|held| held.0.hash == item.0.hash);
                if !known && self.newer.len() < VERSIONS_MAX {
                    self.newer.push(item);
                }
            }
            Some(_) => {
                self.choose(out);
                self.older = std::mem::replace(&mut self.newer, vec![item]);
            }
            None => self.newer.push(item),
        }
        true
    }

    /// Decides about everything that was taken.
    pub(super) fn finish(&mut self, out: &mut Vec<Choice>) {
        self.choose(out);
        self.older = std::mem::take(&mut self.newer);
        self.choose(out);
    }

    /// Decides about the older of the two ledgers.
    fn choose(&mut self, out: &mut Vec<Choice>) {
        let versions = std::mem::take(&mut self.older);
        let Some(seq) = versions.first().map(|item| item.0.seq) else { return };
        let best = versions.iter().map(|item| self.weight(item)).max();
        let (mut best, rest): (Vec<Item>, Vec<Item>) =
            versions.into_iter().partition(|item| Some(self.weight(item)) == best);
        match best.pop() {
            Some(item) if best.is_empty() => {
                (self.tip, self.tip_seq) = (Some(item.0.hash), Some(seq));
                for (ledger, object) in rest {
                    tracing::warn!("{object}: its ledger {} is passed over for one that links", ledger.seq);
                }
                out.push(Choice::Taken(item));
            }
            last => {
                let objects = best.into_iter().chain(last).map(|(_, object)| object).collect();
                out.push(Choice::Undecided(seq, objects));
            }
        }
    }

    fn weight(&self, (ledger, _): &Item) -> (bool, bool, bool) {
        let pinned = self.pins.iter().any(|pin| pin.seq == ledger.seq && pin.hash == ledger.hash);
        let next = ledger.seq.next();
        let follows = |item: &&Item| Some(item.0.seq) == next;
        let named = match self.after.filter(|_| ledger.seq == self.last) {
            Some(after) => after == ledger.hash,
            None => self.newer.iter().filter(follows).any(|item| item.0.previous_hash == ledger.hash),
        };
        let links =
            self.tip_seq.and_then(LedgerSeq::next) == Some(ledger.seq) && self.tip == Some(ledger.previous_hash);
        (pinned, named, links)
    }
}
