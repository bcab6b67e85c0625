use annals_core::wire::ExportedEvent;
use annals_core::{Event, EventKind, LedgerSeq, ProofClass, TxHash};
use proptest::prelude::*;
use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ExtensionPoint, Limits, ScBytes, ScSymbol,
    ScVal, ScVec, WriteXdr,
};

use super::*;

fn xdr(topics: Vec<ScVal>, data: ScVal) -> Vec<u8> {
    let event = ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: None,
        type_: ContractEventType::Contract,
        body: ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap(), data }),
    };
    event.to_xdr(Limits { depth: 100, len: 1 << 20 }).unwrap()
}

/// Bytes of a symbol: what must be escaped and what is no ASCII now and then.
fn symbol() -> impl Strategy<Value = ScVal> {
    let byte = prop_oneof![8 => b'a'..=b'z', 1 => 0..128_u8, 1 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\')];
    prop::collection::vec(byte, 0..=32).prop_map(|bytes| ScVal::Symbol(ScSymbol(bytes.try_into().unwrap())))
}

fn value() -> impl Strategy<Value = ScVal> {
    let bytes = prop::collection::vec(any::<u8>(), 0..70);
    prop_oneof![
        symbol(),
        bytes.clone().prop_map(|bytes| ScVal::Bytes(ScBytes(bytes.try_into().unwrap()))),
        bytes.prop_map(|bytes| {
            let values: Vec<ScVal> = bytes.into_iter().map(|byte| ScVal::U32(byte.into())).collect();
            ScVal::Vec(Some(ScVec(values.try_into().unwrap())))
        }),
        any::<u64>().prop_map(ScVal::U64),
    ]
}

fn event_xdr() -> impl Strategy<Value = Vec<u8>> {
    (prop::option::of(symbol()), prop::collection::vec(value(), 0..5), value())
        .prop_map(|(first, more, data)| xdr(first.into_iter().chain(more).collect(), data))
}

fn position() -> impl Strategy<Value = Position> {
    let ledger = (1..=0x7FFF_FFFF_u32).prop_map(|seq| LedgerSeq::new(seq).unwrap());
    (ledger, 0..4_u8, 1..0xF_FFFF_u32, 0..4095_u32, any::<u32>()).prop_map(|(ledger, stage, tx, op, index)| match stage
    {
        0 => Position::before_all_txs(ledger, index),
        1 => Position::op(ledger, tx, op, index).unwrap(),
        2 => Position::after_tx(ledger, tx, index).unwrap(),
        _ => Position::after_all_txs(ledger, index),
    })
}

/// Events whose neighbours often share contract and close time, and often do not.
fn event() -> impl Strategy<Value = Event> {
    let of = (position(), any::<[u8; 32]>(), any::<u32>(), any::<bool>(), prop_oneof![0..3_u64, any::<u64>()]);
    let contract = prop::option::of(prop_oneof![Just([0; 32]), Just([1; 32]), any::<[u8; 32]>()]);
    let form = (prop::sample::select(&ProofClass::ALL[..]), event_xdr(), prop::option::of(event_xdr()));
    (of, contract, any::<bool>(), form).prop_map(|(of, contract, system, form)| Event {
        position: of.0,
        tx_hash: TxHash(of.1),
        tx_order: of.2,
        successful: of.3,
        close_time_ms: of.4,
        contract_id: contract.map(ContractId),
        kind: if system { EventKind::System } else { EventKind::Contract },
        xdr: form.1,
        proof: form.0,
        rewritten_xdr: form.2,
    })
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::NotApplicable),
        Just(Payload::Pending),
        Just(Payload::Unavailable),
        prop::collection::vec(any::<u8>(), 0..70).prop_map(Payload::Present),
    ]
}

fn shown(event: Event, payload: Payload) -> PageEvent {
    PageEvent { event, roles: Vec::new(), payload }
}

fn written(writer: &mut EventWriter, event: &PageEvent, more: &impl Serialize) -> String {
    let mut out = Vec::new();
    assert!(writer.write(&mut out, event, more).is_ok());
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn an_answered_event_is_the_exported_one_byte_for_byte(
        events in prop::collection::vec((event(), payload()), 1..8),
    ) {
        let mut writer = EventWriter::default();
        for (event, payload) in events {
            let exported = serde_json::to_string(&ExportedEvent::new(&event, &payload).unwrap()).unwrap();
            prop_assert_eq!(written(&mut writer, &shown(event, payload), &NoMore {}), exported);
        }
    }
}

fn some_event() -> PageEvent {
    let event = Event {
        position: Position::op(LedgerSeq::new(63_092_982).unwrap(), 26, 0, 1).unwrap(),
        tx_hash: TxHash([0xAB; 32]),
        tx_order: 26,
        successful: true,
        close_time_ms: 1_700_000_000_250,
        contract_id: Some(ContractId([1; 32])),
        kind: EventKind::Contract,
        xdr: xdr(vec![ScVal::Symbol(ScSymbol(b"mint".to_vec().try_into().unwrap()))], ScVal::Void),
        proof: ProofClass::Committed,
        rewritten_xdr: None,
    };
    shown(event, Payload::NotApplicable)
}

#[test]
fn further_members_stand_behind_an_events_own() {
    #[derive(Serialize)]
    struct More {
        roles: [&'static str; 2],
        note: Option<&'static str>,
    }
    let mut writer = EventWriter::default();
    let alone = written(&mut writer, &some_event(), &NoMore {});
    let more = written(&mut writer, &some_event(), &More { roles: ["from", "to"], note: None });
    let expected = r#","roles":["from","to"],"note":null}"#;
    assert_eq!(more, format!("{}{expected}", alone.strip_suffix('}').unwrap()));
}

#[test]
fn bytes_that_are_no_event_and_members_that_are_no_struct_are_errors() {
    let mut out = Vec::new();
    let mut faulty = some_event();
    faulty.event.rewritten_xdr = Some(vec![0; 3]);
    assert!(matches!(EventWriter::default().write(&mut out, &faulty, &NoMore {}), Err(ReadError::Damaged(_))));
    faulty = some_event();
    faulty.event.xdr.push(0);
    assert!(matches!(EventWriter::default().write(&mut out, &faulty, &NoMore {}), Err(ReadError::Damaged(_))));
    assert!(matches!(EventWriter::default().write(&mut out, &some_event(), &[1, 2]), Err(ReadError::Damaged(_))));
}
