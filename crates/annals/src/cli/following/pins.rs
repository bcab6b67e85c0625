//! Whether the hashes that an operator vouches for are those of the chain.

use annals_core::{LedgerRange, LedgerSeq};

use crate::backfill::{self, Job};
use crate::cli::error::CliError;
use crate::follow::FollowJob;
use crate::source::LedgerSource;
use crate::store::{SqliteStore, Store as _, StoreError};

/// Refuses a pin that contradicts an earlier one, a stored ledger, or what the source gives for it. A ledger that is
/// nowhere yet is compared when it comes.
pub(super) fn check(job: &FollowJob, store: Option<&SqliteStore>, source: &dyn LedgerSource) -> Result<(), CliError> {
    if job.pins.is_empty() {
        return Ok(());
    }
    if let Some(store) = store {
        check_stored(job, store)?;
    }
    let range = LedgerRange::new(LedgerSeq::MIN, LedgerSeq::MAX).expect("the lowest ledger lies below the highest");
    let FollowJob { network, scope, classic, pins, .. } = job.clone();
    Ok(backfill::check_source(&Job { network, scope, classic, range, pins }, source)?)
}

fn check_stored(job: &FollowJob, store: &SqliteStore) -> Result<(), StoreError> {
    let before = store.status()?.pins;
    for pin in &job.pins {
        if let Some(earlier) = before.iter().find(|earlier| earlier.seq == pin.seq && earlier.hash != pin.hash) {
            let (earlier, asked) = (earlier.hash.to_string(), pin.hash.to_string());
            return Err(StoreError::PinnedOtherwise { seq: pin.seq, earlier, asked });
        }
        let stored = store.ledgers(pin.seq, 1)?;
        if let Some(found) = stored.first().filter(|ledger| ledger.seq == pin.seq && ledger.hash != pin.hash) {
            let (pinned, found) = (pin.hash.to_string(), found.hash.to_string());
            return Err(StoreError::PinContradicted { seq: pin.seq, pinned, found });
        }
    }
    Ok(())
}
