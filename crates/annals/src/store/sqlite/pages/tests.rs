//! That a page costs what is on it.

use rusqlite::types::Value;

use super::streams::Shape;
use super::*;
use crate::clock::SystemClock;
use crate::store::{Order, SqliteStore};

/// How the database goes about a statement.
pub(super) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing = vec![Value::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

#[test]
fn every_page_searches_one_index_in_order_and_sorts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::create_or_open(dir.path(), std::sync::Arc::new(SystemClock::new())).unwrap();
    let span = "(toid,event_index)>(?,?) AND (toid,event_index)<(?,?)";
    let expected = |shape| match shape {
        Shape::Contract => vec![format!("SEARCH events USING INDEX events_by_contract (contract_id=? AND {span})")],
        Shape::Topic => {
            vec![format!("SEARCH events USING INDEX events_by_topic (topic0_key=? AND {span})")]
        }
        Shape::FormerTopic => vec![
            format!("SEARCH event_versions USING INDEX event_versions_by_topic (topic0_key=? AND {span})"),
            "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)".to_owned(),
        ],
    };
    store
        .read(|connection| {
            for shape in [Shape::Contract, Shape::Topic, Shape::FormerTopic] {
                for order in [Order::Ascending, Order::Descending] {
                    assert_eq!(plan(connection, &shape.sql(order)), expected(shape), "{shape:?} {order:?}");
                }
            }
            Ok(())
        })
        .unwrap();
}
