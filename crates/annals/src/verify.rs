//! Re-hashing everything that an archive stores, offline.
//!
//! Every ledger row is hashed and linked again; where proof material is kept, every committed event is proven from
//! it to the header; where the archive keeps everything, each ledger's digest and census are made again.

mod fault;
mod ledger;

use annals_core::{Census, LedgerRange, LedgerSeq, Network, Scope};
use serde::Serialize;

use crate::anchor::ChainFooting;
use crate::backfill::Progress;
use crate::store::{AnchorKind, FeedPosition, Status, Store, StoreError, StoredLedger};

pub use fault::{Fault, FaultKind};

/// How many ledger rows are in memory at once.
const PAGE_LEDGERS: u32 = 256;
/// What commits may have changed meanwhile is counted so often.
const COUNTS_MAX: u32 = 64;
/// How many events are compared with their schemas in one snapshot.
const PAGE_AUDITED: u32 = 1000;
/// How many blocks of ledgers are digested again in one snapshot.
const BLOCKS_AUDITED: u32 = 4;
/// How many envelopes are compared with their transactions in one snapshot.
const PAGE_ENVELOPES: u32 = 256;
/// How many faults a report keeps; the rest is counted.
const FAULTS_KEPT_MAX: usize = 1000;

/// What was verified.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Ledgers whose rows were hashed.
    pub ledgers: u64,
    /// Events that were read, by the proof class they are stored with.
    pub events: Census,
    /// Ledgers of single contracts in which an uncommitted event that is gone would not be noticed: their digest
    /// is over the events of all contracts.
    pub undigested: u64,
    /// Contracts whose parties were compared with no schema: theirs was not given, is another than they were read with,
    /// or is not read to the end.
    pub uncompared: u64,
    /// What the chains of headers hang on, the lowest chain first.
    pub chains: Vec<ChainFooting>,
    /// What does not hold, up to a bound.
    pub faults: Vec<Fault>,
    /// How many things do not hold.
    pub faults_found: u64,
}

/// A [`Report`] as JSON.
#[derive(Debug, Serialize)]
pub struct ReportJson<'a> {
    ledgers: u64,
    events: u64,
    committed: u64,
    rewritten: u64,
    uncommitted: u64,
    unverified: u64,
    undigested: u64,
    uncompared: u64,
    chains: &'a [ChainFooting],
    faults: Vec<fault::FaultJson<'a>>,
    faults_found: u64,
}

impl Report {
    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> ReportJson<'_> {
        ReportJson {
            ledgers: self.ledgers,
            events: self.events.total(),
            committed: self.events.committed,
            rewritten: self.events.rewritten,
            uncommitted: self.events.uncommitted,
            unverified: self.events.unverified,
            undigested: self.undigested,
            uncompared: self.uncompared,
            chains: &self.chains,
            faults: self.faults.iter().map(Fault::to_json).collect(),
            faults_found: self.faults_found,
        }
    }
}

/// Verifies what the archive holds now; tells `on_fault` of each fault as it is found.
///
/// # Errors
/// [`StoreError`] when the archive cannot be read; what is read and does not hold is a fault and no error.
pub fn run(store: &dyn Store, progress: &dyn Progress, on_fault: &mut dyn FnMut(&Fault)) -> Result<Report, StoreError> {
    let status = store.status()?;
    let mut walk = Walk { store, progress, on_fault, report: Report::default(), before: None };
    progress.begin(status.verified.count(), 0);
    if let Some(passphrase) = &status.passphrase {
        let mut judge = ledger::Judge { network: Network::new(passphrase.as_str()), status: status.clone() };
        for range in status.verified.ranges() {
            walk.verify_range(*range, &mut judge)?;
        }
    }
    walk.report.chains = ChainFooting::of(&status).collect();
    walk.verify_anchors()?;
    walk.verify_outside(&status)?;
    walk.verify_envelopes()?;
    walk.verify_attribution(&status)?;
    walk.verify_digests(&status)?;
    walk.verify_totals(&status)?;
    progress.end();
    Ok(walk.report)
}

struct Walk<'a> {
    store: &'a dyn Store,
    progress: &'a dyn Progress,
    on_fault: &'a mut dyn FnMut(&Fault),
    report: Report,
    /// The row verified last.
    before: Option<StoredLedger>,
}

impl Walk<'_> {
    /// Verifies the rows of ledgers that are said to have one.
    fn verify_range(&mut self, range: LedgerRange, judge: &mut ledger::Judge) -> Result<(), StoreError> {
        let mut due = Some(range.from_inclusive());
        while let Some(from) = due {
            let rows = self.store.ledgers(from, PAGE_LEDGERS)?;
            let mut rows = rows.into_iter().take_while(|row| range.contains(row.seq)).peekable();
            if rows.peek().is_none() {
                self.note_missing(from, range.to_inclusive());
                return Ok(());
            }
            for row in rows {
                if let (Some(expected), Some(last)) = (due, row.seq.previous())
                    && expected < row.seq
                {
                    self.note_missing(expected, last);
                }
                due = row.seq.next().filter(|next| range.contains(*next));
                self.verify_ledger(row, judge)?;
            }
        }
        Ok(())
    }

    fn verify_ledger(&mut self, row: StoredLedger, judge: &mut ledger::Judge) -> Result<(), StoreError> {
        let mut verified = judge.verify(self.store, &row, self.before.as_ref())?;
        let mut row = row;
        if !verified.faults.is_empty() {
            // A commit in between may have made the ledger richer; only what still does not hold is a fault.
            let status = self.store.status()?;
            let again = self.store.ledgers(row.seq, 1)?.into_iter().find(|again| again.seq == row.seq);
            if let Some(again) = again.filter(|_| status.feed_position != judge.status.feed_position) {
                judge.status = status;
                row = again;
                verified = judge.verify(self.store, &row, self.before.as_ref())?;
            }
        }
        self.report.ledgers += 1;
        self.report.events.add(verified.events);
        self.report.undigested += u64::from(verified.undigested);
        self.progress.advance(1, verified.events.total());
        for fault in verified.faults {
            self.note(fault);
        }
        self.before = Some(row);
        Ok(())
    }

    /// Compares every hash that somebody confirmed with the stored one.
    fn verify_anchors(&mut self) -> Result<(), StoreError> {
        for kind in AnchorKind::ALL {
            let mut due = Some(LedgerSeq::MIN);
            while let Some(from) = due {
                let anchors = self.store.anchors(kind, from, PAGE_LEDGERS)?;
                due = anchors.last().and_then(|last| last.ledger.next());
                for anchor in anchors {
                    let ledger = anchor.ledger;
                    let row = self.store.ledgers(ledger, 1)?.into_iter().find(|row| row.seq == ledger);
                    if row.is_some_and(|row| row.hash != anchor.hash) {
                        let kind = FaultKind::AnchorContradicted { said: anchor.hash, said_by: anchor.said_by };
                        self.note(Fault { ledger, position: None, kind });
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts events over ledgers without a row, which nothing can prove, and looks for events where nothing was
    /// scanned.
    fn verify_outside(&mut self, status: &Status) -> Result<(), StoreError> {
        let covered = crate::marks::covered_by_any(status);
        for range in covered.difference(&status.verified).ranges() {
            let events = self.store.tally(&Scope::All, *range)?;
            let proven = events.committed + events.rewritten;
            self.report.events.add(events);
            if proven > 0 {
                let kind = FaultKind::ProvenWithoutRow { range: *range, events: proven };
                self.note(Fault { ledger: range.from_inclusive(), position: None, kind });
            }
        }
        for range in status.verified.difference(&covered).ranges() {
            let kind = FaultKind::RowWithoutCoverage { range: *range };
            self.note(Fault { ledger: range.from_inclusive(), position: None, kind });
        }
        for (range, events) in self.events_outside()? {
            let kind = FaultKind::EventsWithoutCoverage { range, events };
            self.note(Fault { ledger: range.from_inclusive(), position: None, kind });
        }
        Ok(())
    }

    /// Events where nothing was scanned: counted again where a commit came in between, since those of a new ledger lie
    /// outside of what was covered before it.
    fn events_outside(&self) -> Result<Vec<(LedgerRange, u64)>, StoreError> {
        let everywhere = LedgerRange::new(LedgerSeq::MIN, LedgerSeq::MAX);
        let mut found = Vec::new();
        for _ in 0..COUNTS_MAX {
            let status = self.store.status()?;
            let covered = crate::marks::covered_by_any(&status).union(&status.verified);
            found.clear();
            for range in everywhere.map(|all| covered.missing(all)).unwrap_or_default().ranges() {
                let events = self.store.tally(&Scope::All, *range)?.total();
                found.extend((events > 0).then_some((*range, events)));
            }
            if found.is_empty() || self.store.status()?.feed_position == status.feed_position {
                break;
            }
        }
        Ok(found)
    }

    /// Hashes the envelopes that are kept of transactions which are known by their events alone.
    fn verify_envelopes(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let audited = self.store.audit_envelopes(after, PAGE_ENVELOPES)?;
            for transaction in audited.wrong {
                let kind = FaultKind::Envelope { hash: transaction.hash };
                self.note(Fault { ledger: transaction.ledger, position: None, kind });
            }
            after = audited.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Compares what is attributed of every event with what its contract's schema says. A party of no event shows in
    /// the sum alone, which a commit in between changes.
    fn verify_attribution(&mut self, before: &Status) -> Result<(), StoreError> {
        let (mut after, mut named) = (FeedPosition(0), 0);
        loop {
            let audited = self.store.audit(after, PAGE_AUDITED)?;
            named += audited.parties;
            for position in audited.wrong {
                self.note(Fault { ledger: position.ledger(), position: Some(position), kind: FaultKind::Attribution });
            }
            if let Some(next) = audited.next {
                after = next;
                continue;
            }
            self.report.uncompared = audited.uncompared;
            let stored = audited.stored.filter(|stored| *stored != named);
            if let Some(stored) = stored.filter(|_| self.report.faults_found == 0)
                && self.store.status()?.feed_position == before.feed_position
            {
                let ledger = before.start.unwrap_or(LedgerSeq::MIN);
                let kind = FaultKind::AttributionTotals { stored, named };
                self.note(Fault { ledger, position: None, kind });
            }
            return Ok(());
        }
    }

    /// Digests again what the archive keeps digests of. Those of no event show in the sum alone, which a commit in between
    /// changes.
    fn verify_digests(&mut self, before: &Status) -> Result<(), StoreError> {
        let (mut after, mut compared) = (None, 0);
        loop {
            let audited = self.store.audit_digests(after, BLOCKS_AUDITED)?;
            compared += audited.compared;
            for (contract, range) in audited.wrong {
                let kind = FaultKind::HistoryDigest { contract, range };
                self.note(Fault { ledger: range.from_inclusive(), position: None, kind });
            }
            after = audited.next;
            let Some(kept) = audited.kept else { continue };
            if kept != compared && self.store.status()?.feed_position == before.feed_position {
                let ledger = before.start.unwrap_or(LedgerSeq::MIN);
                self.note(Fault { ledger, position: None, kind: FaultKind::HistoryDigests { kept, compared } });
            }
            return Ok(());
        }
    }

    /// Compares the numbers that the archive keeps of its events with those that were read. Where something else
    /// does not hold they differ anyway, and a commit in between changes them.
    fn verify_totals(&mut self, before: &Status) -> Result<(), StoreError> {
        let now = self.store.status()?;
        if self.report.faults_found > 0 || now.feed_position != before.feed_position {
            return Ok(());
        }
        if now.events != self.report.events {
            let (kept, read) = (now.events.total(), self.report.events.total());
            let ledger = now.start.unwrap_or(LedgerSeq::MIN);
            self.note(Fault { ledger, position: None, kind: FaultKind::Totals { kept, read } });
        }
        Ok(())
    }

    fn note_missing(&mut self, first: LedgerSeq, last: LedgerSeq) {
        if let Ok(range) = LedgerRange::new(first, last) {
            self.note(Fault { ledger: first, position: None, kind: FaultKind::MissingRow { range } });
        }
    }

    fn note(&mut self, fault: Fault) {
        (self.on_fault)(&fault);
        self.report.faults_found += 1;
        if self.report.faults.len() < FAULTS_KEPT_MAX {
            self.report.faults.push(fault);
        }
    }
}
