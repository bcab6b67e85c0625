use proptest::prelude::*;
use stellar_xdr::{
    AccountId, BytesM, ClaimableBalanceId, ContractEvent, ContractEventBody, ContractEventType, ContractEventV0,
    ContractId as XdrContractId, Duration, ExtensionPoint, Hash, Int128Parts, Int256Parts, Limits, MuxedContract,
    MuxedEd25519Account, PoolId, PublicKey, ScAddress, ScBytes, ScError, ScErrorCode, ScMap, ScMapEntry, ScString,
    ScSymbol, ScVal, ScVec, TimePoint, UInt128Parts, UInt256Parts, Uint256, WriteXdr,
};

use super::*;
use crate::hash::ContractId;

/// A type that no shipped shape speaks of.
const STRANGE: ValueType = ValueType::I256;

fn schema(choice: &str) -> Schema {
    Registry::builtin().schema(&choice.parse().unwrap()).unwrap()
}

/// Every schema that is shipped.
fn shipped() -> Vec<Schema> {
    let names: Vec<String> = Registry::builtin().schemas().map(|(name, _)| name.to_owned()).collect();
    names.iter().map(|name| schema(name)).collect()
}

fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(text.try_into().unwrap()))
}

fn map<'a>(keys: impl IntoIterator<Item = &'a str>) -> ScVal {
    let mut keys: Vec<&str> = keys.into_iter().collect();
    keys.sort_unstable();
    let entries: Vec<_> = keys.into_iter().map(|key| ScMapEntry { key: symbol(key), val: ScVal::Void }).collect();
    ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
}

fn vec(values: Vec<ScVal>) -> ScVal {
    ScVal::Vec(Some(ScVec(values.try_into().unwrap())))
}

fn bytes(length: usize) -> ScVal {
    ScVal::Bytes(ScBytes(BytesM::try_from(vec![7; length]).unwrap()))
}

/// Every arm of an `ScAddress`, and the address that it is.
fn arms(id: [u8; 32]) -> [(ScAddress, Address); 6] {
    let contract = XdrContractId(Hash(id));
    [
        (ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(id)))), Address::Account(id)),
        (ScAddress::MuxedAccount(MuxedEd25519Account { id: 5, ed25519: Uint256(id) }), Address::Account(id)),
        (ScAddress::Contract(contract.clone()), Address::Contract(ContractId(id))),
        (ScAddress::MuxedContract(MuxedContract { id: 5, contract_id: contract }), Address::Contract(ContractId(id))),
        (
            ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash(id))),
            Address::ClaimableBalance(id),
        ),
        (ScAddress::LiquidityPool(PoolId(Hash(id))), Address::LiquidityPool(id)),
    ]
}

fn address(byte: u8) -> ScVal {
    ScVal::Address(arms([byte; 32])[0].0.clone())
}

fn value(of: ValueType) -> ScVal {
    match of {
        ValueType::Bool => ScVal::Bool(true),
        ValueType::Void => ScVal::Void,
        ValueType::Error => ScVal::Error(ScError::Value(ScErrorCode::InternalError)),
        ValueType::U32 => ScVal::U32(1),
        ValueType::I32 => ScVal::I32(1),
        ValueType::U64 => ScVal::U64(1),
        ValueType::I64 => ScVal::I64(1),
        ValueType::Timepoint => ScVal::Timepoint(TimePoint(1)),
        ValueType::Duration => ScVal::Duration(Duration(1)),
        ValueType::U128 => ScVal::U128(UInt128Parts { hi: 0, lo: 1 }),
        ValueType::I128 => ScVal::I128(Int128Parts { hi: 0, lo: 1 }),
        ValueType::U256 => ScVal::U256(UInt256Parts { hi_hi: 0, hi_lo: 0, lo_hi: 0, lo_lo: 1 }),
        ValueType::I256 => ScVal::I256(Int256Parts { hi_hi: 0, hi_lo: 0, lo_hi: 0, lo_lo: 1 }),
        ValueType::Bytes => bytes(32),
        ValueType::String => ScVal::String(ScString("native".try_into().unwrap())),
        ValueType::Symbol => symbol("word"),
        ValueType::Vec => vec(vec![ScVal::Void]),
        ValueType::Map => map([]),
        ValueType::Address => address(9),
    }
}

/// Every form of data that a shape can have: with all keys, and without those that may be missing.
fn forms(shape: &Shape) -> Vec<ScVal> {
    let mut forms = Vec::new();
    for data in &shape.data {
        match data {
            DataShape::Any => forms.push(value(STRANGE)),
            DataShape::Value(of) => forms.push(value(*of)),
            DataShape::Vec(types) => forms.push(vec(types.iter().map(|of| value(*of)).collect())),
            DataShape::Map(keys) => {
                forms.push(map(keys.iter().map(|key| key.name.as_str())));
                forms.push(map(keys.iter().filter(|key| !key.optional).map(|key| key.name.as_str())));
            }
        }
    }
    forms
}

/// The topics behind the name, with the addresses of one arm in the places of the roles, and the parties they make.
fn topics(shape: &Shape, arm: usize, seed: u8) -> (Vec<ScVal>, Vec<(Address, String)>) {
    let (mut topics, mut parties) = (Vec::new(), Vec::new());
    for (place, topic) in (0_u8..).zip(&shape.topics) {
        match topic {
            TopicShape::Role(role) => {
                let (xdr, own) = arms([seed.wrapping_add(place); 32])[arm].clone();
                topics.push(ScVal::Address(xdr));
                parties.push((own, role.clone()));
            }
            TopicShape::Value(types) => topics.push(value(types[arm % types.len()])),
        }
    }
    (topics, parties)
}

fn event_of(kind: ContractEventType, topics: Vec<ScVal>, data: ScVal) -> Vec<u8> {
    let body = ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap(), data });
    let contract_id = Some(XdrContractId(Hash([1; 32])));
    let event = ContractEvent { ext: ExtensionPoint::V0, contract_id, type_: kind, body };
    event.to_xdr(Limits { depth: 100, len: 100_000 }).unwrap()
}

fn event(name: &str, topics: &[ScVal], data: ScVal) -> Vec<u8> {
    let topics = [symbol(name)].into_iter().chain(topics.iter().cloned()).collect();
    event_of(ContractEventType::Contract, topics, data)
}

/// How many shapes of a schema an event fits.
fn fitting(schema: &Schema, xdr: &[u8]) -> usize {
    let view = EventView::parse(xdr).unwrap();
    let data = Data::read(view.data);
    let name = view.symbol().unwrap();
    let fits =
        |shape: &&Arc<Shape>| shape.name.as_bytes() == name && shape.fits_topics(&view) && shape.fits_data(&data);
    schema.shapes.iter().filter(fits).count()
}

#[test]
fn four_schemas_are_shipped_and_the_confidential_token_has_four_versions() {
    let registry = Registry::builtin();
    let schemas: Vec<(&str, Vec<&str>)> = registry.schemas().collect();
    let versions = vec!["july-2026", "operator", "proofless-revoke", "spender"];
    let expected =
        [("asset", vec![]), ("confidential-registry", vec![]), ("confidential-token", versions), ("token", vec![])];
    assert_eq!(schemas, expected);
}

#[test]
fn an_event_belongs_to_exactly_the_parties_that_its_shape_names_in_every_arm() {
    for schema in shipped() {
        for shape in &schema.shapes {
            for arm in 0..6 {
                let (topics, expected) = topics(shape, arm, 40);
                for data in forms(shape) {
                    let xdr = event(&shape.name, &topics, data);
                    assert_eq!(fitting(&schema, &xdr), 1, "{shape}");
                    let parties = schema.attribute(&xdr).unwrap_or_else(|fault| panic!("{shape}: {fault:?}"));
                    let found: Vec<_> = parties.iter().map(|party| (party.address, party.role.to_owned())).collect();
                    assert_eq!(found, expected, "{shape}");
                    for party in &parties {
                        let mark = shape.marks.iter().find(|(role, _)| role == party.role).map(|(_, mark)| *mark);
                        assert_eq!(party.mark, mark, "{shape}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_address_can_have_several_roles_and_only_the_owner_has_the_mark() {
    let schema = schema("confidential-token@july-2026");
    let shape = schema.shapes.iter().find(|shape| shape.name == "transfer").unwrap();
    let xdr = event("transfer", &[address(5), address(5)], forms(shape).remove(0));
    let own = Address::Account([5; 32]);
    let from = Party { address: own, role: "from", mark: Some(Mark::Checkpoint) };
    assert_eq!(schema.attribute(&xdr), Ok(vec![from, Party { address: own, role: "to", mark: None }]));
}

#[test]
fn a_topic_more_or_of_another_type_fits_nothing() {
    for schema in shipped() {
        for shape in &schema.shapes {
            let (topics, _) = topics(shape, 0, 40);
            for data in forms(shape) {
                let mut more = topics.clone();
                more.push(value(STRANGE));
                let mut others = vec![more];
                for place in 0..topics.len() {
                    let mut other = topics.clone();
                    other[place] = value(STRANGE);
                    others.push(other);
                }
                for topics in others {
                    let xdr = event(&shape.name, &topics, data.clone());
                    assert_eq!(schema.attribute(&xdr), Err(ShapeFault::UnknownTopics), "{shape}");
                }
            }
        }
    }
}

#[test]
fn a_topic_fewer_fits_nothing_but_another_shape_of_the_schema() {
    let (mut refused, mut of_another) = (0, 0);
    for schema in shipped() {
        for shape in schema.shapes.iter().filter(|shape| !shape.topics.is_empty()) {
            let (topics, _) = topics(shape, 0, 40);
            for place in 0..topics.len() {
                let mut fewer = topics.clone();
                fewer.remove(place);
                let xdr = event(&shape.name, &fewer, forms(shape).remove(0));
                let view = EventView::parse(&xdr).unwrap();
                match schema.shape_of(&view) {
                    Err(fault) => {
                        assert_eq!(fault, ShapeFault::UnknownTopics, "{shape}");
                        refused += 1;
                    }
                    Ok(found) => {
                        assert_eq!((found.topics.len(), &found.name), (fewer.len(), &shape.name));
                        assert!(["mint", "clawback", "set_authorized"].contains(&found.name.as_str()), "{shape}");
                        of_another += 1;
                    }
                }
            }
        }
    }
    // The acts of an administrator are told with the administrator and without.
    assert!(refused > 60 && of_another == 12, "{refused} {of_another}");
}

#[test]
fn a_key_more_or_fewer_fits_nothing_but_another_version() {
    let (mut refused, mut of_another) = (0, Vec::new());
    for schema in shipped() {
        for shape in &schema.shapes {
            let (topics, _) = topics(shape, 0, 40);
            let maps = shape.data.iter().filter_map(|data| match data {
                DataShape::Map(keys) => Some(keys),
                _ => None,
            });
            for keys in maps {
                let all: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                let more = event(&shape.name, &topics, map(all.iter().copied().chain(["zz_more"])));
                assert_eq!(schema.attribute(&more), Err(ShapeFault::UnknownData), "{shape}");
                for needed in keys.iter().filter(|key| !key.optional) {
                    let fewer = map(all.iter().copied().filter(|key| *key != needed.name));
                    match schema.shape_of(&EventView::parse(&event(&shape.name, &topics, fewer)).unwrap()) {
                        Err(fault) => {
                            assert_eq!(fault, ShapeFault::UnknownData, "{shape}");
                            refused += 1;
                        }
                        Ok(found) => of_another.push(format!("{} without {}", found.name, needed.name)),
                    }
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
    // Later versions of these two added one key; without it they are what the version before wrote.
    assert_eq!(of_another, ["withdraw without r_tilde_aud_s", "transfer without r_tilde_aud_s"]);
}

#[test]
fn strange_names_and_data_are_told_apart() {
    let schema = schema("confidential-token");
    assert_eq!(schema.attribute(&event("melt", &[address(1)], map([]))), Err(ShapeFault::UnknownName));
    assert_eq!(schema.attribute(&event("merge", &[address(1)], ScVal::U32(1))), Err(ShapeFault::UnknownData));
    let twice = vec![ScMapEntry { key: symbol("amount"), val: ScVal::Void }; 2];
    let twice = ScVal::Map(Some(ScMap(twice.try_into().unwrap())));
    let topics = [address(1), address(2)];
    assert_eq!(schema.attribute(&event("deposit", &topics, twice)), Err(ShapeFault::UnknownData));
    let other = vec![ScMapEntry { key: ScVal::String(ScString("amount".try_into().unwrap())), val: ScVal::Void }];
    let other = ScVal::Map(Some(ScMap(other.try_into().unwrap())));
    assert_eq!(schema.attribute(&event("deposit", &topics, other)), Err(ShapeFault::UnknownData));
    for nothing in [ScVal::Map(None), ScVal::Vec(None)] {
        assert_eq!(schema.attribute(&event("deposit", &topics, nothing)), Err(ShapeFault::UnknownData));
    }
    let of_kind = |kind, topics| event_of(kind, topics, ScVal::Void);
    assert_eq!(schema.attribute(&of_kind(ContractEventType::Contract, vec![])), Err(ShapeFault::NoName));
    let nameless = of_kind(ContractEventType::Contract, vec![ScVal::U32(3), address(1)]);
    assert_eq!(schema.attribute(&nameless), Err(ShapeFault::NoName));
    assert_eq!(schema.attribute(&of_kind(ContractEventType::System, vec![symbol("executable_update")])), Ok(vec![]));
    assert_eq!(schema.attribute(b"no event"), Err(ShapeFault::Unreadable));
}

#[test]
fn a_pinned_version_reads_its_own_events_and_those_of_all_versions() {
    let later = schema("confidential-token@proofless-revoke");
    let july = schema("confidential-token@july-2026");
    let parties = [address(1), address(2)];
    let proven =
        event("revoke_spender", &parties, map(["r_e_point", "sigma", "b_tilde", "v_tilde_aud_s", "b_tilde_aud_s"]));
    let proofless = event("revoke_spender", &parties, map(["a_tilde", "allowance_salt"]));
    assert_eq!(july.attribute(&proven).unwrap()[0].mark, Some(Mark::Checkpoint));
    assert_eq!(july.attribute(&proofless), Err(ShapeFault::UnknownData));
    assert_eq!(later.attribute(&proven), Err(ShapeFault::UnknownData));
    assert_eq!(later.attribute(&proofless).unwrap().iter().filter_map(|party| party.mark).count(), 0);
    for version in [&july, &later] {
        assert_eq!(version.attribute(&event("merge", &parties[..1], map([]))).unwrap()[0].mark, Some(Mark::Fold));
    }
    let operator = event("set_operator", &parties, map([]));
    assert_eq!(july.attribute(&operator), Err(ShapeFault::UnknownName));
    assert_eq!(
        Registry::builtin().schema(&"confidential-token@july".parse().unwrap()).unwrap_err().to_string(),
        "schema confidential-token has no version july"
    );
    assert_eq!(
        Registry::builtin().schema(&"tokens".parse().unwrap()).unwrap_err().to_string(),
        "there is no schema tokens"
    );
}

#[test]
fn the_digest_names_what_decides_attribution_and_nothing_else() {
    let of = |toml: &str| {
        let registry = Registry::builtin().extended(toml).unwrap();
        registry.schema(&"mine".parse().unwrap()).unwrap().digest()
    };
    let base = "[[schema.mine.event]]\nname = \"a\"\ntopics = [\"from\", \"to\"]\ndata = [\"any\"]\n";
    let more = "[[schema.mine.event]]\nname = \"b\"\ndata = [\"any\"]\n";
    let payload = "payload = { function = \"f\", roles = [\"from\"], argument = 1 }\n";
    let same = [base.to_owned(), format!("# why\n{base}versions = [\"v1\"]\n"), format!("{base}{payload}")];
    assert!(same.iter().all(|toml| of(toml) == of(base)));
    assert_eq!(of(&format!("{base}{more}")), of(&format!("{more}{base}")));
    let roles = base.replace("\"to\"", "\"spender\"");
    let others = [
        format!("{base}{more}"),
        format!("{base}checkpoint = \"from\"\n"),
        format!("{base}checkpoint = \"to\"\n"),
        format!("{base}fold = \"from\"\n"),
        base.replace("any", "i128"),
        base.replace("\"any\"", "{ map = [\"k\"] }"),
        base.replace("\"any\"", "{ map = [\"k?\"] }"),
        base.replace("\"any\"", "{ vec = [\"i128\"] }"),
        base.replace("\"to\"", "{ value = \"address\" }"),
        roles,
    ];
    let mut digests: Vec<_> = others.iter().map(|toml| of(toml)).chain([of(base)]).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), others.len() + 1);
}

proptest! {
    #[test]
    fn no_bytes_and_no_damaged_event_panic(
        noise in prop::collection::vec(any::<u8>(), 0..300),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        shape in any::<prop::sample::Index>(),
        seed in any::<u8>(),
    ) {
        for schema in shipped() {
            prop_assert!(schema.attribute(&noise).is_err());
            let shape = &schema.shapes[shape.index(schema.shapes.len())];
            let (topics, expected) = topics(shape, usize::from(seed % 6), seed);
            let mut xdr = event(&shape.name, &topics, forms(shape).remove(0));
            let found = schema.attribute(&xdr).unwrap().len();
            prop_assert_eq!(found, expected.len());
            let at = place.index(xdr.len());
            xdr[at] ^= byte;
            // Whatever it says now, parties are only ever as many as topics.
            let parties = schema.attribute(&xdr).map_or(0, |parties| parties.len());
            prop_assert!(parties <= topics.len());
            xdr.truncate(at);
            prop_assert_eq!(schema.attribute(&xdr), Err(ShapeFault::Unreadable));
        }
    }
}
