//! How far one ledger reaches, and which one it is.

use annals_core::decode::DecodeError;
use stellar_xdr::{LedgerCloseMeta, LedgerCloseMetaExt, LedgerHeaderHistoryEntry, Limited, Limits, ReadXdr};

/// How deep the XDR of a ledger may nest.
const DEPTH_MAX: u32 = 1000;

type Reader<'a> = Limited<std::io::Cursor<&'a [u8]>>;

fn reader(bytes: &[u8]) -> Reader<'_> {
    Limited::new(std::io::Cursor::new(bytes), Limits { depth: DEPTH_MAX, len: bytes.len() })
}

fn offset(reader: &Reader<'_>) -> usize {
    usize::try_from(reader.inner.position()).expect("a cursor over a slice stays within it")
}

fn read<T: ReadXdr>(reader: &mut Reader<'_>, reason: &'static str) -> Result<T, DecodeError> {
    T::read_xdr(reader).map_err(|_| DecodeError { offset: offset(reader), reason })
}

/// The length in bytes of the `LedgerCloseMeta` at the front of `bytes`.
///
/// # Errors
/// [`DecodeError`] when none is there.
pub(super) fn ledger_len(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut reader = reader(bytes);
    read::<LedgerCloseMeta>(&mut reader, "no LedgerCloseMeta")?;
    Ok(offset(&reader))
}

/// The sequence number in the header of the `LedgerCloseMeta` at the front of `bytes`, of which only the part up to
/// the header's end is looked at.
///
/// # Errors
/// [`DecodeError`] when no header is there.
pub(super) fn header_seq(bytes: &[u8]) -> Result<u32, DecodeError> {
    let mut reader = reader(bytes);
    match read::<i32>(&mut reader, "no LedgerCloseMeta")? {
        0 => {}
        1 | 2 => {
            read::<LedgerCloseMetaExt>(&mut reader, "no LedgerCloseMetaExt")?;
        }
        _ => return Err(DecodeError { offset: 0, reason: "an unknown version of LedgerCloseMeta" }),
    }
    Ok(read::<LedgerHeaderHistoryEntry>(&mut reader, "no LedgerHeaderHistoryEntry")?.header.ledger_seq)
}
