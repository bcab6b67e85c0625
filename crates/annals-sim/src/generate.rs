//! Plans from a seed.

use annals_core::{ClassicEvents, EventKind, LedgerSeq, Network};
use stellar_xdr::{ScMap, ScMapEntry, ScVal, ScVec};

use crate::chain::{BuiltLedger, ChainBuilder};
use crate::format::Format;
use crate::plan::{Body, CloseTime, EnvelopeForm, EventPlan, InvocationPlan, LedgerPlan, ReturnValue, TxPlan};
use crate::rng::Rng;
use crate::value::{account, account_address, bytes, contract, contract_address, i128, string, symbol};
use crate::xdr::list;

/// What a generated chain is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mix {
    /// The form of its ledgers.
    pub format: Format,
    /// The protocol of its ledgers; must go with the format.
    pub protocol: u32,
    /// About how many operation events a ledger holds.
    pub events_per_ledger: u32,
    /// How many contracts emit them.
    pub contracts: u32,
}

impl Mix {
    /// Ledgers of `format` with about ten events of eight contracts.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, protocol: format.default_protocol(), events_per_ledger: 10, contracts: 8 }
    }

    /// The same, of this protocol.
    #[must_use]
    pub fn of_protocol(self, protocol: u32) -> Self {
        Self { protocol, ..self }
    }
}

/// Builds `count` ledgers of a chain from `first_ledger` on; the same seed gives the same bytes everywhere.
pub fn random_chain(
    network: &Network,
    first_ledger: LedgerSeq,
    seed: u64,
    count: u32,
    mix: Mix,
) -> impl Iterator<Item = BuiltLedger> + use<> {
    let mut chain = ChainBuilder::new(network, first_ledger, seed, mix.format);
    let mut rng = Rng::new(seed);
    (0..count).map(move |_| chain.push(&random_plan(&mut rng, mix)))
}

/// Plans one ledger: any shape that its format and protocol have room for, empty ones included.
pub fn random_plan(rng: &mut Rng, mix: Mix) -> LedgerPlan {
    let mut transactions = Vec::new();
    let empty_tx_set = mix.protocol >= 28 && rng.chance(10);
    if !empty_tx_set && !rng.chance(10) {
        let mut budget = i64::from(mix.events_per_ledger / 2 + rng.below(mix.events_per_ledger + 1));
        while budget > 0 {
            let events = 1 + rng.below(mix.events_per_ledger.div_ceil(2));
            budget -= i64::from(events);
            transactions.push(random_tx(rng, mix, events));
        }
        // Classic transactions are applied first.
        transactions.sort_by_key(|tx| matches!(tx.body, Body::Invocation(_)));
    }
    let milliseconds = mix.protocol >= 30;
    LedgerPlan {
        transactions,
        protocol: Some(mix.protocol),
        upgrade_to: None,
        elapsed_ms: if milliseconds { 700 + rng.below(4000) } else { 1000 * (4 + rng.below(4)) },
        close_time: if milliseconds { CloseTime::Milliseconds } else { CloseTime::Seconds },
        empty_tx_set,
        classic_events: match rng.below(20) {
            0 => ClassicEvents::Absent,
            1 => ClassicEvents::Inconsistent,
            _ => ClassicEvents::Present,
        },
    }
}

fn random_tx(rng: &mut Rng, mix: Mix, events: u32) -> TxPlan {
    let native_like = contract(0);
    let mut tx = if !mix.format.has_contracts() || rng.chance(25) {
        let operations = (0..events.min(20)).map(|_| {
            (0..rng.below(3)).map(|_| EventPlan::transfer(native_like, party(rng), party(rng), amount(rng))).collect()
        });
        TxPlan::payments(operations.collect())
    } else {
        random_invocation(rng, mix, events)
    };
    tx.succeeds = rng.chance(85);
    tx.envelope = match rng.below(10) {
        _ if mix.protocol < 13 => EnvelopeForm::V0,
        0..3 => EnvelopeForm::FeeBump,
        3 if matches!(tx.body, Body::Payments(_)) => EnvelopeForm::V0,
        _ => EnvelopeForm::V1,
    };
    tx.charge += i64::from(rng.below(1000));
    if mix.format.has_contracts() && rng.chance(10) {
        tx.after_tx.push(EventPlan::new(contract(1), vec![symbol("settled")], i128(amount(rng))));
    }
    tx
}

fn random_invocation(rng: &mut Rng, mix: Mix, count: u32) -> TxPlan {
    let mut events: Vec<_> = (0..count).map(|_| random_event(rng, mix)).collect();
    if rng.chance(10) {
        events.clear();
    }
    let called = contract(rng.below(mix.contracts));
    let invocation = InvocationPlan {
        args: (0..rng.below(3)).map(|_| random_value(rng, 1)).collect(),
        return_value: if rng.chance(20) { ReturnValue::Absent } else { ReturnValue::Value(random_value(rng, 2)) },
        reconciliation: match mix.protocol {
            23 if rng.chance(20) => vec![mint(rng), burn(rng)],
            _ => Vec::new(),
        },
        failed_calls: (0..rng.below(3)).map(|_| random_event(rng, mix)).collect(),
        ..InvocationPlan::new(called, events)
    };
    // A rewritten event is only recovered from diagnostics.
    let rewritten = mix.format == Format::V1Meta4 && invocation.events.iter().any(|event| event.backfilled().is_some());
    let diagnostics = rewritten || rng.chance(30);
    let refund = if rng.chance(80) { 1 + i64::from(rng.below(40_000)) } else { 0 };
    TxPlan { refund, diagnostics, ..TxPlan::invoking(invocation) }
}

fn random_event(rng: &mut Rng, mix: Mix) -> EventPlan {
    let emitter = contract(rng.below(mix.contracts));
    match rng.below(20) {
        0..10 => EventPlan::transfer(emitter, party(rng), party(rng), amount(rng)),
        10..13 if mix.protocol < 23 => {
            EventPlan::mint_with_admin(emitter, party(rng), party(rng), "SIM:G", amount(rng))
        }
        10..13 => mint(rng),
        13 => {
            EventPlan { kind: EventKind::System, ..EventPlan::new(emitter, system_topics(rng), random_value(rng, 1)) }
        }
        14 => EventPlan { contract: None, ..EventPlan::new(emitter, vec![symbol("host")], random_value(rng, 1)) },
        _ => {
            let topics = (0..rng.below(6)).map(|_| random_value(rng, 1)).collect();
            EventPlan::new(emitter, topics, random_value(rng, 3))
        }
    }
}

fn system_topics(rng: &mut Rng) -> Vec<ScVal> {
    vec![symbol("executable_update"), bytes(&rng.bytes::<32>()), bytes(&rng.bytes::<32>())]
}

fn mint(rng: &mut Rng) -> EventPlan {
    let topics = vec![symbol("mint"), account_address(party(rng)), string(b"SIM:G")];
    EventPlan::new(contract(0), topics, i128(amount(rng)))
}

fn burn(rng: &mut Rng) -> EventPlan {
    let topics = vec![symbol("burn"), account_address(party(rng)), string(b"SIM:G")];
    EventPlan::new(contract(0), topics, i128(amount(rng)))
}

fn party(rng: &mut Rng) -> [u8; 32] {
    account(rng.below(50))
}

/// Small, negative and wider than 64 bits.
fn amount(rng: &mut Rng) -> i128 {
    match rng.below(10) {
        0 => i128::from(rng.bits()) << 60,
        1 => -i128::from(rng.below(1000)),
        _ => i128::from(rng.below(1_000_000_000)),
    }
}

/// A value nested at most `depth` deep.
fn random_value(rng: &mut Rng, depth: u32) -> ScVal {
    match rng.below(if depth == 0 { 9 } else { 11 }) {
        0 => ScVal::Void,
        1 => ScVal::Bool(rng.chance(50)),
        2 => ScVal::U32(rng.below(u32::MAX)),
        3 => ScVal::U64(rng.bits()),
        4 => i128(amount(rng)),
        5 => symbol(["transfer", "spend", "", "_"][rng.below(4) as usize]),
        6 => string(&rng.bytes::<11>()[..rng.below(12) as usize]),
        7 => bytes(&rng.bytes::<40>()[..rng.below(41) as usize]),
        8 => contract_address(contract(rng.below(8))),
        9 => {
            let items = (0..rng.below(4)).map(|_| random_value(rng, depth - 1));
            ScVal::Vec(Some(ScVec(list(items.collect()))))
        }
        _ => {
            let entries =
                (0..rng.below(4)).map(|key| ScMapEntry { key: ScVal::U32(key), val: random_value(rng, depth - 1) });
            ScVal::Map(Some(ScMap(list(entries.collect()))))
        }
    }
}

/// One transaction with `events` committed events.
#[must_use]
pub fn heavy_tx(events: u32) -> TxPlan {
    let transfers = (0..events).map(|n| EventPlan::transfer(contract(0), account(n % 50), account(7), i128::from(n)));
    TxPlan::invocation(contract(0), transfers.collect())
}

/// A ledger of `transactions` with `events_each` committed events each.
#[must_use]
pub fn heavy_ledger(transactions: u32, events_each: u32) -> LedgerPlan {
    LedgerPlan::new((0..transactions).map(|_| heavy_tx(events_each)).collect())
}
