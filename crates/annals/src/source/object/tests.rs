use proptest::prelude::*;

use super::*;
use crate::source::fixtures::{batch, compressed, ledger, object, range};

fn parse(bytes: Vec<u8>, named: Option<LedgerRange>) -> Result<Vec<RawLedger>, ObjectFault> {
    LedgerObject { name: "it".to_owned(), named, encoding: ObjectEncoding::ZstdBatch, bytes }.into_ledgers()
}

#[test]
fn the_bytes_of_each_ledger_are_those_of_the_batch() {
    let ledgers = parse(object(64, 66), Some(range(64, 66))).unwrap();
    let expected: Vec<RawLedger> =
        (64..=66).map(|seq| RawLedger { seq: LedgerSeq::new(seq).ok(), bytes: ledger(seq) }).collect();
    assert_eq!(ledgers, expected);
    assert_eq!(parse(object(64, 64), None).unwrap(), expected[..1]);
}

#[test]
fn a_batch_of_one_ledger_is_split_without_being_decoded() {
    let mut inner = batch(64, 64);
    inner.truncate(BATCH_HEADER_LEN);
    inner.extend(b"no ledger at all");
    assert_eq!(parse(compressed(&inner), None).unwrap()[0].bytes, b"no ledger at all");
}

#[test]
fn a_batch_without_a_name_is_still_of_possible_ledgers() {
    for (start, end) in [(0, 1), (5, 4), (1 << 31, 1 << 31)] {
        let mut inner = batch(64, 64);
        inner[..4].copy_from_slice(&u32::to_be_bytes(start));
        inner[4..8].copy_from_slice(&u32::to_be_bytes(end));
        assert_eq!(parse(compressed(&inner), None).unwrap_err().code(), "UNDECODABLE_OBJECT");
    }
}

#[test]
fn a_count_beyond_all_reason_costs_nothing() {
    let header = [2_u32, 2_147_483_647, 2_147_483_646].into_iter().flat_map(u32::to_be_bytes);
    let inner: Vec<u8> = header.chain(ledger(2)).collect();
    assert_eq!(parse(compressed(&inner), None).unwrap_err().code(), "UNDECODABLE_OBJECT");
}

#[test]
fn a_fault_carries_its_cause_without_repeating_it() {
    let mut fault = parse(compressed(&[0; 3]), Some(range(64, 66))).unwrap_err();
    assert_eq!(fault.to_string(), "it: its XDR does not decode");
    assert_eq!(std::error::Error::source(&fault).unwrap().to_string(), CUT_OFF.to_string());
    fault.kind = ObjectFaultKind::Empty;
    assert!(std::error::Error::source(&fault).is_none());
}

#[test]
fn an_object_cut_anywhere_is_a_fault() {
    let whole = object(64, 66);
    for cut in 0..whole.len() {
        let fault = parse(whole[..cut].to_vec(), Some(range(64, 66))).unwrap_err();
        assert_eq!(fault.code(), if cut == 0 { "EMPTY_OBJECT" } else { "TRUNCATED_OBJECT" }, "cut at {cut}");
    }
}

/// zstd that carries a checksum of its content.
fn checksummed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// What zstd lets through is split by the batch's own numbers, and these are the name's.
    #[test]
    fn a_flipped_byte_never_panics_and_never_changes_which_ledgers_are_given(
        at in any::<prop::sample::Index>(),
        flip in 1_u8..,
        cut in any::<prop::sample::Index>(),
    ) {
        let named = range(64, 66);
        let mut bytes = object(64, 66);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(ledgers) = parse(bytes.clone(), Some(named)) {
            prop_assert!(ledgers.iter().map(|ledger| ledger.seq.unwrap()).eq(named.iter()));
        }
        bytes.truncate(cut.index(bytes.len()));
        if let Ok(ledgers) = parse(bytes, Some(named)) {
            prop_assert!(ledgers.iter().map(|ledger| ledger.seq.unwrap()).eq(named.iter()));
        }
        // Where the exporter wrote a checksum, a flipped byte gives the very same ledgers or none.
        let mut bytes = checksummed(&batch(64, 66));
        let at = at.min(bytes.len() - 1);
        bytes[at] ^= flip;
        if let Ok(ledgers) = parse(bytes, Some(named)) {
            prop_assert_eq!(ledgers, parse(object(64, 66), Some(named)).unwrap());
        }
    }

    /// The same inside the compression, where no checksum stands before the splitting.
    #[test]
    fn any_batch_that_splits_is_split_whole_and_in_order(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut inner = batch(64, 66);
        let at = at.index(inner.len());
        inner[at] ^= flip;
        if let Ok(ledgers) = split_batch(inner.clone(), Some(range(64, 66))) {
            prop_assert!(ledgers.iter().map(|ledger| ledger.seq.unwrap().get()).eq(64..=66));
            let bytes: Vec<u8> = ledgers.into_iter().flat_map(|ledger| ledger.bytes).collect();
            prop_assert_eq!(&bytes[..], &inner[BATCH_HEADER_LEN..]);
        }
    }
}
