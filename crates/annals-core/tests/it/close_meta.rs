//! Words of a `LedgerCloseMeta` that no version knows, each at its place.

use annals_core::check_ledger;
use annals_core::decode::{DecodeError, DecodeFault, EventView, LedgerView, decode};
use annals_sim::value::{contract, i128, symbol};
use annals_sim::{EventPlan, Format, LedgerPlan, TxPlan};
use stellar_xdr::ScVal;

use crate::built::{chain, network};

/// A ledger with a classic and a contract transaction, diagnostics, and a bool in an event.
fn ledger(format: Format) -> Vec<u8> {
    let transfer = EventPlan::transfer(contract(1), [1; 32], [2; 32], 5);
    let flag = EventPlan::new(contract(1), vec![symbol("flag"), ScVal::Bool(true)], i128(1));
    let payment = TxPlan::payments(vec![vec![transfer.clone()]]);
    let mut call = TxPlan::invocation(contract(1), vec![flag]).with_diagnostics();
    call.after_tx.push(transfer);
    chain(format).push(&LedgerPlan::new(vec![payment, call])).xdr
}

/// Where `part` begins in `whole`.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

fn word_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// What decoding says once the word at the place that `find` gives, which is `was`, is `word`.
fn with_word(bytes: &[u8], find: impl FnOnce(&LedgerView<'_>) -> usize, was: u32, word: u32) -> DecodeError {
    let at = find(&decode(bytes).unwrap());
    assert_eq!(word_at(bytes, at), was, "the place is the one that was meant");
    let mut changed = bytes.to_vec();
    changed[at..at + 4].copy_from_slice(&word.to_be_bytes());
    assert_eq!(check_ledger(&changed, &network()).unwrap_err().code(), "UNDECODABLE_LEDGER");
    decode(&changed).unwrap_err()
}

fn unknown(word: u32) -> DecodeFault {
    DecodeFault::UnknownDiscriminant(word.cast_signed())
}

/// Where the meta of the last transaction begins: behind its result and its empty fee changes.
fn meta_of_last(bytes: &[u8], view: &LedgerView<'_>) -> usize {
    let result = view.transactions.last().unwrap().result.xdr;
    offset(bytes, result) + result.len() + 4
}

/// Where an event's topics are counted, and its body's discriminant one word before.
fn topics_of(bytes: &[u8], event: &EventView<'_>) -> usize {
    offset(bytes, event.topics[0]) - 4
}

/// The event with the bool, among the operation's.
fn flag<'v, 'a>(view: &'v LedgerView<'a>) -> &'v EventView<'a> {
    view.transactions.last().unwrap().operations[0].last().unwrap()
}

#[test]
fn an_unknown_discriminant_is_refused_at_each_union_that_is_walked_by_hand() {
    let bytes = &ledger(Format::V2Meta4);
    for word in [3, 4, u32::MAX] {
        let error = with_word(bytes, |_| 0, 2, word);
        assert_eq!((error.fault, error.offset), (unknown(word), 0));
    }
    for word in [0, 2] {
        assert_eq!(with_word(bytes, |view| offset(bytes, view.tx_set.xdr), 1, word).fault, unknown(word));
    }
    // Version, previous hash and the count of phases come before the first phase.
    let first_phase = |view: &LedgerView<'_>| offset(bytes, view.tx_set.xdr) + 40;
    assert_eq!(with_word(bytes, first_phase, 0, 2).fault, unknown(2));
    // A phase's count of components comes before the first component's type.
    let component = |view: &LedgerView<'_>| offset(bytes, view.tx_set.xdr) + 48;
    assert_eq!(with_word(bytes, component, 0, 1).fault, DecodeFault::InvalidValue);
    for word in [1, 3, 4, 6, 9, u32::MAX] {
        let envelope = |view: &LedgerView<'_>| offset(bytes, view.tx_set.envelopes[0].xdr);
        assert_eq!(with_word(bytes, envelope, 2, word).fault, unknown(word));
    }
    for word in [5, u32::MAX] {
        assert_eq!(with_word(bytes, |view| meta_of_last(bytes, view), 4, word).fault, unknown(word));
    }
    let body = |view: &LedgerView<'_>| topics_of(bytes, flag(view)) - 4;
    assert_eq!(with_word(bytes, body, 0, 1).fault, unknown(1));
    let kind = |view: &LedgerView<'_>| topics_of(bytes, flag(view)) - 8;
    assert_eq!(with_word(bytes, kind, 1, 3).fault, DecodeFault::InvalidValue);
    let ext = |view: &LedgerView<'_>| offset(bytes, flag(view).xdr);
    assert_eq!(with_word(bytes, ext, 0, 1).fault, DecodeFault::InvalidValue);
    let stage = |view: &LedgerView<'_>| offset(bytes, view.transactions[1].events[0].1.xdr) - 4;
    assert_eq!(with_word(bytes, stage, 0, 3).fault, DecodeFault::InvalidValue);
    let close_meta_ext = with_word(bytes, |_| 4, 0, 2);
    assert_eq!(close_meta_ext.fault, DecodeFault::InvalidValue);
    let unknown_value = |view: &LedgerView<'_>| offset(bytes, flag(view).data);
    assert_eq!(with_word(bytes, unknown_value, 10, 99).fault, DecodeFault::InvalidValue);
}

#[test]
fn one_versions_arm_does_not_read_as_anothers() {
    // The arms' layouts differ, so that a relabelled ledger or meta cannot be taken for the other version.
    let (v1, v2) = (ledger(Format::V1Meta3), ledger(Format::V2Meta4));
    for (bytes, word) in [(&v1, 0_u32), (&v1, 2), (&v2, 0), (&v2, 1)] {
        let mut relabelled = bytes.clone();
        relabelled[..4].copy_from_slice(&word.to_be_bytes());
        assert!(decode(&relabelled).is_err(), "as {word}");
    }
    let at = meta_of_last(&v2, &decode(&v2).unwrap());
    for word in 0..4_u32 {
        let mut relabelled = v2.clone();
        relabelled[at..at + 4].copy_from_slice(&word.to_be_bytes());
        assert!(check_ledger(&relabelled, &network()).is_err(), "as meta {word}");
    }
}

#[test]
fn a_bool_of_two_is_not_canonical_wherever_it_stands() {
    for format in Format::WITH_CONTRACTS {
        let bytes = &ledger(format);
        let evidence = |view: &LedgerView<'_>| offset(bytes, view.transactions[1].diagnostics[0].event.xdr) - 4;
        assert_eq!(with_word(bytes, evidence, 1, 2).fault, DecodeFault::NotCanonical, "{format:?}");
        let value = |view: &LedgerView<'_>| offset(bytes, flag(view).topics[1]) + 4;
        for word in [2, 0x100, u32::MAX] {
            assert_eq!(with_word(bytes, value, 1, word).fault, DecodeFault::NotCanonical, "{format:?}");
        }
        // Whether an optional contract follows: two is neither.
        let contract = |view: &LedgerView<'_>| offset(bytes, flag(view).xdr) + 4;
        assert_eq!(with_word(bytes, contract, 1, 2).fault, DecodeFault::InvalidValue, "{format:?}");
    }
}

#[test]
fn padding_that_is_not_zero_is_not_canonical() {
    let bytes = &ledger(Format::V2Meta4);
    let transfer = |view: &LedgerView<'_>| {
        let fee = &view.transactions[0].events[0].1;
        offset(bytes, fee.topics[0]) + 8
    };
    assert_eq!(
        with_word(bytes, transfer, u32::from_be_bytes(*b"fee\0"), u32::from_be_bytes(*b"fee!")).fault,
        DecodeFault::NotCanonical
    );
}

#[test]
fn a_count_of_more_than_there_is_is_refused_at_once() {
    let bytes = &ledger(Format::V2Meta4);
    // Extension and count come before the first transaction's result.
    let transactions = |view: &LedgerView<'_>| offset(bytes, view.transactions[0].result.xdr) - 8;
    for word in [3, 0x7FFF_FFFF, u32::MAX] {
        let refused = with_word(bytes, transactions, 2, word).fault;
        assert!(matches!(refused, DecodeFault::Truncated | DecodeFault::InvalidValue), "{word}: {refused}");
        let topics = with_word(bytes, |view| topics_of(bytes, flag(view)), 2, word).fault;
        assert_ne!(topics, DecodeFault::TrailingBytes, "{word}");
    }
    let phases = with_word(bytes, |view| offset(bytes, view.tx_set.xdr) + 36, 2, u32::MAX).fault;
    assert!(
        matches!(phases, DecodeFault::UnknownDiscriminant(_) | DecodeFault::InvalidValue | DecodeFault::Truncated),
        "{phases}"
    );
    // A symbol's length.
    let symbol = |view: &LedgerView<'_>| offset(bytes, flag(view).topics[0]) + 4;
    assert_eq!(with_word(bytes, symbol, 4, u32::MAX).fault, DecodeFault::TooLong);
}

#[test]
fn an_event_ends_where_its_bytes_end() {
    let bytes = ledger(Format::V2Meta4);
    let view = decode(&bytes).unwrap();
    let xdr = flag(&view).xdr;
    assert!(EventView::parse(xdr).is_ok());
    for length in 0..xdr.len() {
        assert_eq!(EventView::parse(&xdr[..length]).unwrap_err().fault, DecodeFault::Truncated, "{length}");
    }
    assert_eq!(EventView::parse(&[xdr, &[0; 4]].concat()).unwrap_err().fault, DecodeFault::TrailingBytes);
}
