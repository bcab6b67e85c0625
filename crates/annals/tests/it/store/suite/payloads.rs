//! The traffic of a confidential token: whom its events belong to, whose checkpoints they are, and what they leave out.

use annals::store::{
    Bound, CheckpointQuery, Contract, EventLookup, Page, PageEvent, PageQuery, Store, StoreError, WantedQuery,
};
use annals_core::registry::Payload;
use annals_core::{
    Address, Batch, CheckedEnvelope, CheckedLedger, ClassicPolicy, ContractId, Event, Invocation, LedgerRange,
    LedgerSeq, ProofClass, Scope, TransactionKey, check_ledger,
};
use annals_sim::traffic::Payload as Carried;
use annals_sim::{Body, ChainBuilder, Format, TokenTraffic, TokenVersion, TrafficEvent, TrafficLedger, value};
use stellar_xdr::{ScAddress, ScVal};

use crate::store::fixtures::*;
use crate::store::people::choice;
use crate::store::reader::first_page;

const FIRST: u32 = 100;

fn token() -> ContractId {
    value::contract(1)
}

fn address(party: &ScAddress) -> Address {
    Address::of_value(&ScVal::Address(party.clone())).unwrap()
}

/// Ledgers of a token that is upgraded in place on the way, and what is true of them.
pub fn traffic(
    seed: u64,
    change: impl Fn(&mut TrafficLedger),
) -> (Vec<CheckedLedger>, Vec<(LedgerSeq, TrafficLedger)>) {
    let mut traffic = TokenTraffic::new(seed, token(), TokenVersion::July).with_hidden_transfers();
    let mut chain = ChainBuilder::new(&network(), seq(FIRST), seed, Format::V2Meta4);
    let (mut ledgers, mut truth) = (Vec::new(), Vec::new());
    for number in 0..24 {
        if number == 12 {
            traffic.upgrade(TokenVersion::Later);
        }
        let mut planned = traffic.next_ledger();
        change(&mut planned);
        let built = chain.push(&planned.plan);
        ledgers.push(check_ledger(&built.xdr, &network()).unwrap());
        truth.push((built.seq, planned));
    }
    (ledgers, truth)
}

pub fn stored(store: &dyn Store, batch: &Batch) -> LedgerRange {
    let fence = store.acquire().unwrap();
    let range = range(FIRST, FIRST + 23);
    store.request(&request(Scope::All, FIRST, FIRST + 23), fence).unwrap();
    let schema = Some(choice("confidential-token"));
    store.declare(&Contract { id: token(), origin: Some(seq(FIRST)), kind: None, schema }, fence).unwrap();
    store.commit(batch, fence).unwrap();
    range
}

pub fn checked(ledgers: Vec<CheckedLedger>) -> Batch {
    Batch::checked(network(), Scope::All, ClassicPolicy::Keep, SOURCE, ledgers).unwrap()
}

/// The envelopes of a ledger's invocations, and its events as a source gives them that proves nothing.
pub fn alone(ledgers: &[CheckedLedger]) -> (Batch, Vec<CheckedEnvelope>) {
    let events = ledgers.iter().flat_map(|ledger| &ledger.events).cloned();
    let events = events.map(|event| Event { proof: ProofClass::Unverified, rewritten_xdr: None, ..event }).collect();
    let batch = Batch::unverified(network(), Scope::All, SOURCE, range(FIRST, FIRST + 23), events).unwrap();
    let envelope = |ledger: LedgerSeq, invocation: &Invocation| {
        let transaction = TransactionKey { ledger, hash: invocation.tx_hash };
        CheckedEnvelope::check(network().id(), transaction, invocation.envelope_xdr.clone()).unwrap()
    };
    let of_ledger = |ledger: &CheckedLedger| {
        let invocations = ledger.proof.invocations.iter();
        invocations.map(|invocation| envelope(ledger.seq, invocation)).collect::<Vec<_>>()
    };
    (batch, ledgers.iter().flat_map(of_ledger).collect())
}

fn all_of(store: &dyn Store, account: Option<Address>, range: LedgerRange) -> Vec<PageEvent> {
    let query = first_page(token(), Some(range.from_inclusive()), Some(range.to_inclusive()), 5_000);
    let page = store.page(&PageQuery { account, ..query }).unwrap();
    assert_eq!((page.next, page.unattributed), (None, None));
    page.events
}

fn payload_of(noted: &TrafficEvent) -> Payload {
    match &noted.payload {
        Carried::NotApplicable => Payload::NotApplicable,
        Carried::Carried(bytes) => Payload::Present(bytes.clone()),
        Carried::Unavailable => Payload::Unavailable,
    }
}

pub fn a_tokens_events_belong_to_their_parties_and_carry_their_payloads(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, truth) = traffic(3, |_| {});
    let range = stored(store, &checked(ledgers));
    let noted: Vec<_> =
        truth.iter().flat_map(|(seq, ledger)| ledger.events.iter().map(|noted| (*seq, noted))).collect();
    let shown = all_of(store, None, range);
    let told: Vec<_> = shown.iter().map(|shown| (shown.event.position, shown.payload.clone())).collect();
    let expected: Vec<_> = noted.iter().map(|(seq, noted)| (noted.position(*seq), payload_of(noted))).collect();
    assert_eq!(told, expected);
    for state in ["not_applicable", "unavailable", "present"] {
        assert!(told.iter().any(|(_, payload)| payload.state() == state), "no payload is {state}");
    }
    // An export and a look-up say the same.
    let events: Vec<Event> = shown.iter().map(|shown| shown.event.clone()).collect();
    let payloads: Vec<Payload> = shown.iter().map(|shown| shown.payload.clone()).collect();
    assert_eq!(store.payloads(&events).unwrap(), payloads);
    for shown in &shown {
        assert_eq!(store.event(shown.event.position).unwrap(), EventLookup::Found(Box::new(shown.clone())));
    }
    let mut accounts: Vec<ScAddress> =
        noted.iter().flat_map(|(_, noted)| noted.parties.iter().map(|(_, party)| party.clone())).collect();
    accounts.sort();
    accounts.dedup();
    assert!(accounts.len() > 5);
    for account in &accounts {
        let told = all_of(store, Some(address(account)), range);
        let told: Vec<_> = told.into_iter().map(|shown| (shown.event.position, shown.roles)).collect();
        let of_account = |noted: &TrafficEvent| {
            let own = noted.parties.iter().filter(|(_, party)| party == account);
            own.map(|(role, _)| (*role).to_owned()).collect::<Vec<_>>()
        };
        let own = noted.iter().map(|(seq, noted)| (noted.position(*seq), of_account(noted)));
        assert_eq!(told, own.filter(|(_, roles)| !roles.is_empty()).collect::<Vec<_>>(), "{account:?}");
    }
}

pub fn a_checkpoint_is_its_owners_alone_at_every_ledger(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, truth) = traffic(5, |_| {});
    stored(store, &checked(ledgers));
    let noted: Vec<_> =
        truth.iter().flat_map(|(seq, ledger)| ledger.events.iter().map(|noted| (*seq, noted))).collect();
    let accounts: Vec<ScAddress> = truth.last().unwrap().1.openings.keys().cloned().collect();
    let mut found = 0;
    for account in &accounts {
        for (at, _) in &truth {
            let query = CheckpointQuery { contract: token(), account: address(account), at: Some(*at) };
            let answer = store.checkpoint(&query).unwrap();
            let until = noted.iter().filter(|(seq, _)| seq <= at);
            let mut own = until.filter(|(_, noted)| noted.checkpoint_of.as_ref() == Some(account));
            let expected = own.next_back().map(|(seq, noted)| noted.position(*seq));
            let checkpoint = answer.checkpoint.map(|shown| shown.event.position);
            assert_eq!(checkpoint, expected, "{account:?} at {at}");
            found += u32::from(expected.is_some());
            let begins = checkpoint.map_or(seq(FIRST), |checkpoint| checkpoint.ledger());
            assert_eq!(answer.window.window.from_inclusive, Some(begins));
            let t0 = answer.t0.map(|shown| shown.event.position);
            assert!(checkpoint.is_none_or(|checkpoint| t0.is_some_and(|t0| t0 < checkpoint)));
        }
    }
    assert!(found > 20, "only {found} checkpoints");
}

pub fn two_events_that_one_argument_could_be_of_have_no_payload(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, _) = traffic(3, |ledger| {
        for transaction in &mut ledger.plan.transactions {
            if let Body::Invocation(call) = &mut transaction.body {
                let twice = call.events.clone();
                call.events.extend(twice);
            }
        }
    });
    let range = stored(store, &checked(ledgers));
    let shown = all_of(store, None, range);
    assert!(shown.iter().any(|shown| shown.payload == Payload::Unavailable));
    assert!(shown.iter().all(|shown| !matches!(shown.payload, Payload::Present(_))));
}

pub fn a_payload_is_pending_until_somebody_brings_the_envelope(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, _) = traffic(3, |_| {});
    let range = stored(store, &alone(&ledgers).0);
    let before = all_of(store, None, range);
    let states = |shown: &[PageEvent]| {
        let mut states: Vec<&str> = shown.iter().map(|shown| shown.payload.state()).collect();
        states.sort_unstable();
        states.dedup();
        states.join(" ")
    };
    assert_eq!(states(&before), "not_applicable pending");
    let query = first_page(token(), Some(range.from_inclusive()), Some(range.to_inclusive()), 5_000);
    let begun = store.page(&query).unwrap();
    let fence = store.acquire().unwrap();
    store.commit(&checked(ledgers), fence).unwrap();
    assert_eq!(states(&all_of(store, None, range)), "not_applicable present unavailable");
    // A page that was begun before goes on as it began.
    let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
    let again = store.page(&PageQuery { bound, ..query }).unwrap();
    assert_eq!(again.events, before);
}

pub fn inv_5_an_envelope_tells_payloads_from_its_own_feed_position_on(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, truth) = traffic(3, |_| {});
    let (batch, envelopes) = alone(&ledgers);
    let range = stored(store, &batch);
    let query = first_page(token(), Some(range.from_inclusive()), Some(range.to_inclusive()), 5_000);
    let mut pages = vec![store.page(&query).unwrap()];
    let fence = store.acquire().unwrap();
    let wanted = |after, limit| {
        let scope = Scope::All;
        store.wanted_envelopes(&WantedQuery { scope: &scope, range, after, limit }).unwrap()
    };
    let all = wanted(None, 1_000);
    assert_eq!(store.wanted_by(&batch.events().cloned().collect::<Vec<_>>()).unwrap(), all.transactions);
    let mut paged = Vec::new();
    let mut page = wanted(None, 1);
    while page.next.is_some() {
        paged.append(&mut page.transactions);
        page = wanted(page.next, 1);
    }
    paged.sort_unstable();
    assert_eq!((paged, page.transactions), (all.transactions.clone(), Vec::new()));
    let of_wanted = |envelope: &&CheckedEnvelope| all.transactions.contains(&envelope.transaction());
    let of_wanted: Vec<CheckedEnvelope> = envelopes.iter().filter(of_wanted).cloned().collect();
    let (some, rest) = of_wanted.split_at(of_wanted.len() / 2);

    for part in [some, rest] {
        assert_eq!(store.add_envelopes(part, fence).unwrap(), part.len() as u64);
        let after = store.status().unwrap().feed_position;
        assert_eq!(store.add_envelopes(part, fence).unwrap(), 0, "the same again");
        assert_eq!(store.status().unwrap().feed_position, after);
        pages.push(store.page(&query).unwrap());
    }
    assert_eq!(wanted(None, 1_000).transactions, []);
    let expected: Vec<_> = truth
        .iter()
        .flat_map(|(seq, ledger)| ledger.events.iter().map(|noted| (noted.position(*seq), payload_of(noted))))
        .collect();
    let told = |page: &Page| page.events.iter().map(|shown| (shown.event.position, shown.payload.clone())).collect();
    let last: Vec<_> = told(&pages[2]);
    assert_eq!(last, expected);
    assert!(pages.windows(2).all(|pair| pair[0].events != pair[1].events));
    // Ledgers of the same range change no page that was begun, and no payload.
    store.commit(&checked(ledgers), fence).unwrap();
    assert_eq!(told(&store.page(&query).unwrap()), last);
    for begun in &pages {
        let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
        let again = store.page(&PageQuery { bound, ..query.clone() }).unwrap();
        assert_eq!(again.events, begun.events);
    }
    // Of a verified ledger no envelope is wanted, and none is taken.
    assert_eq!(store.wanted_by(&batch.events().cloned().collect::<Vec<_>>()).unwrap(), []);
    assert_eq!(store.add_envelopes(&envelopes, fence).unwrap(), 0);
    assert_eq!(store.audit_envelopes(None, 1_000).unwrap().wrong, []);
}

pub fn inv_7_the_holder_of_an_old_fence_adds_no_envelope(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (batch, envelopes) = alone(&traffic(3, |_| {}).0);
    stored(store, &batch);
    let old = store.acquire().unwrap();
    store.acquire().unwrap();
    assert!(matches!(store.add_envelopes(&envelopes, old), Err(StoreError::StaleFence)));
    assert_eq!(store.audit_envelopes(None, 1).unwrap().next, None, "nothing is stored");
}
