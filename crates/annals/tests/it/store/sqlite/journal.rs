//! What operators did to an archive's bounds stays written down.

use annals::store::{Contract, ContractKind};
use rusqlite::Connection;

use super::SqliteFixture;
use crate::store::fixtures::*;

#[test]
fn inv_11_what_operators_say_of_a_contract_is_journalled_once() {
    let fixture = SqliteFixture::new();
    let fence = begin(fixture.store(), 1, 9);
    let said = |origin: Option<u32>, kind| Contract { id: contract(1), origin: origin.map(seq), kind, schema: None };
    for said in [said(Some(4), None), said(Some(4), None), said(Some(2), Some(ContractKind::Wasm)), said(None, None)] {
        fixture.store().declare(&said, fence).unwrap();
    }
    let archive = Connection::open(fixture.dir.path().join("annals.db")).unwrap();
    let sql = "SELECT act, detail ->> 'contract', detail ->> 'origin_from', detail ->> 'origin_to', \
               detail ->> 'kind_from', detail ->> 'kind_to' FROM journal ORDER BY id";
    let mut statement = archive.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)));
    type Line = (String, String, Option<u32>, Option<u32>, Option<String>, Option<String>);
    let lines: Vec<Line> = rows.unwrap().map(Result::unwrap).collect();
    let line = |from, to, kind: Option<&str>| -> Line {
        ("declare_contract".into(), contract(1).to_string(), from, to, None, kind.map(str::to_owned))
    };
    assert_eq!(lines, [line(None, Some(4), None), line(Some(4), Some(2), Some("wasm"))]);
}
