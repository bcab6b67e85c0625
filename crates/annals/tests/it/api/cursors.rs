//! INV-9: a cursor that this archive did not issue for this query is a 400.

use serde_json::Value;

use super::archive::{Archive, native, token};
use super::client::encoded;
use super::pages::{page_ids, path};
use super::server::{Served, whole};

fn first(served: &Served, query: &str) -> Value {
    served.get(&format!("{}?{query}", path(token()))).answers()
}

fn cursor(query: &str) -> String {
    first(whole(), query)["cursor"].as_str().unwrap().to_owned()
}

#[test]
fn i3_a_cursor_that_is_none_is_never_answered_with_page_one() {
    for text in ["", " ", "0", "NaN", "AAAA", "null", "1005:1:2", "%00", "undefined", &"A".repeat(5000)] {
        whole().get(&format!("{}?cursor={}", path(token()), encoded(text))).refuses(400, "BAD_CURSOR");
    }
    whole().get(&format!("{}?cursor", path(token()))).refuses(400, "BAD_CURSOR");
}

#[test]
fn i3_a_cursor_with_any_single_character_changed_is_refused() {
    let cursor = cursor("limit=3&types=transfer");
    for place in 0..cursor.len() {
        let byte = cursor.as_bytes()[place];
        let other = if byte == b'A' { 'B' } else { 'A' };
        let next = if byte == b'_' { '-' } else { char::from(byte + 1) };
        for changed in [other, next] {
            let text = format!("{}{changed}{}", &cursor[..place], &cursor[place + 1..]);
            whole().get(&format!("{}?cursor={}", path(token()), encoded(&text))).refuses(400, "BAD_CURSOR");
        }
    }
    first(whole(), &format!("cursor={cursor}"));
}

#[test]
fn i3_a_cursor_of_another_contract_or_archive_is_refused() {
    let own = cursor("limit=3");
    whole().get(&format!("{}?cursor={own}", path(native()))).refuses(400, "BAD_CURSOR");
    let other = Archive::of(&["1000:1039"]);
    let served = Served::over(&other.data_dir(), &[]);
    served.get(&format!("{}?cursor={own}", path(token()))).refuses(400, "BAD_CURSOR");
}

#[test]
fn a_copy_of_the_archive_that_is_behind_a_cursor_says_so_and_answers_no_page() {
    let archive = Archive::of(&["1000:1009"]);
    let older = tempfile::tempdir().unwrap();
    std::fs::copy(archive.data_dir().join("annals.db"), older.path().join("annals.db")).unwrap();
    archive.fill("1000:1039", &[]);
    let cursor = first(&Served::over(&archive.data_dir(), &[]), "limit=3")["cursor"].as_str().unwrap().to_owned();
    let behind = Served::over(older.path(), &[]);
    behind.get(&format!("{}?cursor={cursor}", path(token()))).refuses(410, "STALE_CURSOR");
    first(&behind, "limit=3");
}

#[test]
fn i3_beside_a_cursor_other_parameters_are_absent_or_its_own() {
    let query = "limit=3&from_ledger=1001&to_ledger=1030&types=transfer,mint&order=asc";
    let cursor = cursor(query);
    let plain = page_ids(&first(whole(), &format!("limit=3&cursor={cursor}")));
    for same in ["from_ledger=1001", "to_ledger=1030", "types=mint,transfer", "order=asc", query] {
        let separator = if same == query { "" } else { "limit=3&" };
        assert_eq!(page_ids(&first(whole(), &format!("{separator}{same}&cursor={cursor}"))), plain, "{same}");
    }
    let hash = "00".repeat(32);
    for other in [
        "from_ledger=1000",
        "to_ledger=1029",
        "types=mint",
        "order=desc",
        "topic0=AAAAAQ==",
        &format!("tx_hash={hash}"),
        "after_id=0000004299262263296-0000000000",
    ] {
        whole().get(&format!("{}?cursor={cursor}&{other}", path(token()))).refuses(400, "CURSOR_MISMATCH");
    }
    assert_eq!(page_ids(&first(whole(), &format!("limit=1&cursor={cursor}"))), plain[..1], "a limit may change");
}

#[test]
fn the_echoed_window_of_a_first_page_is_its_cursors_own() {
    let page = first(whole(), "limit=3&from_ledger=1000");
    let (cursor, to) = (page["cursor"].as_str().unwrap(), &page["to_ledger"]);
    first(whole(), &format!("cursor={cursor}&from_ledger=1000&to_ledger={to}"));
}

#[test]
fn a_cursor_goes_on_with_its_own_filter_and_bound_when_nothing_else_is_given() {
    let page = first(whole(), "limit=2&types=transfer&order=desc&after_id=0000004307852197888-0000000000");
    let mut shown = page_ids(&page);
    let mut next = page["cursor"].as_str().map(str::to_owned);
    while let Some(cursor) = next {
        let page = first(whole(), &format!("cursor={cursor}"));
        assert!(page["events"].as_array().unwrap().iter().all(|event| event["event_type"] == "transfer"));
        shown.extend(page_ids(&page));
        next = page["cursor"].as_str().map(str::to_owned);
    }
    assert!(shown.windows(2).all(|pair| pair[0] > pair[1]), "{shown:?}");
    assert!(shown.last().unwrap().as_str() > "0000004307852197888-0000000000");
}
