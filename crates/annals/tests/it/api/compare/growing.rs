//! Archives that are written to while they are compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::proxy::Proxy;
use super::{all, compare, url};
use crate::api::archive::{Archive, LAST, holder, token};
use crate::api::server::{Served, whole};

/// Compares an archive of the lowest ledgers, which takes in the others before it answers the request of this number,
/// with one that has them all; says how many requests there were, and what was found.
fn growing_at(request: usize, account: Option<&str>) -> (usize, Value) {
    let archive = Archive::of(&["1000:1003"]);
    archive.declare(token(), &["--schema", "token"]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    let (archive, asked) = (Arc::new(archive), Arc::new(AtomicUsize::new(0)));
    let (fills, counts) = (Arc::clone(&archive), Arc::clone(&asked));
    let proxy = Proxy::before(served.address, move |_, _| {
        if counts.fetch_add(1, Ordering::SeqCst) + 1 == request {
            fills.fill(&format!("1004:{LAST}"), &[]);
        }
        None
    });
    let [from, to] = all();
    let mut more = vec![from.as_str(), to.as_str()];
    more.extend(account.iter().flat_map(|account| ["--account", *account]));
    let ran = compare(&proxy.url(), &url(whole().address), token(), &more);
    (asked.load(Ordering::SeqCst), ran.json())
}

#[test]
fn whenever_ledgers_come_they_are_neither_a_difference_nor_a_lie() {
    let holder = holder().to_string();
    for account in [None, Some(holder.as_str())] {
        // Beyond the last request nothing comes any more.
        for request in 1..=20 {
            let (asked, found) = growing_at(request, account);
            if asked < request {
                assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!("GAP"), &json!("A")));
                assert!(request > 6, "many requests are between which ledgers can come");
                break;
            }
            // Events of the token that fit no shape leave its accounts undecided, and nothing else does.
            let lacks = if account.is_some() { json!("unattributed_events") } else { Value::Null };
            assert_eq!(
                (&found["reason"], &found["a"]["incomplete_reason"]),
                (&Value::Null, &lacks),
                "{request}: {found}"
            );
            assert_eq!(&found["b"]["incomplete_reason"], &lacks, "{request} of {asked}: {found}");
        }
    }
}

#[test]
fn a_server_beside_its_writer_is_compared_as_far_as_it_got() {
    let archive = Archive::of(&["1000:1003"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let [from, to] = all();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1004..=LAST).for_each(|ledger| archive.fill(&format!("{ledger}:{ledger}"), &[])));
        while !writer.is_finished() {
            for more in [vec![], vec![from.as_str(), to.as_str()]] {
                let ran = compare(&url(served.address), &url(whole().address), token(), &more);
                let found = ran.json();
                let told = match ran.code {
                    Some(0) => found["verdict"] == "equal",
                    Some(1) => found["error"]["code"] == "CHANGING" || found["verdict"] == "undecided",
                    code => code == Some(3) && found["reason"]["code"] == "GAP" && found["reason"]["archive"] == "A",
                };
                assert!(told, "{ran:?}");
                assert!(!more.is_empty() || ran.code == Some(0), "what both are done with is equal: {ran:?}");
            }
        }
    });
    compare(&url(served.address), &url(whole().address), token(), &[&from, &to]).ends_with(0);
}
