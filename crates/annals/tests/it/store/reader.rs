//! A reader that goes through a window page by page and holds each page against the oracle's answer at its first.

use std::collections::{BTreeSet, VecDeque};

use annals::store::{Bound, EventFilter, Order, Page, PageEvent, PageQuery, Store, Unattributed};
use annals_core::decode::EventView;
use annals_core::registry::Payload;
use annals_core::{ContractId, Coverage, Event, Evidence, Judgement, LedgerSeq, Position};

use super::oracle::{Answer, Oracle, Owned};

/// The first page of a contract's events.
pub fn first_page(contract: ContractId, from: Option<LedgerSeq>, to: Option<LedgerSeq>, limit: u32) -> PageQuery {
    PageQuery {
        contract,
        account: None,
        asked_from: from,
        asked_to: to,
        filter: EventFilter::default(),
        order: Order::Ascending,
        above: None,
        behind: None,
        bound: None,
        limit,
    }
}

/// Both directions.
pub const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

pub struct Reader {
    query: PageQuery,
    answer: Answer,
    rest: VecDeque<PageEvent>,
    unattributed: Option<Unattributed>,
    done: bool,
    /// Whether the program that shows the pages may not know the schema of their contract, and so leave open whether it
    /// registers payloads.
    pub schema_may_be_missing: bool,
}

impl Reader {
    /// Fixes what the pages of `query` must show from now on.
    pub fn new(oracle: &Oracle, query: PageQuery) -> Self {
        match query.account {
            None => Self::of(oracle.answer(query.contract, query.asked_from, query.asked_to), query, |_| true),
            Some(account) => {
                let owned = oracle.account(query.contract, account, query.asked_from, query.asked_to);
                Self::of_account(owned, query)
            }
        }
    }

    /// The same for those events alone that the query's filter takes; `takes` tells which they are.
    pub fn of(answer: Answer, query: PageQuery, takes: impl Fn(&Event) -> bool) -> Self {
        let shown: Vec<Event> = answer.events.iter().filter(|event| takes(event)).cloned().collect();
        Self::over(answer, shown.into_iter().map(unasked), query, None)
    }

    /// The same for one account.
    fn of_account(owned: Owned, query: PageQuery) -> Self {
        let of_type = |shown: &PageEvent| {
            let view = EventView::parse(&shown.event.xdr).ok();
            let name = view.and_then(|view| view.event_type());
            query.filter.types.is_empty() || name.is_some_and(|name| query.filter.types.contains(&name))
        };
        let shown: Vec<PageEvent> = owned.events.into_iter().filter(of_type).collect();
        Self::over(owned.answer, shown.into_iter(), query, owned.unattributed)
    }

    fn over(
        answer: Answer,
        shown: impl Iterator<Item = PageEvent>,
        query: PageQuery,
        unattributed: Option<Unattributed>,
    ) -> Self {
        let above = |position: Position| query.above.is_none_or(|above| position > above);
        let mut rest: VecDeque<PageEvent> = shown.filter(|shown| above(shown.event.position)).collect();
        if query.order == Order::Descending {
            rest.make_contiguous().reverse();
        }
        Self { query, answer, rest, unattributed, done: false, schema_may_be_missing: false }
    }

    /// Whether the last page said that nothing follows.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the next page and compares it.
    pub fn turn(&mut self, store: &dyn Store) {
        let mut page = store.page(&self.query).unwrap();
        for shown in &mut page.events {
            if self.schema_may_be_missing && shown.payload == Payload::Pending {
                shown.payload = Payload::NotApplicable;
            }
        }
        let count = self.rest.len().min(self.query.limit as usize);
        let expected: Vec<PageEvent> = self.rest.drain(..count).collect();
        assert_eq!(page.events, expected, "events of {:?}", self.query);
        assert_eq!(page.unattributed, self.unattributed, "attribution of {:?}", self.query);
        let last = expected.last().map(|shown| shown.event.position);
        assert_eq!(page.next, last.filter(|_| !self.rest.is_empty()), "where to go on from {:?}", self.query);

        let window = (page.window.from_inclusive.map(LedgerSeq::get), page.window.to_inclusive.map(LedgerSeq::get));
        assert_eq!(window, (self.answer.from, self.answer.to), "window of {:?}", self.query);
        assert_eq!(numbers(&page.view.coverage), self.answer.scanned, "coverage of {:?}", self.query);
        assert_eq!(numbers(&page.view.verified), self.answer.verified, "verified of {:?}", self.query);
        let judgement = judge(&page);
        assert_eq!(numbers(&judgement.missing), self.answer.missing, "missing of {:?}", self.query);
        assert_eq!(judgement.is_complete(), self.answer.complete, "{judgement:?} of {:?}", self.query);

        if let Some(bound) = self.query.bound {
            assert_eq!((page.view.as_of, page.window), (bound.as_of, bound.window));
        }
        self.query.bound = Some(Bound { as_of: page.view.as_of, window: page.window });
        self.query.behind = page.next;
        self.done = page.next.is_none();
    }

    /// Reads all pages that are left.
    pub fn finish(&mut self, store: &dyn Store) {
        while !self.done {
            self.turn(store);
        }
        assert!(self.rest.is_empty());
    }
}

/// A page's events alone.
pub fn events_of(page: &Page) -> Vec<Event> {
    page.events.iter().map(|shown| shown.event.clone()).collect()
}

/// An event as it is shown where no account is asked for and no schema registers payloads.
pub fn unasked(event: Event) -> PageEvent {
    PageEvent { event, roles: Vec::new(), payload: Payload::NotApplicable }
}

/// What a page says of its window.
pub fn judge(page: &Page) -> Judgement {
    let evidence = Evidence {
        coverage: &page.view.coverage,
        lowest_incident: page.view.lowest_incident,
        classic_events_absent: page.classic_events_absent,
        no_schema: page.unattributed == Some(Unattributed::NoSchema),
        unattributed_events: page.unattributed == Some(Unattributed::Events),
    };
    Judgement::of(page.window, &evidence)
}

fn numbers(coverage: &Coverage) -> BTreeSet<u32> {
    let ranges = coverage.ranges().iter();
    ranges.flat_map(|range| range.from_inclusive().get()..=range.to_inclusive().get()).collect()
}
