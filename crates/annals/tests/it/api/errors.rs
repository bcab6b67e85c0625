//! Every error that the document names, produced.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use annals::api::{Code, Limits};

use super::archive::{Archive, CROWDED, LAST, holder, silent, token};
use super::client::{Connection, Reply, encoded, get, request};
use super::document::{codes, operations};
use super::fake::{Fake, Mood, SECRET};
use super::server::{Local, Served, whole};

/// A path of a template that answers 200 over the whole archive, with the query that it needs.
pub fn instance(template: &str) -> String {
    bare(template) + &needed(template)
}

/// The same without its query.
fn bare(template: &str) -> String {
    let event = super::archive::events_of(token(), CROWDED, CROWDED)[0].position;
    template
        .replace("{contract}", &token().to_string())
        .replace("{account}", &holder().to_string())
        .replace("{id}", &event.to_string())
        .replace("{seq}", &CROWDED.to_string())
}

/// The query that a path of a template needs.
fn needed(template: &str) -> String {
    if template == "/v1/ledgers/{seq}/proof" { format!("?contract_id={}", token()) } else { String::new() }
}

/// The same path with another value of its first parameter.
fn with_segment(template: &str, value: &str) -> String {
    let (before, after) = (template.find('{').unwrap(), template.find('}').unwrap() + 1);
    bare(&format!("{}{value}{}", &template[..before], &template[after..]))
}

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limits under which what waits gives up soon.
fn impatient() -> Limits {
    let soon = Duration::from_millis(100);
    Limits { reads: 1, turn: soon, answer: soon, head: soon, ..Limits::default() }
}

/// Sends bytes that are no request one could read, and reads the answer.
fn raw(bytes: &[u8]) -> Reply {
    let mut connection = Connection::open(whole().address);
    connection.send(bytes);
    connection.reply(true, 4096).unwrap()
}

/// What stands in for a parameter's bad value.
fn bad_value(template: &str, code: &str) -> Reply {
    let name = match code {
        "BAD_CONTRACT" if template.contains("{contract}") => return whole().get(&with_segment(template, "GABC")),
        "BAD_CONTRACT" => "contract_id=GABC",
        "BAD_LEDGER" if template.contains("{seq}") => return whole().get(&with_segment(template, "2147483648")),
        "BAD_LEDGER" if template.ends_with("/events") || template.ends_with("/digest") => "from_ledger=0",
        "BAD_LEDGER" => "at_ledger=0",
        "BAD_ACCOUNT" => return whole().get(&bare(&template.replace("{account}", "GABC"))),
        "BAD_EVENT_ID" if template.contains("{id}") => return whole().get(&with_segment(template, "1-2")),
        "BAD_EVENT_ID" => "after_id=1-2",
        "BAD_RANGE" => return whole().get(&format!("{}&to_ledger=1", instance(template))),
        "BAD_TYPES" => "types=a%20b",
        "BAD_TOPIC" => "topic3=AAAA",
        "BAD_TX_HASH" => "tx_hash=ff",
        "BAD_LIMIT" => "limit=ten",
        "BAD_ORDER" => "order=up",
        "BAD_CURSOR" => "cursor=AAAA",
        "BAD_ENCODING" => "limit=%FF",
        "UNKNOWN_PARAMETER" => "form_ledger=1",
        other => panic!("no value gives {other}"),
    };
    let query = if code == "BAD_ENCODING" { "%FF=1" } else { name };
    whole().get(&format!("{}?{query}", bare(template)))
}

/// A reading of a store that answers too late, or not at all.
fn failing(path: &str, code: &str) -> Reply {
    let fake = Arc::new(Fake::new(Mood::Answers));
    // Only the one that is to give up may: a panic takes its time to be written down.
    let limits = if code == "TIMED_OUT" { impatient() } else { Limits { answer: PATIENCE, ..impatient() } };
    let local = Local::over(fake.clone(), limits);
    match code {
        "INTERNAL" if ["/healthz", "/readyz"].contains(&path) => fake.set_mood(Mood::Panics),
        "INTERNAL" | "ARCHIVE_UNREADABLE" => fake.set_mood(Mood::Fails),
        _ => fake.close(),
    }
    let reply = if code == "OVERLOADED" {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| local.get(path));
            fake.wait_for(1);
            let second = local.get(path);
            fake.open();
            assert_ne!(first.join().unwrap().status, 503, "the one that came first is answered");
            second
        })
    } else {
        local.get(path)
    };
    fake.open();
    reply
}

/// A contract-scoped archive of a few ledgers of the token.
fn scoped() -> (Archive, Served) {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    let served = Served::over(&archive.data_dir(), &[]);
    (archive, served)
}

fn provoke(template: &str, code: &str) -> Reply {
    let (path, needed) = (bare(template), needed(template));
    let address = whole().address;
    match code {
        "BAD_REQUEST" => raw(format!("GET {path}\r\n\r\n").as_bytes()),
        "REPEATED_PARAMETER" => {
            let operation = operations().find(|(known, _)| *known == template).unwrap().1;
            let parameters = operation["parameters"].as_array().unwrap();
            let query = parameters.iter().find(|parameter| parameter["in"] == "query");
            let name = query.map_or("x", |parameter| parameter["name"].as_str().unwrap());
            whole().get(&format!("{path}?{name}=1&{name}=1"))
        }
        "METHOD_NOT_ALLOWED" => request(address, "POST", &path, &[]),
        "NOT_ACCEPTABLE" => request(address, "GET", &path, &[("accept-encoding", "identity;q=0")]),
        "REQUEST_TIMEOUT" => {
            let local = Local::over(Arc::new(Fake::new(Mood::Answers)), impatient());
            let mut connection = Connection::open(local.address);
            connection.send(format!("GET {path} HTTP/1.1\r\nhost: a").as_bytes());
            connection.reply(true, 4096).unwrap()
        }
        "BODY_TOO_LARGE" => request(address, "GET", &path, &[("content-length", "1")]),
        "URI_TOO_LONG" => get(address, &format!("{path}?{}", "x".repeat(60_000))),
        "HEADERS_TOO_LARGE" => request(address, "GET", &path, &[("x-long", &"x".repeat(17_000))]),
        "NOT_FOUND" => get(address, &with_segment(template, "")),
        "CONTRACT_REQUIRED" => scoped().1.get(&path),
        "UNKNOWN_CONTRACT" if template == "/v1/health" => scoped().1.get(&format!("{path}?contract_id={}", silent())),
        "UNKNOWN_CONTRACT" => scoped().1.get(&with_segment(template, &silent().to_string())),
        "EVENT_NOT_FOUND" => {
            let after_all = annals_core::Position::after_all_txs(super::pages::seq(LAST), u32::MAX);
            whole().get(&with_segment(template, &after_all.to_string()))
        }
        "LEDGER_NOT_COVERED" if template.contains("{id}") => {
            let beyond = annals_core::Position::before_all_txs(super::pages::seq(LAST + 1), 0);
            whole().get(&with_segment(template, &beyond.to_string()))
        }
        "LEDGER_NOT_COVERED" => whole().get(&(with_segment(template, &(LAST + 1).to_string()) + &needed)),
        "NOT_PROVABLE" => {
            let (archive, served) = scoped();
            let database = rusqlite::Connection::open(archive.data_dir().join("annals.db")).unwrap();
            database.execute_batch("DELETE FROM proof_invocations; DELETE FROM proofs;").unwrap();
            served.get(&(path + &needed))
        }
        "NO_LEDGER_ROW" => {
            let path = with_segment(template, "5") + &needed;
            Local::over(Arc::new(Fake::new(Mood::Answers)), Limits::default()).get(&path)
        }
        "WINDOW_TOO_WIDE" => Local::over(Arc::new(Fake::new(Mood::Answers)), Limits::default()).get(&path),
        "CURSOR_MISMATCH" => {
            let first = whole().get(&format!("{path}?limit=1")).answers();
            whole().get(&format!("{path}?cursor={}&order=desc", first["cursor"].as_str().unwrap()))
        }
        "STALE_CURSOR" => {
            let fake = Arc::new(Fake::new(Mood::Answers));
            let local = Local::over(fake.clone(), Limits::default());
            let first = local.get(&path).answers();
            fake.roll_back();
            local.get(&format!("{path}?cursor={}", first["cursor"].as_str().unwrap()))
        }
        "OVERLOADED" | "TIMED_OUT" | "INTERNAL" | "ARCHIVE_UNREADABLE" => failing(&(path + &needed), code),
        other => bad_value(template, other),
    }
}

#[test]
fn every_documented_error_of_every_route_is_produced() {
    let mut produced: BTreeSet<String> = BTreeSet::new();
    for (template, operation) in operations() {
        let responses = operation["responses"].as_object().unwrap();
        for (status, response) in responses.iter().filter(|(status, _)| *status != "200") {
            for code in codes(response) {
                if code == "REPEATED_PARAMETER" && !has_query(operation) {
                    continue;
                }
                let reply = provoke(template, code);
                eprintln!("{template} {status} {code}");
                reply.refuses(status.parse().unwrap(), code);
                assert!(!String::from_utf8_lossy(&reply.body).contains(SECRET), "{template} {code}");
                produced.insert(code.to_owned());
            }
        }
    }
    let all: BTreeSet<String> = Code::ALL.into_iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(produced, all);
}

fn has_query(operation: &serde_json::Value) -> bool {
    operation["parameters"].as_array().unwrap().iter().any(|parameter| parameter["in"] == "query")
}

#[test]
fn no_answer_holds_a_word_of_the_database_or_of_a_panic() {
    for mood in [Mood::Fails, Mood::Panics] {
        let fake = Arc::new(Fake::new(Mood::Answers));
        let local = Local::over(fake.clone(), Limits::default());
        fake.set_mood(mood);
        for (template, _) in operations().filter(|(template, _)| *template != "/v1/openapi.json") {
            let reply = local.get(&instance(template));
            assert!(reply.status >= 500, "{template}: {reply:?}");
            assert!(!String::from_utf8_lossy(&reply.body).contains("s3cr3t"), "{template}: {reply:?}");
        }
        fake.set_mood(Mood::Answers);
        local.get("/healthz").answers();
    }
}

#[test]
fn malformed_values_are_refused_by_what_they_are() {
    let events = format!("/v1/contracts/{}/events", token());
    for (query, code) in [
        ("from_ledger=-1", "BAD_LEDGER"),
        ("from_ledger=", "BAD_LEDGER"),
        ("from_ledger=4294967296", "BAD_LEDGER"),
        ("to_ledger=2147483648", "BAD_LEDGER"),
        ("to_ledger=1e3", "BAD_LEDGER"),
        ("to_ledger=99999999999999999999999", "BAD_LEDGER"),
        ("from_ledger=%2B5", "BAD_LEDGER"),
        ("limit=-1", "BAD_LIMIT"),
        ("limit=", "BAD_LIMIT"),
        ("limit=1.0", "BAD_LIMIT"),
        ("order=ASC", "BAD_ORDER"),
        ("types=", "BAD_TYPES"),
        ("types=transfer,", "BAD_TYPES"),
        ("topic0=", "BAD_TOPIC"),
        ("topic0=%00", "BAD_TOPIC"),
        ("tx_hash=0x00", "BAD_TX_HASH"),
        ("after_id=0009223372036854775807-0000000000", "BAD_EVENT_ID"),
        ("after_id=9999999999999999999-9999999999", "BAD_EVENT_ID"),
        ("cursor=%00", "BAD_CURSOR"),
        ("topic4=AAAAAQ==", "UNKNOWN_PARAMETER"),
        ("From_Ledger=5", "UNKNOWN_PARAMETER"),
        ("limit=1&limit=1", "REPEATED_PARAMETER"),
        ("limit=1&%6Cimit=2", "REPEATED_PARAMETER"),
        ("limit=%C3%28", "BAD_ENCODING"),
    ] {
        whole().get(&format!("{events}?{query}")).refuses(400, code);
    }
    let muxed = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ";
    let account = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";
    let lower = token().to_string().to_lowercase();
    for contract in [muxed, account, &lower, "C", "%00", "..%2F..", "%F0%9F%92%A9", "CAAAAAAAA'--"] {
        whole().get(&format!("/v1/contracts/{contract}/events")).refuses(400, "BAD_CONTRACT");
        whole().get(&format!("/v1/health?contract_id={contract}")).refuses(400, "BAD_CONTRACT");
    }
    whole().get("/v1/contracts/%FF/events").refuses(400, "BAD_ENCODING");
    for seq in ["0", "-1", "2147483648", "99999999999999999999", "five", "1%000"] {
        whole().get(&format!("/v1/ledgers/{seq}")).refuses(400, "BAD_LEDGER");
    }
    let deep = deep_value(20_000);
    whole().get(&format!("{events}?topic0={}", encoded(&deep))).refuses(400, "BAD_TOPIC");
}

/// Base64 of vectors nested in each other, so many bytes of them.
fn deep_value(bytes: usize) -> String {
    use base64::Engine as _;
    let vector_of_one: Vec<u8> = [16_u32, 1, 1].into_iter().flat_map(u32::to_be_bytes).collect();
    let mut xdr = vector_of_one.repeat(bytes / 12);
    xdr.extend(1_u32.to_be_bytes());
    base64::engine::general_purpose::STANDARD.encode(xdr)
}
