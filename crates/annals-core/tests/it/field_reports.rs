//! What broke for others, by the name of the report. Storing and serving have their own tests of the same names.

use annals_core::{
    Batch, BatchError, ClassicEvents, ClassicPolicy, Event, ProofClass, Registry, Scope, ShapeFault, TxHash,
    check_ledger,
};
use annals_sim::value::{account_address, contract, i128, symbol};
use annals_sim::{Body, EventPlan, Format, LedgerPlan, Rng, TxPlan};
use base64::Engine as _;
use stellar_xdr::{Limits, ReadXdr, ScMap, ScMapEntry, ScVal, ScVec};

use crate::built::{chain, check_built, network};

fn transfer(amount: i128) -> EventPlan {
    EventPlan::transfer(contract(1), [1; 32], [2; 32], amount)
}

/// Ledger 100: three transactions, each with a fee charge and one operation event; the second is given back some.
fn three_transactions() -> Vec<TxPlan> {
    let call = |amount, refund| TxPlan { refund, ..TxPlan::invocation(contract(1), vec![transfer(amount)]) };
    vec![call(1, 0), call(2, 500), call(3, 0)]
}

fn ids(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.position.to_string()).collect()
}

/// Puts `events` in another order, which a seed decides.
fn shuffle(events: &mut [Event], seed: u64) {
    let mut rng = Rng::new(seed);
    for last in (1..events.len()).rev() {
        events.swap(last, rng.below(u32::try_from(last + 1).unwrap()) as usize);
    }
}

#[test]
fn c1_equal_events_of_one_transaction_are_three_events() {
    for format in Format::WITH_CONTRACTS {
        let call = TxPlan::invocation(contract(1), vec![transfer(5); 3]);
        let ledger = check_built(&chain(format).push(&LedgerPlan::new(vec![call])));
        let same: Vec<&Event> = ledger.events.iter().filter(|event| event.proof == ProofClass::Committed).collect();
        assert_eq!(same.iter().map(|event| event.position.index()).collect::<Vec<_>>(), [0, 1, 2], "{format:?}");
        assert!(same.iter().all(|event| event.xdr == same[0].xdr && event.tx_hash == same[0].tx_hash));
        let batch = |ledgers| Batch::checked(network(), Scope::All, ClassicPolicy::Keep, "test", ledgers).unwrap();
        let batch = batch(vec![ledger.clone()]);
        assert_eq!((batch.events().count(), batch.duplicates()), (ledger.events.len(), 0));
    }
}

#[test]
fn c3_fee_event_indexes_run_over_the_ledger() {
    let ledger = check_built(&chain(Format::V2Meta4).push(&LedgerPlan::new(three_transactions())));
    let expected = [
        "0000000429496729600-0000000000",
        "0000000429496729600-0000000001",
        "0000000429496729600-0000000002",
        "0000000429496733696-0000000000",
        "0000000429496737792-0000000000",
        "0000000429496741888-0000000000",
        "0000000433791692800-0000000000",
    ];
    assert_eq!(ids(&ledger.events), expected);
    let charged: Vec<u32> = ledger.events[..3].iter().map(|event| event.tx_order).collect();
    assert_eq!(charged, [1, 2, 3], "a charge names its transaction where its position cannot");
    // Refunds are counted over the ledger too.
    let mut all = three_transactions();
    all.iter_mut().for_each(|tx| tx.refund = 500);
    let ledger = check_built(&chain(Format::V2Meta4).push(&LedgerPlan::new(all)));
    let refunds = ids(&ledger.events).split_off(6);
    assert_eq!(refunds, [0, 1, 2].map(|index| format!("0000000433791692800-{index:010}")));
}

#[test]
fn c4_order_across_fee_operation_and_refund_events() {
    let mut transactions = three_transactions();
    transactions[1].after_tx.push(EventPlan::new(contract(2), Vec::new(), i128(1)));
    let ledger = check_built(&chain(Format::V2Meta4).push(&LedgerPlan::new(transactions)));
    let expected = ids(&ledger.events);
    assert_eq!(expected.len(), 8);
    assert_eq!(expected.last().unwrap(), "0000000433791692800-0000000000", "the refund is last");
    // Text order, numeric order and the order of the four numbers are one, whatever order the events came in.
    for seed in 0..50 {
        let mut ledger = ledger.clone();
        shuffle(&mut ledger.events, seed);
        let mut text = ids(&ledger.events);
        text.sort();
        assert_eq!(text, expected);
        let mut numbers = ledger.events.clone();
        numbers.sort_by_key(|event| {
            let position = event.position;
            (position.ledger(), position.tx(), position.operation(), position.index())
        });
        assert_eq!(ids(&numbers), expected);
        let batch = Batch::checked(network(), Scope::All, ClassicPolicy::Keep, "test", vec![ledger]).unwrap();
        assert_eq!(batch.events().map(|event| event.position.to_string()).collect::<Vec<_>>(), expected);
    }
    // The second transaction's events lie in four places and are told by its hash.
    let hash: TxHash = ledger.events[1].tx_hash;
    let second: Vec<(&str, u32)> = ledger
        .events
        .iter()
        .filter(|event| event.tx_hash == hash)
        .map(|event| (event.position.stage().as_str(), event.tx_order))
        .collect();
    assert_eq!(second, [("before_all_txs", 2), ("op", 2), ("after_tx", 2), ("after_all_txs", 2)]);
}

#[test]
fn c6_diagnostic_copies_are_no_events_and_the_success_flag_is_the_transactions() {
    for format in Format::WITH_CONTRACTS {
        let plan = |diagnostics| {
            let mut good = TxPlan { diagnostics, ..TxPlan::invocation(contract(1), vec![transfer(1), transfer(2)]) };
            let Body::Invocation(invocation) = &mut good.body else { panic!("an invocation") };
            invocation.failed_calls.push(transfer(9));
            let bad = TxPlan { diagnostics, ..TxPlan::invocation(contract(1), vec![transfer(3)]) }.failing();
            LedgerPlan::new(vec![good, bad])
        };
        let (with, without) = (chain(format).push(&plan(true)), chain(format).push(&plan(false)));
        assert!(with.xdr.len() > without.xdr.len() + 500, "{format:?}: the diagnostics are there");
        let (with, without) = (check_built(&with), check_built(&without));
        assert_eq!(with, without, "{format:?}");
        assert_eq!(with.census.committed, 2, "{format:?}");
        let failed: Vec<&Event> = with.events.iter().filter(|event| event.tx_order == 2).collect();
        assert!(failed.iter().all(|event| !event.successful && event.proof == ProofClass::Uncommitted));
        let fees = if format.has_classic_events() { 2 } else { 0 };
        assert_eq!(failed.len(), fees, "{format:?}: of what fails only its fee is published");
        assert!(with.events.iter().filter(|event| event.tx_order == 1).all(|event| event.successful));
    }
}

#[test]
fn c9_events_alike_but_for_their_index_are_kept_and_one_position_with_two_contents_is_a_conflict() {
    let call = TxPlan::invocation(contract(1), vec![transfer(5), transfer(5)]);
    let plan = LedgerPlan { classic_events: ClassicEvents::Absent, ..LedgerPlan::new(vec![call]) };
    let built = chain(Format::V2Meta4).push(&plan);
    let ledger = check_ledger(&built.xdr, &network()).unwrap();
    let batch = |ledger| Batch::checked(network(), Scope::All, ClassicPolicy::Keep, "test", vec![ledger]);
    assert_eq!(batch(ledger.clone()).unwrap().events().count(), 2);
    let mut other = ledger.events[1].clone();
    *other.xdr.last_mut().unwrap() ^= 1;
    let mut conflicting = ledger.clone();
    conflicting.events.push(other);
    let position = ledger.events[1].position;
    assert_eq!(batch(conflicting), Err(BatchError::ConflictingEvent { position }));
}

#[test]
fn e2_every_legal_form_of_a_tokens_event_is_read_and_another_is_told() {
    let data = |base64: &str| {
        let xdr = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
        ScVal::from_xdr(&xdr, Limits { depth: 10, len: xdr.len() }).unwrap()
    };
    let number = data("AAAACgAAAAAAAAAAAAAAAAAAAGQ=");
    let named = data("AAAAEQAAAAEAAAABAAAADwAAAAZhbW91bnQAAAAAAAoAAAAAAAAAAAAAAAAAAABk");
    let map = |entries: Vec<(&str, ScVal)>| {
        let entries = entries.into_iter().map(|(key, val)| ScMapEntry { key: symbol(key), val });
        ScVal::Map(Some(ScMap(entries.collect::<Vec<_>>().try_into().unwrap())))
    };
    let approved = vec![("amount", i128(100)), ("live_until_ledger", ScVal::U32(12345))];
    let pair = ScVal::Vec(Some(ScVec(vec![i128(100), ScVal::U32(12345)].try_into().unwrap())));
    let schema = Registry::builtin().schema(&"token".parse().unwrap()).unwrap();
    let roles = |name: &str, parties: u8, data: ScVal| {
        let topics = [symbol(name)].into_iter().chain((1..=parties).map(|byte| account_address([byte; 32])));
        let xdr = EventPlan::new(contract(1), topics.collect(), data).xdr();
        schema.attribute(&xdr).map(|found| found.iter().map(|party| party.role.to_owned()).collect::<Vec<_>>())
    };
    for name in ["burn", "clawback"] {
        for data in [&number, &named] {
            assert_eq!(roles(name, 1, data.clone()), Ok(vec!["from".to_owned()]), "{name}");
        }
        for third in [ScVal::U32(100), pair.clone(), map(vec![]), map(vec![("value", i128(100))])] {
            assert_eq!(roles(name, 1, third), Err(ShapeFault::UnknownData), "{name}");
        }
    }
    for data in [pair, map(approved)] {
        assert_eq!(roles("approve", 2, data), Ok(vec!["from".to_owned(), "spender".to_owned()]));
    }
    assert_eq!(roles("approve", 2, number.clone()), Err(ShapeFault::UnknownData));
    // A muxed receiver's number stands beside the amount, is nothing, or is left out.
    let muxed = |to: ScVal| map(vec![("amount", i128(100)), ("to_muxed_id", to)]);
    for data in [number, named, muxed(ScVal::Void), muxed(ScVal::U64(7))] {
        assert_eq!(roles("transfer", 2, data.clone()), Ok(vec!["from".to_owned(), "to".to_owned()]));
        assert_eq!(roles("mint", 1, data.clone()), Ok(vec!["to".to_owned()]));
        assert_eq!(roles("mint", 2, data), Ok(vec!["admin".to_owned(), "to".to_owned()]));
    }
}
