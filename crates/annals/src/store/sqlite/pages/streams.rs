//! Index ranges, merged: what may be on a page, in the page's order, read only as far as somebody asks.

use annals_core::{LedgerRange, Position};
use rusqlite::{CachedStatement, Connection, Rows, ToSql};

use crate::store::sqlite::events::{COLUMNS, StoredEvent, stored_event};
use crate::store::sqlite::topics;
use crate::store::{Order, PageQuery, StoreError};

/// One more than the highest index of an event.
const INDEX_END: i64 = 1 << 32;

/// The positions between two bounds, both exclusive, as the database compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    low: (i64, i64),
    high: (i64, i64),
}

impl Span {
    /// The part of `range` that `query` has not passed yet.
    pub(super) fn of(query: &PageQuery, range: LedgerRange) -> Self {
        let first = Position::first_of(range.from_inclusive());
        let last = Position::last_of(range.to_inclusive());
        let mut low = (toid(first), -1);
        let mut high = (toid(last), INDEX_END);
        if let Some(above) = query.above {
            low = low.max(pair(above));
        }
        match (query.behind, query.order) {
            (Some(behind), Order::Ascending) => low = low.max(pair(behind)),
            (Some(behind), Order::Descending) => high = high.min(pair(behind)),
            (None, _) => {}
        }
        Self { low, high }
    }
}

impl Span {
    /// One position alone.
    pub(super) fn only(position: Position) -> Self {
        let (toid, index) = pair(position);
        Self { low: (toid, index - 1), high: (toid, index + 1) }
    }

    /// The bounds, both exclusive, as (toid, event index).
    pub(super) fn bounds(self) -> ((i64, i64), (i64, i64)) {
        (self.low, self.high)
    }
}

fn toid(position: Position) -> i64 {
    i64::try_from(position.toid()).expect("a ledger's number is below 2^31, so that the top bit is clear")
}

fn pair(position: Position) -> (i64, i64) {
    (toid(position), i64::from(position.index()))
}

impl Span {
    /// The condition that holds a row inside `?1` … `?4`. An end that lies between two ledgers needs no index, and
    /// the database compares one number where it would else compare two for every row.
    fn condition(self) -> String {
        let low = if self.low.1 < 0 { "toid >= ?1" } else { "(toid, event_index) > (?1, ?2)" };
        let high = if self.high.1 == INDEX_END { "toid <= ?3" } else { "(toid, event_index) < (?3, ?4)" };
        format!("{low} AND {high}")
    }
}

/// Which index a stream reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All events of a contract.
    Contract,
    /// A contract's events by the key of topic 0.
    Topic,
    /// What a contract's events were by the key of topic 0, where their bytes were replaced.
    FormerTopic,
}

impl Shape {
    /// The statement; parameters 1 to 4 are the span.
    pub(super) fn sql(self, order: Order, span: Span) -> String {
        let inside = span.condition();
        let direction = match order {
            Order::Ascending => "ASC",
            Order::Descending => "DESC",
        };
        let sorted = format!("ORDER BY toid {direction}, event_index {direction}");
        match self {
            Self::Contract => format!(
                "/* streams::sql */ SELECT {COLUMNS} FROM events INDEXED BY events_by_contract \
                 WHERE contract_id = ?5 AND {inside} {sorted}"
            ),
            Self::Topic => format!(
                "/* streams::sql */ SELECT {COLUMNS} FROM events INDEXED BY events_by_topic \
                 WHERE topic0_key = ?5 AND {inside} {sorted}"
            ),
            Self::FormerTopic => format!(
                "/* streams::sql */ SELECT {COLUMNS} FROM (SELECT event_feed_position AS event_row, \
                 toid AS former_toid, event_index AS former_index FROM event_versions \
                 INDEXED BY event_versions_by_topic WHERE event_xdr IS NOT NULL AND topic0_key = ?5 \
                 AND replaced_at > ?6 AND {inside}) CROSS JOIN events ON feed_position = event_row \
                 ORDER BY former_toid {direction}, former_index {direction}"
            ),
        }
    }
}

/// The statements of one page; more than one where several keys of topic 0 were asked for.
pub(super) struct Statements<'c>(Vec<(CachedStatement<'c>, Shape, Option<i64>)>);

impl<'c> Statements<'c> {
    /// Chooses the narrowest index. `earlier`: the page is of an earlier state than the present.
    pub(super) fn prepare(
        connection: &'c Connection,
        query: &PageQuery,
        span: Span,
        earlier: bool,
    ) -> Result<Self, StoreError> {
        let mut shapes = Vec::new();
        if let Some(keys) = topics::first_keys(query.contract, &query.filter) {
            for key in keys {
                shapes.push((Shape::Topic, Some(key)));
                if earlier {
                    shapes.push((Shape::FormerTopic, Some(key)));
                }
            }
        } else {
            shapes.push((Shape::Contract, None));
        }
        let prepare = |(shape, key): (Shape, Option<i64>)| -> Result<_, StoreError> {
            Ok((connection.prepare_cached(&shape.sql(query.order, span))?, shape, key))
        };
        Ok(Self(shapes.into_iter().map(prepare).collect::<Result<_, _>>()?))
    }
}

/// The rows of several statements in one order, each position once.
pub(super) struct Merged<'s> {
    streams: Vec<(Rows<'s>, Option<StoredEvent>)>,
    order: Order,
}

impl<'s> Merged<'s> {
    /// Begins to read.
    pub(super) fn open(
        statements: &'s mut Statements<'_>,
        query: &PageQuery,
        span: Span,
        as_of: u64,
    ) -> Result<Self, StoreError> {
        let ((low_toid, low_index), (high_toid, high_index)) = (span.low, span.high);
        let mut streams = Vec::with_capacity(statements.0.len());
        for (statement, shape, key) in &mut statements.0 {
            let bounds: [&dyn ToSql; 4] = [&low_toid, &low_index, &high_toid, &high_index];
            let more: &[&dyn ToSql] = match shape {
                Shape::Contract => &[&query.contract.0],
                Shape::Topic => &[key],
                Shape::FormerTopic => &[key, &as_of],
            };
            let mut rows = statement.query([bounds.as_slice(), more].concat().as_slice())?;
            let head = rows.next()?.map(stored_event).transpose()?;
            streams.push((rows, head));
        }
        Ok(Self { streams, order: query.order })
    }

    /// The next row; none at the end of the span.
    pub(super) fn next(&mut self) -> Result<Option<StoredEvent>, StoreError> {
        let heads = self.streams.iter().filter_map(|(_, head)| head.as_ref().map(|head| head.event.position));
        let nearest = match self.order {
            Order::Ascending => heads.min(),
            Order::Descending => heads.max(),
        };
        let Some(nearest) = nearest else { return Ok(None) };
        let mut found = None;
        for (rows, head) in &mut self.streams {
            while head.as_ref().is_some_and(|head| head.event.position == nearest) {
                found = head.take();
                *head = rows.next()?.map(stored_event).transpose()?;
            }
        }
        Ok(found)
    }
}
