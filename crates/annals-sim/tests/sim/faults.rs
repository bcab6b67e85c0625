use annals_core::{ClassicEvents, check_ledger};
use annals_sim::{BuiltLedger, ChainBuilder, EventPlan, Fault, Format, LedgerPlan, TxPlan, edit_header, value};

use super::{chain, network, seq};

/// A ledger with one payment and one invocation of two events.
pub(crate) fn faulty(fault: Fault) -> BuiltLedger {
    let transfer = |amount| EventPlan::transfer(value::contract(1), value::account(1), value::account(2), amount);
    let payment = TxPlan::payments(vec![vec![transfer(1)]]);
    let invocation = TxPlan::invocation(value::contract(1), vec![transfer(2), transfer(3)]).with_diagnostics();
    let mut chain = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4);
    chain.push_faulty(&LedgerPlan::new(vec![payment, invocation]), fault)
}

#[test]
fn every_planted_fault_is_caught_by_the_real_verification() {
    for fault in Fault::ALL {
        let ledger = faulty(fault);
        let checked = check_ledger(&ledger.xdr, &network());
        let code = checked.as_ref().err().map(annals_core::LedgerFault::code);
        let expected = match fault {
            Fault::WrongSuccessHash
            | Fault::DroppedEvent
            | Fault::AlteredEvent
            | Fault::SwappedEvents
            | Fault::AddedEvent => "SUCCESS_HASH_MISMATCH",
            Fault::WrongTxHashNetwork => "ENVELOPE_MISSING",
            Fault::WrongResultsHash => "RESULTS_HASH_MISMATCH",
            Fault::WrongTxSetHash => "TX_SET_HASH_MISMATCH",
            Fault::WrongHeaderHash => "HEADER_HASH_MISMATCH",
            Fault::WrongFeeSum => {
                assert_eq!(checked.unwrap().classic_events, ClassicEvents::Inconsistent);
                continue;
            }
            Fault::WrongPreviousHash => {
                let before = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4).tip_hash();
                assert_ne!(checked.unwrap().previous_hash, before);
                continue;
            }
        };
        assert_eq!(code, Some(expected), "{fault:?}");
    }
}

#[test]
fn a_chain_of_another_network_is_of_the_wrong_network() {
    let foreign = annals_core::Network::new("another network");
    let mut chain = ChainBuilder::new(&foreign, seq(100), 1, Format::V2Meta4);
    let ledger = chain.push(&LedgerPlan::new(vec![TxPlan::invocation(value::contract(1), Vec::new())]));
    assert_eq!(check_ledger(&ledger.xdr, &network()).unwrap_err().code(), "WRONG_NETWORK");
    assert!(check_ledger(&ledger.xdr, &foreign).is_ok());
}

#[test]
fn an_edited_header_is_sound_and_its_successor_no_longer_links() {
    let ledgers = chain(Format::V2Meta4, 26, 1, 2);
    let edited = edit_header(&ledgers[0].xdr, |header| header.id_pool += 1);
    let checked = check_ledger(&edited, &network()).unwrap();
    assert_eq!(checked.events, ledgers[0].events);
    let successor = check_ledger(&ledgers[1].xdr, &network()).unwrap();
    assert_eq!(successor.previous_hash, ledgers[0].hash);
    assert_ne!(successor.previous_hash, checked.hash);
}

#[test]
fn a_clone_forks_the_chain() {
    let mut chain = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4);
    let fork_point = chain.push(&LedgerPlan::new(Vec::new()));
    let mut fork = chain.clone();
    let ours = chain.push(&LedgerPlan::new(vec![TxPlan::payments(vec![Vec::new()])]));
    let theirs = fork.push(&LedgerPlan::new(Vec::new()));
    assert_eq!(ours.seq, theirs.seq);
    assert_ne!(ours.hash, theirs.hash);
    for ledger in [ours, theirs] {
        assert_eq!(check_ledger(&ledger.xdr, &network()).unwrap().previous_hash, fork_point.hash);
    }
}
