//! Finding a lake's layout where its manifest does not say it.

use annals_core::{LedgerRange, LedgerSeq};

use super::RemoteObjects;
use super::server::is_forbidden;
use crate::source::ObjectFaultKind;
use crate::source::lake::grid::Grid;
use crate::source::lake::objects::OBJECT_BYTES_MAX;

/// Layouts in use: ledgers an object, objects a partition. The first is that of the public lakes.
const LAYOUTS: [(u64, u64); 8] =
    [(1, 64_000), (1, 1), (64, 1), (64, 10), (64, 1_000), (1, 1_000), (10, 6_400), (8, 8_000)];

/// The layout under whose names objects of `range` are found; `claimed` is tried first. Both ends of the range and its
/// middle are looked for, so at most three objects a layout. What is forbidden may be absent, unless all there is is.
pub(super) fn find(
    objects: &RemoteObjects,
    claimed: Option<Grid>,
    range: LedgerRange,
) -> Result<Option<Grid>, ObjectFaultKind> {
    let (first, last) = (range.from_inclusive(), range.to_inclusive());
    let middle = first.get() + (last.get() - first.get()) / 2;
    let mut looked_for: Vec<LedgerSeq> =
        [Some(first), LedgerSeq::new(middle).ok(), Some(last)].into_iter().flatten().collect();
    looked_for.dedup();
    let known = LAYOUTS.into_iter().filter_map(|(per_object, per_partition)| Grid::new(per_object, per_partition));
    let mut forbidden = None;
    for grid in claimed.into_iter().chain(known) {
        for seq in &looked_for {
            let Some(slot) = grid.slot(*seq) else { continue };
            match objects.read(&slot, OBJECT_BYTES_MAX) {
                Ok(Some(_)) => return Ok(Some(grid)),
                Ok(None) => {}
                Err(ObjectFaultKind::Unreadable(cause)) if is_forbidden(&cause) => forbidden = Some(cause),
                Err(kind) => return Err(kind),
            }
        }
    }
    forbidden.map_or(Ok(None), |cause| Err(ObjectFaultKind::Unreadable(cause)))
}
