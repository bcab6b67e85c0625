//! The `LedgerCloseMeta` itself.

use stellar_xdr::{
    LedgerCloseMetaExt, LedgerEntry, LedgerHeaderHistoryEntryExt, LedgerKey, ScpHistoryEntry, UpgradeEntryMeta,
};

use super::LedgerView;
use super::header::HeaderView;
use super::reader::{DecodeError, Reader};
use super::tx_meta::TransactionView;
use super::tx_set::TxSetView;

/// The arms of the `LedgerCloseMeta` union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Protocols before 20.
    V0,
    /// Protocols 20 to 22.
    V1,
    /// Protocol 23 and later.
    V2,
}

/// Reads up to and including the header: version, claimed hash, header.
pub(super) fn read_front<'a>(reader: &mut Reader<'a>) -> Result<(Version, [u8; 32], HeaderView<'a>), DecodeError> {
    let start = reader.offset();
    let version = match reader.discriminant("LedgerCloseMeta")? {
        0 => Version::V0,
        1 => Version::V1,
        2 => Version::V2,
        other => return reader.unknown(start, "LedgerCloseMeta", other),
    };
    if version != Version::V0 {
        reader.skip::<LedgerCloseMetaExt>("LedgerCloseMeta.ext")?;
    }
    let claimed_hash = reader.hash("LedgerHeaderHistoryEntry.hash")?;
    let header = HeaderView::read(reader)?;
    reader.skip::<LedgerHeaderHistoryEntryExt>("LedgerHeaderHistoryEntry.ext")?;
    Ok((version, claimed_hash, header))
}

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<LedgerView<'a>, DecodeError> {
    let (version, claimed_hash, header) = read_front(reader)?;
    let tx_set = match version {
        Version::V0 => TxSetView::read_legacy(reader)?,
        Version::V1 | Version::V2 => TxSetView::read_generalized(reader)?,
    };
    let transactions = match version {
        Version::V0 | Version::V1 => reader.array("LedgerCloseMeta.txProcessing", TransactionView::read)?,
        Version::V2 => reader.array("LedgerCloseMeta.txProcessing", TransactionView::read_v1)?,
    };
    skip_array::<UpgradeEntryMeta>(reader, "LedgerCloseMeta.upgradesProcessing")?;
    skip_array::<ScpHistoryEntry>(reader, "LedgerCloseMeta.scpInfo")?;
    if version != Version::V0 {
        reader.skip::<u64>("LedgerCloseMeta.totalByteSizeOfLiveSorobanState")?;
        skip_array::<LedgerKey>(reader, "LedgerCloseMeta.evictedKeys")?;
    }
    if version == Version::V1 {
        skip_array::<LedgerEntry>(reader, "LedgerCloseMetaV1.unused")?;
    }
    Ok(LedgerView { claimed_hash, header, tx_set, transactions })
}

fn skip_array<T: stellar_xdr::ReadXdr + stellar_xdr::WriteXdr>(
    reader: &mut Reader<'_>,
    what: &'static str,
) -> Result<(), DecodeError> {
    reader.array(what, |reader| reader.skip::<T>(what).map(drop)).map(drop)
}
