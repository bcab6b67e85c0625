//! The digest of a history over HTTP.

use annals_core::{ContractId, Event, HistoryDigester, LedgerRange, Part};
use annals_sim::{BuiltLedger, EventPlan, LedgerPlan, TxPlan, value};
use serde_json::{Value, json};

use super::archive::{Archive, FIRST, LAST, events_of, holder, native, oddity, silent, token};
use super::client::Reply;
use super::conformance::{python, run, script};
use super::pages::seq;
use super::server::{Served, whole};
use super::token::{self as life, LIFE, chain_of, life};

fn base(contract: ContractId) -> String {
    format!("/v1/tokens/{contract}")
}

fn of_account(served: &Served, contract: ContractId, account: &str, query: &str) -> Reply {
    served.get(&format!("{}/accounts/{account}/digest?{query}", base(contract)))
}

fn of(served: &Served, contract: ContractId, from: u32, to: u32) -> Value {
    served.get(&format!("{}/digest?from_ledger={from}&to_ledger={to}", base(contract))).answers()
}

fn ledgers(part: &Value) -> (u32, u32) {
    let end = |name: &str| u32::try_from(part[name].as_u64().unwrap()).unwrap();
    (end("from_ledger"), end("to_ledger"))
}

/// What an answer says of the events, and nothing of how they came to be held.
fn said(answer: &Value) -> Value {
    let fields = ["from_ledger", "to_ledger", "version", "digest", "events", "parts"];
    fields.map(|field| (field.to_owned(), answer[field].clone())).into_iter().collect::<serde_json::Map<_, _>>().into()
}

/// The same of events as their plans have them.
fn planned(events: &[&Event], from: u32, to: u32) -> Value {
    let mut digester = HistoryDigester::new(LedgerRange::new(seq(from), seq(to)).unwrap());
    events.iter().for_each(|event| digester.event(event.position, &event.xdr).unwrap());
    let found = digester.finish().unwrap();
    let part = |part: &Part| {
        let (from, to) = (part.range.from_inclusive().get(), part.range.to_inclusive().get());
        json!({ "from_ledger": from, "to_ledger": to, "events": part.events, "digest": part.digest.to_string() })
    };
    json!({
        "from_ledger": from, "to_ledger": to, "version": 1, "digest": found.digest.to_string(),
        "events": found.events, "parts": found.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

#[test]
fn the_digest_is_that_of_the_events_and_every_part_is_that_of_its_ledgers() {
    for contract in [token(), oddity(), silent()] {
        // 1024 is a boundary; the last window reaches beyond the archive.
        for (from, to) in [(FIRST, LAST), (1010, 1030), (1024, 1024), (960, 1023), (1020, 1300)] {
            let answer = of(whole(), contract, from, to);
            assert_eq!(said(&answer), planned(&events_of(contract, from, to), from, to));
            assert_eq!(answer["complete"], json!(FIRST <= from && to <= LAST));
            for part in answer["parts"].as_array().unwrap() {
                let (from, to) = ledgers(part);
                let alone = of(whole(), contract, from, to);
                assert_eq!((&alone["digest"], &alone["events"]), (&part["digest"], &part["events"]));
            }
        }
    }
    let path = format!("{}/digest?from_ledger=1000&to_ledger=1039", base(token()));
    let alias = path.replace("/tokens/", "/contracts/");
    assert_eq!(whole().get(&alias).answers(), whole().get(&path).answers());
}

#[test]
fn inv_1_a_digest_over_ledgers_that_are_not_held_is_never_complete() {
    let archive = Archive::of(&["1000:1010", "1020:1039"]);
    let served = Served::over(&archive.data_dir(), &[]);
    for (from, to, reason) in [(1000, 1039, "gap"), (999, 1005, "before_coverage"), (1030, 1040, "not_yet_ingested")] {
        let answer = of(&served, token(), from, to);
        assert_eq!((&answer["complete"], &answer["incomplete_reason"]), (&json!(false), &json!(reason)));
        let held = events_of(token(), from, to);
        let held: Vec<_> =
            held.into_iter().filter(|event| !(1011..1020).contains(&event.position.ledger().get())).collect();
        assert_eq!(said(&answer), planned(&held, from, to));
    }
    assert_eq!(of(&served, token(), 1000, 1010)["complete"], true);
    let page = served.get(&format!("{}/events?from_ledger=1000&to_ledger=1039&limit=1", base(token()))).answers();
    let answer = of(&served, token(), 1000, 1039);
    for field in ["missing", "missing_truncated", "verified_through", "anchor", "incomplete_reason"] {
        assert_eq!(answer[field], page[field], "{field}");
    }
}

#[test]
fn a_window_that_is_no_range_has_no_digest() {
    for (query, reason) in [("from_ledger=1010&to_ledger=1009", "inverted_window"), ("", "origin_unknown")] {
        let answer = whole().get(&format!("{}/digest?{query}", base(token()))).answers();
        let nothing = (&answer["digest"], &answer["events"], &answer["parts"]);
        assert_eq!(nothing, (&Value::Null, &Value::Null, &json!([])));
        assert_eq!((&answer["complete"], &answer["incomplete_reason"]), (&json!(false), &json!(reason)));
    }
}

#[test]
fn archives_of_one_chain_digest_alike_whatever_their_scope_start_and_order() {
    let all = &whole();
    let pieces = Archive::empty();
    for (range, contracts) in [
        ("1020:1029", vec![oddity(), token()]),
        ("1000:1004", vec![token()]),
        ("1004:1025", vec![token()]),
        ("1000:1039", vec![silent(), oddity()]),
        ("1025:1039", vec![token()]),
    ] {
        pieces.fill(range, &contracts);
    }
    let late = Archive::empty();
    late.fill("1005:1039", &[oddity(), token(), silent()]);
    let widened = Archive::empty();
    widened.fill("1000:1039", &[token()]);
    widened.fill("1000:1039", &[]);
    for archive in [&pieces, &late, &widened] {
        let served = Served::over(&archive.data_dir(), &[]);
        for contract in [token(), oddity(), silent()] {
            for (from, to) in [(1005, LAST), (1005, 1006), (1010, 1030)] {
                let answer = of(&served, contract, from, to);
                // Archives of one contract alone lack what others would tell of it, so that one is not told all.
                assert_eq!(said(&answer), said(&of(all, contract, from, to)), "{contract} {from} {to}");
            }
        }
    }
}

#[test]
fn one_event_that_is_changed_dropped_added_or_moved_changes_the_digest_and_its_own_ledger_alone() {
    let transfer = |amount| EventPlan::transfer(LIFE.token(), value::account(1), value::account(2), amount);
    let chain = |events: Vec<EventPlan>| -> Vec<BuiltLedger> {
        let plan = |events: Vec<EventPlan>| LedgerPlan::new(vec![TxPlan::invocation(LIFE.token(), events)]);
        let ordinary = |number: i128| plan(vec![transfer(number), transfer(-number)]);
        chain_of(&[ordinary(1), ordinary(2), plan(events), ordinary(4)])
    };
    let answer = |chain: Vec<BuiltLedger>| {
        let archive = Archive::of_chain(&chain);
        let (first, last) = (chain[0].seq.get(), chain[3].seq.get());
        let command = &mut crate::binary::backfill(
            &archive.lake(),
            &archive.data_dir(),
            life::network().passphrase(),
            &format!("{first}:{last}"),
        );
        crate::binary::Ran::of(command).ends_with(0);
        said(&of(&Served::over(&archive.data_dir(), &[]), LIFE.token(), first, last))
    };
    let original = answer(chain(vec![transfer(5), transfer(6), transfer(7)]));
    assert_eq!(original["events"], 9);
    for others in [
        vec![transfer(5), transfer(9), transfer(7)],
        vec![transfer(5), transfer(7)],
        vec![transfer(5), transfer(6), transfer(7), transfer(8)],
        vec![transfer(6), transfer(5), transfer(7)],
    ] {
        let other = answer(chain(others));
        assert_ne!(other["digest"], original["digest"]);
        for (number, part) in original["parts"].as_array().unwrap().iter().enumerate() {
            assert_eq!(other["parts"][number] == *part, number != 2, "{number}");
        }
    }
}

#[test]
fn an_accounts_digest_is_that_of_its_own_events() {
    let everything = of(life(), LIFE.token(), life::ORIGIN, life::END);
    let mut events = 0;
    for account in LIFE.accounts() {
        let query = format!("from_ledger={}&to_ledger={}", life::ORIGIN, life::END);
        let answer = of_account(life(), LIFE.token(), &life::strkey(account), &query).answers();
        assert_eq!(answer["events"], LIFE.ids_of(account, life::ORIGIN, life::END).len());
        assert_eq!((&answer["complete"], &answer["incomplete_reason"]), (&json!(true), &Value::Null));
        assert_ne!(answer["digest"], everything["digest"]);
        events += answer["events"].as_u64().unwrap();
    }
    assert!(events > everything["events"].as_u64().unwrap(), "an event of two accounts is each one's");
    // The token has events that fit none of its shapes, and nobody said what reads the other contract.
    let query = "from_ledger=1000&to_ledger=1039";
    for (contract, reason) in [(token(), "unattributed_events"), (oddity(), "no_schema")] {
        let answer = of_account(whole(), contract, &holder().to_string(), query).answers();
        assert_eq!((&answer["complete"], &answer["incomplete_reason"]), (&json!(false), &json!(reason)));
        assert_eq!(answer["events"].as_u64() == Some(0), contract == oddity());
    }
}

#[test]
fn a_reader_of_the_document_alone_recomputes_every_digest() {
    let Some(python) = python() else { return };
    let recomputed = |served: &Served, path: &str, from: u32, to: u32| {
        let mut command = std::process::Command::new(&python);
        command.arg(script("digest_history.py")).arg(format!("http://{}", served.address)).arg(path);
        let mut found: Value = serde_json::from_str(&run(command.arg(from.to_string()).arg(to.to_string()))).unwrap();
        (found["from_ledger"], found["to_ledger"]) = (from.into(), to.into());
        found
    };
    for contract in [token(), oddity(), native()] {
        for (from, to) in [(FIRST, LAST), (FIRST + 3, FIRST + 3), (1, 1_000_000)] {
            let found = recomputed(whole(), &base(contract), from, to);
            assert_eq!(found, said(&of(whole(), contract, from, to)), "{contract} {from} {to}");
        }
    }
    let account = life::strkey(LIFE.busiest());
    let path = format!("{}/accounts/{account}", base(LIFE.token()));
    let found = recomputed(life(), &path, life::ORIGIN - 5, life::END);
    let query = format!("from_ledger={}&to_ledger={}", life::ORIGIN - 5, life::END);
    assert_eq!(found, said(&of_account(life(), LIFE.token(), &account, &query).answers()));
}
