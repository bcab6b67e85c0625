//! What the generated traffic holds, and what it says of itself.

use std::collections::{BTreeMap, BTreeSet};

use annals_core::decode::decode;
use annals_core::{ContractId, check_ledger};
use annals_sim::{
    AmountForm, AssetEvents, Body, ChainBuilder, EnvelopeForm, EventPlan, Format, LedgerPlan, Misshape, Payload, Rng,
    TokenTraffic, TokenVersion, TrafficLedger, TxPlan, shape, value,
};
use stellar_xdr::{
    HostFunction, InvokeContractArgs, Limits, OperationBody, ReadXdr, ScAddress, ScVal, TransactionEnvelope,
};

use super::token::Run;
use super::{network, seq};

fn name(event: &EventPlan) -> &str {
    let ScVal::Symbol(name) = &event.topics[0] else { panic!("a name") };
    std::str::from_utf8(name.0.as_slice()).unwrap()
}

/// The keys of an event's data, which stand in the host's order.
fn fields(event: &EventPlan) -> Vec<&str> {
    let ScVal::Map(Some(map)) = &event.data else { panic!("the data of a token's event is a map") };
    let key = |entry| match entry {
        &stellar_xdr::ScMapEntry { key: ScVal::Symbol(ref key), .. } => std::str::from_utf8(key.0.as_slice()).unwrap(),
        other => panic!("{other:?} is no field"),
    };
    let keys: Vec<_> = map.0.iter().map(key).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    keys
}

/// The wire, written down by hand: an event's roles and its data's fields in each version.
const WIRE: &[(&[TokenVersion], &str, &str, &str)] = {
    use TokenVersion::{Between, July, Later, Operator};
    const ALL: &[TokenVersion] = &TokenVersion::ALL;
    const OLD: &[TokenVersion] = &[Operator, Between];
    &[
        (ALL, "register", "account", "auditor_id"),
        (ALL, "deposit", "from to", "amount"),
        (ALL, "merge", "account", ""),
        (OLD, "withdraw", "from to", "amount b_aud_s b_tilde r_e sigma"),
        (&[July], "withdraw", "from to", "amount b_tilde b_tilde_aud_s r_e_point sigma"),
        (&[Later], "withdraw", "from to", "amount b_tilde b_tilde_aud_s r_e_point r_tilde_aud_s sigma"),
        (OLD, "transfer", "from to", "b_aud_s b_tilde r_aud_r r_e sigma v_aud_r v_aud_s v_tilde"),
        (
            &[July],
            "transfer",
            "from to",
            "b_tilde b_tilde_aud_s r_e_point r_tilde_aud_r sigma v_tilde v_tilde_aud_r v_tilde_aud_s",
        ),
        (
            &[Later],
            "transfer",
            "from to",
            "b_tilde b_tilde_aud_s r_e_point r_tilde_aud_r r_tilde_aud_s sigma v_tilde v_tilde_aud_r v_tilde_aud_s",
        ),
        (&[Operator], "operator_transfer", "operator from to", "a_aud_s r_aud_r r_e sigma_a v_aud_r v_aud_s v_tilde"),
        (&[Between], "spender_transfer", "spender from to", "a_aud_s r_aud_r r_e sigma_a v_aud_r v_aud_s v_tilde"),
        (
            &[July],
            "spender_transfer",
            "spender from to",
            "a_tilde_aud_s r_e_point r_tilde_aud_r sigma_a v_tilde v_tilde_aud_r v_tilde_aud_s",
        ),
        (
            &[Later],
            "spender_transfer",
            "spender from to",
            "a_tilde_aud_s r_e_point r_tilde_aud_r r_tilde_aud_s sigma_a_new v_tilde v_tilde_aud_r v_tilde_aud_s",
        ),
        (&[Operator], "set_operator", "account operator", "b_aud_s b_tilde expiration_ledger r_e sigma v_aud_s"),
        (&[Between], "set_spender", "account spender", "b_aud_s b_tilde expiration_ledger r_e sigma v_aud_s"),
        (
            &[July],
            "set_spender",
            "account spender",
            "b_tilde b_tilde_aud_s live_until_ledger r_e_point sigma v_tilde_aud_s",
        ),
        (
            &[Later],
            "set_spender",
            "account spender",
            "b_tilde b_tilde_aud_s live_until_ledger r_a_tilde_aud_s r_e_point r_tilde_aud_s sigma v_tilde_aud_s",
        ),
        (&[Operator], "revoke_operator", "account operator", "b_aud_s b_tilde r_e sigma v_aud_s"),
        (&[Between], "revoke_spender", "account spender", "b_aud_s b_tilde r_e sigma v_aud_s"),
        (&[July], "revoke_spender", "account spender", "b_tilde b_tilde_aud_s r_e_point sigma v_tilde_aud_s"),
        (&[Later], "revoke_spender", "account spender", "a_tilde allowance_salt"),
        (&[Later], "clawback", "account", "amount destination"),
        (&[Later], "frozen", "account", ""),
        (&[Later], "unfrozen", "account", ""),
        (&[Later], "compliance_config_changed", "", "policy sac_passthrough"),
        (ALL, "underlying_asset_set", "", "underlying_asset"),
        (ALL, "verifier_set", "", "verifier"),
        (ALL, "auditor_set", "", "auditor"),
        (ALL, "address_as_field_set", "", "address_as_field"),
    ]
};

#[test]
fn every_event_of_every_version_has_the_shape_that_is_written_down() {
    for version in TokenVersion::ALL {
        let mut seen = BTreeMap::new();
        for seed in 0..3 {
            let mut traffic = TokenTraffic::new(seed, value::contract(1), version);
            for event in (0..60).flat_map(|_| traffic.next_ledger().events) {
                let roles: Vec<_> = event.parties.iter().map(|(role, _)| *role).collect();
                let addresses: Vec<_> = event.parties.iter().map(|(_, party)| ScVal::Address(party.clone())).collect();
                assert_eq!(event.event.topics[1..], addresses, "topics are the parties");
                let shape = (roles.join(" "), fields(&event.event).join(" "));
                let first = seen.entry(name(&event.event).to_owned()).or_insert_with(|| shape.clone());
                assert_eq!(*first, shape);
            }
        }
        let written = WIRE.iter().filter(|(versions, ..)| versions.contains(&version));
        let written: BTreeMap<_, _> = written
            .map(|(_, name, roles, fields)| ((*name).to_owned(), ((*roles).to_owned(), (*fields).to_owned())))
            .collect();
        assert_eq!(seen, written, "{version:?}");
    }
}

#[test]
fn points_scalars_and_amounts_have_their_real_lengths() {
    for version in TokenVersion::ALL {
        let mut traffic = TokenTraffic::new(1, value::contract(1), version);
        for event in (0..60).flat_map(|_| traffic.next_ledger().events) {
            let ScVal::Map(Some(map)) = &event.event.data else { panic!("a map") };
            for entry in map.0.iter() {
                let ScVal::Symbol(key) = &entry.key else { panic!("a symbol") };
                match (key.0.to_utf8_string().unwrap().as_str(), &entry.val) {
                    ("r_e" | "r_e_point", ScVal::Bytes(point)) => assert_eq!(point.0.len(), 64),
                    (_, ScVal::Bytes(scalar)) => {
                        let scalar: [u8; 32] = scalar.0.as_slice().try_into().unwrap();
                        assert!(annals_sim::token::Scalar::from_bytes(scalar).is_some(), "{scalar:?} is canonical");
                    }
                    ("amount", ScVal::I128(_)) => {}
                    ("auditor_id" | "live_until_ledger" | "expiration_ledger", ScVal::U32(_)) => {}
                    ("destination" | "policy", ScVal::Void) | ("sac_passthrough", ScVal::Bool(_)) => {}
                    (_, ScVal::Address(_)) => {}
                    (key, val) => panic!("{key} is {val:?}"),
                }
            }
        }
    }
}

/// What the envelope of transaction `tx_order` invokes.
fn invoked(xdr: &[u8], tx_order: u32) -> InvokeContractArgs {
    let view = decode(xdr).unwrap();
    let hash = view.transactions[tx_order as usize - 1].result.tx_hash;
    let envelope = view
        .tx_set
        .envelopes
        .iter()
        .find(|envelope| annals_core::check::transaction_hash(envelope, network().id()) == hash);
    let tx = match TransactionEnvelope::from_xdr(envelope.unwrap().xdr, Limits::none()).unwrap() {
        TransactionEnvelope::Tx(envelope) => envelope.tx,
        TransactionEnvelope::TxFeeBump(bump) => {
            let stellar_xdr::FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
            inner.tx
        }
        TransactionEnvelope::TxV0(_) => panic!("an invocation"),
    };
    let OperationBody::InvokeHostFunction(op) = &tx.operations[0].body else { panic!("an invocation") };
    let HostFunction::InvokeContract(call) = &op.host_function else { panic!("a call") };
    call.clone()
}

/// The payload by the rule of an archive: the token's own function, with the topics' addresses in front.
fn payload_by_rule(call: &InvokeContractArgs, token: ContractId, event: &EventPlan) -> Payload {
    let function = match name(event) {
        "transfer" => "confidential_transfer",
        "spender_transfer" | "operator_transfer" => "confidential_transfer_from",
        _ => return Payload::NotApplicable,
    };
    let own =
        call.contract_address == value::contract_party(token) && call.function_name.0.as_slice() == function.as_bytes();
    let [addresses @ .., ScVal::Bytes(payload)] = call.args.as_slice() else { return Payload::Unavailable };
    if own && *addresses == event.topics[1..] { Payload::Carried(payload.0.to_vec()) } else { Payload::Unavailable }
}

#[test]
fn a_payload_is_where_the_envelope_calls_the_token_itself_with_the_parties_of_the_event() {
    let (mut carried, mut hidden, mut forwarded) = (0, 0, 0);
    for version in TokenVersion::ALL {
        let traffic = TokenTraffic::new(3, value::contract(1), version).with_hidden_transfers();
        let run = Run::new(traffic, Format::V2Meta4, &[version], 60);
        for (built, planned) in &run.ledgers {
            for event in planned.events.iter().filter(|event| !event.parties.is_empty()) {
                let call = invoked(&built.xdr, event.tx_order);
                assert_eq!(event.payload, payload_by_rule(&call, value::contract(1), &event.event));
                carried += usize::from(matches!(event.payload, Payload::Carried(_)));
                hidden += usize::from(event.payload == Payload::Unavailable);
                let imposter = value::contract_party(run.traffic.imposter());
                forwarded += usize::from(call.contract_address == imposter);
            }
        }
    }
    assert!(carried > 100 && hidden > 20 && forwarded > 5, "{carried} {hidden} {forwarded}");
}

#[test]
fn without_hidden_transfers_every_payload_is_carried() {
    let mut traffic = TokenTraffic::new(3, value::contract(1), TokenVersion::July);
    let events: Vec<_> = (0..80).flat_map(|_| traffic.next_ledger().events).collect();
    assert!(events.iter().any(|event| matches!(event.payload, Payload::Carried(_))));
    assert!(events.iter().all(|event| event.payload != Payload::Unavailable));
}

/// The first of `names` and `checkpoint` as they stand in one ledger for one account.
fn orders(ledger: &TrafficLedger) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    for (at, event) in ledger.events.iter().enumerate() {
        let Some(owner) = &event.checkpoint_of else { continue };
        for (other, merge) in ledger.events.iter().enumerate().filter(|(_, other)| name(&other.event) == "merge") {
            if merge.names(owner) {
                let one_tx = merge.tx_order == event.tx_order;
                seen.insert(match (other < at, one_tx) {
                    (true, true) => "merge, checkpoint in one transaction",
                    (true, false) => "merge, checkpoint",
                    (false, true) => "checkpoint, merge in one transaction",
                    (false, false) => "checkpoint, merge",
                });
            }
        }
    }
    seen
}

#[test]
fn the_traffic_makes_every_shape() {
    let mut shapes = BTreeSet::new();
    for version in [TokenVersion::Operator, TokenVersion::Later] {
        let mut traffic = TokenTraffic::new(11, value::contract(1), version).with_hidden_transfers();
        let router = traffic.router();
        for _ in 0..200 {
            let ledger = traffic.next_ledger();
            shapes.extend(orders(&ledger));
            let mut seen = |shape: &'static str, there: bool| there.then(|| shapes.insert(shape));
            seen("quiet", ledger.plan.transactions.is_empty());
            for tx in &ledger.plan.transactions {
                seen("failed", !tx.succeeds);
                seen("fee bump", tx.envelope == EnvelopeForm::FeeBump);
                seen("no refund", tx.body.is_soroban() && tx.refund == 0);
                seen("refund", tx.refund > 0);
                seen("payment", matches!(tx.body, Body::Payments(_)));
                let Body::Invocation(call) = &tx.body else { continue };
                seen("router", call.contract == router);
                seen("imposter", call.contract == traffic.imposter());
                seen("no topics", call.events.iter().any(|event| event.topics.is_empty()));
                seen("twelve topics", call.events.iter().any(|event| event.topics.len() == 12));
            }
            for event in &ledger.events {
                seen("second event of its operation", event.index > 0);
                seen("hidden", event.payload == Payload::Unavailable);
                let parties: Vec<_> = event.parties.iter().map(|(_, party)| party).collect();
                seen("self-transfer", name(&event.event) == "transfer" && parties[0] == parties[1]);
                for party in parties {
                    match party {
                        ScAddress::Account(_) => seen("G", true),
                        ScAddress::Contract(_) => seen("C", true),
                        ScAddress::ClaimableBalance(_) => seen("B", true),
                        ScAddress::LiquidityPool(_) => seen("L", true),
                        other => panic!("{other:?} is nobody"),
                    };
                }
            }
        }
    }
    assert_eq!(shapes.len(), 21, "{shapes:?}");
}

#[test]
fn before_protocol_23_no_event_names_a_claimable_balance_or_a_pool() {
    let mut traffic = TokenTraffic::new(2, value::contract(1), TokenVersion::July).of_protocol(22);
    for event in (0..60).flat_map(|_| traffic.next_ledger().events) {
        for (_, party) in &event.parties {
            assert!(matches!(party, ScAddress::Account(_) | ScAddress::Contract(_)), "{party:?}");
        }
    }
}

#[test]
fn the_same_seed_plans_the_same_ledgers() {
    let plans = |seed| {
        let mut traffic = TokenTraffic::new(seed, value::contract(1), TokenVersion::Later);
        (0..20).map(|_| traffic.next_ledger()).collect::<Vec<_>>()
    };
    assert_eq!(plans(5), plans(5));
    assert_ne!(plans(5), plans(6));
}

#[test]
fn a_misshapen_event_is_published_as_it_is() {
    for misshape in Misshape::ALL {
        let mut traffic = TokenTraffic::new(5, value::contract(1), TokenVersion::July).without_noise();
        let mut chain = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4);
        let (mut ledger, index) = loop {
            let ledger = traffic.next_ledger();
            match ledger.events.iter().position(|event| name(&event.event) == "transfer") {
                Some(index) => break (ledger, index),
                None => drop(chain.push(&ledger.plan)),
            }
        };
        let before = ledger.events[index].event.clone();
        ledger.misshape(index, misshape);
        let after = &ledger.events[index];
        assert_ne!(after.event, before);
        let built = chain.push(&ledger.plan);
        let checked = check_ledger(&built.xdr, &network()).unwrap();
        let published = checked.events.iter().find(|event| event.position == after.position(built.seq)).unwrap();
        assert_eq!(published.xdr, after.event.xdr(), "{misshape:?}");
    }
}

#[test]
fn asset_events_come_in_every_form_and_name_their_parties_in_the_order_of_their_topics() {
    let parties: Vec<_> = (0..4).map(|number| value::account_party(value::account(number))).collect();
    let admin = value::account_party(value::account(9));
    let mut rng = Rng::new(1);
    let mut events = Vec::new();
    let mut seen = BTreeSet::new();
    for writer in [
        AssetEvents::sep41(value::contract(1)),
        AssetEvents::asset(value::contract(2), "SIM:G"),
        AssetEvents::asset(value::contract(2), "SIM:G").with_admin(admin),
    ] {
        for _ in 0..200 {
            let asset_event = writer.any(&mut rng, &parties);
            let addresses = asset_event.event.topics.iter().filter(|topic| matches!(topic, ScVal::Address(_)));
            let named: Vec<_> = asset_event.parties.iter().map(|(_, party)| ScVal::Address(party.clone())).collect();
            assert!(addresses.eq(&named));
            seen.insert((
                name(&asset_event.event).to_owned(),
                asset_event.event.topics.len(),
                asset_event.event.data.name(),
            ));
            events.push(asset_event.event);
        }
    }
    let transfers = seen.iter().filter(|(name, ..)| name == "transfer").count();
    assert_eq!(transfers, 6, "number, vector and map, with an asset and without: {seen:?}");
    let mints = seen.iter().filter(|(name, ..)| name == "mint").count();
    assert_eq!(mints, 9, "the same with an administrator: {seen:?}");
    let ids = AmountForm::all().into_iter().filter(|form| matches!(form, AmountForm::Map(_))).count();
    assert_eq!(ids, 4);
    let mut chain = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4);
    let built = chain.push(&LedgerPlan::new(vec![TxPlan::invocation(value::contract(2), events)]));
    assert_eq!(check_ledger(&built.xdr, &network()).unwrap().events, built.events);
}

#[test]
fn topics_of_ten_kilobytes_and_twelve_topics_and_none_pass() {
    let events = vec![
        shape::without_topics(value::contract(1)),
        shape::of_twelve_topics(value::contract(1)),
        shape::of_long_topic(value::contract(1), 10 * 1024),
    ];
    let mut chain = ChainBuilder::new(&network(), seq(100), 1, Format::V2Meta4);
    let built = chain.push(&LedgerPlan::new(vec![TxPlan::invocation(value::contract(1), events)]));
    let checked = check_ledger(&built.xdr, &network()).unwrap();
    assert_eq!(checked.events, built.events);
    assert!(checked.events.iter().any(|event| event.xdr.len() > 10 * 1024));
}
