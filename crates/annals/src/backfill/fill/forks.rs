//! Telling a source of another chain before any of it is stored.
//!
//! A gap is filled upwards, and hashes prove downwards: a chain would be stored up to the stored ledger above the gap
//! before it is seen not to link to that. The gap's last ledger tells beforehand, and so does one that is pinned.

use std::collections::BTreeMap;

use annals_core::{ChainFault, Coverage, LedgerHash, LedgerRange, LedgerSeq};

use super::Filler;
use super::failures::NOT_TIED;
use crate::backfill::{BackfillError, pipeline};
use crate::store::{GapFailure, StoreError};

/// No object of a lake commonly holds more ledgers.
const OBJECT_LEDGERS_USUAL: u32 = 64;

/// The hash that is demanded of each gap's last ledger; none where nothing is known to stand above.
#[derive(Default)]
pub(super) struct Tops(BTreeMap<LedgerSeq, Option<LedgerHash>>);

impl Tops {
    /// Whether what is demanded of a gap that ends with `last` is what the source was judged by.
    pub(super) fn still_hold(&self, last: LedgerSeq, after: Option<LedgerHash>) -> bool {
        self.0.get(&last).is_none_or(|judged| *judged == after)
    }
}

/// A sound ledger of the source's, and the object that it came from.
type Version = (LedgerHash, String);

impl Filler<'_> {
    pub(super) fn tops(&self, wanted: &Coverage) -> Result<Tops, StoreError> {
        let top = |gap: &LedgerRange| Ok((gap.to_inclusive(), self.neighbours(*gap)?.after));
        wanted.ranges().iter().map(top).collect::<Result<_, _>>().map(Tops)
    }

    /// The gaps that the source would fill with another chain than that of the stored ledger above them, or of a pin.
    pub(super) fn forks(&self, wanted: &Coverage, tops: &Tops) -> Result<Vec<GapFailure>, BackfillError> {
        let mut demanded = BTreeMap::new();
        // The chain itself refuses the last ledger, which is all of a gap of one.
        let long = wanted.ranges().iter().filter(|gap| gap.count() > 1).map(|gap| gap.to_inclusive());
        demanded.extend(long.filter_map(|last| Some((last, (*tops.0.get(&last)?)?))));
        let pins = self.job.pins.iter().filter(|pin| wanted.contains(pin.seq));
        demanded.extend(pins.map(|pin| (pin.seq, pin.hash)));
        let given = self.versions(&demanded.keys().map(|seq| LedgerRange::single(*seq)).collect())?;
        let mut forks: Vec<GapFailure> = Vec::new();
        for (seq, hash) in demanded {
            let versions = given.get(&seq).map(Vec::as_slice).unwrap_or_default();
            // Where objects overlap, one that agrees is enough: filling the gap passes the others over.
            let Some((found, object)) = versions.first().filter(|_| versions.iter().all(|(given, _)| *given != hash))
            else {
                continue;
            };
            let gap = wanted.ranges().iter().find(|gap| gap.contains(seq));
            let Some(gap) = gap.filter(|gap| forks.last().is_none_or(|fork| fork.range != **gap)) else { continue };
            forks.push(self.fork(*gap, seq, *found, object));
        }
        if self.demand.tied {
            let shown = |seq: &LedgerSeq| given.contains_key(seq);
            let is_open = |gap: &&LedgerRange| gap.count() > 1 && forks.iter().all(|fork| fork.range != **gap);
            for gap in wanted.ranges().iter().filter(is_open).copied().collect::<Vec<_>>() {
                let is_shown = tops.0.range(gap.from_inclusive()..=gap.to_inclusive()).any(|(seq, _)| shown(seq));
                let is_pinned = self.job.pins.iter().any(|pin| gap.contains(pin.seq) && shown(&pin.seq));
                if !is_shown && !is_pinned && !self.is_tied(gap)? {
                    forks.push(self.untied(gap));
                }
            }
            forks.sort_by_key(|fork| fork.range);
        }
        Ok(forks)
    }

    /// Whether what the source has of a gap hangs on what is stored: on the ledger below, or on a chain above of which the
    /// source shows a ledger. A lake may lack the gap's last object alone.
    fn is_tied(&self, gap: LedgerRange) -> Result<bool, BackfillError> {
        let neighbours = self.neighbours(gap)?;
        let (None, Some(_), Some(above)) = (neighbours.before, neighbours.after, gap.to_inclusive().next()) else {
            return Ok(true);
        };
        let status = self.store.status()?;
        let Some(chain) = status.verified.ranges().iter().find(|range| range.contains(above)) else { return Ok(false) };
        let further = LedgerSeq::new(above.get().saturating_add(OBJECT_LEDGERS_USUAL)).unwrap_or(LedgerSeq::MAX);
        let newest = chain.to_inclusive();
        for seq in [above, further.min(newest), newest] {
            let stored = self.store.ledgers(seq, 1)?.first().map(|row| row.hash);
            let versions = self.versions(&Coverage::from_iter([LedgerRange::single(seq)]))?;
            if let Some(versions) = versions.get(&seq) {
                return Ok(versions.iter().any(|(given, _)| Some(*given) == stored));
            }
        }
        Ok(false)
    }

    fn untied(&self, gap: LedgerRange) -> GapFailure {
        let message = format!(
            "{} has nothing of the chain that is stored above ledger {}, so that its ledgers may be of any: --pin \
             LEDGER:HASH of one of them, or name a source that reaches up to there",
            self.source_name,
            gap.to_inclusive()
        );
        GapFailure { range: gap, code: NOT_TIED.to_owned(), message }
    }

    fn fork(&self, gap: LedgerRange, seq: LedgerSeq, found: LedgerHash, object: &str) -> GapFailure {
        let pin = self.job.pins.iter().find(|pin| pin.seq == seq && pin.hash != found);
        let (code, fault) = match pin.map(|pin| pin.hash.to_string()) {
            Some(pinned) => {
                let fault = StoreError::PinContradicted { seq, pinned, found: found.to_string() };
                (fault.code(), fault.to_string())
            }
            None => {
                let fault = ChainFault::ContradictsStored { stored: seq.next().unwrap_or(seq) };
                (fault.code(), format!("ledger {seq}: {fault}"))
            }
        };
        GapFailure { range: gap, code: code.to_owned(), message: format!("{object}: {fault}") }
    }

    /// The sound versions that the source holds of these ledgers. An object that cannot be read says nothing here; filling
    /// the gap names it.
    fn versions(&self, asked: &Coverage) -> Result<BTreeMap<LedgerSeq, Vec<Version>>, BackfillError> {
        let singles = asked.ranges().iter().flat_map(|range| range.iter());
        let readings = match self.source.reads_whole() {
            true => vec![asked.clone()],
            false => singles.map(|seq| Coverage::from_iter([LedgerRange::single(seq)])).collect(),
        };
        let mut versions = BTreeMap::<LedgerSeq, Vec<Version>>::new();
        for reading in readings {
            pipeline::run(self.source, &reading, &self.job.network, |object| {
                let Ok(checked) = object else { return Ok::<(), BackfillError>(()) };
                let sound = checked.ledgers.into_iter().filter_map(|outcome| outcome.ledger.ok());
                for ledger in sound.filter(|ledger| reading.contains(ledger.seq)) {
                    versions.entry(ledger.seq).or_default().push((ledger.hash, checked.object.clone()));
                }
                Ok(())
            })?;
        }
        Ok(versions)
    }
}
