//! Takes one object apart into the raw bytes of its ledgers.

use annals_core::decode::{DecodeError, DecodeFault, ledger_len, peek_header};
use annals_core::{LedgerRange, LedgerSeq};

use super::zstd_frames::decompress;
use super::{LedgerObject, ObjectEncoding, ObjectFault, ObjectFaultKind, RawLedger};

/// The most that an object may hold once decompressed, bytes: 1 GiB, about a thousand full ledgers of today.
const BATCH_BYTES_MAX: usize = 1 << 30;

/// Length of what stands before a batch's ledgers: `startSequence`, `endSequence` and their count, bytes.
const BATCH_HEADER_LEN: usize = 12;

/// What a batch is that ends before its first ledger.
const CUT_OFF: DecodeError = DecodeError { offset: 0, what: "LedgerCloseMetaBatch", fault: DecodeFault::Truncated };

impl LedgerObject {
    /// Takes the object apart. The ledgers' bytes are those of the object, not re-encoded.
    ///
    /// Of a batch of one ledger everything after the batch's header is that ledger; whoever decodes it must see
    /// that nothing is left over. What a batch says about itself is believed over its name, and where the two
    /// disagree the whole object is refused.
    ///
    /// # Errors
    /// [`ObjectFault`] names the object and the ledgers that its name promises.
    pub fn into_ledgers(self) -> Result<Vec<RawLedger>, ObjectFault> {
        let Self { name, named, encoding, bytes } = self;
        let ledgers = match encoding {
            ObjectEncoding::ZstdBatch => {
                decompress(&bytes, BATCH_BYTES_MAX).and_then(|batch| split_batch(batch, named))
            }
            ObjectEncoding::Ledger => header_seq_of(&bytes).and_then(|seq| match named {
                Some(named) if named != LedgerRange::single(seq) => {
                    Err(ObjectFaultKind::NameContradicted { named, start: seq.get(), end: seq.get() })
                }
                _ => Ok(vec![RawLedger { seq: Some(seq), bytes }]),
            }),
        };
        ledgers.map_err(|kind| ObjectFault { object: name, range: named, kind })
    }
}

/// The sequence number that a ledger's own header gives.
pub(super) fn header_seq_of(ledger: &[u8]) -> Result<LedgerSeq, ObjectFaultKind> {
    let seq = peek_header(ledger).map_err(ObjectFaultKind::Undecodable)?.seq;
    LedgerSeq::new(seq).map_err(|_| ObjectFaultKind::ImpossibleLedgers { start: seq, end: seq })
}

/// Splits XDR of a `LedgerCloseMetaBatch` (SEP-54, Stellar-exporter.x).
fn split_batch(mut batch: Vec<u8>, named: Option<LedgerRange>) -> Result<Vec<RawLedger>, ObjectFaultKind> {
    let [start, end, count] = batch_header(&batch).ok_or(ObjectFaultKind::Undecodable(CUT_OFF))?;
    let inner = LedgerSeq::new(start).and_then(|from| LedgerRange::new(from, LedgerSeq::new(end)?));
    let range = match (inner, named) {
        (Ok(inner), Some(named)) if inner == named => inner,
        (Ok(inner), None) => inner,
        (_, Some(named)) => return Err(ObjectFaultKind::NameContradicted { named, start, end }),
        (Err(_), None) => return Err(ObjectFaultKind::ImpossibleLedgers { start, end }),
    };
    if u64::from(count) != range.count() {
        return Err(ObjectFaultKind::Miscounted { promised: range.count(), count });
    }
    if count == 1 {
        batch.drain(..BATCH_HEADER_LEN);
        return Ok(vec![RawLedger { seq: Some(range.from_inclusive()), bytes: batch }]);
    }
    let mut ledgers = Vec::new();
    let mut at = BATCH_HEADER_LEN;
    for seq in range.iter() {
        let rest = &batch[at..];
        let len = ledger_len(rest)
            .map_err(|fault| ObjectFaultKind::Undecodable(DecodeError { offset: at + fault.offset, ..fault }))?;
        ledgers.push(RawLedger { seq: Some(seq), bytes: rest[..len].to_vec() });
        at += len;
    }
    if at == batch.len() { Ok(ledgers) } else { Err(ObjectFaultKind::TrailingBytes) }
}

fn batch_header(batch: &[u8]) -> Option<[u32; 3]> {
    let (words, _) = batch.split_at_checked(BATCH_HEADER_LEN)?.0.as_chunks::<4>();
    let words: [[u8; 4]; 3] = words.try_into().ok()?;
    Some(words.map(u32::from_be_bytes))
}

#[cfg(test)]
mod tests;
