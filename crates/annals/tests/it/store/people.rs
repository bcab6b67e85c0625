//! The made-up network with people in it: the same ledgers, whose events have readable topics that name accounts, some of
//! them in a form that a source rewrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use annals_core::hash::sha256;
use annals_core::{
    Address, Batch, CheckedLedger, ClassicEvents, ContractId, Event, EventKind, Position, ProofClass, Registry,
    SchemaChoice, Scope,
};
use annals_sim::{EventPlan, value};
use stellar_xdr::{
    AccountId, ClaimableBalanceId, ContractId as XdrContractId, Hash, PoolId, PublicKey, ScAddress, ScVal, Uint256,
};

use super::fixtures::{SOURCE, batch_of, contract, ledger, ledger_with, network, range, seq, unproven};

/// The asset whose contract stands in the place of contract 2.
const ASSET: &str = "ODD:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN";

/// The schemas that archives of this network are read with, and what operators make of them.
const REGISTRIES: [&str; 3] = [
    r#"
        [[schema.test.event]]
        name = "open"
        topics = ["account"]
        data = ["u32"]
        opening = "account"
        [[schema.test.event]]
        name = "move"
        topics = ["to", "from"]
        data = ["u32"]
        [[schema.test.event]]
        name = "fold"
        topics = ["account"]
        data = ["u32"]
        fold = "account"
        [[schema.test.event]]
        name = "spend"
        topics = ["spender", "from", "to"]
        data = ["u32"]
        checkpoint = "from"
        [[schema.test.event]]
        name = "note"
        data = ["any"]
    "#,
    // One party fewer, other roles, other marks, and a name that nobody knew.
    r#"
        [[schema.test.event]]
        name = "open"
        topics = ["account"]
        data = ["u32"]
        [[schema.test.event]]
        name = "move"
        topics = [{ value = "address" }, "mover"]
        data = ["u32"]
        checkpoint = "mover"
        [[schema.test.event]]
        name = "fold"
        topics = ["account"]
        data = ["u32"]
        opening = "account"
        [[schema.test.event]]
        name = "spend"
        topics = ["to", "from", "spender"]
        data = ["u32"]
        fold = "to"
        [[schema.test.event]]
        name = "odd"
        topics = ["who"]
        data = ["u32"]
    "#,
    // The schema is not there at all.
    "",
];

/// What operators may give an archive.
pub fn registry(number: usize) -> Arc<Registry> {
    Arc::new(Registry::builtin().extended(REGISTRIES[number]).unwrap())
}

pub const REGISTRIES_MAX: usize = REGISTRIES.len();

pub fn choice(text: &str) -> SchemaChoice {
    text.parse().unwrap()
}

/// Whose events there are: an address of each arm, and one account more.
pub fn accounts() -> [Address; 5] {
    [
        Address::Account([1; 32]),
        Address::Account([2; 32]),
        Address::Contract(contract(5)),
        Address::ClaimableBalance([4; 32]),
        Address::LiquidityPool([5; 32]),
    ]
}

/// The contract that is an asset's.
pub fn asset_contract() -> ContractId {
    let topic = super::topics::topic_xdr(&value::string(ASSET.as_bytes()));
    network().asset_contract(&topic).unwrap()
}

/// Contract 2 is the asset's.
pub fn peopled_contract(number: u8) -> ContractId {
    if number == 2 { asset_contract() } else { contract(number) }
}

pub fn peopled_scope(numbers: &[u8]) -> Scope {
    Scope::Contracts(numbers.iter().copied().map(peopled_contract).collect::<BTreeSet<_>>())
}

pub fn address_value(address: Address) -> ScVal {
    ScVal::Address(match address {
        Address::Account(key) => ScAddress::Account(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(key)))),
        Address::Contract(contract) => ScAddress::Contract(XdrContractId(Hash(contract.0))),
        Address::ClaimableBalance(id) => {
            ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash(id)))
        }
        Address::LiquidityPool(id) => ScAddress::LiquidityPool(PoolId(Hash(id))),
    })
}

/// An event of `contract` with these topics.
pub fn event_xdr(contract: ContractId, name: &str, parties: &[Address], data: u32) -> Vec<u8> {
    let topics = [value::symbol(name)].into_iter().chain(parties.iter().copied().map(address_value));
    EventPlan::new(contract, topics.collect(), ScVal::U32(data)).xdr()
}

fn asset_event_xdr(contract: ContractId, dice: [u8; 4]) -> Vec<u8> {
    let [_, first, second, named] = dice;
    let pick = |die: u8| address_value(accounts()[usize::from(die) % accounts().len()]);
    let mut topics = vec![value::symbol("transfer"), pick(first), pick(second)];
    // Now and then one that does not name its asset, as no asset contract emits.
    if named % 8 != 0 {
        topics.push(value::string(ASSET.as_bytes()));
    }
    EventPlan::new(contract, topics, value::i128(7)).xdr()
}

/// The bytes at a place as the network has them, and the form into which a source rewrites some.
fn published(event: &Event, contract: ContractId) -> (Vec<u8>, Option<Vec<u8>>) {
    let seed = sha256(&[b"people", &event.position.toid().to_be_bytes(), &event.position.index().to_be_bytes()]);
    let [kind, first, second, third, rewritten, ..] = seed;
    if contract == asset_contract() {
        return (asset_event_xdr(contract, [kind, first, second, third]), None);
    }
    let [first, second, third] = [first, second, third].map(|die| accounts()[usize::from(die) % accounts().len()]);
    let data = u32::from(event.position.index() as u8);
    let (name, parties): (&str, &[Address]) = match kind % 8 {
        0 => ("open", &[first]),
        1 | 2 => ("move", &[first, second]),
        3 => ("fold", &[first]),
        4 | 5 => ("spend", &[first, second, third]),
        6 => ("note", &[]),
        _ => ("odd", &[first]),
    };
    // Others than the original's: a rewritten event can belong to others.
    let form = (rewritten % 3 == 0).then(|| event_xdr(contract, "move", &[third, first], data));
    // Bytes that nobody can read are archived like any others.
    if kind == 255 { (vec![1, 2, 3], None) } else { (event_xdr(contract, name, parties, data), form) }
}

/// The ledger `number` with people in it, from a source that rewrites events and gives the originals beside them.
pub fn peopled(number: u32, classic: ClassicEvents) -> CheckedLedger {
    let events = ledger(number, classic).events.into_iter().map(|event| {
        let Some(id) = event.contract_id else { return event };
        let id = if id == contract(2) { asset_contract() } else { id };
        let (xdr, form) = published(&event, id);
        let kind = if event.position.index() == 3 { EventKind::System } else { event.kind };
        let event = Event { contract_id: Some(id), xdr, kind, ..event };
        match form.filter(|_| event.proof == ProofClass::Committed) {
            Some(form) => Event { proof: ProofClass::Rewritten, rewritten_xdr: Some(form), ..event },
            None => event,
        }
    });
    ledger_with(number, classic, events.collect())
}

/// A batch of checked ledgers.
pub fn peopled_batch(scope: Scope, from: u32, to: u32, classic: ClassicEvents) -> Batch {
    batch_of(scope, (from..=to).map(|number| peopled(number, classic)).collect())
}

/// The same events as a source gives them that proves nothing: in the rewritten form, where there is one.
pub fn peopled_unverified(scope: Scope, from: u32, to: u32, classic: ClassicEvents) -> Batch {
    let ledgers = (from..=to).map(|number| peopled(number, classic));
    let as_given = |event: Event| Event { xdr: event.rewritten_xdr.clone().unwrap_or(event.xdr.clone()), ..event };
    let events = ledgers.flat_map(|ledger| ledger.events).map(as_given).map(unproven).collect();
    Batch::unverified(network(), scope, SOURCE, range(from, to), events).unwrap()
}

/// The first place of a ledger.
pub fn first_of(number: u32) -> Position {
    Position::op(seq(number), 1, 0, 0).unwrap()
}
