//! The conveniences that the data model refuses, one test for each row of its table.

use super::archive::{Archive, token};
use super::pages::{page_ids, path};
use super::server::{Served, whole};

#[test]
fn a_window_partly_held_is_reported_as_requested_and_is_not_complete() {
    let archive = Archive::of(&["1000:1009"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let page = served.get(&format!("{}?from_ledger=990&to_ledger=1020", path(token()))).answers();
    assert_eq!((&page["from_ledger"], &page["to_ledger"]), (&990.into(), &1020.into()));
    assert_eq!(page["complete"], false);
    assert!(!page_ids(&page).is_empty(), "what is held is shown all the same");
}

#[test]
fn an_inverted_window_describes_no_ledgers_and_is_not_complete() {
    let page = whole().get(&format!("{}?from_ledger=1020&to_ledger=1010", path(token()))).answers();
    assert_eq!((&page["complete"], &page["incomplete_reason"]), (&false.into(), &"inverted_window".into()));
    assert_eq!(page_ids(&page), Vec::<String>::new());
}

#[test]
fn a_limit_of_zero_is_no_page_size_and_counts_as_one() {
    let page = whole().get(&format!("{}?limit=0", path(token()))).answers();
    assert_eq!(page_ids(&page).len(), 1);
    assert!(page["cursor"].is_string());
}

#[test]
fn a_cursor_that_the_archive_did_not_issue_is_no_restart_from_the_beginning() {
    whole().get(&format!("{}?cursor=1000:1:0", path(token()))).refuses(400, "BAD_CURSOR");
    whole().get(&format!("{}?cursor=NaN", path(token()))).refuses(400, "BAD_CURSOR");
}

#[test]
fn every_cursor_advances_so_that_a_client_that_remembers_them_always_ends() {
    let pages = super::pages::pages(whole(), token(), "limit=5");
    let cursors: std::collections::BTreeSet<&str> = pages.iter().filter_map(|page| page["cursor"].as_str()).collect();
    assert_eq!(cursors.len(), pages.len() - 1);
}

/// The same rows on the routes of an account.
mod of_an_account {
    use serde_json::{Value, json};

    use super::super::pages::page_ids;
    use super::super::server::Served;
    use super::super::token::{END, LIFE, ORIGIN, life, path};

    fn own(route: &str) -> String {
        path(LIFE.token(), LIFE.busiest(), route)
    }

    #[test]
    fn a_window_partly_held_is_reported_as_requested_and_is_not_complete() {
        let archive = LIFE.archive(ORIGIN + 9);
        let served = Served::over(&archive.data_dir(), &[]);
        let (from, to) = (ORIGIN - 10, ORIGIN + 20);
        let page = served.get(&format!("{}?from_ledger={from}&to_ledger={to}", own("events"))).answers();
        assert_eq!((&page["from_ledger"], &page["to_ledger"]), (&json!(from), &json!(to)));
        assert_eq!((&page["complete"], &page["incomplete_reason"]), (&json!(false), &json!("before_coverage")));
        assert!(!page_ids(&page).is_empty(), "what is held is shown all the same");
        for route in ["checkpoint", "replay-window"] {
            let answer = served.get(&format!("{}?at_ledger={to}", own(route))).answers();
            assert_eq!((&answer["to_ledger"], &answer["complete"]), (&json!(to), &json!(false)), "{route}");
            assert_eq!(answer["incomplete_reason"], "not_yet_ingested");
            assert_eq!(answer["missing"], json!([{ "from": ORIGIN + 10, "to": to }]));
        }
    }

    #[test]
    fn an_inverted_window_describes_no_ledgers_and_is_not_complete() {
        let query = format!("from_ledger={}&to_ledger={}", ORIGIN + 9, ORIGIN + 3);
        let page = life().get(&format!("{}?{query}", own("events"))).answers();
        assert_eq!((&page["complete"], &page["incomplete_reason"]), (&json!(false), &json!("inverted_window")));
        assert_eq!(page_ids(&page), Vec::<String>::new());
        for route in ["checkpoint", "replay-window"] {
            let below = life().get(&format!("{}?at_ledger={}", own(route), ORIGIN - 1)).answers();
            assert_eq!((&below["complete"], &below["incomplete_reason"]), (&json!(false), &json!("inverted_window")));
            assert_eq!(below["missing"], json!([]), "{route}");
        }
    }

    #[test]
    fn a_limit_of_zero_is_no_page_size_and_counts_as_one() {
        let page = life().get(&format!("{}?limit=0", own("events"))).answers();
        assert_eq!(page_ids(&page).len(), 1);
        assert!(page["cursor"].is_string());
    }

    #[test]
    fn a_cursor_that_the_archive_did_not_issue_is_no_restart_from_the_beginning() {
        for cursor in ["2000:1:0", "NaN", ""] {
            life().get(&format!("{}?cursor={cursor}", own("events"))).refuses(400, "BAD_CURSOR");
        }
    }

    #[test]
    fn every_cursor_advances_and_the_last_page_has_none() {
        let (mut cursor, mut seen, mut ids) = (String::new(), std::collections::BTreeSet::new(), Vec::new());
        loop {
            let page = life().get(&format!("{}?limit=2{cursor}", own("events"))).answers();
            ids.extend(page_ids(&page));
            let Value::String(next) = &page["cursor"] else { break };
            assert!(seen.insert(next.clone()), "a cursor is repeated");
            cursor = format!("&cursor={next}");
        }
        assert_eq!(ids, LIFE.ids_of(LIFE.busiest(), ORIGIN, END));
    }
}
