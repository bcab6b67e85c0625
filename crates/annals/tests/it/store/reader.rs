//! A reader that goes through a window page by page and holds each page against the oracle's answer at its first.

use std::collections::{BTreeSet, VecDeque};

use annals::store::{Bound, EventFilter, Order, PageQuery, Store};
use annals_core::{ContractId, Coverage, Event, Evidence, Judgement, LedgerSeq, Position};

use super::oracle::{Answer, Oracle};

/// The first page of a contract's events.
pub fn first_page(contract: ContractId, from: Option<LedgerSeq>, to: Option<LedgerSeq>, limit: u32) -> PageQuery {
    PageQuery {
        contract,
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
    rest: VecDeque<Event>,
    done: bool,
}

impl Reader {
    /// Fixes what the pages of `query` must show from now on.
    pub fn new(oracle: &Oracle, query: PageQuery) -> Self {
        Self::of(oracle.answer(query.contract, query.asked_from, query.asked_to), query, |_| true)
    }

    /// The same for those events alone that the query's filter takes; `takes` tells which they are.
    pub fn of(answer: Answer, query: PageQuery, takes: impl Fn(&Event) -> bool) -> Self {
        let above = |position: Position| query.above.is_none_or(|above| position > above);
        let shown = answer.events.iter().filter(|event| above(event.position) && takes(event)).cloned();
        let mut rest: VecDeque<Event> = shown.collect();
        if query.order == Order::Descending {
            rest.make_contiguous().reverse();
        }
        Self { query, answer, rest, done: false }
    }

    /// Whether the last page said that nothing follows.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the next page and compares it.
    pub fn turn(&mut self, store: &dyn Store) {
        let page = store.page(&self.query).unwrap();
        let count = self.rest.len().min(self.query.limit as usize);
        let expected: Vec<Event> = self.rest.drain(..count).collect();
        assert_eq!(page.events, expected, "events of {:?}", self.query);
        let last = expected.last().map(|event| event.position);
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

/// What a page says of its window.
pub fn judge(page: &annals::store::Page) -> Judgement {
    let evidence = Evidence {
        coverage: &page.view.coverage,
        lowest_incident: page.view.lowest_incident,
        classic_events_absent: page.classic_events_absent,
        no_schema: false,
        unattributed_events: false,
    };
    Judgement::of(page.window, &evidence)
}

fn numbers(coverage: &Coverage) -> BTreeSet<u32> {
    let ranges = coverage.ranges().iter();
    ranges.flat_map(|range| range.from_inclusive().get()..=range.to_inclusive().get()).collect()
}
