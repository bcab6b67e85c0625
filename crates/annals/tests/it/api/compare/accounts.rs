//! Accounts: judged by the contract's events, and archives that lie of theirs alone.

use serde_json::{Value, json};

use super::proxy::{Edited, Proxy, Upstream, answer, edit_history, is_route};
use super::{all, both_ways, chosen, url};
use crate::api::archive::{Archive, CROWD, CROWDED, events_of, holder, token};
use crate::api::server::{Served, whole};

fn of_account(path: &str) -> bool {
    path.contains("/accounts/")
}

/// Compares all ledgers of the holder's.
#[track_caller]
fn of_holder(a: &str, b: &str, code: i32) -> Value {
    let ([from, to], account) = (all(), holder().to_string());
    both_ways(a, b, token(), &["--account", &account, &from, &to], code)
}

#[track_caller]
fn blames(found: &Value, code: &str, side: &str) {
    assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!(code), &json!(side)), "{found}");
}

/// A proxy that edits what it says of accounts alone.
fn lying(edit: impl Fn(&str, &Upstream) -> Edited + Send + Sync + 'static) -> Proxy {
    Proxy::before(whole().address, move |path, upstream| of_account(path).then(|| edit(path, upstream)).flatten())
}

#[test]
fn an_account_is_compared_by_its_own_events_and_judged_by_the_contracts() {
    let [from, to] = all();
    let account = holder().to_string();
    let more = ["--account", &account, &from, &to];
    let of_account = |path: &str| path.contains("/accounts/");
    let honest = url(whole().address);
    let withheld = chosen().to_string();
    let proxy = Proxy::before(whole().address, move |path, upstream| {
        let edit = |events: &mut Vec<Value>| events.retain(|event| event["id"] != withheld.as_str());
        of_account(path).then(|| edit_history(path, upstream, edit)).flatten()
    });
    let found = both_ways(&honest, &proxy.url(), token(), &more, 3);
    assert_eq!((&found["ledger"], &found["position"]), (&json!(CROWDED), &json!(chosen().to_string())));
    assert_eq!(found["reason"]["code"], "OTHER_ATTRIBUTION", "{found}");
    let withheld = chosen().to_string();
    let everywhere = Proxy::before(whole().address, move |path, upstream| {
        edit_history(path, upstream, |events| events.retain(|event| event["id"] != withheld.as_str()))
    });
    let found = both_ways(&honest, &everywhere.url(), token(), &more, 3);
    assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!("WITHHELD"), &json!("B")), "{found}");
    // What an account is shown that the contract is not, no archive holds.
    let withheld = chosen().to_string();
    let of_contract = Proxy::before(whole().address, move |path, upstream| {
        let edit = |events: &mut Vec<Value>| events.retain(|event| event["id"] != withheld.as_str());
        (!of_account(path)).then(|| edit_history(path, upstream, edit)).flatten()
    });
    let lacking = Archive::of(&["1000:1004", "1006:1039"]);
    lacking.declare(token(), &["--schema", "token"]).ends_with(0);
    let served = Served::over(&lacking.data_dir(), &[]);
    let found = both_ways(&url(served.address), &of_contract.url(), token(), &more, 3);
    assert_eq!(
        (&found["reason"]["code"], &found["reason"]["archive"]),
        (&json!("INCONSISTENT"), &json!("B")),
        "{found}"
    );
    let at = CROWDED.to_string();
    let found =
        both_ways(&honest, &of_contract.url(), token(), &["--account", &account, "--from", &at, "--to", &at], 0);
    assert_eq!((&found["verdict"], &found["events"]), (&json!("equal"), &json!(CROWD)));
    assert_eq!(found["account"], json!(account));
}

#[test]
fn digests_and_events_of_accounts_alone_are_believed_no_more_than_the_contracts() {
    let honest = url(whole().address);
    let digest = lying(|path, upstream| {
        is_route(path, "digest").then(|| {
            let mut digest = upstream.json(path);
            digest["digest"] = "00".repeat(32).into();
            (200, digest.to_string().into_bytes())
        })
    });
    blames(&of_holder(&honest, &digest.url(), 3), "BAD_DIGEST", "B");
    // Other bytes in the digests, and the true ones among the events.
    let id = chosen().to_string();
    let changed = move |events: &mut Vec<Value>| {
        for event in events.iter_mut().filter(|event| event["id"] == id.as_str()) {
            event["data_xdr"] = "AAAAAQ==".into();
        }
    };
    let change = changed.clone();
    let bytes =
        lying(move |path, upstream| is_route(path, "digest").then(|| edit_history(path, upstream, &change)).flatten());
    let found = of_holder(&honest, &bytes.url(), 3);
    blames(&found, "INCONSISTENT", "B");
    assert!(found["reason"]["message"].as_str().unwrap().contains("not those of its own digest"), "{found}");
    // Other bytes in both, which are not those of the contract's.
    let both = lying(move |path, upstream| edit_history(path, upstream, &changed));
    let found = of_holder(&honest, &both.url(), 3);
    blames(&found, "INCONSISTENT", "B");
    assert!(found["reason"]["message"].as_str().unwrap().contains("not among the contract's"), "{found}");
}

#[test]
fn an_event_that_does_not_name_the_account_is_nobodys_who_is_asked_for() {
    let id = events_of(token(), CROWDED, CROWDED)[3].position.to_string();
    let strangers = lying(move |path, upstream| {
        edit_history(path, upstream, |events| {
            for event in events.iter_mut().filter(|event| event["id"] == id.as_str()) {
                event["topics_xdr"][2] = event["topics_xdr"][1].clone();
            }
        })
    });
    let found = of_holder(&url(whole().address), &strangers.url(), 3);
    blames(&found, "INCONSISTENT", "B");
    assert!(found["reason"]["message"].as_str().unwrap().contains("does not name the account"), "{found}");
}

#[test]
fn roles_are_in_no_digest_and_are_not_compared() {
    let roles = lying(|path, upstream| {
        is_route(path, "events").then(|| {
            let mut page = upstream.json(path);
            for event in page["events"].as_array_mut().unwrap() {
                event["roles"] = json!(["everything"]);
            }
            (200, page.to_string().into_bytes())
        })
    });
    let at = CROWDED.to_string();
    let more = ["--account", &holder().to_string(), "--from", &at, "--to", &at];
    let found = both_ways(&url(whole().address), &roles.url(), token(), &more, 0);
    assert_eq!(found["events"], CROWD);
    let path = format!("/v1/tokens/{}/accounts/{}/events?from_ledger={at}&to_ledger={at}", token(), holder());
    assert_eq!(crate::api::client::get(roles.address, &path).json()["events"][0]["roles"], json!(["everything"]));
}

#[test]
fn an_archive_without_the_contracts_schema_says_so_and_withholds_nothing() {
    let archive = Archive::of(&["1000:1039"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let found = of_holder(&url(whole().address), &url(served.address), 3);
    blames(&found, "GAP", "B");
    assert_eq!(found["b"]["incomplete_reason"], "no_schema");
    // Of the contract itself both say the same, and that is equal.
    both_ways(&url(whole().address), &url(served.address), token(), &[], 0);
    let refuses = Proxy::before(served.address, |path, upstream| {
        (of_account(path) && is_route(path, "digest")).then(|| {
            let mut digest = upstream.json(path);
            (digest["complete"], digest["incomplete_reason"]) = (true.into(), Value::Null);
            answer(&digest).unwrap()
        })
    });
    let found = of_holder(&url(whole().address), &refuses.url(), 3);
    assert_eq!(found["reason"]["code"], "OTHER_ATTRIBUTION", "who calls that complete reads events otherwise: {found}");
}
