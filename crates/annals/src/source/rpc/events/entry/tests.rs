use annals_core::decode::EventView;
use serde_json::json;

use super::*;

/// XDR of `ScVal`: a symbol, a void, a bool.
const TRANSFER: &str = "AAAADwAAAAh0cmFuc2Zlcg==";
const VOID: &str = "AAAAAQ==";
const TRUE: &str = "AAAAAAAAAAE=";

fn entry() -> Value {
    json!({
        "type": "contract",
        "ledger": 4_021_819,
        "ledgerClosedAt": "2026-08-06T10:20:30Z",
        "contractId": "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA",
        "id": "0017273581075435522-0000000003",
        "operationIndex": 2,
        "transactionIndex": 1,
        "txHash": "0d".repeat(32),
        "inSuccessfulContractCall": true,
        "topic": [TRANSFER, TRUE],
        "value": VOID,
    })
}

fn edited(key: &str, value: Value) -> Value {
    let mut edited = entry();
    edited[key] = value;
    edited
}

fn read(entry: &Value) -> Entry {
    Entry::read(entry).unwrap()
}

#[test]
fn an_event_is_built_again_byte_for_byte_from_its_parts() {
    let Entry::Event(given) = read(&entry()) else { panic!("it is sound") };
    let event = &given.event;
    assert_eq!(event.position.to_string(), "0017273581075435522-0000000003");
    assert_eq!((event.tx_order, event.successful, given.is_success_told), (1, true, true));
    assert_eq!(event.close_time_ms, 1_786_011_630_000);
    let view = EventView::parse(&event.xdr).unwrap();
    assert_eq!(view.contract_id, event.contract_id);
    assert_eq!(view.topics.iter().map(|topic| STANDARD.encode(topic)).collect::<Vec<_>>(), [TRANSFER, TRUE]);
    assert_eq!(STANDARD.encode(view.data), VOID);

    let mut bare = edited("contractId", json!(""));
    bare["type"] = json!("system");
    bare.as_object_mut().unwrap().remove("topic");
    let Entry::Event(given) = read(&bare) else { panic!("it is sound") };
    assert_eq!(
        given.event.xdr,
        [[0; 20].as_slice(), &[0, 0, 0, 1]].concat(),
        "ext, no contract, system, V0, no topics"
    );
}

#[test]
fn what_does_not_decode_names_its_ledger_and_is_no_event() {
    let ledger = LedgerSeq::new(4_021_819).unwrap();
    let two = STANDARD.encode([STANDARD.decode(VOID).unwrap(), STANDARD.decode(VOID).unwrap()].concat());
    for (key, value) in [
        ("type", json!("other")),
        ("type", Value::Null),
        ("contractId", json!("CAS3")),
        ("contractId", json!(7)),
        ("txHash", json!("0d")),
        ("txHash", Value::Null),
        ("ledgerClosedAt", json!("yesterday")),
        ("ledgerClosedAt", json!("1969-12-31T23:59:59Z")),
        ("topic", json!([TRANSFER, "no base64!"])),
        ("topic", json!([TRANSFER, 7])),
        ("topic", json!(TRANSFER)),
        ("topic", json!([two])),
        ("topic", json!([""])),
        ("value", json!("")),
        ("value", json!("AAAAAQ")),
        ("value", json!(two)),
        ("value", json!("AAAAAAAAAAI=")),
        ("value", Value::Null),
        ("inSuccessfulContractCall", json!("true")),
        ("id", json!("17273581075435522-3")),
        ("ledger", json!(4_021_818)),
        ("transactionIndex", json!(2)),
        ("operationIndex", json!(0)),
    ] {
        let told = read(&edited(key, value.clone()));
        assert!(matches!(told, Entry::Bad(seq, _, _) if seq == ledger), "{key} {value}: {told:?}");
    }
    // A topic and the data that run into each other are as many bytes as two sound ones.
    let mut shifted = edited("topic", json!([TRANSFER, "AAAAAA=="]));
    shifted["value"] = json!("AAAAAQAAAAE=");
    assert!(matches!(read(&shifted), Entry::Bad(..)));
}

#[test]
fn e1_numbers_may_be_texts_and_what_is_not_needed_may_be_missing() {
    let mut odd = entry();
    for key in ["ledger", "transactionIndex", "operationIndex"] {
        odd[key] = json!(odd[key].to_string());
    }
    odd.as_object_mut().unwrap().remove("inSuccessfulContractCall");
    odd["later"] = json!({"more": []});
    let Entry::Event(given) = read(&odd) else { panic!("it is sound") };
    assert!(given.event.successful && given.is_success_told, "an operation has events where its transaction succeeded");
    let fee = json!({"id": "0017273581075431424-0000000000", "transactionIndex": 0, "operationIndex": 0});
    let mut of_fee = odd.clone();
    fee.as_object().unwrap().iter().for_each(|(key, value)| of_fee[key] = value.clone());
    let Entry::Event(given) = read(&of_fee) else { panic!("it is sound") };
    assert_eq!((given.event.tx_order, given.is_success_told), (0, false));
}

#[test]
fn diagnostic_events_never_count_and_ids_of_old_versions_are_refused() {
    assert!(matches!(read(&edited("type", json!("diagnostic"))), Entry::Diagnostic(_)));
    for key in ["transactionIndex", "operationIndex"] {
        let old = edited(key, Value::Null);
        assert!(matches!(Entry::read(&old), Err(RequestFaultKind::OldIds)));
    }
    let mut of_nothing = edited("id", Value::Null);
    of_nothing["ledger"] = Value::Null;
    assert!(matches!(Entry::read(&of_nothing), Err(RequestFaultKind::Page { .. })));
    assert!(matches!(Entry::read(&json!("an event")), Err(RequestFaultKind::Page { .. })));
}
