//! Pages of events, and what they say of their window.

use std::sync::Arc;

use annals::clock::SystemClock;
use annals::store::{Anchor, AnchorKind, SqliteStore, Store as _};
use annals_core::registry::Payload;
use annals_core::{ContractId, Event, LedgerSeq};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::archive::{Archive, CHAIN, CROWD, CROWDED, FIRST, LAST, ODD, events_of, ids, native, oddity, silent, token};
use super::client::encoded;
use super::server::{Served, WHOLE, whole};

pub fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

pub fn path(contract: ContractId) -> String {
    format!("/v1/contracts/{contract}/events")
}

pub fn page_ids(page: &Value) -> Vec<String> {
    page["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// Every page of a query, the last one last.
pub fn pages(served: &Served, contract: ContractId, query: &str) -> Vec<Value> {
    let mut pages = vec![served.get(&format!("{}?{query}", path(contract))).answers()];
    while let Some(cursor) = pages[pages.len() - 1]["cursor"].as_str() {
        assert!(pages.len() < 2000, "the pages do not end");
        let limit = query.split('&').find(|part| part.starts_with("limit=")).unwrap_or("limit=200");
        pages.push(served.get(&format!("{}?{limit}&cursor={cursor}", path(contract))).answers());
    }
    pages
}

fn all_ids(pages: &[Value]) -> Vec<String> {
    pages.iter().flat_map(page_ids).collect()
}

#[test]
fn i1_pages_of_every_size_and_direction_together_are_the_unpaged_read() {
    for contract in [token(), native()] {
        let window = if contract == native() { (FIRST, FIRST + 9) } else { (CROWDED - 1, CROWDED + 1) };
        let forward = ids(&events_of(contract, window.0, window.1));
        assert!(forward.len() > 25, "{contract}: {}", forward.len());
        let backward: Vec<String> = forward.iter().rev().cloned().collect();
        for size in 1..=30 {
            for (order, expected) in [("asc", &forward), ("desc", &backward)] {
                let query = format!("from_ledger={}&to_ledger={}&order={order}&limit={size}", window.0, window.1);
                let pages = pages(whole(), contract, &query);
                assert_eq!(&all_ids(&pages), expected, "{query}");
                assert_eq!(pages.len(), expected.len().div_ceil(size), "{query}: the last page is not an empty one");
                assert!(pages.iter().all(|page| page["complete"] == true), "{query}");
            }
        }
    }
}

#[test]
fn i1_a_tail_by_the_last_id_never_misses_or_repeats_while_ledgers_arrive() {
    let archive = Archive::of(&["1000:1001"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let mut seen: Vec<String> = Vec::new();
    for range in ["1002:1005", "1006:1006", "1007:1020", "1021:1039"] {
        archive.fill(range, &[]);
        loop {
            let after = seen.last().map_or(String::new(), |id| format!("&after_id={id}"));
            let page = served.get(&format!("{}?from_ledger=1000&limit=7{after}", path(token()))).answers();
            let fresh = page_ids(&page);
            seen.extend(fresh.iter().cloned());
            if fresh.is_empty() {
                break;
            }
        }
    }
    assert_eq!(seen, ids(&events_of(token(), FIRST, LAST)));
}

#[test]
fn inv_5_what_is_committed_between_pages_changes_none_of_them() {
    let archive = Archive::of(&["1000:1005", "1010:1019"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let query = "from_ledger=1000&to_ledger=1019&limit=10";
    let unpaged = served.get(&format!("{}?from_ledger=1000&to_ledger=1019&limit=1000", path(token()))).answers();
    let first = served.get(&format!("{}?{query}", path(token()))).answers();
    archive.fill("1000:1039", &[]);
    let mut shown = page_ids(&first);
    let mut cursor = first["cursor"].as_str().map(str::to_owned);
    while let Some(text) = cursor {
        let page = served.get(&format!("{}?limit=10&cursor={text}", path(token()))).answers();
        for field in ["complete", "incomplete_reason", "missing", "from_ledger", "to_ledger"] {
            assert_eq!(page[field], first[field], "{field}");
        }
        shown.extend(page_ids(&page));
        cursor = page["cursor"].as_str().map(str::to_owned);
    }
    assert_eq!(first["complete"], false);
    assert_eq!(first["missing"], json!([{ "from": 1006, "to": 1009 }]));
    assert_eq!(shown, page_ids(&unpaged));
    let now = served.get(&format!("{}?{query}", path(token()))).answers();
    assert_eq!(now["complete"], true, "a new first page sees what was filled");
}

#[test]
fn inv_1_only_a_gap_free_window_is_complete_and_the_reason_says_what_is_wrong() {
    let archive = Archive::of(&["1004:1009", "1012:1019"]);
    archive.declare(token(), &["--origin", "1004"]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    let missing = |from: u32, to: u32| json!([{ "from": from, "to": to }]);
    for (query, window, reason, lacks) in [
        ("from_ledger=1004&to_ledger=1009", json!([1004, 1009]), Value::Null, json!([])),
        ("", json!([1004, 1009]), Value::Null, json!([])),
        ("from_ledger=1012", json!([1012, 1009]), json!("inverted_window"), json!([])),
        ("from_ledger=1009&to_ledger=1004", json!([1009, 1004]), json!("inverted_window"), json!([])),
        ("from_ledger=1004&to_ledger=1012", json!([1004, 1012]), json!("gap"), missing(1010, 1011)),
        ("from_ledger=1000&to_ledger=1009", json!([1000, 1009]), json!("before_coverage"), missing(1000, 1003)),
        ("from_ledger=1015&to_ledger=1020", json!([1015, 1020]), json!("not_yet_ingested"), missing(1020, 1020)),
    ] {
        let page = served.get(&format!("{}?{query}", path(token()))).answers();
        assert_eq!(json!([page["from_ledger"], page["to_ledger"]]), window, "{query}");
        assert_eq!((&page["incomplete_reason"], &page["missing"]), (&reason, &lacks), "{query}");
        assert_eq!(page["complete"], reason.is_null(), "{query}");
        assert_eq!((&page["missing_truncated"], &page["anchor"]), (&json!(false), &json!("source")), "{query}");
        assert_eq!(page["verified_through"], 1009, "{query}");
    }
    let unknown = served.get(&path(silent())).answers();
    assert_eq!((&unknown["incomplete_reason"], &unknown["from_ledger"]), (&json!("origin_unknown"), &Value::Null));
    assert_eq!(unknown["to_ledger"], 1009);
}

#[test]
fn under_scope_all_every_contract_is_answered_and_empty_is_authoritative() {
    let page = whole().get(&format!("{}?from_ledger=1000&to_ledger=1039", path(silent()))).answers();
    assert_eq!((&page["complete"], &page["events"], &page["cursor"]), (&json!(true), &json!([]), &Value::Null));
}

#[test]
fn d4_events_with_few_topics_are_all_served() {
    let page = whole().get(&format!("{}?from_ledger=1000&to_ledger=1039", path(oddity()))).answers();
    let topics = page["events"].as_array().unwrap().iter().map(|event| event["topics_xdr"].as_array().unwrap().len());
    assert_eq!(topics.collect::<Vec<_>>(), [0, 1, 2, 4]);
    assert_eq!(page["events"][0]["event_type"], Value::Null);
    assert!(page["events"].as_array().unwrap().iter().all(|event| event["ledger_seq"] == ODD));
}

#[test]
fn the_alias_answers_the_same_and_its_cursors_are_the_same() {
    let one = whole().get(&format!("/v1/tokens/{}/events?limit=3", token())).answers();
    let other = whole().get(&format!("/v1/contracts/{}/events?limit=3", token())).answers();
    assert_eq!(one, other);
    let cursor = one["cursor"].as_str().unwrap();
    let next = whole().get(&format!("/v1/contracts/{}/events?cursor={cursor}", token())).answers();
    assert_ne!(page_ids(&next), page_ids(&one));
}

#[test]
fn an_assets_contract_begins_with_the_network_and_says_what_is_missing_since() {
    let page = whole().get(&format!("{}?to_ledger={LAST}&limit=5", path(native()))).answers();
    assert_eq!((&page["from_ledger"], &page["incomplete_reason"]), (&json!(2), &json!("before_coverage")));
    assert_eq!((page_ids(&page).len(), &page["missing"]), (5, &json!([{ "from": 2, "to": FIRST - 1 }])));
}

#[test]
fn limits_are_digits_of_any_length() {
    let window = format!("{}?from_ledger={FIRST}&to_ledger={LAST}", path(native()));
    let count = |limit: &str| page_ids(&whole().get(&format!("{window}&limit={limit}")).answers()).len();
    let all = events_of(native(), FIRST, LAST).len();
    assert!(all > 200, "{all}");
    assert_eq!(count("0"), 1);
    assert_eq!(count("00000000000000000000000000000000000000000000002"), 2);
    assert_eq!(count("1000"), all.min(1000));
    assert_eq!(count(&"9".repeat(400)), all.min(1000));
    assert_eq!(page_ids(&whole().get(&window).answers()).len(), 200);
}

/// The topics of a stored event, by the reading that the archive itself uses for its exports.
fn topics(event: &Event) -> Vec<String> {
    let view = annals_core::decode::EventView::parse(&event.xdr).unwrap();
    view.topics.iter().map(|topic| STANDARD.encode(topic)).collect()
}

#[test]
fn filters_select_what_they_say_and_nothing_else() {
    let events = events_of(token(), FIRST, LAST);
    let expect = |query: &str, keep: &dyn Fn(&Event) -> bool| {
        let kept: Vec<&Event> = events.iter().copied().filter(|event| keep(event)).collect();
        assert!(!kept.is_empty() && kept.len() < events.len(), "{query} keeps {} of {}", kept.len(), events.len());
        let pages = pages(whole(), token(), &format!("from_ledger=1000&to_ledger=1039&limit=5&{query}"));
        assert_eq!(all_ids(&pages), ids(&kept), "{query}");
    };
    let type_of = |event: &Event| annals_core::decode::EventView::parse(&event.xdr).unwrap().event_type();
    expect("types=transfer", &|event| type_of(event).as_deref() == Some("transfer"));
    expect("types=settled,mint", &|event| matches!(type_of(event).as_deref(), Some("mint" | "settled")));
    let crowd = events_of(token(), CROWDED, CROWDED);
    assert_eq!(crowd.len(), CROWD as usize);
    let sample = topics(crowd[3]);
    for (place, own) in sample.iter().enumerate() {
        let query = format!("topic{place}={}", encoded(own));
        expect(&query, &|event| topics(event).get(place) == Some(own));
        expect(&format!("topic{place}={own}"), &|event| topics(event).get(place) == Some(own));
    }
    let both = format!("topic1={}&topic2={}", encoded(&sample[1]), encoded(&sample[2]));
    expect(&both, &|event| topics(event).get(1..3) == Some(&sample[1..3]));
    let hash = crowd[0].tx_hash;
    expect(&format!("tx_hash={hash}"), &|event| event.tx_hash == hash);
    expect(&format!("tx_hash={}", hash.to_string().to_uppercase()), &|event| event.tx_hash == hash);
    let middle = events[events.len() / 2].position;
    expect(&format!("after_id={middle}"), &|event| event.position > middle);
}

#[test]
fn after_id_is_the_lower_bound_backwards_too_and_need_not_exist() {
    let events = events_of(token(), FIRST, LAST);
    let bound = annals_core::Position::before_all_txs(seq(CROWDED), 0);
    let expected: Vec<String> = ids(&events)
        .into_iter()
        .zip(&events)
        .filter(|(_, event)| event.position > bound)
        .map(|(id, _)| id)
        .rev()
        .collect();
    let pages = pages(whole(), token(), &format!("after_id={bound}&order=desc&limit=9"));
    assert_eq!(all_ids(&pages), expected);
}

#[test]
fn after_id_takes_the_cursor_with_which_the_networks_rpc_ends_a_window() {
    // `<TOID of the last scanned ledger, transaction 1048575, operation 4095>-4294967295`: no event stands there.
    let end_of = |ledger: u32| format!("{:019}-4294967295", u64::from(ledger) << 32 | u64::from(u32::MAX));
    for order in ["asc", "desc"] {
        let query = format!("after_id={}&from_ledger=1000&to_ledger=1039&order={order}&limit=9", end_of(CROWDED));
        let mut expected = ids(&events_of(token(), CROWDED + 1, LAST));
        if order == "desc" {
            expected.reverse();
        }
        assert_eq!(all_ids(&pages(whole(), token(), &query)), expected, "{order}");
    }
    let last = whole().get(&format!("{}?from_ledger=1000&after_id={}", path(token()), end_of(i32::MAX as u32)));
    assert_eq!(last.answers()["events"], json!([]));
}

#[test]
fn a_page_holds_the_bytes_of_the_ledger() {
    let page = whole().get(&format!("{}?limit=1000", path(token()))).answers();
    let expected: Vec<Value> = events_of(token(), FIRST, LAST)
        .into_iter()
        .map(|event| {
            serde_json::to_value(annals_core::wire::ExportedEvent::new(event, &Payload::NotApplicable).unwrap())
                .unwrap()
        })
        .collect();
    assert_eq!(page["events"], Value::Array(expected));
    assert_eq!(CHAIN.len() as u32, LAST - FIRST + 1);
    assert!(WHOLE.0.path().exists());
}

#[test]
fn a_topic_of_many_kilobytes_filters_and_pages() {
    // No event has it; what counts is that it is carried, compared and, in a cursor, brought back.
    let big = {
        let mut xdr = 13_u32.to_be_bytes().to_vec();
        let bytes = 16_000_u32;
        xdr.extend(bytes.to_be_bytes());
        xdr.extend(vec![7; bytes as usize]);
        STANDARD.encode(xdr)
    };
    let page = whole().get(&format!("{}?topic1={}", path(token()), encoded(&big))).answers();
    assert_eq!((&page["events"], &page["cursor"]), (&json!([]), &Value::Null));
    let too_big = {
        let mut xdr = 13_u32.to_be_bytes().to_vec();
        xdr.extend(20_000_u32.to_be_bytes());
        xdr.extend(vec![7; 20_000]);
        STANDARD.encode(xdr)
    };
    whole().get(&format!("{}?topic1={}", path(token()), encoded(&too_big))).refuses(400, "BAD_TOPIC");
}

#[test]
fn a_pin_above_the_window_anchors_it() {
    let archive = Archive::of(&["1000:1009"]);
    let pinned = &CHAIN[5];
    let mut command =
        crate::binary::backfill(&archive.lake(), &archive.data_dir(), super::archive::PASSPHRASE, "1000:1009");
    crate::binary::Ran::of(command.arg("--pin").arg(format!("{}:{}", pinned.seq, pinned.hash))).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    let anchor =
        |to: u32| served.get(&format!("{}?from_ledger=1000&to_ledger={to}", path(token()))).answers()["anchor"].clone();
    assert_eq!(anchor(1005), "pinned");
    assert_eq!(anchor(1003), "pinned");
    assert_eq!(anchor(1006), "source", "a pin below the end says nothing of it");
}

#[test]
fn what_witnesses_confirmed_is_told_of_windows_and_of_ledgers() {
    let archive = Archive::of(&["1000:1009"]);
    let store = SqliteStore::open_writer(&archive.data_dir(), Arc::new(SystemClock::new())).unwrap();
    let fence = store.acquire().unwrap();
    for (kind, at) in [(AnchorKind::HistoryArchive, 4), (AnchorKind::SourcesAgree, 7)] {
        let (ledger, hash) = (CHAIN[at].seq, CHAIN[at].hash);
        let anchor = Anchor { ledger, hash, kind, said_by: "a witness".to_owned(), seen_at_ms: 1 };
        store.record_anchor(&anchor, fence).unwrap();
    }
    drop(store);
    let served = Served::over(&archive.data_dir(), &[]);
    for (ledger, expected) in [(1003, "history-archive"), (1004, "history-archive"), (1007, "sources-agree")] {
        let window = format!("{}?from_ledger=1000&to_ledger={ledger}", path(token()));
        assert_eq!(served.get(&window).answers()["anchor"], expected);
        assert_eq!(served.get(&format!("/v1/ledgers/{ledger}")).answers()["anchor"], expected);
    }
    assert_eq!(served.get("/v1/ledgers/1008").answers()["anchor"], "source");
}
