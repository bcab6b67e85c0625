//! The events of one account, by the rows that attribute them.

use annals_core::{Address, ContractId, Event, LedgerRange, Mark, Position};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, Rows, params};

use super::streams::Span;
use crate::store::sqlite::attribution;
use crate::store::sqlite::events::{COLUMNS, StoredEvent, stored_event};
use crate::store::sqlite::failure::damaged;
use crate::store::sqlite::view::Known;
use crate::store::sqlite::{topics, versions};
use crate::store::{FeedPosition, Order, PageQuery, StoreError};

#[cfg(test)]
mod tests;

/// How many rows one page looks at, as for a contract's page.
const ROWS_LOOKED_AT_MAX: u32 = 20_000;

/// An event, and the roles that the account has in it.
pub(super) struct Owned {
    pub(super) event: Event,
    pub(super) roles: Vec<String>,
}

/// What a page shows.
#[derive(Default)]
pub(super) struct Found {
    pub(super) events: Vec<Owned>,
    pub(super) next: Option<Position>,
}

/// The statement of an account's rows, each joined with its event's own row; parameters 1 to 4 are the span, 5 the party.
pub(super) fn sql(order: Order) -> String {
    let direction = match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    };
    let columns: Vec<String> = COLUMNS.split(", ").map(|column| format!("events.{column}")).collect();
    format!(
        "/* accounts::sql */ SELECT {}, role, since, until FROM attribution \
         CROSS JOIN events ON events.feed_position = event_feed_position WHERE party_id = ?5 \
         AND (attribution.toid, attribution.event_index) > (?1, ?2) \
         AND (attribution.toid, attribution.event_index) < (?3, ?4) \
         ORDER BY attribution.toid {direction}, attribution.event_index {direction}, place {direction}",
        columns.join(", ")
    )
}

/// Collects the events of `query` that belong to `account` in `range`, as of the view's feed position.
pub(super) fn collect(
    connection: &Connection,
    query: &PageQuery,
    account: Address,
    range: LedgerRange,
    known: &Known,
) -> Result<Found, StoreError> {
    let mut found = Found::default();
    // Without a schema nobody can say whose the events are, whatever an earlier one said.
    let party = attribution::party(connection, query.contract, account)?.filter(|_| known.reading.is_some());
    let Some(party) = party else { return Ok(found) };
    let as_of = known.view.as_of;
    let limit = usize::try_from(query.limit.max(1)).unwrap_or(usize::MAX);
    let mut statement = connection.prepare_cached(&sql(query.order))?;
    let mut grouped = Grouped::open(&mut statement, Span::of(query, range), party)?;
    let mut last = None;
    while let Some(group) = grouped.next()? {
        // Only a further event makes this place worth going on from, and no event is taken apart.
        if grouped.looked_at > ROWS_LOOKED_AT_MAX && last.is_some() {
            found.next = last;
            break;
        }
        last = Some(group.stored.event.position);
        let Some(owned) = group.held_at(connection, query.order, as_of)? else { continue };
        if !topics::takes(&query.filter, &owned.event) {
            continue;
        }
        if found.events.len() == limit {
            found.next = found.events.last().map(|owned| owned.event.position);
            break;
        }
        found.events.push(owned);
    }
    Ok(found)
}

/// The event at `position` as one of the account's, as of the feed position `as_of`.
pub(super) fn at(
    connection: &Connection,
    party: i64,
    position: Position,
    as_of: FeedPosition,
) -> Result<Owned, StoreError> {
    let order = Order::Ascending;
    let mut statement = connection.prepare_cached(&sql(order))?;
    let group = Grouped::open(&mut statement, Span::only(position), party)?.next()?;
    let owned = group.map(|group| group.held_at(connection, order, as_of)).transpose()?.flatten();
    owned.ok_or_else(|| damaged("an attributed event is not stored"))
}

/// Which of the account's events with a mark is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marked {
    /// The last one.
    Last,
    /// The first one.
    First,
}

/// The statement that finds an account's event with a mark, at or before a position.
pub(super) fn marked_sql(which: Marked) -> String {
    let direction = match which {
        Marked::Last => "DESC",
        Marked::First => "ASC",
    };
    format!(
        "/* accounts::marked */ SELECT toid, event_index FROM attribution INDEXED BY attribution_marks \
         WHERE party_id = ?1 AND mark = ?2 AND (toid, event_index) <= (?3, ?4) AND since <= ?5 \
         AND (until IS NULL OR until > ?5) ORDER BY toid {direction}, event_index {direction} LIMIT 1"
    )
}

/// Where the account has an event with `mark` at or before `up_to`, as of the feed position `as_of`.
pub(super) fn marked(
    connection: &Connection,
    party: i64,
    mark: Mark,
    which: Marked,
    up_to: Position,
    as_of: FeedPosition,
) -> Result<Option<Position>, StoreError> {
    let mut statement = connection.prepare_cached(&marked_sql(which))?;
    let values = params![party, mark.as_str(), up_to.toid(), up_to.index(), as_of.0];
    let found = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let position = found.map(|(toid, index)| Position::from_parts(toid, index)).transpose();
    position.map_err(|_| damaged("an attributed event's position is none"))
}

/// The number of the account among the contract's parties, where the contract is read with a schema.
pub(super) fn party(
    connection: &Connection,
    contract: ContractId,
    account: Address,
    known: &Known,
) -> Result<Option<i64>, StoreError> {
    Ok(attribution::party(connection, contract, account)?.filter(|_| known.reading.is_some()))
}

/// The account's rows, by event.
struct Grouped<'s> {
    rows: Rows<'s>,
    head: Option<Attributed>,
    looked_at: u32,
}

/// One row: the event, and one role in it from one feed position on and up to another.
struct Attributed {
    stored: StoredEvent,
    role: String,
    since: u64,
    until: Option<u64>,
}

/// All rows of one event.
struct Group {
    stored: StoredEvent,
    roles: Vec<(String, u64, Option<u64>)>,
}

impl<'s> Grouped<'s> {
    fn open(statement: &'s mut CachedStatement<'_>, span: Span, party: i64) -> Result<Self, StoreError> {
        let ((low_toid, low_index), (high_toid, high_index)) = span.bounds();
        let rows = statement.query(params![low_toid, low_index, high_toid, high_index, party])?;
        let mut grouped = Self { rows, head: None, looked_at: 0 };
        grouped.head = grouped.read()?;
        Ok(grouped)
    }

    fn read(&mut self) -> Result<Option<Attributed>, StoreError> {
        self.looked_at += 1;
        self.rows.next()?.map(attributed).transpose()
    }

    fn next(&mut self) -> Result<Option<Group>, StoreError> {
        let Some(first) = self.head.take() else { return Ok(None) };
        let mut group = Group { stored: first.stored, roles: vec![(first.role, first.since, first.until)] };
        while let Some(row) = self.read()? {
            if row.stored.event.position != group.stored.event.position {
                self.head = Some(row);
                break;
            }
            group.roles.push((row.role, row.since, row.until));
        }
        Ok(Some(group))
    }
}

impl Group {
    /// The event and the roles that hold at `as_of`, in the order of its topics; none where none does.
    fn held_at(self, connection: &Connection, order: Order, as_of: FeedPosition) -> Result<Option<Owned>, StoreError> {
        let holds = |since: u64, until: Option<u64>| since <= as_of.0 && until.is_none_or(|until| until > as_of.0);
        let rows = self.roles.into_iter().filter(|(_, since, until)| holds(*since, *until));
        let mut roles: Vec<String> = rows.map(|(role, ..)| role).collect();
        if roles.is_empty() {
            return Ok(None);
        }
        if order == Order::Descending {
            roles.reverse();
        }
        Ok(Some(Owned { event: versions::as_of(connection, self.stored, as_of.0)?, roles }))
    }
}

fn attributed(row: &Row<'_>) -> Result<Attributed, StoreError> {
    let stored = stored_event(row)?;
    Ok(Attributed { stored, role: row.get(13)?, since: row.get(14)?, until: row.get(15)? })
}
