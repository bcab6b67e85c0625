//! Eighteen thousand ledgers of the core's own tests, protocols 20 to 28.

use std::fs;

use annals_core::check::check_tx_set;
use annals_core::check_ledger;
use annals_core::decode::{DecodeFault, decode};

use crate::shared::{self, core_network};

#[test]
fn every_ledger_of_the_core_corpus_verifies_and_links_file_by_file() {
    let (mut files, mut ledgers, mut without_transactions, mut invocations) = (0, 0, 0, 0);
    let found = shared::core_corpus(|path, chain| {
        files += 1;
        let mut previous = None;
        for bytes in chain {
            let view = decode(bytes).unwrap();
            let ledger = check_ledger(bytes, &core_network()).unwrap_or_else(|fault| panic!("{path:?}: {fault}"));
            check_tx_set(&view, ledger.seq).unwrap();
            assert!(previous.is_none_or(|hash| hash == ledger.previous_hash), "{path:?} {}", ledger.seq);
            previous = Some(ledger.hash);
            ledgers += 1;
            without_transactions += usize::from(view.transactions.is_empty());
            invocations += view.transactions.iter().map(|tx| tx.result.success_hashes.len()).sum::<usize>();
        }
    });
    if found {
        assert_eq!((files, ledgers, without_transactions, invocations), (985, 18_024, 3_640, 8_278));
    }
}

#[test]
fn every_curated_ledger_verifies_and_so_does_an_agreed_empty_set() {
    let Some(folder) = shared::ledgers() else { return };
    let mut empty_sets = 0;
    let mut files = 0;
    for entry in fs::read_dir(folder.join("core-corpus/curated")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "xdr") {
            continue;
        }
        files += 1;
        for bytes in shared::frames(&fs::read(&path).unwrap()) {
            let view = decode(&bytes).unwrap();
            let ledger = check_ledger(&bytes, &core_network()).unwrap_or_else(|fault| panic!("{path:?}: {fault}"));
            check_tx_set(&view, ledger.seq).unwrap();
            empty_sets += usize::from(view.header.empty_tx_set);
        }
    }
    assert_eq!((files, empty_sets), (13, 1));
}

#[test]
fn inv_8_a_ledger_that_ends_early_or_goes_on_is_undecodable_at_every_length() {
    let Some(folder) = shared::ledgers() else { return };
    let bytes = fs::read(folder.join("core-corpus/curated/p28-empty-txset-370dd5e0af5cfa8d.xdr")).unwrap();
    let ledger = shared::frames(&bytes).remove(0);
    for length in 0..ledger.len() {
        let error = decode(&ledger[..length]).unwrap_err();
        assert_eq!(error.fault, DecodeFault::Truncated, "at {length}");
    }
    let longer = [ledger.as_slice(), &[0; 4]].concat();
    assert_eq!(decode(&longer).unwrap_err().fault, DecodeFault::TrailingBytes);
}
