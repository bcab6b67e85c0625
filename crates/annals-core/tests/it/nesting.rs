//! Values nested in values: what a network can close is read, and nothing exhausts the stack.

use annals_core::check_ledger;
use annals_core::decode::{DecodeError, DecodeFault, EnvelopeView, EventView, decode};
use annals_sim::value::{contract, i128, symbol};
use annals_sim::{Body, EventPlan, Format, LedgerPlan, TxPlan, edit_meta};
use stellar_xdr::{
    ClaimPredicate, Claimant, ClaimantV0, ContractDataDurability, ContractDataEntry, ExtensionPoint, LedgerCloseMeta,
    LedgerEntry, LedgerEntryChange, LedgerEntryChanges, LedgerEntryData, LedgerEntryExt, LedgerScpMessages, Limits,
    Operation, OperationBody, ScAddress, ScVal, ScVec, ScpHistoryEntry, ScpHistoryEntryV0, ScpQuorumSet,
    SorobanAuthorizationEntry, SorobanAuthorizedFunction, SorobanAuthorizedInvocation, SorobanCredentials,
    TransactionEnvelope, TransactionMeta, WriteXdr,
};

use crate::built::{chain, check_built, network};

/// Half of the stack that a thread of the standard library has if nobody asks for another; all that WebAssembly has.
const STACK_BYTES: usize = 1 << 20;

/// Runs `body` on a thread with that stack: overflowing it ends the whole test run.
fn on_a_small_stack<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, body);
        thread.unwrap().join().unwrap()
    })
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// A `ContractEvent` without contract and topics, whose data is `level` repeated around a void.
fn event(level: &[u32], levels: usize) -> Vec<u8> {
    let front = [0, 0, 1, 0, 0];
    words(front.into_iter().chain(level.iter().copied().cycle().take(level.len() * levels)).chain([1]))
}

/// `SCV_VEC` and `SCV_MAP`, present, one element; a map's key is a void.
const VEC: &[u32] = &[16, 1, 1];
const MAP: &[u32] = &[17, 1, 1, 1];

fn parse_event(level: &[u32], levels: usize) -> Result<(), DecodeError> {
    let xdr = event(level, levels);
    on_a_small_stack(|| EventView::parse(&xdr).map(drop))
}

#[test]
fn a_value_nested_without_end_is_too_deep_and_costs_no_stack() {
    for level in [VEC, MAP] {
        for levels in [250, 10_000, 1_000_000] {
            assert_eq!(parse_event(level, levels).unwrap_err().fault, DecodeFault::TooDeep, "{levels}");
        }
    }
}

#[test]
fn two_hundred_and_forty_nine_vectors_or_one_hundred_and_ninety_nine_maps_are_read() {
    assert_eq!((parse_event(VEC, 249), parse_event(MAP, 199)), (Ok(()), Ok(())));
    assert_eq!(parse_event(MAP, 200).unwrap_err().fault, DecodeFault::TooDeep);
}

/// The most deeply nested vector that the host can write: 500 levels of types (`DEFAULT_XDR_RW_LIMITS`).
fn deepest_of_the_host() -> ScVal {
    let limits = || Limits { depth: 500, len: 1 << 20 };
    let nest = |value: ScVal| ScVal::Vec(Some(ScVec(vec![value].try_into().unwrap())));
    let mut value = ScVal::Void;
    while nest(value.clone()).to_xdr(limits()).is_ok() {
        value = nest(value);
    }
    value
}

#[test]
fn the_deepest_value_that_the_host_can_write_is_read_wherever_it_stands() {
    let deepest = deepest_of_the_host();
    let plan = EventPlan::new(contract(1), vec![symbol("deep"), deepest.clone()], deepest.clone());
    let mut call = TxPlan::invocation(contract(1), vec![plan]).with_diagnostics();
    let Body::Invocation(invocation) = &mut call.body else { panic!("an invocation") };
    invocation.args.push(deepest.clone());
    invocation.return_value = annals_sim::ReturnValue::Value(deepest.clone());
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![call]));
    let entry = LedgerEntry {
        last_modified_ledger_seq: 99,
        data: LedgerEntryData::ContractData(ContractDataEntry {
            ext: ExtensionPoint::V0,
            contract: ScAddress::Contract(stellar_xdr::ContractId(stellar_xdr::Hash([1; 32]))),
            key: deepest.clone(),
            durability: ContractDataDurability::Persistent,
            val: deepest,
        }),
        ext: LedgerEntryExt::V0,
    };
    let changes = LedgerEntryChanges(vec![LedgerEntryChange::Updated(entry)].try_into().unwrap());
    let xdr = edit_meta(&built.xdr, |meta| {
        let LedgerCloseMeta::V2(meta) = meta else { panic!("a ledger of protocol 23 and later") };
        let mut processing = meta.tx_processing.to_vec();
        let TransactionMeta::V4(v4) = &mut processing[0].tx_apply_processing else { panic!("V4") };
        let mut operation = v4.operations[0].clone();
        operation.changes = changes;
        v4.operations = vec![operation].try_into().unwrap();
        meta.tx_processing = processing.try_into().unwrap();
    });
    let ledger = on_a_small_stack(|| check_ledger(&xdr, &network()).unwrap());
    assert_eq!((ledger.census.committed, ledger.events), (1, built.events));
}

/// An envelope around one operation, changed by `edit`, as XDR.
fn envelope(edit: impl FnOnce(&mut Operation)) -> Vec<u8> {
    let call = TxPlan::invocation(contract(1), Vec::new());
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![call]));
    check_built(&built);
    let view = decode(&built.xdr).unwrap();
    let xdr = view.tx_set.envelopes[0].xdr;
    let mut envelope = <TransactionEnvelope as stellar_xdr::ReadXdr>::from_xdr(xdr, Limits::none()).unwrap();
    let TransactionEnvelope::Tx(v1) = &mut envelope else { panic!("a V1 envelope") };
    let mut operation = v1.tx.operations[0].clone();
    edit(&mut operation);
    v1.tx.operations = vec![operation].try_into().unwrap();
    envelope.to_xdr(Limits::none()).unwrap()
}

/// `innermost` wrapped `levels` times in `around`, in place of its only occurrence in `bytes`.
fn nest_in(bytes: &[u8], innermost: &[u8], around: &[u8], levels: usize) -> Vec<u8> {
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(innermost)).collect();
    let [at] = places.as_slice() else { panic!("the innermost part occurs once: {places:?}") };
    [&bytes[..*at], &around.repeat(levels), &bytes[*at..]].concat()
}

fn parse_envelope(xdr: &[u8]) -> Result<(), DecodeError> {
    on_a_small_stack(|| EnvelopeView::parse(xdr).map(drop))
}

#[test]
fn authorizations_within_authorizations_are_read_as_deep_as_the_core_takes_them() {
    let function = SorobanAuthorizedFunction::ContractFn(stellar_xdr::InvokeContractArgs {
        contract_address: ScAddress::Contract(stellar_xdr::ContractId(stellar_xdr::Hash([0xAA; 32]))),
        function_name: stellar_xdr::ScSymbol("authorized".try_into().unwrap()),
        args: vec![i128(77)].try_into().unwrap(),
    });
    let function_xdr = function.to_xdr(Limits::none()).unwrap();
    let flat = envelope(|operation| {
        let OperationBody::InvokeHostFunction(call) = &mut operation.body else { panic!("an invocation") };
        let root_invocation = SorobanAuthorizedInvocation { function, sub_invocations: Vec::new().try_into().unwrap() };
        let credentials = SorobanCredentials::SourceAccount;
        call.auth = vec![SorobanAuthorizationEntry { credentials, root_invocation }].try_into().unwrap();
    });
    let around = [function_xdr.as_slice(), &1_u32.to_be_bytes()].concat();
    let nested = |levels| parse_envelope(&nest_in(&flat, &function_xdr, &around, levels)).map_err(|error| error.fault);
    // The core counts two levels for each, and takes 500.
    assert_eq!((nested(0), nested(250), nested(480)), (Ok(()), Ok(()), Ok(())));
    assert_eq!((nested(500), nested(20_000)), (Err(DecodeFault::TooDeep), Err(DecodeFault::TooDeep)));
}

#[test]
fn predicates_within_predicates_are_read_as_deep_as_the_core_takes_them() {
    let flat = envelope(|operation| {
        let v0 = ClaimantV0 {
            destination: stellar_xdr::AccountId(stellar_xdr::PublicKey::PublicKeyTypeEd25519(stellar_xdr::Uint256(
                [3; 32],
            ))),
            predicate: ClaimPredicate::BeforeAbsoluteTime(0x0123_4567_89AB_CDEF),
        };
        operation.body = OperationBody::CreateClaimableBalance(stellar_xdr::CreateClaimableBalanceOp {
            asset: stellar_xdr::Asset::Native,
            amount: 1,
            claimants: vec![Claimant::ClaimantTypeV0(v0)].try_into().unwrap(),
        });
    });
    let innermost = ClaimPredicate::BeforeAbsoluteTime(0x0123_4567_89AB_CDEF).to_xdr(Limits::none()).unwrap();
    // `CLAIM_PREDICATE_NOT` and a present optional.
    let around = words([3, 1]);
    let nested = |levels| parse_envelope(&nest_in(&flat, &innermost, &around, levels)).map_err(|error| error.fault);
    assert_eq!((nested(0), nested(250), nested(320)), (Ok(()), Ok(()), Ok(())));
    assert_eq!((nested(340), nested(1_000_000)), (Err(DecodeFault::TooDeep), Err(DecodeFault::TooDeep)));
}

#[test]
fn quorum_sets_within_quorum_sets_are_too_deep_for_a_ledger() {
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(Vec::new()));
    let set = ScpQuorumSet {
        threshold: 0xABCD_1234,
        validators: Vec::new().try_into().unwrap(),
        inner_sets: Vec::new().try_into().unwrap(),
    };
    let innermost = set.to_xdr(Limits::none()).unwrap();
    let flat = edit_meta(&built.xdr, |meta| {
        let LedgerCloseMeta::V2(meta) = meta else { panic!("a ledger of protocol 23 and later") };
        let ledger_messages = LedgerScpMessages { ledger_seq: 100, messages: Vec::new().try_into().unwrap() };
        let entry = ScpHistoryEntryV0 { quorum_sets: vec![set].try_into().unwrap(), ledger_messages };
        meta.scp_info = vec![ScpHistoryEntry::V0(entry)].try_into().unwrap();
    });
    let nested = |levels| {
        let xdr = nest_in(&flat, &innermost, &words([1, 0, 1]), levels);
        on_a_small_stack(|| decode(&xdr).map(drop)).map_err(|error| error.fault)
    };
    assert_eq!((nested(0), nested(400)), (Ok(()), Ok(())));
    assert_eq!((nested(10_000), nested(1_000_000)), (Err(DecodeFault::TooDeep), Err(DecodeFault::TooDeep)));
}
