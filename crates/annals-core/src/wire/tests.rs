use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ExtensionPoint, Hash, Limits, ScString,
    ScSymbol, ScVal, WriteXdr,
};

use super::*;
use crate::decode::DecodeFault;
use crate::event::{EventKind, ProofClass};
use crate::hash::{ContractId, TxHash};
use crate::ledger_seq::LedgerSeq;
use crate::position::Position;

fn symbol(bytes: &[u8]) -> ScVal {
    ScVal::Symbol(ScSymbol(bytes.to_vec().try_into().unwrap()))
}

fn xdr(topics: Vec<ScVal>, data: ScVal) -> Vec<u8> {
    let event = ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: Some(stellar_xdr::ContractId(Hash([1; 32]))),
        type_: ContractEventType::Contract,
        body: ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap(), data }),
    };
    event.to_xdr(Limits { depth: 100, len: 10_000 }).unwrap()
}

fn event(xdr: Vec<u8>) -> Event {
    Event {
        position: Position::op(LedgerSeq::new(63_092_982).unwrap(), 26, 0, 1).unwrap(),
        tx_hash: TxHash([0xAB; 32]),
        tx_order: 26,
        successful: true,
        close_time_ms: 1_700_000_000_250,
        contract_id: Some(ContractId([1; 32])),
        kind: EventKind::Contract,
        xdr,
        proof: ProofClass::Committed,
        rewritten_xdr: None,
    }
}

fn line(event: &Event) -> String {
    serde_json::to_string(&ExportedEvent::new(event, &Payload::NotApplicable).unwrap()).unwrap()
}

#[test]
fn an_exported_event_has_these_fields_in_this_order() {
    let expected = concat!(
        r#"{"id":"0270982294297223168-0000000001","#,
        r#""contract_id":"CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526","#,
        r#""kind":"contract","ledger_seq":63092982,"close_time":1700000000,"closed_at":"2023-11-14T22:13:20.25Z","#,
        r#""tx_hash":"abababababababababababababababababababababababababababababababab","#,
        r#""tx_application_order":26,"operation_index":0,"event_index":1,"stage":"op","tx_order":26,"#,
        r#""event_type":"spend","topics_xdr":["AAAADwAAAAVzcGVuZAAAAA==","AAAAAwAAAAc="],"data_xdr":"AAAAAQ==","#,
        r#""payload_xdr":null,"payload_state":"not_applicable","successful":true,"proof":"committed","rewritten":null}"#
    );
    assert_eq!(line(&event(xdr(vec![symbol(b"spend"), ScVal::U32(7)], ScVal::Void))), expected);
}

#[test]
fn sentinels_nobody_and_rewritten_forms_are_written_as_they_are() {
    let mut refund = event(xdr(vec![symbol(b"mint"), ScVal::U32(7)], ScVal::Void));
    refund.position = Position::after_all_txs(LedgerSeq::new(100).unwrap(), 3);
    refund.contract_id = None;
    refund.kind = EventKind::System;
    refund.successful = false;
    refund.proof = ProofClass::Rewritten;
    refund.rewritten_xdr = Some(xdr(vec![symbol(b"mint")], ScVal::U32(1)));
    let value: serde_json::Value = serde_json::from_str(&line(&refund)).unwrap();
    assert_eq!(value["id"], "0000000433791692800-0000000003");
    assert_eq!((&value["tx_application_order"], &value["tx_order"]), (&1_048_575.into(), &26.into()));
    assert_eq!((&value["stage"], &value["kind"]), (&"after_all_txs".into(), &"system".into()));
    assert!(value["contract_id"].is_null() && value["successful"] == false);
    assert_eq!(value["topics_xdr"].as_array().unwrap().len(), 2, "the original is the event");
    assert_eq!(
        serde_json::to_string(&value["rewritten"]).unwrap(),
        r#"{"data_xdr":"AAAAAwAAAAE=","topics_xdr":["AAAADwAAAARtaW50"]}"#
    );
}

#[test]
fn the_event_type_is_an_ascii_symbol_of_topic_0_or_null() {
    let event_type =
        |topics| ExportedEvent::new(&event(xdr(topics, ScVal::Void)), &Payload::NotApplicable).unwrap().event_type;
    assert_eq!(event_type(vec![symbol(b"transfer")]).as_deref(), Some("transfer"));
    assert_eq!(event_type(vec![symbol(b"")]).as_deref(), Some(""));
    assert_eq!(event_type(vec![symbol(&[b'a'; 32])]), Some("a".repeat(32)));
    assert_eq!(event_type(Vec::new()), None);
    assert_eq!(event_type(vec![ScVal::Void, symbol(b"transfer")]), None);
    assert_eq!(event_type(vec![ScVal::String(ScString(b"transfer".to_vec().try_into().unwrap()))]), None);
    assert_eq!(event_type(vec![ScVal::U64(15 << 32 | 4)]), None, "a number that reads like a symbol's front");
    for foreign in [b"\xFF".as_slice(), "überweisung".as_bytes(), b"a\x80"] {
        assert_eq!(event_type(vec![symbol(foreign)]), None, "{foreign:?}");
    }
}

#[test]
fn an_event_without_topics_has_an_empty_list() {
    let text = line(&event(xdr(Vec::new(), ScVal::Void)));
    assert!(text.contains(r#""event_type":null,"topics_xdr":[],"data_xdr":"AAAAAQ==""#), "{text}");
}

#[test]
fn bytes_that_are_no_event_are_an_error_and_not_a_line() {
    assert_eq!(
        ExportedEvent::new(&event(Vec::new()), &Payload::NotApplicable).unwrap_err().fault,
        DecodeFault::Truncated
    );
    let mut rewritten = event(xdr(Vec::new(), ScVal::Void));
    rewritten.rewritten_xdr = Some(vec![0; 3]);
    assert_eq!(ExportedEvent::new(&rewritten, &Payload::NotApplicable).unwrap_err().fault, DecodeFault::Truncated);
}

#[test]
fn a_time_has_a_fraction_only_where_there_is_one_and_none_is_too_large_to_write() {
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
    assert_eq!(rfc3339(1_700_000_000_000), "2023-11-14T22:13:20Z");
    assert_eq!(rfc3339(1_700_000_000_001), "2023-11-14T22:13:20.001Z");
    assert_eq!(rfc3339(1_700_000_000_500), "2023-11-14T22:13:20.5Z");
    assert_eq!(rfc3339(CLOSE_TIME_MS_MAX), "9999-12-30T22:00:00Z");
    for absurd in [CLOSE_TIME_MS_MAX + 1, i64::MAX as u64, u64::MAX] {
        assert_eq!(rfc3339(absurd), rfc3339(CLOSE_TIME_MS_MAX));
    }
    assert!(jiff::Timestamp::from_millisecond(i64::try_from(CLOSE_TIME_MS_MAX + 1).unwrap()).is_err());
}
