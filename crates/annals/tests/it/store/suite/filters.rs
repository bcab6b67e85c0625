//! Which events a filter finds.

use annals::store::{Bound, EventFilter, Order, PageQuery, Store};
use annals_core::{Batch, ClassicEvents, Event, LedgerSeq, Position, ProofClass, Scope, TxHash};
use stellar_xdr::ScVal;

use crate::store::fixtures::*;
use crate::store::oracle::{Answer, Oracle};
use crate::store::reader::{ORDERS, Reader, events_of, first_page};
use crate::store::topics::*;

/// An event's topics, as the test made them.
type Made = (Event, Vec<ScVal>);

/// Types, a topic at each place, and a transaction.
type Asked = (&'static [&'static str], [Option<ScVal>; 4], Option<TxHash>);

/// Stores ledgers of events of contract 1; what the archive must then show of them.
fn stored(store: &dyn Store, ledgers: Vec<annals_core::CheckedLedger>) -> Answer {
    let (first, last) = (ledgers[0].seq, ledgers[ledgers.len() - 1].seq);
    let fence = begin(store, first.get(), last.get());
    let batch = batch_of(Scope::All, ledgers);
    store.commit(&batch, fence).unwrap();
    let mut oracle = Oracle::default();
    oracle.acquire();
    oracle.request(&request(Scope::All, first.get(), last.get()), fence).unwrap();
    oracle.commit(&batch, fence).unwrap();
    oracle.answer(contract(1), Some(first), Some(last))
}

fn window(from: LedgerSeq, to: LedgerSeq, filter: EventFilter, order: Order, limit: u32) -> PageQuery {
    PageQuery { filter, order, ..first_page(contract(1), Some(from), Some(to), limit) }
}

pub fn d4_events_of_any_number_of_topics_are_all_there(fixture: &mut dyn StoreFixture) {
    let names = ["admin", "old", "new", "why"].map(symbol);
    let at = |index| Position::op(seq(3), 1, 0, index).unwrap();
    let events = (0..=4).map(|count| topical(at(count), 1, contract(1), &names[..count as usize])).collect();
    let answer = stored(fixture.store(), vec![ledger_with(3, ClassicEvents::Present, events)]);
    assert_eq!(answer.events.len(), 5);
    for order in ORDERS {
        let all = window(seq(3), seq(3), EventFilter::default(), order, 2);
        Reader::of(answer.clone(), all, |_| true).finish(fixture.store());
        let admin = EventFilter { types: vec!["admin".to_owned()], ..EventFilter::default() };
        let query = window(seq(3), seq(3), admin, order, 2);
        Reader::of(answer.clone(), query, |event| event.position != at(0)).finish(fixture.store());
    }
}

/// Ledgers with events of many shapes, of two contracts and three transactions each.
fn varied(from: u32, to: u32) -> (Vec<annals_core::CheckedLedger>, Vec<Made>) {
    let shapes: [Vec<ScVal>; 8] = [
        vec![symbol("transfer"), number(1), number(2), number(3)],
        vec![symbol("transfer"), number(2), number(1)],
        vec![symbol("mint"), number(1)],
        vec![symbol("fee")],
        vec![],
        vec![string("transfer"), number(1)],
        vec![number(1), symbol("transfer")],
        vec![symbol("transferred"), number(1), number(2), number(3)],
    ];
    let mut made = Vec::new();
    let mut ledgers = Vec::new();
    for ledger in from..=to {
        let mut events = Vec::new();
        for tx in 1..=3 {
            for index in 0..5 {
                let topics = &shapes[((ledger * 7 + tx * 3 + index) % 8) as usize];
                let of = contract(if index == 4 { 2 } else { 1 });
                let event = topical(Position::op(seq(ledger), tx, index % 2, index).unwrap(), tx, of, topics);
                made.push((event.clone(), topics.clone()));
                events.push(event);
            }
        }
        // Bytes that are no event are archived too, and no topic finds them.
        events.push(event(Position::after_all_txs(seq(ledger), 0), 1, Some(contract(1)), ProofClass::Uncommitted));
        ledgers.push(ledger_with(ledger, ClassicEvents::Present, events));
    }
    (ledgers, made)
}

pub fn filters_find_what_a_plain_search_finds(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let (ledgers, made) = varied(1, 12);
    let answer = stored(store, ledgers);
    let places = |first: Option<ScVal>, second: Option<ScVal>, third: Option<ScVal>, fourth: Option<ScVal>| {
        [first, second, third, fourth]
    };
    let none = || places(None, None, None, None);
    let two = Some(tx_hash(seq(5), 2));
    let cases: Vec<Asked> = vec![
        (&["transfer"], none(), None),
        (&["transfer", "mint", "transfer", "nothing"], none(), None),
        (&["nothing"], none(), None),
        (&[], places(Some(symbol("transfer")), None, None, None), None),
        (&[], places(Some(string("transfer")), None, None, None), None),
        (&["transfer"], places(Some(string("transfer")), None, None, None), None),
        (&["mint", "fee"], places(Some(symbol("mint")), None, None, None), None),
        (&[], places(None, Some(number(1)), None, None), None),
        (&["transfer"], places(None, Some(number(2)), None, None), None),
        (&[], places(Some(symbol("transfer")), Some(number(1)), Some(number(2)), Some(number(3))), None),
        (&[], places(None, None, None, Some(number(3))), None),
        (&[], none(), two),
        (&["transfer"], none(), two),
        (&[], places(None, Some(number(1)), None, None), two),
        (&[], none(), Some(TxHash([9; 32]))),
    ];
    for (types, topics, tx_hash) in cases {
        let takes = |event: &Event| {
            let Some((_, has)) = made.iter().find(|(made, _)| made.position == event.position) else {
                return types.is_empty()
                    && topics.iter().all(Option::is_none)
                    && tx_hash.is_none_or(|hash| hash == event.tx_hash);
            };
            (types.is_empty() || types.iter().any(|name| has.first() == Some(&symbol(name))))
                && (0..4).all(|place| topics[place].as_ref().is_none_or(|topic| has.get(place) == Some(topic)))
                && tx_hash.is_none_or(|hash| hash == event.tx_hash)
        };
        let filter = EventFilter {
            types: types.iter().map(|name| (*name).to_owned()).collect(),
            topics: topics.clone().map(|topic| topic.as_ref().map(topic_xdr)),
            tx_hash,
        };
        for order in ORDERS {
            for limit in [1, 3, 50] {
                let query = window(seq(1), seq(12), filter.clone(), order, limit);
                Reader::of(answer.clone(), query.clone(), takes).finish(store);
                let above = Some(Position::op(seq(4), 2, 0, 0).unwrap());
                Reader::of(answer.clone(), PageQuery { above, ..query }, takes).finish(store);
            }
        }
    }
}

pub fn topics_of_many_kilobytes_are_told_apart_by_their_last_byte(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let large = |size: usize, last: u8| {
        let mut filling = vec![7; size];
        filling[size - 1] = last;
        bytes(filling)
    };
    let topics = [large(8 << 10, 1), large(8 << 10, 2), large(15 << 10, 1), large(15 << 10, 2)];
    let at = |index| Position::op(seq(2), 1, 0, index).unwrap();
    let events = (0..16).map(|index| {
        let (first, second) = (&topics[index as usize % 4], &topics[index as usize / 4]);
        topical(at(index), 1, contract(1), &[first.clone(), second.clone()])
    });
    let answer = stored(store, vec![ledger_with(2, ClassicEvents::Present, events.collect())]);
    for (asked, topic) in topics.iter().enumerate() {
        for order in ORDERS {
            let xdr = Some(topic_xdr(topic));
            let first = EventFilter { topics: [xdr.clone(), None, None, None], ..EventFilter::default() };
            let query = window(seq(2), seq(2), first, order, 3);
            Reader::of(answer.clone(), query, |event| event.position.index() as usize % 4 == asked).finish(store);
            let second = EventFilter { topics: [None, xdr, None, None], ..EventFilter::default() };
            let query = window(seq(2), seq(2), second, order, 3);
            Reader::of(answer.clone(), query, |event| event.position.index() as usize / 4 == asked).finish(store);
        }
    }
}

pub fn a_filter_that_no_index_serves_ends_its_page_early_and_goes_on(fixture: &mut dyn StoreFixture) {
    const EVENTS: u32 = 45_000;
    let store = fixture.store();
    let at = |index| Position::op(seq(2), 1, 0, index).unwrap();
    let rare = [300, EVENTS - 1];
    let events = (0..EVENTS)
        .map(|index| topical(at(index), 1, contract(1), &[symbol("x"), number(u32::from(rare.contains(&index)))]));
    stored(store, vec![ledger_with(2, ClassicEvents::Present, events.collect())]);
    let topics = [None, Some(topic_xdr(&number(1))), None, None];
    for order in ORDERS {
        let mut query =
            window(seq(2), seq(2), EventFilter { topics: topics.clone(), ..EventFilter::default() }, order, 10);
        let (mut found, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.page(&query).unwrap();
            pages += 1;
            found.extend(page.events.iter().map(|shown| shown.event.position.index()));
            let Some(next) = page.next else { break };
            query.bound = Some(Bound { as_of: page.view.as_of, window: page.window });
            query.behind = Some(next);
        }
        if order == Order::Descending {
            found.reverse();
        }
        assert_eq!(found, rare);
        assert!((2..10).contains(&pages), "{pages} pages");
    }
}

pub fn a_page_begun_before_an_upgrade_finds_events_by_the_topics_they_had(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    // The source rewrote the events: another first topic. The header commits to the original.
    let at = |index| Position::op(seq(4), 1, 0, index).unwrap();
    let original = |index| {
        let rewritten_xdr = Some(event_xdr(&[symbol("later"), number(1)], index));
        Event {
            proof: ProofClass::Rewritten,
            rewritten_xdr,
            ..topical(at(index), 1, contract(1), &[symbol("first"), number(1)])
        }
    };
    let published = |index| Event { xdr: event_xdr(&[symbol("later"), number(1)], index), ..unproven(original(index)) };
    let given = (0..6).map(published).collect();
    store.commit(&Batch::unverified(network(), Scope::All, SOURCE, range(4, 4), given).unwrap(), fence).unwrap();
    let query = |name: &str, order| {
        let filter = EventFilter { types: vec![name.to_owned()], ..EventFilter::default() };
        window(seq(4), seq(4), filter, order, 2)
    };
    let begun = ORDERS.map(|order| ["later", "first"].map(|name| store.page(&query(name, order)).unwrap()));
    let whole = ledger_with(4, ClassicEvents::Present, (0..6).map(original).collect());
    store.commit(&batch_of(Scope::All, vec![whole]), fence).unwrap();

    for (order, [later, first]) in ORDERS.into_iter().zip(begun) {
        assert_eq!((first.events.len(), first.next), (0, None));
        let bound = Some(Bound { as_of: later.view.as_of, window: later.window });
        let mut pages = events_of(&later);
        let mut behind = later.next;
        while let Some(position) = behind {
            let page = store.page(&PageQuery { bound, behind: Some(position), ..query("later", order) }).unwrap();
            pages.extend(events_of(&page));
            behind = page.next;
        }
        if order == Order::Descending {
            pages.reverse();
        }
        assert_eq!(pages, (0..6).map(published).collect::<Vec<_>>());
        let none = store.page(&PageQuery { bound, ..query("first", order) }).unwrap();
        assert_eq!((none.events.len(), none.next), (0, None), "nobody knew the original then");
        // Begun now, it is the other way round.
        assert_eq!(store.page(&query("later", order)).unwrap().events, []);
        assert_eq!(store.page(&PageQuery { limit: 9, ..query("first", order) }).unwrap().events.len(), 6);
    }
}
