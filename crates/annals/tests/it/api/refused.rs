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
