//! What a transfer leaves out, found in its invocation, and whatever must not be taken for it.

use annals_core::check::transaction_hash;
use annals_core::decode::EnvelopeView;
use annals_core::registry::Payload;
use annals_core::{ContractId, Event, EventKind, Network, Position, ProofClass, Registry, Schema};
use annals_sim::value::{account, account_address, bytes, contract, contract_address, symbol};
use annals_sim::{EnvelopeForm, EventPlan, Format, InvocationPlan, LedgerPlan, TxPlan};
use stellar_xdr::{
    FeeBumpTransactionInnerTx, HostFunction, InvokeHostFunctionOp, Limits, MuxedEd25519Account, Operation,
    OperationBody, ReadXdr, ScAddress, ScMap, ScMapEntry, ScVal, Transaction, TransactionEnvelope, TransactionV0,
    TransactionV0Envelope, TransactionV0Ext, Uint256, VecM, WriteXdr,
};

use crate::built::{chain, check_built, network};

/// The data of a transfer in July 2026.
const TILDE_TRANSFER: &str = "r_e_point v_tilde sigma b_tilde v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s b_tilde_aud_s";

const CONTENT: &[u8] = b"what only the invocation says";

fn schema(name: &str) -> Schema {
    Registry::builtin().schema(&name.parse().unwrap()).unwrap()
}

fn token() -> Schema {
    schema("confidential-token")
}

fn map(keys: &str) -> ScVal {
    let mut keys: Vec<&str> = keys.split_whitespace().collect();
    keys.sort_unstable();
    let entries: Vec<_> = keys.into_iter().map(|key| ScMapEntry { key: symbol(key), val: ScVal::U32(1) }).collect();
    ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
}

/// An event of contract 1 with these accounts in its topics.
fn event(name: &str, parties: &[u32], keys: &str) -> EventPlan {
    let addresses = parties.iter().map(|number| account_address(account(*number)));
    EventPlan::new(contract(1), [symbol(name)].into_iter().chain(addresses).collect(), map(keys))
}

fn transfer() -> EventPlan {
    event("transfer", &[1, 2], TILDE_TRANSFER)
}

/// A call of contract 1, with these accounts and the content as arguments.
fn call(function: &str, parties: &[u32], event: EventPlan) -> InvocationPlan {
    let args = parties.iter().map(|number| account_address(account(*number))).chain([bytes(CONTENT)]).collect();
    InvocationPlan { function: function.to_owned(), args, ..InvocationPlan::new(contract(1), vec![event]) }
}

fn direct() -> InvocationPlan {
    call("confidential_transfer", &[1, 2], transfer())
}

/// The committed event of a call in a ledger, and its transaction's envelope.
fn emitted(call: InvocationPlan, form: EnvelopeForm) -> (Event, Vec<u8>) {
    let plan = TxPlan::invoking(call).in_envelope(form);
    let mut ledger = check_built(&chain(Format::V2Meta4).push(&LedgerPlan::new(vec![plan])));
    let event = ledger.events.into_iter().find(|event| event.proof == ProofClass::Committed).unwrap();
    (event, ledger.proof.invocations.remove(0).envelope_xdr)
}

fn payload(call: InvocationPlan) -> Payload {
    let (event, envelope) = emitted(call, EnvelopeForm::V1);
    token().payload(network().id(), &event, Some(&envelope), true)
}

fn present() -> Payload {
    Payload::Present(CONTENT.to_vec())
}

#[test]
fn a_direct_call_carries_its_transfers_payload_in_a_fee_bump_too() {
    for form in [EnvelopeForm::V1, EnvelopeForm::FeeBump] {
        let (event, envelope) = emitted(direct(), form);
        let found = token().payload(network().id(), &event, Some(&envelope), true);
        assert_eq!(found, present(), "{form:?}");
        assert_eq!(found.state(), "present");
        let unverified = Event { proof: ProofClass::Unverified, ..event };
        assert_eq!(token().payload(network().id(), &unverified, Some(&envelope), true), present());
    }
    let own = call("confidential_transfer", &[1, 1], event("transfer", &[1, 1], TILDE_TRANSFER));
    assert_eq!(payload(own), present(), "a transfer to oneself");
}

#[test]
fn every_version_of_a_transfer_and_of_a_delegated_one_carries_a_payload() {
    let plain = "r_e v_tilde sigma b_tilde v_aud_r r_aud_r v_aud_s b_aud_s";
    let escrowed =
        "r_e_point v_tilde sigma b_tilde v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s b_tilde_aud_s r_tilde_aud_s";
    for keys in [plain, TILDE_TRANSFER, escrowed] {
        assert_eq!(payload(call("confidential_transfer", &[1, 2], event("transfer", &[1, 2], keys))), present());
    }
    let delegated = [
        ("operator_transfer", "r_e v_tilde sigma_a v_aud_r r_aud_r v_aud_s a_aud_s"),
        ("spender_transfer", "r_e v_tilde sigma_a v_aud_r r_aud_r v_aud_s a_aud_s"),
        ("spender_transfer", "r_e_point v_tilde sigma_a v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s a_tilde_aud_s"),
        (
            "spender_transfer",
            "r_e_point v_tilde sigma_a_new v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s a_tilde_aud_s r_tilde_aud_s",
        ),
    ];
    for (name, keys) in delegated {
        let of = |parties: &[u32]| payload(call("confidential_transfer_from", parties, event(name, &[3, 1, 2], keys)));
        assert_eq!(of(&[3, 1, 2]), present(), "{name}");
        assert_eq!(of(&[1, 3, 2]), Payload::Unavailable, "{name}");
        assert_eq!(of(&[1, 2]), Payload::Unavailable, "{name}");
    }
}

#[test]
fn another_call_vouches_for_nothing() {
    let router = |contract: ContractId| InvocationPlan { contract, ..direct() };
    assert_eq!(payload(router(contract(2))), Payload::Unavailable, "another contract with the same arguments");
    for function in ["confidential_transfer_from", "transfer", "batch"] {
        assert_eq!(payload(call(function, &[1, 2], transfer())), Payload::Unavailable, "{function}");
    }
    for parties in [&[2, 1][..], &[1, 3], &[3, 2], &[1], &[], &[1, 2, 2]] {
        let other = call("confidential_transfer", parties, transfer());
        assert_eq!(payload(other), Payload::Unavailable, "{parties:?}");
    }
    for argument in [ScVal::Void, symbol("bytes"), contract_address(contract(1))] {
        let mut call = direct();
        call.args[2] = argument;
        assert_eq!(payload(call), Payload::Unavailable);
    }
    let mut more = direct();
    more.args.push(ScVal::U32(1));
    assert_eq!(payload(more), present(), "what follows the argument is not asked for");
}

#[test]
fn a_muxed_argument_is_the_account_under_it() {
    let mut muxed = direct();
    let address = ScAddress::MuxedAccount(MuxedEd25519Account { id: 8, ed25519: Uint256(account(2)) });
    muxed.args[1] = ScVal::Address(address);
    assert_eq!(payload(muxed), present());
}

#[test]
fn an_event_that_is_not_alone_or_stands_elsewhere_has_none() {
    let (event, envelope) = emitted(direct(), EnvelopeForm::V1);
    let of = |event: &Event, alone| token().payload(network().id(), event, Some(&envelope), alone);
    assert_eq!(of(&event, true), present());
    assert_eq!(of(&event, false), Payload::Unavailable);
    let seq = event.position.ledger();
    let elsewhere = [
        Position::op(seq, 1, 1, 0).unwrap(),
        Position::after_tx(seq, 1, 0).unwrap(),
        Position::before_all_txs(seq, 0),
        Position::after_all_txs(seq, 0),
    ];
    for position in elsewhere {
        assert_eq!(of(&Event { position, ..event.clone() }, true), Payload::Unavailable, "{position}");
    }
}

#[test]
fn an_envelope_that_does_not_hash_to_the_events_transaction_is_not_asked() {
    let (event, envelope) = emitted(direct(), EnvelopeForm::FeeBump);
    let of = |event: &Event, network: &Network, xdr: &[u8]| token().payload(network.id(), event, Some(xdr), true);
    assert_eq!(of(&event, &Network::new("another network"), &envelope), Payload::Unavailable);
    let (_, other) = emitted(direct(), EnvelopeForm::V1);
    assert_eq!(of(&event, &network(), &other), Payload::Unavailable, "another transaction with the same call");
    // The transaction of an event in a fee bump is the outer one.
    let limits = Limits { depth: 1000, len: envelope.len() };
    let TransactionEnvelope::TxFeeBump(bump) = TransactionEnvelope::from_xdr(&envelope, limits).unwrap() else {
        panic!("a fee bump")
    };
    let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
    let inner = TransactionEnvelope::Tx(inner).to_xdr(Limits { depth: 1000, len: 1 << 20 }).unwrap();
    let inner_hash = transaction_hash(&EnvelopeView::parse(&inner).unwrap(), network().id());
    assert_eq!(of(&event, &network(), &inner), Payload::Unavailable);
    assert_eq!(of(&Event { tx_hash: inner_hash, ..event.clone() }, &network(), &envelope), Payload::Unavailable);
    for length in 0..envelope.len() {
        assert_eq!(of(&event, &network(), &envelope[..length]), Payload::Unavailable);
    }
    assert_eq!(of(&event, &network(), &[envelope.as_slice(), &[0; 4]].concat()), Payload::Unavailable);
    for at in 0..envelope.len() {
        let mut damaged = envelope.clone();
        damaged[at] ^= 1;
        // Signatures are no part of what hashes.
        let found = of(&event, &network(), &damaged);
        assert!(found == Payload::Unavailable || found == present(), "at {at}");
    }
}

/// The state of the transfer's payload when its transaction is `edit`ed, and the event said to be of the new one.
fn of_transaction(edit: impl Fn(Transaction) -> TransactionEnvelope) -> Payload {
    let (event, envelope) = emitted(direct(), EnvelopeForm::V1);
    let limits = Limits { depth: 1000, len: envelope.len() };
    let TransactionEnvelope::Tx(envelope) = TransactionEnvelope::from_xdr(&envelope, limits).unwrap() else {
        panic!("a transaction")
    };
    let xdr = edit(envelope.tx).to_xdr(Limits { depth: 1000, len: 1 << 20 }).unwrap();
    let tx_hash = transaction_hash(&EnvelopeView::parse(&xdr).unwrap(), network().id());
    token().payload(network().id(), &Event { tx_hash, ..event }, Some(&xdr), true)
}

fn signed(tx: Transaction) -> TransactionEnvelope {
    TransactionEnvelope::Tx(stellar_xdr::TransactionV1Envelope { tx, signatures: VecM::default() })
}

#[test]
fn only_a_transaction_whose_single_operation_is_the_call_is_asked() {
    assert_eq!(of_transaction(signed), present());
    let twice = |mut tx: Transaction| {
        tx.operations = [tx.operations.to_vec(), tx.operations.to_vec()].concat().try_into().unwrap();
        signed(tx)
    };
    assert_eq!(of_transaction(twice), Payload::Unavailable);
    let none = |mut tx: Transaction| {
        tx.operations = VecM::default();
        signed(tx)
    };
    assert_eq!(of_transaction(none), Payload::Unavailable);
    let with = |body: OperationBody| {
        move |mut tx: Transaction| {
            let operation = Operation { source_account: None, body: body.clone() };
            tx.operations = vec![operation].try_into().unwrap();
            signed(tx)
        }
    };
    let upload = HostFunction::UploadContractWasm(CONTENT.try_into().unwrap());
    let upload = InvokeHostFunctionOp { host_function: upload, auth: VecM::default() };
    assert_eq!(of_transaction(with(OperationBody::InvokeHostFunction(upload))), Payload::Unavailable);
    assert_eq!(of_transaction(with(OperationBody::Inflation)), Payload::Unavailable);
    // The oldest form has no room for an invocation that a network would accept.
    let oldest = |tx: Transaction| {
        let tx = TransactionV0 {
            source_account_ed25519: Uint256([1; 32]),
            fee: tx.fee,
            seq_num: tx.seq_num,
            time_bounds: None,
            memo: tx.memo,
            operations: tx.operations,
            ext: TransactionV0Ext::V0,
        };
        TransactionEnvelope::TxV0(TransactionV0Envelope { tx, signatures: VecM::default() })
    };
    assert_eq!(of_transaction(oldest), Payload::Unavailable);
}

#[test]
fn without_an_envelope_a_payload_is_pending_where_a_source_gave_too_little() {
    let (event, envelope) = emitted(direct(), EnvelopeForm::V1);
    let of = |proof, alone| token().payload(network().id(), &Event { proof, ..event.clone() }, None, alone).state();
    assert_eq!(of(ProofClass::Unverified, true), "pending");
    assert_eq!(of(ProofClass::Unverified, false), "unavailable");
    assert_eq!(of(ProofClass::Committed, true), "unavailable");
    assert_eq!(of(ProofClass::Uncommitted, true), "unavailable");
    // An event that fits no shape may turn out to have one.
    let plan = self::event("transfer", &[1, 2], "sigma");
    let strange = Event { xdr: plan.xdr(), ..event };
    assert_eq!(token().payload(network().id(), &strange, Some(&envelope), true).state(), "pending");
    let unreadable = Event { xdr: b"no event".to_vec(), ..strange };
    assert_eq!(token().payload(network().id(), &unreadable, Some(&envelope), true).state(), "pending");
}

#[test]
fn most_events_leave_nothing_out() {
    let (merge, envelope) = emitted(call("merge", &[1], event("merge", &[1], "")), EnvelopeForm::V1);
    let of = |schema: &Schema, event: &Event| schema.payload(network().id(), event, Some(&envelope), true).state();
    assert_eq!(of(&token(), &merge), "not_applicable");
    assert_eq!(of(&schema("token"), &merge), "not_applicable", "no event of this schema has one");
    assert_eq!(of(&token(), &Event { kind: EventKind::System, ..merge }), "not_applicable");
}
