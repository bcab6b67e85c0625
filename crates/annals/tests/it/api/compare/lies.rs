//! Archives that lie, servers that are none, and the errors of both.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::proxy::{Edited, Proxy, Upstream, answer, edit_history, is_route};
use super::{both_ways, chosen, compare, url};
use crate::api::archive::{Archive, CROWDED, oddity, token};
use crate::api::server::{Served, whole};
use crate::binary::{Ran, annals};

/// A proxy that withholds the chosen event everywhere, and edits more.
fn withholding(more: impl Fn(&str, &Upstream) -> Edited + Send + Sync + 'static) -> Proxy {
    let withheld = chosen().to_string();
    Proxy::before(whole().address, move |path, upstream| {
        more(path, upstream)
            .or_else(|| edit_history(path, upstream, |events| events.retain(|event| event["id"] != withheld.as_str())))
    })
}

#[test]
fn an_archive_without_proof_or_with_a_worthless_one_cannot_prove_its_version() {
    let refused = json!({"error": {"code": "NOT_PROVABLE", "message": "hidden"}}).to_string();
    let proof = |path: &str| format!("/v1/ledgers/{path}/proof?contract_id={}", token());
    let (elsewhere, here) = (proof("1006"), proof(&CROWDED.to_string()));
    let other = format!("/v1/ledgers/{CROWDED}/proof?contract_id={}", oddity());
    let event = format!("/v1/events/{}/proof", chosen());
    type Forge = Box<dyn Fn(&Upstream) -> (u16, Vec<u8>) + Send + Sync>;
    let forge = |path: String| -> Forge { Box::new(move |upstream| (200, upstream.get(&path).body)) };
    let cases: Vec<(&str, &str, Forge)> = vec![
        ("absent", "NOT_PROVABLE", Box::new(move |_| (404, refused.clone().into_bytes()))),
        ("refuted", "UNREADABLE", Box::new(|_| (200, b"\0garbage".to_vec()))),
        ("refuted", "UNREADABLE", Box::new(|_| (200, b"{}".to_vec()))),
        ("absent", "UNKNOWN_FORMAT", Box::new(|_| (200, br#"{"format":"annals-proof/9"}"#.to_vec()))),
        ("refuted", "OTHER_CLAIM", forge(other)),
        ("refuted", "", forge(event)),
        ("absent", "ANCHOR_NOT_HERE", forge(elsewhere)),
        (
            "refuted",
            "",
            Box::new(move |upstream| {
                let bundle = String::from_utf8(upstream.get(&here).body).unwrap();
                (200, bundle.replacen("\"events\":[{", "\"events\":[{\"id\":\"\"},{", 1).into_bytes())
            }),
        ),
    ];
    for (state, code, forge) in cases {
        let proxy = withholding(move |path, upstream| path.contains("/proof?").then(|| forge(upstream)));
        let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
        assert_eq!((&found["ledger"], &found["reason"]["code"]), (&json!(CROWDED), &json!("NOT_PROVABLE")), "{found}");
        assert_eq!((&found["reason"]["archive"], &found["a"]["proof"]["state"]), (&json!("B"), &json!("proved")));
        let proof = &found["b"]["proof"];
        assert_eq!((&proof["state"], &proof["anchor"]), (&json!(state), &Value::Null), "{found}");
        assert!(code.is_empty() || proof["code"] == code, "{found}");
    }
}

#[test]
fn other_bytes_and_more_events_than_its_own_proof_give_an_archive_away() {
    let id = chosen().to_string();
    for (code, change) in [
        (
            "OTHER_BYTES",
            Box::new(|event: &mut Value| event["data_xdr"] = "AAAAAQ==".into())
                as Box<dyn Fn(&mut Value) + Send + Sync>,
        ),
        ("WITHHELD", Box::new(|event: &mut Value| event["id"] = later(event["id"].as_str().unwrap()).into())),
    ] {
        let id = id.clone();
        let changed = id.clone();
        let proxy = Proxy::before(whole().address, move |path, upstream| {
            edit_history(path, upstream, |events| {
                events.iter_mut().filter(|event| event["id"] == changed.as_str()).for_each(&change);
                events.sort_by_key(|event| event["id"].as_str().unwrap().to_owned());
            })
        });
        let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
        assert_eq!((&found["reason"]["code"], &found["reason"]["archive"]), (&json!(code), &json!("B")), "{found}");
        assert_eq!(found["position"], id);
    }
    let proxy = Proxy::before(whole().address, move |path, upstream| {
        edit_history(path, upstream, |events| {
            let copies: Vec<Value> = events.iter().filter(|event| event["id"] == id.as_str()).cloned().collect();
            events.extend(copies.into_iter().map(|mut event| {
                event["id"] = later(event["id"].as_str().unwrap()).into();
                event
            }));
            events.sort_by_key(|event| event["id"].as_str().unwrap().to_owned());
        })
    });
    let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
    assert_eq!(
        (&found["reason"]["code"], &found["difference"]),
        (&json!("INCONSISTENT"), &json!("only_in_b")),
        "{found}"
    );
}

/// An id in the same ledger, far above all others of its operation.
fn later(id: &str) -> String {
    let (toid, index) = id.split_once('-').unwrap();
    format!("{toid}-{:010}", 1_000_000 + index.parse::<u32>().unwrap())
}

#[test]
fn a_digest_that_does_not_follow_from_its_parts_or_its_events_is_never_believed() {
    let edits: [fn(&mut Value); 4] = [
        |digest| digest["digest"] = "00".repeat(32).into(),
        |digest| digest["parts"] = json!([]),
        |digest| digest["events"] = 1.into(),
        |digest| digest["parts"][0]["digest"] = "11".repeat(32).into(),
    ];
    for edit in edits {
        let proxy = Proxy::before(whole().address, move |path, upstream| {
            is_route(path, "digest").then(|| {
                let mut digest = upstream.json(path);
                edit(&mut digest);
                (200, digest.to_string().into_bytes())
            })
        });
        let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
        assert_eq!(
            (&found["reason"]["code"], &found["reason"]["archive"]),
            (&json!("BAD_DIGEST"), &json!("B")),
            "{found}"
        );
        assert_eq!((&found["verdict"], &found["ledger"]), (&json!("different"), &Value::Null));
    }
}

#[test]
fn a_header_that_is_not_the_ledgers_or_not_that_of_the_proof_is_a_contradiction() {
    let row = format!("/v1/ledgers/{CROWDED}");
    type Forge = Box<dyn Fn(&Upstream, Value) -> Value + Send + Sync>;
    let edits: [Forge; 3] = [
        Box::new(|_, mut row| {
            row["hash"] = "00".repeat(32).into();
            row
        }),
        Box::new(|upstream, _| upstream.json("/v1/ledgers/1006")),
        Box::new(|upstream, mut row| {
            row["header_xdr"] = upstream.json("/v1/ledgers/1006")["header_xdr"].clone();
            row
        }),
    ];
    for edit in edits {
        let row = row.clone();
        let proxy = withholding(move |path, upstream| {
            (path == row).then(|| (200, edit(upstream, upstream.json(path)).to_string().into_bytes()))
        });
        let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
        assert_eq!(
            (&found["reason"]["code"], &found["reason"]["archive"]),
            (&json!("INCONSISTENT"), &json!("B")),
            "{found}"
        );
    }
}

#[test]
fn whoever_says_of_another_network_is_told_so_before_anything_is_compared() {
    let proxy = Proxy::before(whole().address, |path, upstream| {
        if !path.starts_with("/v1/health") {
            return None;
        }
        let mut health = upstream.json(path);
        health["network"] = "another\n\u{1b}[2J".into();
        answer(&health)
    });
    let found = both_ways(&url(whole().address), &proxy.url(), token(), &[], 3);
    assert_eq!((&found["reason"]["code"], &found["from_ledger"]), (&json!("OTHER_NETWORK"), &Value::Null));
    assert_eq!(proxy.count("/digest"), 0);
    let told =
        Ran::of(&mut annals(["compare", &url(whole().address), &proxy.url(), "--contract", &token().to_string()]));
    assert!(told.stdout.lines().count() == 1 && !told.stdout.contains('\u{1b}'), "{told:?}");
}

/// As the one and as the other it ends the comparison with this code.
#[track_caller]
fn cannot_be_asked(b: &str, code: &str) {
    let ran = compare(&url(whole().address), b, token(), &[]).ends_with(1);
    assert_eq!(ran.json()["error"]["code"], code, "{ran:?}");
    assert!(ran.stderr.starts_with("error: archive B: "), "{ran:?}");
    assert!(!ran.stderr.contains("hidden") && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    let ran = compare(b, &url(whole().address), token(), &[]).ends_with(1);
    assert!(ran.stderr.starts_with("error: archive A: "), "{ran:?}");
}

#[test]
fn pages_that_do_not_go_on_are_read_a_few_times_and_no_more() {
    let endless = withholding(|path, upstream| {
        is_route(path, "events").then(|| {
            let mut page = upstream.json(path.split("&cursor=").next().unwrap());
            page["cursor"] = "again&again".into();
            (200, page.to_string().into_bytes())
        })
    });
    let empty = withholding(|path, upstream| {
        is_route(path, "events").then(|| {
            let mut page = upstream.json(path.split("&cursor=").next().unwrap());
            (page["events"], page["cursor"]) = (json!([]), "again".into());
            (200, page.to_string().into_bytes())
        })
    });
    for (liar, pages) in [(endless, 2), (empty, 4)] {
        cannot_be_asked(&liar.url(), "NO_PROGRESS");
        assert_eq!(liar.count("/events?"), 2 * pages, "once from each side");
    }
}

#[test]
fn each_failure_to_ask_has_its_own_code_and_names_the_archive() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let absent = url(nobody.local_addr().unwrap());
    drop(nobody);
    let page = |status: u16, body: &'static str| {
        Proxy::before(whole().address, move |_, _| Some((status, body.as_bytes().to_vec())))
    };
    let html = page(200, "<html>hello</html>");
    let elsewhere = page(404, "not here");
    let moved = page(302, "");
    let odd = page(500, r#"{"error":{"code":"\u001b[2J","message":"m"}}"#);
    let busy = page(503, r#"{"error":{"code":"OVERLOADED","message":"hidden"}}"#);
    let limited = page(429, "<html>hidden</html>");
    let failing = page(502, "<html>hidden</html>");
    let digest = |status: u16, body: Value| {
        Proxy::before(whole().address, move |path, _| {
            is_route(path, "digest").then(|| (status, body.to_string().into_bytes()))
        })
    };
    let older = digest(404, json!({"error": {"code": "NOT_FOUND", "message": "m"}}));
    let wide = digest(400, json!({"error": {"code": "WINDOW_TOO_WIDE", "message": "m"}}));
    let garbage = digest(200, json!({"digest": 7}));
    let newer = Proxy::before(whole().address, |path, upstream| {
        is_route(path, "digest").then(|| {
            let mut digest = upstream.json(path);
            digest["version"] = 2.into();
            (200, digest.to_string().into_bytes())
        })
    });
    let narrowed = Proxy::before(whole().address, |path, upstream| {
        is_route(path, "digest").then(|| {
            let path = path.replace("from_ledger=1000", "from_ledger=1001");
            (200, upstream.get(&path).body)
        })
    });
    let archive = Archive::empty();
    archive.fill("1000:1039", &[oddity()]);
    let unwatched = Served::over(&archive.data_dir(), &[]);
    for (b, code) in [
        (absent, "UNREACHABLE"),
        (html.url(), "NOT_ANNALS"),
        (elsewhere.url(), "NOT_ANNALS"),
        (moved.url(), "NOT_ANNALS"),
        (odd.url(), "ARCHIVE_FAILED"),
        (format!("{}/v1", url(whole().address)), "NOT_ANNALS"),
        (busy.url(), "OVERLOADED"),
        (limited.url(), "RATE_LIMITED"),
        (failing.url(), "ARCHIVE_FAILED"),
        (older.url(), "OLDER_ARCHIVE"),
        (wide.url(), "WINDOW_TOO_WIDE"),
        (garbage.url(), "NOT_ANNALS"),
        (newer.url(), "OTHER_DIGEST"),
        (narrowed.url(), "NOT_ANNALS"),
        (url(unwatched.address), "UNKNOWN_CONTRACT"),
    ] {
        cannot_be_asked(&b, code);
    }
}

#[test]
fn wrong_usage_is_refused_before_anything_is_asked() {
    let proxy = Proxy::before(whole().address, |_, _| None);
    let (contract, here) = (token().to_string(), proxy.url());
    for arguments in [
        vec!["compare", &here],
        vec!["compare", &here, &here],
        vec!["compare", &here, "host:8787", "--contract", &contract],
        vec!["compare", &here, "ftp://host", "--contract", &contract],
        vec!["compare", &here, &here, "--contract", "C1"],
        vec!["compare", &here, &here, "--contract", &contract, "--account", "M1"],
        vec!["compare", &here, &here, "--contract", &contract, "--from", "20", "--to", "10"],
        vec!["compare", &here, &here, "--contract", &contract, "--from", "20:10"],
        vec!["compare", &here, &here, "--contract", &contract, "--from", "10:20", "--to", "30"],
        vec!["compare", &here, &here, "--contract", &contract, "--to", "0"],
        vec!["compare", &here, &here, "--contract", &contract, "--deadline", "0"],
    ] {
        let ran = Ran::of(&mut annals(arguments)).ends_with(2);
        assert!(ran.stderr.trim_end().ends_with("[USAGE]"), "{ran:?}");
    }
    assert_eq!(proxy.count(""), 0);
    let empty = compare(&here, &here, token(), &["--from", "2000"]).ends_with(1);
    assert_eq!(empty.json()["error"]["code"], "NO_COMMON_WINDOW");
}
