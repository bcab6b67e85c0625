//! Pages of one contract's events, or of one account's among them.

use std::sync::Arc;

use annals_core::{LedgerSeq, Position, TxHash};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use serde::Serialize;

use super::answer::Answer;
use super::code::Code;
use super::cursor::{Cursor, CursorKey, Subject};
use super::error::ApiError;
use super::event::NoMore;
use super::judge::Vouched;
use super::limits::{PAGE_EVENTS_DEFAULT, TOPIC_BYTES_MAX};
use super::page::EventsPlace;
use super::query::Query;
use super::reads::ReadError;
use super::route::{ACCOUNT_EVENTS, EVENTS};
use super::{Api, contract_and_account, page, segment, value};
use crate::store::{EventFilter, JudgedWindow, Order, Page, PageQuery, Store};

const TOPICS: [&str; 4] = ["topic0", "topic1", "topic2", "topic3"];

/// What a request asks for; what it leaves out is none.
struct Asked {
    from: Option<LedgerSeq>,
    to: Option<LedgerSeq>,
    types: Option<Vec<String>>,
    topics: [Option<Vec<u8>>; 4],
    tx_hash: Option<TxHash>,
    order: Option<Order>,
    after: Option<Position>,
    limit: u32,
}

impl Asked {
    fn read(query: &Query) -> Result<Self, ApiError> {
        let mut topics: [Option<Vec<u8>>; 4] = [const { None }; 4];
        for (topic, name) in topics.iter_mut().zip(TOPICS) {
            *topic = query.parse(name, value::topic)?;
        }
        if topics.iter().flatten().map(Vec::len).sum::<usize>() > TOPIC_BYTES_MAX {
            let message = format!("the topics asked for have together at most {TOPIC_BYTES_MAX} bytes");
            return Err(ApiError::new(Code::BadTopic, message));
        }
        Ok(Self {
            from: query.parse("from_ledger", value::ledger)?,
            to: query.parse("to_ledger", value::ledger)?,
            types: query.parse("types", value::types)?,
            topics,
            tx_hash: query.parse("tx_hash", value::tx_hash)?,
            order: query.parse("order", value::order)?,
            after: query.parse("after_id", value::after_id)?,
            limit: query.parse("limit", value::limit)?.unwrap_or(PAGE_EVENTS_DEFAULT),
        })
    }

    /// The query of a first page.
    fn first(self, Subject { contract, account }: Subject) -> PageQuery {
        let Self { from, to, types, topics, tx_hash, order, after, limit } = self;
        PageQuery {
            contract,
            account,
            asked_from: from,
            asked_to: to,
            filter: EventFilter { types: types.unwrap_or_default(), topics, tx_hash },
            order: order.unwrap_or(Order::Ascending),
            above: after,
            behind: None,
            bound: None,
            limit,
        }
    }

    /// The query of the page behind a cursor. What is asked for beside it must be what it was issued for.
    fn next(self, Subject { contract, account }: Subject, cursor: Cursor) -> Result<PageQuery, ApiError> {
        if self.after.is_some() {
            return Err(ApiError::new(Code::CursorMismatch, "a cursor goes on by itself: leave after_id out"));
        }
        let Cursor { bound, filter, order, above, behind, .. } = cursor;
        let window = bound.window;
        let same_topics = self.topics.iter().zip(&filter.topics).all(|(asked, own)| is_own(asked, own.as_ref()));
        let same = is_own(&self.from, window.from_inclusive.as_ref())
            && is_own(&self.to, window.to_inclusive.as_ref())
            && is_own(&self.types, Some(&filter.types))
            && is_own(&self.tx_hash, filter.tx_hash.as_ref())
            && is_own(&self.order, Some(&order))
            && same_topics;
        if !same {
            return Err(Code::CursorMismatch.into());
        }
        let (asked_from, asked_to) = (window.from_inclusive, window.to_inclusive);
        let (bound, behind, limit) = (Some(bound), Some(behind), self.limit);
        Ok(PageQuery { contract, account, asked_from, asked_to, filter, order, above, behind, bound, limit })
    }
}

/// Whether a parameter beside a cursor is absent, or the cursor's own.
fn is_own<T: PartialEq>(asked: &Option<T>, own: Option<&T>) -> bool {
    asked.as_ref().is_none_or(|asked| own == Some(asked))
}

#[derive(Debug, Serialize)]
struct EventPage {
    from_ledger: Option<u32>,
    to_ledger: Option<u32>,
    events: EventsPlace,
    cursor: Option<String>,
    #[serde(flatten)]
    vouched: Vouched,
}

/// What the page of an account says of each event beside what every page says.
#[derive(Debug, Serialize)]
struct OfAccount<'a> {
    roles: &'a [String],
}

/// Answers one page of a contract's events.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    contract: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let contract = value::contract(&segment(contract)?)?;
    page_of(api, Subject { contract, account: None }, Query::read(&uri, &EVENTS)?).await
}

/// Answers one page of those of a contract's events that belong to an account.
pub(super) async fn list_of_account(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let (contract, account) = contract_and_account(path)?;
    page_of(api, Subject { contract, account: Some(account) }, Query::read(&uri, &ACCOUNT_EVENTS)?).await
}

async fn page_of(api: Arc<Api>, subject: Subject, query: Query) -> Result<Answer, ApiError> {
    let asked = Asked::read(&query)?;
    let cursor = query.get("cursor").map(|text| api.cursors.read(subject, text).ok_or(Code::BadCursor)).transpose()?;
    let epoch = cursor.as_ref().map(|cursor| cursor.epoch);
    let page_query = match cursor {
        None => asked.first(subject),
        Some(cursor) => asked.next(subject, cursor)?,
    };
    let signer = Arc::clone(&api);
    api.reads.run(move |store| answer(store, &page_query, epoch, &signer.cursors)).await
}

fn answer(store: &dyn Store, query: &PageQuery, epoch: Option<u64>, cursors: &CursorKey) -> Result<Answer, ReadError> {
    let page = store.page(query)?;
    if !page.view.in_scope {
        return Err(Code::UnknownContract.into());
    }
    if epoch.is_some_and(|epoch| epoch != page.view.epoch) {
        return Err(Code::StaleCursor.into());
    }
    let subject = Subject { contract: query.contract, account: query.account };
    let Page { window, classic_events_absent, unattributed, .. } = page;
    let frame = EventPage {
        from_ledger: window.from_inclusive.map(LedgerSeq::get),
        to_ledger: window.to_inclusive.map(LedgerSeq::get),
        events: EventsPlace::default(),
        cursor: page.next.map(|behind| cursors.write(subject, &cursor(query, &page, behind))),
        vouched: Vouched::of(&JudgedWindow { window, classic_events_absent, unattributed }, &page.view),
    };
    match query.account {
        None => page::answer(&frame, page.events.iter().map(|shown| (shown, NoMore {}))),
        Some(_) => page::answer(&frame, page.events.iter().map(|shown| (shown, OfAccount { roles: &shown.roles }))),
    }
}

/// The cursor of the page that follows: this one's query, bound to what the first page fixed.
fn cursor(query: &PageQuery, page: &Page, behind: Position) -> Cursor {
    Cursor {
        bound: crate::store::Bound { as_of: page.view.as_of, window: page.window },
        epoch: page.view.epoch,
        filter: query.filter.clone(),
        order: query.order,
        above: query.above,
        behind,
    }
}
