//! That a page costs what is on it.

use annals_core::{ContractId, LedgerRange, LedgerSeq, Position};
use rusqlite::types::Value;

use super::streams::{Shape, Span};
use super::*;
use crate::clock::SystemClock;
use crate::store::{EventFilter, Order, SqliteStore};

/// How the database goes about a statement.
pub(in crate::store::sqlite) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing = vec![Value::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

#[test]
fn every_page_searches_one_index_in_order_and_sorts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::create_or_open(dir.path(), std::sync::Arc::new(SystemClock::new())).unwrap();
    let expected = |shape, span| match shape {
        Shape::Contract => vec![format!("SEARCH events USING INDEX events_by_contract (contract_id=? AND {span})")],
        Shape::Topic => {
            vec![format!("SEARCH events USING INDEX events_by_topic (topic0_key=? AND {span})")]
        }
        Shape::FormerTopic => vec![
            format!("SEARCH event_versions USING INDEX event_versions_by_topic (topic0_key=? AND {span})"),
            "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)".to_owned(),
        ],
    };
    let seq = |number| LedgerSeq::new(number).unwrap();
    let range = LedgerRange::new(seq(5), seq(9)).unwrap();
    let first = PageQuery {
        contract: ContractId([1; 32]),
        account: None,
        asked_from: None,
        asked_to: None,
        filter: EventFilter::default(),
        order: Order::Ascending,
        above: None,
        behind: None,
        bound: None,
        limit: 1,
    };
    let position = Position::before_all_txs(seq(7), 3);
    let next = PageQuery { behind: Some(position), ..first.clone() };
    let last = PageQuery { order: Order::Descending, ..next.clone() };
    let between = PageQuery { above: Some(Position::first_of(seq(6))), ..last.clone() };
    let spans = [
        (first, "toid>? AND toid<?"),
        (next, "(toid,event_index)>(?,?) AND toid<?"),
        (last, "toid>? AND (toid,event_index)<(?,?)"),
        (between, "(toid,event_index)>(?,?) AND (toid,event_index)<(?,?)"),
    ];
    store
        .read(|connection| {
            for shape in [Shape::Contract, Shape::Topic, Shape::FormerTopic] {
                for (query, inside) in &spans {
                    for order in [Order::Ascending, Order::Descending] {
                        let sql = shape.sql(order, Span::of(query, range));
                        assert_eq!(plan(connection, &sql), expected(shape, inside), "{shape:?} {order:?} {query:?}");
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}
