//! `annals compare` over real servers, and over servers that lie.

mod accounts;
mod growing;
mod lakes;
mod lies;
mod proxy;
mod scopes;
mod waits;

use std::net::SocketAddr;

use annals_core::{ContractId, Position};
use serde_json::{Value, json};

use self::proxy::{Proxy, edit_history};
use super::archive::{Archive, CROWD, CROWDED, FIRST, LAST, events_of, oddity, silent, token};
use super::server::{Served, whole};
use crate::binary::{Ran, annals};

/// Compares what two addresses show of a contract.
fn compare(a: &str, b: &str, contract: ContractId, more: &[&str]) -> Ran {
    let contract = contract.to_string();
    Ran::of(annals(["compare", a, b, "--contract", &contract, "--json"]).args(more))
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// The two servers' addresses in each other's place give the same, with the sides in each other's place.
#[track_caller]
fn both_ways(a: &str, b: &str, contract: ContractId, more: &[&str], code: i32) -> Value {
    let found = compare(a, b, contract, more).ends_with(code).json();
    let other = compare(b, a, contract, more).ends_with(code).json();
    assert_eq!((&found["a"], &found["b"]), (&other["b"], &other["a"]), "{found}\n{other}");
    for field in ["verdict", "ledger", "position", "events", "digest", "from_ledger", "to_ledger"] {
        assert_eq!(found[field], other[field], "{field}");
    }
    assert_eq!(found["reason"]["code"], other["reason"]["code"]);
    found
}

fn all() -> [String; 2] {
    ["--from".to_owned(), format!("{FIRST}:{LAST}")]
}

#[test]
fn equal_archives_compare_equal_whatever_their_scope_its_order_their_start_or_database() {
    let later_first = Archive::of(&["1020:1039", "1000:1019"]);
    let [one, other] = [[oddity(), token()], [token(), oddity()]].map(|contracts| {
        let archive = Archive::empty();
        archive.fill("1000:1039", &contracts);
        archive
    });
    let served = [&later_first, &one, &other].map(|archive| Served::over(&archive.data_dir(), &[]));
    let addresses = [whole().address, served[0].address, served[1].address, served[2].address].map(url);
    let [from, to] = all();
    for (contract, at_least) in [(token(), CROWD as usize + 10), (oddity(), 4)] {
        let expected = events_of(contract, FIRST, LAST).len();
        assert!(expected >= at_least);
        for (at, a) in addresses.iter().enumerate() {
            for b in &addresses[at..] {
                for more in [vec![], vec![from.as_str(), to.as_str()]] {
                    let found = compare(a, b, contract, &more).ends_with(0).json();
                    assert_eq!((&found["verdict"], &found["events"]), (&json!("equal"), &json!(expected)), "{found}");
                    assert_eq!((&found["from_ledger"], &found["to_ledger"]), (&json!(FIRST), &json!(LAST)));
                    assert_eq!((&found["a"]["complete"], &found["reason"]), (&json!(true), &Value::Null));
                }
            }
        }
    }
}

#[test]
fn archives_of_other_starts_are_compared_where_both_are_gap_free() {
    let later = Archive::of(&["1010:1030"]);
    let served = Served::over(&later.data_dir(), &[]);
    let found = both_ways(&url(whole().address), &url(served.address), token(), &[], 0);
    assert_eq!((&found["from_ledger"], &found["to_ledger"]), (&json!(1010), &json!(1030)));
    assert_eq!(found["events"], events_of(token(), 1010, 1030).len());
    let printed = Ran::of(&mut annals([
        "compare",
        &url(whole().address),
        &url(served.address),
        "--contract",
        &token().to_string(),
    ]));
    let line = printed.ends_with(0).stdout;
    assert!(line.starts_with("equal: both say ") && line.contains("in ledgers 1010-1030, digest "), "{line}");
}

#[test]
fn a_gap_is_named_with_its_ledger_and_reason_and_without_events_in_it_nothing_is_decided() {
    let archive = Archive::of(&["1000:1004", "1006:1039"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let (a, b) = (url(whole().address), url(served.address));
    let [from, to] = all();
    let found = both_ways(&a, &b, token(), &[&from, &to], 3);
    assert_eq!((&found["ledger"], &found["difference"]), (&json!(CROWDED), &json!("only_in_a")), "{found}");
    assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!("GAP"), &json!("B")));
    assert_eq!((&found["b"]["incomplete_reason"], &found["a"]["complete"]), (&json!("gap"), &json!(true)));
    assert_eq!(found["position"], events_of(token(), CROWDED, CROWDED)[0].position.to_string());
    assert_eq!((&found["a"]["events"], &found["b"]["events"]), (&json!(CROWD), &json!(0)));
    assert_eq!((&found["a"]["proof"]["state"], &found["b"]["proof"]["state"]), (&json!("proved"), &json!("absent")));
    let lines = Ran::of(annals(["compare", &a, &b, "--contract", &token().to_string()]).args([&from, &to]));
    let lines = lines.ends_with(3).stdout;
    let first = events_of(token(), CROWDED, CROWDED)[0].position;
    let said =
        format!("B lacks event {first}, which A proves, and says that it is not complete over the ledger: gap [GAP]");
    assert!(lines.contains(&said), "{lines}");
    let at = CROWDED.to_string();
    let one =
        Ran::of(annals(["compare", &a, &b, "--contract", &silent().to_string()]).args(["--from", &at, "--to", &at]));
    assert!(one.ends_with(1).stdout.contains(&format!("in ledger {at}, digest ")), "one ledger is no range");
    let found = both_ways(&a, &b, silent(), &[&from, &to], 1);
    assert_eq!((&found["verdict"], &found["events"]), (&json!("undecided"), &json!(0)));
    assert_eq!(found["b"]["missing"], json!({"from": CROWDED, "to": CROWDED}));
    // Where both are gap-free they are equal.
    let found = both_ways(&a, &b, token(), &[], 0);
    assert_eq!(found["to_ledger"], CROWDED - 1);
    // Above everything that either has.
    let found = both_ways(&a, &b, silent(), &["--to", "1050"], 1);
    assert_eq!(found["a"]["incomplete_reason"], "not_yet_ingested");
    assert_eq!(found["b"]["incomplete_reason"], "gap");
}

/// An event in the middle of the crowded ledger.
fn chosen() -> Position {
    events_of(token(), CROWDED, CROWDED)[7].position
}

#[test]
fn an_event_that_an_archive_withholds_is_named_by_its_own_proof() {
    let id = chosen().to_string();
    let withheld = id.clone();
    let proxy = Proxy::before(whole().address, move |path, upstream| {
        edit_history(path, upstream, |events| events.retain(|event| event["id"] != withheld.as_str()))
    });
    // What the honest one shows of the ledger comes in several pages.
    let paged = Proxy::before(whole().address, |path, upstream| {
        let path = path.replace("&limit=1000", "&limit=10");
        path.contains("/events?").then(|| (200, upstream.get(&path).body))
    });
    let found = both_ways(&paged.url(), &proxy.url(), token(), &[], 3);
    assert_eq!(paged.count("/events?"), 3 * 2);
    assert_eq!((&found["ledger"], &found["position"]), (&json!(CROWDED), &json!(id)), "{found}");
    assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!("WITHHELD"), &json!("B")));
    assert_eq!((&found["a"]["events"], &found["b"]["events"]), (&json!(CROWD), &json!(CROWD - 1)));
    for side in ["a", "b"] {
        assert_eq!(found[side]["proof"]["state"], "proved", "{found}");
        assert_eq!(found[side]["proof"]["anchor"]["ledger"], 1023, "up to the next checkpoint");
        assert_eq!(found[side]["anchor"], "source");
    }
    // Two comparisons, and in each the ledger's digest once more, as an archive is not blamed for what it takes in.
    assert_eq!((proxy.count("/digest?"), proxy.count("/events?"), proxy.count("/proof?")), (6, 2, 2));
    assert_eq!(proxy.count(""), 6 + 2 + 2 + 2 + 2, "beside these its health and the ledger's header");
}

#[test]
fn events_that_are_edited_alone_contradict_the_archives_own_digest() {
    let lacking = Archive::of(&["1000:1004", "1006:1039"]);
    let served = Served::over(&lacking.data_dir(), &[]);
    let withheld = chosen().to_string();
    let proxy = Proxy::before(whole().address, move |path, upstream| {
        proxy::is_route(path, "events").then(|| {
            let mut page = upstream.json(path);
            page["events"].as_array_mut().unwrap().retain(|event| event["id"] != withheld.as_str());
            (200, page.to_string().into_bytes())
        })
    });
    let [from, to] = all();
    let found = both_ways(&url(served.address), &proxy.url(), token(), &[&from, &to], 3);
    assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!("INCONSISTENT"), &json!("B")));
    assert!(found["reason"]["message"].as_str().unwrap().contains(&CROWDED.to_string()), "{found}");
    assert_eq!(found["ledger"], Value::Null, "nothing is said of what was shown");
}

#[test]
fn the_digest_that_is_made_from_pages_is_the_servers_own() {
    let proxy = Proxy::before(whole().address, |path, upstream| edit_history(path, upstream, |_| ()));
    for (from, to) in [(FIRST, LAST), (CROWDED, CROWDED), (990, 1200)] {
        let path = format!("/v1/tokens/{}/digest?from_ledger={from}&to_ledger={to}", token());
        let made = super::client::get(proxy.address, &path).json();
        assert_eq!(made, whole().get(&path).answers());
    }
}
