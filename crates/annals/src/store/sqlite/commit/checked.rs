//! Checked ledgers: rows, links, network, upgrades, and which coverage they open.
//!
//! What a ledger does depends on what is stored of it. `classic_events` orders the versions of one ledger:
//! `absent` < `inconsistent` < `present`.
//!
//! | stored row | offered | events | row | coverage |
//! |---|---|---|---|---|
//! | none | any | stored; unverified ones take the batch's class | made | opens |
//! | same | same digest | those of new keys stored; unverified ones take the batch's class | stays | opens |
//! | same | another digest | – | incident | – |
//! | poorer | richer | stored, classes and rewritten forms taken from the batch | replaced if the batch's scope takes in every key that covers the ledger, else it stays | opens |
//! | richer | poorer | bytes compared, nothing stored | stays | opens only where all contracts are scanned already |
//!
//! The last two rules keep the row from saying `present` over a contract whose classic events nobody brought. A
//! key that a poorer ledger cannot open stays on the list of gaps, with the reason. Under `--classic drop` there
//! are no classic events to miss: a poorer ledger then counts as the same, and a richer one always replaces.

use annals_core::{
    Batch, CheckedLedger, ClassicEvents, ClassicPolicy, EventsDigest, LedgerRange, NetworkProof, Scope, ScopeKey,
};
use rusqlite::Connection;

use super::merge::{self, Upgrade};
use super::{Halt, Progress, open};
use crate::store::sqlite::events::EventTable;
use crate::store::sqlite::incidents::Contradiction;
use crate::store::sqlite::ledgers::{self, Provenance};
use crate::store::sqlite::{gaps, proofs, ranges};
use crate::store::{GapFailure, IncidentKind, Pin, StoreError, StoredLedger};

/// The code of a gap that only a source with classic events can fill.
const CLASSIC_EVENTS_ABSENT: &str = "CLASSIC_EVENTS_ABSENT";

/// How an offered ledger stands to the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    New,
    Same,
    /// Replaces the stored row.
    Richer,
    /// Richer, but some key that covers the ledger is not in the batch's scope.
    RicherBeside,
    Poorer,
}

pub(super) fn store(
    connection: &Connection,
    batch: &Batch,
    offered: &[CheckedLedger],
    progress: &mut Progress<'_>,
    now_ms: u64,
) -> Result<(), Halt> {
    let pins = ledgers::pins(connection)?;
    check_pins(offered, &pins)?;
    let mut stored = Vec::with_capacity(offered.len());
    for ledger in offered {
        let row = ledgers::get(connection, ledger.seq)?;
        check_hash(ledger, row.as_ref())?;
        stored.push(row);
    }
    let linked = check_links(connection, batch.range(), offered)?;
    let proven = linked
        || stored.iter().any(Option::is_some)
        || offered.iter().any(|ledger| ledger.network_proof == NetworkProof::Proven || is_pinned(ledger, &pins))
        || offered.first().is_some_and(|first| pin_below(first, &pins).is_some());
    if !proven {
        return Err(StoreError::NetworkUnproven { seq: batch.range().from_inclusive() }.into());
    }
    for ledger in offered {
        for creation in &ledger.creations {
            let position = progress.next_position();
            progress.changed |= progress.attribution.created(*creation, ledger.seq, position)?;
        }
    }
    let relations = merge_events(connection, batch, offered, &stored, progress)?;
    for (ledger, relation) in offered.iter().zip(&relations) {
        // Rows take no number of their own, so that all carry the commit's.
        let feed_position = progress.next_position();
        let row = Provenance { source: batch.source(), feed_position };
        write_row(connection, ledger, *relation, &row, progress)?;
        // What another key holds of the ledger came from a source that proves nothing, so that the ledger is not
        // verified for that one, and `verified` is said of all keys together.
        if !matches!(relation, Relation::Poorer | Relation::RicherBeside)
            && takes_every_key(connection, batch.scope(), ledger)?
        {
            progress.grant(connection, ranges::VERIFIED, LedgerRange::single(ledger.seq))?;
        }
    }
    for key in batch.scope().keys() {
        open_key(connection, key, batch, offered, &relations, progress, now_ms)?;
    }
    Ok(())
}

fn check_pins(offered: &[CheckedLedger], pins: &[Pin]) -> Result<(), StoreError> {
    for ledger in offered {
        let pin = pins.iter().find(|pin| pin.seq == ledger.seq && pin.hash != ledger.hash);
        if let Some(pin) = pin {
            let (pinned, found) = (pin.hash.to_string(), ledger.hash.to_string());
            return Err(StoreError::PinContradicted { seq: ledger.seq, pinned, found });
        }
    }
    // Inside, the links were checked; below its first ledger only a pin knows what must be there.
    let first = offered.first().and_then(|first| Some((first, pin_below(first, pins)?)));
    match first.filter(|(first, pin)| first.previous_hash != pin.hash) {
        Some((first, pin)) => {
            let (pinned, found) = (pin.hash.to_string(), first.previous_hash.to_string());
            Err(StoreError::PinContradicted { seq: pin.seq, pinned, found })
        }
        None => Ok(()),
    }
}

fn pin_below<'a>(ledger: &CheckedLedger, pins: &'a [Pin]) -> Option<&'a Pin> {
    pins.iter().find(|pin| Some(pin.seq) == ledger.seq.previous())
}

fn is_pinned(ledger: &CheckedLedger, pins: &[Pin]) -> bool {
    pins.iter().any(|pin| pin.seq == ledger.seq && pin.hash == ledger.hash)
}

fn check_hash(offered: &CheckedLedger, stored: Option<&StoredLedger>) -> Result<(), Halt> {
    match stored.filter(|row| row.hash != offered.hash) {
        Some(row) => Err(Contradiction {
            kind: IncidentKind::LedgerHash,
            ledger: offered.seq,
            position: None,
            stored_xdr: row.header_xdr.clone(),
            offered_xdr: offered.header_xdr.clone(),
            stored_tx_hash: None,
            offered_tx_hash: None,
        }
        .into()),
        None => Ok(()),
    }
}

/// Checks the links to the stored neighbours; tells whether there is one. Inside, a batch links by construction.
fn check_links(connection: &Connection, range: LedgerRange, offered: &[CheckedLedger]) -> Result<bool, StoreError> {
    let neighbours = ledgers::neighbours(connection, range)?;
    let (Some(first), Some(last)) = (offered.first(), offered.last()) else { return Ok(false) };
    if let (Some(stored), Some(hash)) = (first.seq.previous(), neighbours.before)
        && hash != first.previous_hash
    {
        return Err(StoreError::DoesNotLink { seq: first.seq, stored });
    }
    if let (Some(stored), Some(hash)) = (last.seq.next(), neighbours.after)
        && hash != last.hash
    {
        return Err(StoreError::DoesNotLink { seq: last.seq, stored });
    }
    Ok(neighbours.before.is_some() || neighbours.after.is_some())
}

fn merge_events(
    connection: &Connection,
    batch: &Batch,
    offered: &[CheckedLedger],
    stored: &[Option<StoredLedger>],
    progress: &mut Progress<'_>,
) -> Result<Vec<Relation>, Halt> {
    let mut table = EventTable::new(connection)?;
    let mut relations = Vec::with_capacity(offered.len());
    for (ledger, row) in offered.iter().zip(stored) {
        let relation = relate(connection, batch, &mut table, ledger, row.as_ref())?;
        let upgrade = match relation {
            Relation::New | Relation::Same => Upgrade::Unverified,
            Relation::Richer | Relation::RicherBeside => Upgrade::All,
            Relation::Poorer => Upgrade::Nothing,
        };
        merge::check_stored(connection, batch.scope(), ledger, upgrade, progress)?;
        merge::store_events(&mut table, &ledger.events, upgrade, progress)?;
        relations.push(relation);
    }
    Ok(relations)
}

fn relate(
    connection: &Connection,
    batch: &Batch,
    table: &mut EventTable<'_>,
    offered: &CheckedLedger,
    stored: Option<&StoredLedger>,
) -> Result<Relation, Halt> {
    let Some(stored) = stored else { return Ok(Relation::New) };
    let drops = batch.classic() == ClassicPolicy::Drop;
    let (new, old) = (richness(offered.classic_events), richness(stored.classic_events));
    if new > old {
        let replaces = drops || takes_every_key(connection, batch.scope(), offered)?;
        return Ok(if replaces { Relation::Richer } else { Relation::RicherBeside });
    }
    if new < old {
        return Ok(if drops { Relation::Same } else { Relation::Poorer });
    }
    if stored.digest_version == EventsDigest::VERSION && stored.digest != offered.digest {
        return Err(merge::find_difference(connection, batch.scope(), table, offered)?.into());
    }
    Ok(Relation::Same)
}

fn richness(classic: ClassicEvents) -> u8 {
    match classic {
        ClassicEvents::Absent => 0,
        ClassicEvents::Inconsistent => 1,
        ClassicEvents::Present => 2,
    }
}

fn takes_every_key(connection: &Connection, scope: &Scope, ledger: &CheckedLedger) -> Result<bool, StoreError> {
    let keys = ranges::keys_over(connection, ledger.seq)?;
    Ok(keys.iter().all(|key| match (scope, key) {
        (Scope::All, _) => true,
        (Scope::Contracts(_), ScopeKey::All) => false,
        (Scope::Contracts(contracts), ScopeKey::Contract(contract)) => contracts.contains(contract),
    }))
}

fn write_row(
    connection: &Connection,
    ledger: &CheckedLedger,
    relation: Relation,
    row: &Provenance<'_>,
    progress: &mut Progress<'_>,
) -> Result<(), StoreError> {
    if matches!(relation, Relation::New | Relation::Richer) {
        ledgers::put(connection, ledger, row)?;
        ledgers::record_first(connection, ledger)?;
        progress.ledgers_written += 1;
        progress.changed = true;
    }
    let provable = relation != Relation::Poorer && ledger.events.iter().any(|event| event.proof.is_proven());
    if provable && (relation == Relation::Richer || !proofs::exists(connection, ledger.seq)?) {
        proofs::put(connection, ledger.seq, &ledger.proof)?;
        progress.changed = true;
    }
    Ok(())
}

/// Opens the coverage of `key` over the batch, apart from ledgers that are too poor for it.
fn open_key(
    connection: &Connection,
    key: ScopeKey,
    batch: &Batch,
    offered: &[CheckedLedger],
    relations: &[Relation],
    progress: &mut Progress<'_>,
    now_ms: u64,
) -> Result<(), StoreError> {
    let mut openable = annals_core::Coverage::from_iter([batch.range()]);
    let scanned = ranges::scanned_for(connection, key, batch.range())?;
    for (ledger, relation) in offered.iter().zip(relations) {
        if *relation != Relation::Poorer || scanned.contains(ledger.seq) {
            continue;
        }
        openable.remove(LedgerRange::single(ledger.seq));
        let failure = GapFailure {
            range: LedgerRange::single(ledger.seq),
            code: CLASSIC_EVENTS_ABSENT.to_owned(),
            message: format!(
                "ledger {} is stored with classic events and {} lacks them: use a source that has them",
                ledger.seq,
                batch.source()
            ),
        };
        gaps::fail(connection, key, &failure, now_ms)?;
    }
    for range in openable.ranges() {
        open(connection, key, *range, progress, now_ms)?;
    }
    Ok(())
}
