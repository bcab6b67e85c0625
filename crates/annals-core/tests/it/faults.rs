//! What a builder can get wrong, and what each fault is called.

use annals_core::decode::decode;
use annals_core::{ClassicEvents, ProofClass, check_ledger};
use annals_sim::value::{self, contract};
use annals_sim::{EventPlan, Fault, Format, LedgerPlan, TxPlan, edit_meta};
use stellar_xdr::{ContractEventType, LedgerCloseMeta, TransactionMeta, TransactionMetaV4};

use crate::built::{chain, check_built, network};

fn transfer(amount: i128) -> EventPlan {
    EventPlan::transfer(contract(1), [1; 32], [2; 32], amount)
}

fn plan() -> LedgerPlan {
    let payment = TxPlan::payments(vec![vec![transfer(3)]]);
    let call = TxPlan::invocation(contract(1), vec![transfer(1), transfer(2)]).with_diagnostics();
    LedgerPlan::new(vec![payment, call])
}

#[test]
fn each_fault_that_a_hash_covers_has_its_code_in_every_format() {
    let table = [
        (Fault::WrongSuccessHash, "SUCCESS_HASH_MISMATCH"),
        (Fault::DroppedEvent, "SUCCESS_HASH_MISMATCH"),
        (Fault::AlteredEvent, "SUCCESS_HASH_MISMATCH"),
        (Fault::SwappedEvents, "SUCCESS_HASH_MISMATCH"),
        (Fault::AddedEvent, "SUCCESS_HASH_MISMATCH"),
        (Fault::WrongTxHashNetwork, "ENVELOPE_MISSING"),
        (Fault::WrongResultsHash, "RESULTS_HASH_MISMATCH"),
        (Fault::WrongTxSetHash, "TX_SET_HASH_MISMATCH"),
        (Fault::WrongHeaderHash, "HEADER_HASH_MISMATCH"),
    ];
    for format in Format::WITH_CONTRACTS {
        for (fault, code) in table {
            let built = chain(format).push_faulty(&plan(), fault);
            let found = check_ledger(&built.xdr, &network()).map(|ledger| ledger.seq).map_err(|fault| fault.code());
            assert_eq!(found, Err(code), "{format:?} {fault:?}");
        }
    }
    let named = table.map(|(fault, _)| fault);
    let rest: Vec<_> = Fault::ALL.into_iter().filter(|fault| !named.contains(fault)).collect();
    assert_eq!(rest, [Fault::WrongFeeSum, Fault::WrongPreviousHash], "each of these has its own test");
}

#[test]
fn a_ledger_whose_only_transaction_is_of_another_network_is_of_another_network() {
    let built = chain(Format::V2Meta4)
        .push_faulty(&LedgerPlan::new(plan().transactions[1..].to_vec()), Fault::WrongTxHashNetwork);
    assert_eq!(check_ledger(&built.xdr, &network()).unwrap_err().code(), "WRONG_NETWORK");
}

#[test]
fn a_damaged_envelope_is_a_damaged_set_and_not_another_network() {
    for transactions in [plan().transactions, plan().transactions.split_off(1)] {
        let built = chain(Format::V2Meta4).push(&LedgerPlan::new(transactions));
        let mut bytes = built.xdr.clone();
        // The amount of the fee, behind the discriminant and the source account's key.
        let envelope = decode(&built.xdr).unwrap().tx_set.envelopes.last().unwrap().xdr;
        let at = envelope.as_ptr() as usize - built.xdr.as_ptr() as usize + 4 + 36;
        bytes[at + 3] ^= 1;
        assert_eq!(check_ledger(&bytes, &network()).unwrap_err().code(), "TX_SET_HASH_MISMATCH");
    }
}

#[test]
fn a_wrong_previous_hash_is_sound_in_itself_and_links_to_nothing() {
    let mut chain = chain(Format::V2Meta4);
    let before = chain.push(&plan());
    let built = chain.push_faulty(&plan(), Fault::WrongPreviousHash);
    let ledger = check_built(&built);
    assert_ne!(ledger.previous_hash, before.hash);
}

#[test]
fn what_no_hash_covers_is_kept_as_uncommitted_and_the_fees_say_inconsistent() {
    for format in [Format::V1Meta4, Format::V2Meta4] {
        let built = chain(format).push_faulty(&plan(), Fault::WrongFeeSum);
        let ledger = check_ledger(&built.xdr, &network()).unwrap();
        assert_eq!(ledger.classic_events, ClassicEvents::Inconsistent, "{format:?}");
        assert_eq!(ledger.census, annals_core::Census::of(&built.events));
        let differing: Vec<_> =
            ledger.events.iter().zip(&built.events).filter(|(found, built)| found != built).collect();
        let [(found, _)] = differing.as_slice() else { panic!("one event is another: {differing:?}") };
        assert_eq!(found.proof, ProofClass::Uncommitted);
    }
}

/// Changes the meta of a ledger's last transaction, hashing nothing again.
fn edit_last_v4(xdr: &[u8], edit: impl FnOnce(&mut TransactionMetaV4)) -> Vec<u8> {
    edit_meta(xdr, |meta| {
        let LedgerCloseMeta::V2(meta) = meta else { panic!("a ledger of protocol 23 and later") };
        let mut processing = meta.tx_processing.to_vec();
        let TransactionMeta::V4(v4) = &mut processing.last_mut().unwrap().tx_apply_processing else { panic!("V4") };
        edit(v4);
        meta.tx_processing = processing.try_into().unwrap();
    })
}

/// What comes of a ledger of one invocation, `tx`, whose meta was changed.
fn outcome(tx: TxPlan, edit: impl FnOnce(&mut TransactionMetaV4)) -> Result<u64, &'static str> {
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![tx]));
    let xdr = edit_last_v4(&built.xdr, edit);
    check_ledger(&xdr, &network()).map(|ledger| ledger.census.committed).map_err(|fault| fault.code())
}

#[test]
fn an_invocation_whose_meta_lacks_what_its_result_commits_to_is_refused() {
    let call = || TxPlan::invocation(contract(1), vec![transfer(1)]);
    assert_eq!(outcome(call(), |_| ()), Ok(1));
    assert_eq!(outcome(call(), |meta| meta.soroban_meta = None), Err("PRE_IMAGE_MISSING"));
    assert_eq!(outcome(call(), |meta| meta.operations = Vec::new().try_into().unwrap()), Err("PRE_IMAGE_MISSING"));
    let doubled = |meta: &mut TransactionMetaV4| {
        let operation = meta.operations[0].clone();
        meta.operations = vec![operation.clone(), operation].try_into().unwrap();
    };
    assert_eq!(outcome(call(), doubled), Err("PRE_IMAGE_MISSING"));
    let other_value = |meta: &mut TransactionMetaV4| {
        meta.soroban_meta.as_mut().unwrap().return_value = Some(stellar_xdr::ScVal::U32(1));
    };
    assert_eq!(outcome(call(), other_value), Err("SUCCESS_HASH_MISMATCH"));
    // An invocation that emitted nothing is committed to as well: nobody can add an event to it.
    let silent = TxPlan::invocation(contract(1), Vec::new());
    assert_eq!(outcome(silent.clone(), |_| ()), Ok(0));
    let event = outcome_event();
    let added = move |meta: &mut TransactionMetaV4| {
        let mut operation = meta.operations[0].clone();
        operation.events = vec![event].try_into().unwrap();
        meta.operations = vec![operation].try_into().unwrap();
    };
    assert_eq!(outcome(silent, added.clone()), Err("SUCCESS_HASH_MISMATCH"));
    let failed = TxPlan::invocation(contract(1), vec![transfer(1)]).failing();
    let added_to_failed = |meta: &mut TransactionMetaV4| {
        let operation = stellar_xdr::OperationMetaV2 {
            ext: stellar_xdr::ExtensionPoint::V0,
            changes: stellar_xdr::LedgerEntryChanges(Vec::new().try_into().unwrap()),
            events: vec![outcome_event()].try_into().unwrap(),
        };
        meta.operations = vec![operation].try_into().unwrap();
    };
    assert_eq!(outcome(failed, added_to_failed), Err("EVENTS_OF_FAILED_TRANSACTION"));
}

fn outcome_event() -> stellar_xdr::ContractEvent {
    stellar_xdr::ContractEvent {
        ext: stellar_xdr::ExtensionPoint::V0,
        contract_id: None,
        type_: ContractEventType::Contract,
        body: stellar_xdr::ContractEventBody::V0(stellar_xdr::ContractEventV0 {
            topics: Vec::new().try_into().unwrap(),
            data: value::i128(1),
        }),
    }
}

#[test]
fn a_diagnostic_event_among_the_events_is_refused() {
    let call = || TxPlan::invocation(contract(1), vec![transfer(1)]);
    let diagnostic = |meta: &mut TransactionMetaV4| {
        let mut events = meta.events.to_vec();
        events[0].event.type_ = ContractEventType::Diagnostic;
        meta.events = events.try_into().unwrap();
    };
    assert_eq!(outcome(call(), diagnostic), Err("DIAGNOSTIC_AMONG_EVENTS"));
}

fn admin_mint() -> EventPlan {
    EventPlan::mint_with_admin(contract(2), [9; 32], [8; 32], "SIM:G", 4)
}

#[test]
fn a_rewritten_event_is_its_hashed_original_with_the_rewritten_form_beside_it() {
    let call = TxPlan::invocation(contract(1), vec![transfer(1), admin_mint()]).with_diagnostics();
    let ledger = check_built(&chain(Format::V1Meta4).push(&LedgerPlan::new(vec![call.clone()])));
    assert_eq!((ledger.census.committed, ledger.census.rewritten), (1, 1));
    // Without diagnostics the original is lost, and what is left does not hash.
    let bare = LedgerPlan::new(vec![TxPlan { diagnostics: false, ..call }]);
    let built = chain(Format::V1Meta4).push(&bare);
    assert_eq!(check_ledger(&built.xdr, &network()).unwrap_err().code(), "SUCCESS_HASH_MISMATCH");
}

#[test]
fn no_protocol_after_22_has_rewritten_events() {
    // The events are altered and the originals stand in the diagnostics: a rewriting exporter before protocol 23,
    // a forger after it.
    let call = TxPlan::invocation(contract(1), vec![transfer(1)]).with_diagnostics();
    let altered = |meta: &mut TransactionMetaV4| {
        let mut operation = meta.operations[0].clone();
        let mut event = operation.events[0].clone();
        let stellar_xdr::ContractEventBody::V0(body) = &mut event.body;
        body.data = value::i128(1_000_000);
        operation.events = vec![event].try_into().unwrap();
        meta.operations = vec![operation].try_into().unwrap();
    };
    assert_eq!(outcome(call, altered), Err("SUCCESS_HASH_MISMATCH"));
}

#[test]
fn a_rewritten_form_of_another_contract_or_kind_is_none() {
    let call = TxPlan::invocation(contract(1), vec![admin_mint()]).with_diagnostics();
    let built = chain(Format::V1Meta4).push(&LedgerPlan::new(vec![call]));
    let edited = |edit: &dyn Fn(&mut stellar_xdr::ContractEvent)| {
        let xdr = edit_meta(&built.xdr, |meta| {
            let LedgerCloseMeta::V1(meta) = meta else { panic!("a ledger before protocol 23") };
            let mut processing = meta.tx_processing.to_vec();
            let TransactionMeta::V4(v4) = &mut processing[0].tx_apply_processing else { panic!("V4") };
            let mut operation = v4.operations[0].clone();
            let mut events = operation.events.to_vec();
            edit(&mut events[0]);
            operation.events = events.try_into().unwrap();
            v4.operations = vec![operation].try_into().unwrap();
            meta.tx_processing = processing.try_into().unwrap();
        });
        check_ledger(&xdr, &network())
            .map(|ledger| ledger.events.last().map(|event| event.kind))
            .map_err(|fault| fault.code())
    };
    assert!(edited(&|_| ()).is_ok());
    assert_eq!(edited(&|event| event.contract_id = None), Err("SUCCESS_HASH_MISMATCH"));
    assert_eq!(edited(&|event| event.type_ = ContractEventType::System), Err("SUCCESS_HASH_MISMATCH"));
    assert_eq!(edited(&|event| event.type_ = ContractEventType::Diagnostic), Err("SUCCESS_HASH_MISMATCH"));
}
