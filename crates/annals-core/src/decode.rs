//! Reading one `LedgerCloseMeta` into a view over its raw bytes.
//!
//! [`decode`] is the one door: it walks the structure (XDR files `Stellar-ledger.x` and
//! `Stellar-contract.x`), lets the typed decoder of `stellar-xdr` read each leaf, and keeps the *slice* of
//! everything that is hashed or stored. Each leaf's re-encoding must equal its slice, so that bytes which the
//! typed decoder merely tolerates (a bool of 2) are refused and two decoders can never see two ledgers.

mod changes;
mod close_meta;
mod event_view;
mod header;
mod reader;
mod result;
mod tx_meta;
mod tx_set;
mod walk;

pub use event_view::EventView;
pub use header::HeaderView;
pub(crate) use reader::DEPTH_MAX;
pub use reader::{DecodeError, DecodeFault};
pub use result::{ResultView, SuccessHash, result_pairs};
pub use tx_meta::{DiagnosticView, TransactionStage, TransactionView};
pub use tx_set::{EnvelopeView, TxSetView};

use reader::Reader;

/// One ledger as its bytes give it: decoded, nothing verified.
#[derive(Debug)]
pub struct LedgerView<'a> {
    /// The hash that the `LedgerHeaderHistoryEntry` claims.
    pub claimed_hash: [u8; 32],
    /// The header.
    pub header: HeaderView<'a>,
    /// The transaction set, in its own order.
    pub tx_set: TxSetView<'a>,
    /// The transactions with results and metas, in apply order.
    pub transactions: Vec<TransactionView<'a>>,
}

/// Decodes the XDR of one `LedgerCloseMeta` (V0–V2, `TransactionMeta` V0–V4) that fills `bytes`.
///
/// # Errors
/// [`DecodeError`] with the offset of the first part that could not be read: truncated, an unknown
/// discriminant, nested deeper than [`DEPTH_MAX`](reader::DEPTH_MAX), not canonical, or followed by more bytes.
pub fn decode(bytes: &[u8]) -> Result<LedgerView<'_>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let view = close_meta::read(&mut reader)?;
    reader.finish()?;
    Ok(view)
}

/// Tells how many bytes the `LedgerCloseMeta` at the front of `bytes` takes.
///
/// # Errors
/// [`DecodeError`] as [`decode`], but for trailing bytes.
pub fn ledger_len(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut reader = Reader::new(bytes);
    close_meta::read(&mut reader)?;
    Ok(reader.offset())
}

/// Reads no more than the header of the `LedgerCloseMeta` at the front of `bytes`.
///
/// # Errors
/// [`DecodeError`] as [`decode`].
pub fn peek_header(bytes: &[u8]) -> Result<HeaderView<'_>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let (_, _, header) = close_meta::read_front(&mut reader)?;
    Ok(header)
}

/// Reads the events of an `InvokeHostFunctionSuccessPreImage` that fills `xdr`.
///
/// # Errors
/// [`DecodeError`].
pub fn pre_image_events(xdr: &[u8]) -> Result<Vec<EventView<'_>>, DecodeError> {
    let mut reader = Reader::new(xdr);
    reader.skip::<stellar_xdr::ScVal>("InvokeHostFunctionSuccessPreImage.returnValue")?;
    let events = reader.array("InvokeHostFunctionSuccessPreImage.events", EventView::read)?;
    reader.finish()?;
    Ok(events)
}

/// Checks that `xdr` is one `ScVal` in its canonical encoding, and nothing more.
///
/// # Errors
/// [`DecodeError`].
pub fn check_value(xdr: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(xdr);
    reader.skip::<stellar_xdr::ScVal>("ScVal")?;
    reader.finish()
}
