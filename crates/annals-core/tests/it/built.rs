//! Ledgers of the builder, which counts what must be found in them without reading them.

use annals_core::check::{check_tx_set, prove_stored};
use annals_core::decode::{HeaderView, decode, ledger_len, peek_header};
use annals_core::{
    Census, CheckedLedger, ClassicEvents, EventsDigest, LedgerHash, LedgerSeq, Network, NetworkProof, Position,
    ProofClass, check_ledger,
};
use annals_sim::value::{self, contract};
use annals_sim::{
    Body, BuiltLedger, ChainBuilder, CloseTime, EnvelopeForm, EventPlan, Format, LedgerPlan, Mix, ReturnValue, TxPlan,
    random_chain,
};

/// The network of every built chain.
pub fn network() -> Network {
    Network::new("Annals core tests ; 2026")
}

pub fn first() -> LedgerSeq {
    LedgerSeq::new(100).unwrap()
}

/// A chain that has no ledger yet; its first is 100.
pub fn chain(format: Format) -> ChainBuilder {
    ChainBuilder::new(&network(), first(), 7, format)
}

/// Every kind of generated ledger: each format, and each protocol that changes one.
pub fn mixes() -> Vec<Mix> {
    let later = [23, 28, 30].map(|protocol| Mix::new(Format::V2Meta4).of_protocol(protocol));
    Format::ALL.map(Mix::new).into_iter().chain(later).collect()
}

/// Checks one built ledger and everything that follows from its plan.
pub fn check_built(built: &BuiltLedger) -> CheckedLedger {
    let ledger = check_ledger(&built.xdr, &network()).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(ledger.events, built.events, "ledger {}", built.seq);
    assert_eq!((ledger.seq, ledger.hash), (built.seq, built.hash));
    assert_eq!(ledger.close_time_ms, built.close_time_ms);
    assert_eq!(ledger.classic_events, built.classic_events, "ledger {}", built.seq);
    assert_eq!(ledger.census, Census::of(&built.events));
    assert_eq!(ledger.digest, EventsDigest::of(&built.events));
    assert!(ledger.events.is_sorted_by(|a, b| a.position < b.position), "positions are unique and ascend");
    let view = decode(&built.xdr).unwrap();
    check_tx_set(&view, ledger.seq).unwrap();
    assert_eq!(ledger.network_proof == NetworkProof::NoTransactions, view.transactions.is_empty());
    assert_eq!(peek_header(&built.xdr).unwrap().xdr, ledger.header_xdr);
    assert_eq!(ledger_len(&[built.xdr.as_slice(), b"more"].concat()).unwrap(), built.xdr.len());
    assert_eq!(proven(&ledger), of_events(&ledger));
    ledger
}

/// Position, transaction and bytes of what the stored material proves.
fn proven(ledger: &CheckedLedger) -> Vec<(Position, annals_core::TxHash, Vec<u8>)> {
    let header = HeaderView::parse(&ledger.header_xdr).unwrap();
    let proven = prove_stored(&header, &ledger.proof, &network()).unwrap_or_else(|fault| panic!("{fault}"));
    proven.into_iter().map(|event| (event.position, event.tx_hash, event.xdr.to_vec())).collect()
}

/// The same of the events that a ledger calls committed or rewritten.
fn of_events(ledger: &CheckedLedger) -> Vec<(Position, annals_core::TxHash, Vec<u8>)> {
    let proven = ledger.events.iter().filter(|event| event.proof.is_proven());
    proven.map(|event| (event.position, event.tx_hash, event.xdr.clone())).collect()
}

#[test]
fn every_event_of_random_chains_is_found_with_every_field_as_the_builder_counted_it() {
    let mut census = Census::default();
    let (mut prefixes, mut fee_bumps, mut v0, mut empty) = (0, 0, 0, 0);
    for mix in mixes() {
        for seed in 0..10 {
            let mut previous: Option<LedgerHash> = None;
            for built in random_chain(&network(), first(), seed, 30, mix) {
                let ledger = check_built(&built);
                assert!(previous.is_none_or(|hash| hash == ledger.previous_hash));
                previous = Some(ledger.hash);
                census.add(ledger.census);
                prefixes += ledger.proof.invocations.iter().filter(|call| call.uncommitted_prefix > 0).count();
                let view = decode(&built.xdr).unwrap();
                fee_bumps += view.tx_set.envelopes.iter().filter(|envelope| envelope.kind == 5).count();
                v0 += view.tx_set.envelopes.iter().filter(|envelope| envelope.is_v0()).count();
                empty += usize::from(view.header.empty_tx_set);
            }
        }
    }
    // The chains really hold what the equalities above are meant to cover.
    for count in [census.committed, census.rewritten, census.uncommitted] {
        assert!(count > 100, "{census:?}");
    }
    assert!(prefixes > 20 && fee_bumps > 100 && v0 > 20 && empty > 20, "{prefixes} {fee_bumps} {v0} {empty}");
}

#[test]
fn a_ledger_is_refused_under_another_networks_passphrase() {
    for mix in mixes() {
        for built in random_chain(&network(), first(), 3, 10, mix) {
            let empty = decode(&built.xdr).unwrap().transactions.is_empty();
            match check_ledger(&built.xdr, &Network::new("another network")) {
                Ok(ledger) => assert!(empty && ledger.network_proof == NetworkProof::NoTransactions),
                Err(fault) => assert_eq!(fault.code(), "WRONG_NETWORK"),
            }
        }
    }
}

#[test]
fn stored_proof_material_proves_nothing_once_any_part_of_it_is_another() {
    let event = EventPlan::transfer(contract(1), [1; 32], [2; 32], 5);
    let call = |count| TxPlan::invocation(contract(1), vec![event.clone(); count]);
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![call(1), call(2)]));
    let ledger = check_built(&built);
    let header = HeaderView::parse(&ledger.header_xdr).unwrap();
    let outcome = |edit: &dyn Fn(&mut annals_core::ProofMaterial)| {
        let mut material = ledger.proof.clone();
        edit(&mut material);
        prove_stored(&header, &material, &network()).map(|proven| proven.len()).map_err(|fault| fault.to_string())
    };
    assert_eq!(outcome(&|_| ()), Ok(3));
    let refused = |edit: &dyn Fn(&mut annals_core::ProofMaterial), because: &str| {
        let sentence = outcome(edit).unwrap_err();
        assert!(sentence.contains(because), "{sentence}");
    };
    refused(&|material| *material.results_xdr.last_mut().unwrap() ^= 1, "results do not hash");
    refused(&|material| *material.invocations[1].pre_image_xdr.last_mut().unwrap() ^= 1, "events of transaction 2");
    refused(&|material| material.invocations[0].tx_order = 2, "no successful invocation as transaction 2");
    refused(&|material| material.invocations[0].tx_order = 0, "no successful invocation as transaction 0");
    refused(&|material| material.invocations[1].tx_order = 3, "no successful invocation as transaction 3");
    refused(&|material| material.invocations.swap(0, 1), "no successful invocation as transaction 1");
    refused(
        &|material| material.invocations[1] = material.invocations[0].clone(),
        "no successful invocation as transaction 1",
    );
    // Only protocol 23 put events in front of committed ones: elsewhere a prefix would move what is proven.
    refused(&|material| material.invocations[0].uncommitted_prefix = 1, "no successful invocation as transaction 1");
    refused(
        &|material| material.invocations[0].envelope_xdr = material.invocations[1].envelope_xdr.clone(),
        "envelope of transaction 1",
    );
    let other = Network::new("another network");
    let fault = prove_stored(&header, &ledger.proof, &other).unwrap_err();
    assert!(fault.to_string().contains("envelope of transaction 1"));
}

#[test]
fn cap_83_an_agreed_empty_set_has_no_hash_and_no_transaction() {
    for close_time in [CloseTime::Seconds, CloseTime::Milliseconds] {
        let plan = LedgerPlan { empty_tx_set: true, close_time, ..LedgerPlan::new(Vec::new()) }.of_protocol(30);
        let built = chain(Format::V2Meta4).push(&plan);
        let ledger = check_built(&built);
        let view = decode(&built.xdr).unwrap();
        assert!(view.header.empty_tx_set && view.header.tx_set_hash == [0; 32]);
        assert_eq!(ledger.network_proof, NetworkProof::NoTransactions);
        // A zero hash that does not come with the empty set's own value is a set that does not hash.
        let forged = annals_sim::edit_header(&built.xdr, |header| {
            header.scp_value.ext = stellar_xdr::StellarValueExt::Basic;
        });
        let view = decode(&forged).unwrap();
        assert_eq!(check_tx_set(&view, ledger.seq).unwrap_err().code(), "TX_SET_HASH_MISMATCH");
    }
}

#[test]
fn close_times_in_milliseconds_are_kept_and_order_ledgers_of_one_second() {
    let mut chain = chain(Format::V2Meta4);
    let plan = LedgerPlan { elapsed_ms: 400, close_time: CloseTime::Milliseconds, ..LedgerPlan::new(Vec::new()) };
    let times: Vec<u64> =
        (0..5).map(|_| check_built(&chain.push(&plan.clone().of_protocol(30))).close_time_ms).collect();
    assert_eq!(times[0] % 1000, 400);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 400));
}

#[test]
fn a_close_time_that_no_answer_can_write_makes_a_bad_object() {
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(Vec::new()));
    let closing_at = |seconds: u64| {
        let xdr = annals_sim::edit_header(&built.xdr, |header| {
            header.scp_value.close_time = stellar_xdr::TimePoint(seconds);
        });
        check_ledger(&xdr, &network()).map(|ledger| ledger.close_time_ms).map_err(|fault| fault.code())
    };
    assert_eq!(closing_at(0), Ok(0));
    assert_eq!(closing_at(253_402_207_200), Ok(253_402_207_200_000));
    for seconds in [253_402_207_201, u64::MAX / 1000, u64::MAX] {
        assert_eq!(closing_at(seconds), Err("CLOSE_TIME_OUT_OF_RANGE"), "{seconds}");
    }
}

#[test]
fn a_fee_bump_has_the_outer_hash_and_the_inner_success() {
    let event = EventPlan::transfer(contract(1), [1; 32], [2; 32], 5);
    for format in Format::WITH_CONTRACTS {
        let call = TxPlan::invocation(contract(1), vec![event.clone()]).in_envelope(EnvelopeForm::FeeBump);
        let built = chain(format).push(&LedgerPlan::new(vec![call.clone(), call.failing()]));
        let ledger = check_built(&built);
        assert_eq!(ledger.census.committed, 1, "{format:?}");
        let view = decode(&built.xdr).unwrap();
        let [good, bad] = view.transactions.as_slice() else { panic!("two transactions") };
        assert!(good.result.successful && !bad.result.successful);
        assert!(bad.result.success_hashes.is_empty());
        let outer = ledger.events.iter().find(|event| event.proof == ProofClass::Committed).unwrap();
        assert_eq!(outer.tx_hash, good.result.tx_hash);
    }
}

#[test]
fn a_v0_envelope_hashes_like_its_v1_form() {
    let event = EventPlan::transfer(contract(1), [1; 32], [2; 32], 5);
    let payment = TxPlan::payments(vec![vec![event]]).in_envelope(EnvelopeForm::V0);
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![payment]));
    let ledger = check_built(&built);
    assert_eq!((ledger.network_proof, ledger.census.committed), (NetworkProof::Proven, 0));
    assert!(decode(&built.xdr).unwrap().tx_set.envelopes[0].is_v0());
}

/// An invocation of a contract whose plan `edit` changes.
fn invocation(events: Vec<EventPlan>, edit: impl FnOnce(&mut annals_sim::InvocationPlan)) -> TxPlan {
    let mut tx = TxPlan::invocation(contract(1), events);
    let Body::Invocation(plan) = &mut tx.body else { panic!("an invocation") };
    edit(plan);
    tx
}

fn supply(name: &str) -> EventPlan {
    EventPlan::new(contract(9), vec![value::symbol(name), value::account_address([4; 32])], value::i128(6))
}

#[test]
fn a_return_value_that_the_meta_leaves_out_hashes_as_void() {
    for format in Format::WITH_CONTRACTS {
        let events = vec![EventPlan::transfer(contract(1), [1; 32], [2; 32], 5)];
        let absent = invocation(events, |plan| plan.return_value = ReturnValue::Absent);
        let built = chain(format).push(&LedgerPlan::new(vec![absent]));
        assert_eq!(check_built(&built).census.committed, 1, "{format:?}");
        let given = decode(&built.xdr).unwrap().transactions[0].return_value.is_some();
        assert_eq!(given, format == Format::V1Meta3, "{format:?}");
    }
}

#[test]
fn protocol_23s_reconciliation_stands_uncommitted_in_front_of_what_is_proven() {
    // The committed events begin with a mint themselves: only the hash tells where the prefix ends.
    let events = vec![supply("mint"), EventPlan::transfer(contract(1), [1; 32], [2; 32], 5)];
    let call = invocation(events.clone(), |plan| plan.reconciliation = vec![supply("mint"), supply("burn")]);
    let alone = invocation(Vec::new(), |plan| plan.reconciliation = vec![supply("burn")]);
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![call, alone]).of_protocol(23));
    let ledger = check_built(&built);
    let prefixes: Vec<_> = ledger.proof.invocations.iter().map(|call| call.uncommitted_prefix).collect();
    assert_eq!(prefixes, [2, 1], "an invocation that is committed to without events is kept too");
    let classes: Vec<_> =
        ledger.events.iter().filter(|event| event.tx_order == 1 && event.position.tx() == 1).collect();
    assert_eq!(
        classes.iter().map(|event| (event.position.index(), event.proof)).collect::<Vec<_>>(),
        [
            (0, ProofClass::Uncommitted),
            (1, ProofClass::Uncommitted),
            (2, ProofClass::Committed),
            (3, ProofClass::Committed)
        ]
    );
    // No other protocol did so: there, events in front of the committed ones are a forgery.
    let later = annals_sim::edit_header(&built.xdr, |header| header.ledger_version = 24);
    assert_eq!(check_ledger(&later, &network()).unwrap_err().code(), "SUCCESS_HASH_MISMATCH");
}

#[test]
fn the_ledger_of_an_upgrade_is_judged_by_the_protocol_that_it_ran_under() {
    let call = || {
        let events = vec![EventPlan::transfer(contract(1), [1; 32], [2; 32], 5)];
        invocation(events, |plan| plan.reconciliation = vec![supply("mint")])
    };
    let upgrading = |version| LedgerPlan { upgrade_to: Some(version), ..LedgerPlan::new(vec![call()]).of_protocol(23) };
    let built = chain(Format::V2Meta4).push(&upgrading(24));
    let ledger = check_built(&built);
    assert_eq!((ledger.protocol, ledger.proof.invocations[0].uncommitted_prefix), (24, 1));
    // Whatever ran before protocol 23 knew no such events.
    let earlier = chain(Format::V2Meta4).push(&upgrading(23));
    assert_eq!(check_ledger(&earlier.xdr, &network()).unwrap_err().code(), "SUCCESS_HASH_MISMATCH");
}

#[test]
fn a_reconciliation_prefix_is_searched_in_bounded_work() {
    // Two hundred and fifty-six events in front of twelve thousand are found; one more is refused.
    let events: Vec<_> = (0..12_000).map(|n| EventPlan::transfer(contract(1), [1; 32], [2; 32], n)).collect();
    for (prefix, outcome) in [(256, Ok(256)), (257, Err("SUCCESS_HASH_MISMATCH"))] {
        let call = invocation(events.clone(), |plan| plan.reconciliation = vec![supply("mint"); prefix]);
        let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![call]).of_protocol(23));
        let found = check_ledger(&built.xdr, &network());
        let found = found.map(|ledger| ledger.proof.invocations[0].uncommitted_prefix).map_err(|fault| fault.code());
        assert_eq!(found, outcome);
    }
}

#[test]
fn a_ledger_whose_fees_nobody_emitted_says_so() {
    let plan = |classic_events| LedgerPlan {
        classic_events,
        ..LedgerPlan::new(vec![TxPlan::invocation(contract(1), Vec::new()), TxPlan::payments(vec![Vec::new()])])
    };
    let mut chain = chain(Format::V2Meta4);
    for expected in [ClassicEvents::Present, ClassicEvents::Absent, ClassicEvents::Inconsistent] {
        assert_eq!(check_built(&chain.push(&plan(expected))).classic_events, expected);
    }
    assert_eq!(check_built(&chain.push(&LedgerPlan::new(Vec::new()))).classic_events, ClassicEvents::Present);
}
