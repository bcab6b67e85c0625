use proptest::prelude::*;
use stellar_xdr::{
    AccountId, ClaimableBalanceId, ContractEvent, ContractEventBody, ContractEventType, ContractEventV0,
    ContractExecutable, ExtensionPoint, Hash, Int128Parts, Limits, MuxedEd25519Account, PoolId, PublicKey, ScAddress,
    ScBytes, ScContractInstance, ScError, ScErrorCode, ScMap, ScMapEntry, ScNonceKey, ScString, ScSymbol, ScVal, ScVec,
    UInt256Parts, Uint256, WriteXdr,
};

use super::*;

fn xdr(contract: Option<[u8; 32]>, kind: ContractEventType, topics: Vec<ScVal>, data: ScVal) -> Vec<u8> {
    let event = ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: contract.map(|id| stellar_xdr::ContractId(Hash(id))),
        type_: kind,
        body: ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap(), data }),
    };
    event.to_xdr(Limits { depth: 500, len: 1 << 20 }).unwrap()
}

fn address() -> impl Strategy<Value = ScAddress> {
    let of = |kind: u8, bytes: [u8; 32], id: u64| match kind {
        0 => ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(bytes)))),
        1 => ScAddress::Contract(stellar_xdr::ContractId(Hash(bytes))),
        2 => ScAddress::MuxedAccount(MuxedEd25519Account { id, ed25519: Uint256(bytes) }),
        3 => ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash(bytes))),
        _ => ScAddress::LiquidityPool(PoolId(Hash(bytes))),
    };
    (0..5_u8, any::<[u8; 32]>(), any::<u64>()).prop_map(move |(kind, bytes, id)| of(kind, bytes, id))
}

fn leaf() -> impl Strategy<Value = ScVal> {
    let bytes = |max: usize| prop::collection::vec(any::<u8>(), 0..=max);
    prop_oneof![
        any::<bool>().prop_map(ScVal::Bool),
        Just(ScVal::Void),
        any::<u32>().prop_map(ScVal::U32),
        any::<i32>().prop_map(ScVal::I32),
        any::<u64>().prop_map(ScVal::U64),
        any::<i64>().prop_map(|number| ScVal::Timepoint(stellar_xdr::TimePoint(number as u64))),
        any::<(i64, u64)>().prop_map(|(hi, lo)| ScVal::I128(Int128Parts { hi, lo })),
        any::<[u64; 4]>().prop_map(|[hi_hi, hi_lo, lo_hi, lo_lo]| ScVal::U256(UInt256Parts {
            hi_hi,
            hi_lo,
            lo_hi,
            lo_lo
        })),
        bytes(50).prop_map(|bytes| ScVal::Bytes(ScBytes(bytes.try_into().unwrap()))),
        bytes(50).prop_map(|bytes| ScVal::String(ScString(bytes.try_into().unwrap()))),
        bytes(32).prop_map(|bytes| ScVal::Symbol(ScSymbol(bytes.try_into().unwrap()))),
        address().prop_map(ScVal::Address),
        Just(ScVal::Vec(None)),
        Just(ScVal::Map(None)),
        any::<u32>().prop_map(|code| ScVal::Error(ScError::Contract(code))),
        Just(ScVal::Error(ScError::Budget(ScErrorCode::ExceededLimit))),
        any::<i64>().prop_map(|nonce| ScVal::LedgerKeyNonce(ScNonceKey { nonce })),
        Just(ScVal::LedgerKeyContractInstance),
        any::<[u8; 32]>().prop_map(|hash| ScVal::ContractInstance(ScContractInstance {
            executable: ContractExecutable::Wasm(Hash(hash)),
            storage: None,
        })),
        bytes(9).prop_map(|bytes| ScVal::ExecutableTag(ScString(bytes.try_into().unwrap()))),
    ]
}

fn value() -> impl Strategy<Value = ScVal> {
    leaf().prop_recursive(6, 24, 4, |inner| {
        let vec = prop::collection::vec(inner.clone(), 0..4);
        let map = prop::collection::vec((inner.clone(), inner), 0..4);
        prop_oneof![
            vec.prop_map(|values| ScVal::Vec(Some(ScVec(values.try_into().unwrap())))),
            map.prop_map(|entries| {
                let entries: Vec<_> = entries.into_iter().map(|(key, val)| ScMapEntry { key, val }).collect();
                ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
            }),
        ]
    })
}

fn event_xdr() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![
        Just(ContractEventType::Contract),
        Just(ContractEventType::System),
        Just(ContractEventType::Diagnostic)
    ];
    (any::<Option<[u8; 32]>>(), kind, prop::collection::vec(value(), 0..6), value())
        .prop_map(|(contract, kind, topics, data)| xdr(contract, kind, topics, data))
}

/// Puts `value` into so many vectors.
fn nested(levels: u32, value: ScVal) -> ScVal {
    (0..levels).fold(value, |inner, _| ScVal::Vec(Some(ScVec(vec![inner].try_into().unwrap()))))
}

fn vouched(xdr: &[u8]) {
    if let Some(walked) = event(xdr) {
        assert_eq!(EventView::parse(xdr).as_ref(), Ok(&walked));
    }
    assert_eq!(EventView::stored(xdr), EventView::parse(xdr));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_the_walk_takes_is_what_the_typed_decoder_takes(xdr in event_xdr()) {
        prop_assert!(EventView::parse(&xdr).is_ok());
        vouched(&xdr);
    }

    #[test]
    fn the_walk_takes_no_bytes_that_the_typed_decoder_refuses(
        xdr in event_xdr(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), 0..20_u8]), 1..4),
        cut in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let mut edited = xdr.clone();
        for (place, byte) in edits {
            let place = place.index(edited.len());
            edited[place] = byte;
        }
        vouched(&edited);
        vouched(&xdr[..cut.index(xdr.len())]);
        vouched(&[xdr, more].concat());
    }
}

#[test]
fn the_walk_itself_takes_the_events_of_tokens() {
    let address = || ScVal::Address(ScAddress::Contract(stellar_xdr::ContractId(Hash([7; 32]))));
    let topics = vec![ScVal::Symbol(ScSymbol(b"transfer".to_vec().try_into().unwrap())), address(), address()];
    let amount = ScVal::I128(Int128Parts { hi: 0, lo: 5 });
    let xdr = xdr(Some([1; 32]), ContractEventType::Contract, topics, amount);
    assert_eq!(event(&xdr), EventView::parse(&xdr).ok());
    assert!(event(&xdr).is_some());
}

#[test]
fn what_is_nested_too_deeply_for_the_walk_is_left_to_the_typed_decoder() {
    let nested = |levels| xdr(None, ContractEventType::System, Vec::new(), nested(levels, ScVal::Void));
    assert!(event(&nested(NESTING_MAX)).is_some());
    assert!(event(&nested(NESTING_MAX + 1)).is_none());
    for levels in [NESTING_MAX, NESTING_MAX + 1, 100] {
        vouched(&nested(levels));
        assert!(EventView::stored(&nested(levels)).is_ok());
    }
}

#[test]
fn padding_and_words_of_bools_that_are_not_canonical_are_not_taken() {
    let bytes = |bytes: &[u8]| ScVal::Bytes(ScBytes(bytes.to_vec().try_into().unwrap()));
    let mut padded = xdr(None, ContractEventType::System, Vec::new(), bytes(&[1]));
    *padded.last_mut().unwrap() = 1;
    let mut two = xdr(None, ContractEventType::System, Vec::new(), ScVal::Bool(true));
    *two.last_mut().unwrap() = 2;
    for faulty in [padded, two] {
        assert_eq!(event(&faulty), None);
        assert!(EventView::stored(&faulty).is_err());
    }
}
