//! Schemas from the command line: declared, listed, and read with again.

use std::cell::Cell;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use annals::backfill::Progress;
use annals::clock::SystemClock;
use annals::reattribute::{self, Summary};
use annals::store::{GapFailure, SqliteStore, Store as _};
use annals_core::ContractId;
use serde_json::{Value, json};

use crate::binary::{Ran, annals, report};
use crate::cli::fixture::{Fixture, RANGE};

/// A contract of the fixture's chain that emits `transfer`, `mint` and names that no token has.
fn token() -> ContractId {
    annals_sim::value::contract(1)
}

fn run(verb: &[&str], data_dir: &Path) -> Ran {
    Ran::of(annals(verb).arg("--data-dir").arg(data_dir))
}

fn declare(said: &[&str], data_dir: &Path) -> Ran {
    let id = token().to_string();
    report(&[&["contracts", "declare", &id], said].concat(), data_dir)
}

#[test]
fn the_schemas_are_listed_without_an_archive_and_the_operators_beside_those_that_are_shipped() {
    let folder = tempfile::tempdir().unwrap();
    let listed = run(&["contracts", "schemas"], folder.path()).ends_with(0).stdout;
    assert!(listed.contains("token: one version\n"), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("confidential-token: ") && line.contains("july-2026")));
    let file = folder.path().join("own.toml");
    fs::write(&file, "[[schema.mine.event]]\nname = \"ping\"\nversions = [\"v1\"]\ndata = [\"any\"]\n").unwrap();
    let mut command = annals(["contracts", "schemas", "--json"]);
    let ran = Ran::of(command.env("SCHEMAS", &file)).ends_with(0).json();
    let mine = json!({ "schema": "mine", "versions": ["v1"] });
    assert!(ran["schemas"].as_array().unwrap().contains(&mine), "{ran}");
}

#[test]
fn the_file_that_the_documents_show_can_be_read() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas.md");
    let document = fs::read_to_string(document).unwrap();
    let example = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    fs::write(&file, format!("{example}\n[schema.token]\nreplace = true\n")).unwrap();
    let ran = Ran::of(annals(["contracts", "schemas", "--json", "--schemas"]).arg(&file)).ends_with(0).json();
    let own = json!({ "schema": "my-token", "versions": ["v2"] });
    assert!(ran["schemas"].as_array().unwrap().contains(&own), "{ran}");
}

#[test]
fn a_file_of_schemas_that_is_none_is_one_line_with_a_code_of_its_own_for_every_verb() {
    let fixture = Fixture::archive();
    let file = fixture.path().join("own.toml");
    let overlapping = "[[schema.token.event]]\nname = \"burn\"\ntopics = [\"from\"]\ndata = [\"any\"]\n";
    for (text, named) in [
        (None, "own.toml cannot be read"),
        (Some("schema = 5"), "own.toml cannot be used"),
        (Some("[[schema.a.evnt]]\n"), "evnt"),
        (Some(overlapping), "burn"),
    ] {
        let _ = fs::remove_file(&file);
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        for verb in
            [&["status"][..], &["reattribute"], &["serve", "--port", "0"], &["export"], &["contracts", "schemas"]]
        {
            let mut command = annals(verb);
            let ran =
                Ran::of(command.arg("--schemas").arg(&file).arg("--data-dir").arg(fixture.data_dir())).ends_with(2);
            assert!(ran.stderr.ends_with("[BAD_SCHEMAS]\n") && ran.stderr.lines().count() == 1, "{ran:?}");
            assert!(ran.stderr.contains(named), "{named}: {ran:?}");
        }
    }
}

#[test]
fn a_schema_is_declared_waits_is_read_with_and_taken_back() {
    let fixture = Fixture::archive();
    let data_dir = fixture.data_dir();
    let declared = declare(&["--schema", "token"], &data_dir).ends_with(0).json();
    assert_eq!((&declared["schema"], &declared["schema_from"]), (&json!("token"), &json!("declared")));
    assert_eq!((&declared["unattributed"], &declared["kind_from"]), (&json!(true), &json!(null)));
    let line = run(&["contracts", "list"], &data_dir).ends_with(0).stdout;
    let expected =
        format!("{}: origin unknown, kind unknown, schema token (declared); waits for `annals reattribute`\n", token());
    assert_eq!(line, expected);
    let status = report(&["status"], &data_dir).json();
    assert_eq!(status["unattributed"], json!([token().to_string()]));
    let line = format!("unattributed     {}: see `annals reattribute`\n", token());
    assert!(run(&["status"], &data_dir).stdout.contains(&line));
    // Ingesting says so too, and goes on.
    let filled = fixture.backfill(RANGE).ends_with(0);
    assert_eq!(filled.json()["unattributed"], json!([token().to_string()]));
    let ran = report(&["reattribute"], &data_dir).ends_with(0).json();
    let done = &ran["contracts"][0];
    assert_eq!((&done["contract_id"], &done["done"]), (&json!(token().to_string()), &json!(true)));
    let (events, changed) = (done["events"].as_u64().unwrap(), done["changed"].as_u64().unwrap());
    assert!(events > 0 && changed == events, "each has parties or fits no shape: {ran}");
    let quarantined = &done["quarantined"];
    assert!(quarantined.as_u64().unwrap() > 0, "{ran}");
    let status = report(&["status"], &data_dir).json();
    assert_eq!((&status["unattributed"], &status["unattributed_events"]), (&json!([]), quarantined));
    let text = run(&["status"], &data_dir).stdout;
    assert!(text.contains("in quarantine"), "{text}");
    assert_eq!(run(&["reattribute"], &data_dir).ends_with(0).stdout, "no contract waits\n");
    let again = report(&["reattribute", &token().to_string()], &data_dir).ends_with(0).json();
    assert_eq!((&again["contracts"][0]["events"], &again["contracts"][0]["changed"]), (&json!(events), &json!(0)));
    let back = declare(&["--schema", "none"], &data_dir).ends_with(0).json();
    assert_eq!((&back["schema"], &back["schema_from"]), (&json!(null), &json!(null)));
    assert_eq!(report(&["status"], &data_dir).json()["unattributed_events"], 0);
}

#[test]
fn what_was_found_while_scanning_is_listed_as_found() {
    let fixture = Fixture::archive();
    let native = annals_core::Network::new(crate::cli::fixture::PASSPHRASE).native_contract().to_string();
    let added = report(&["contracts", "add", &native], &fixture.data_dir()).ends_with(0).json();
    let expected = json!({
        "contract_id": native, "origin_ledger": 2, "origin_from": "found", "kind": "asset", "kind_from": "found",
        "schema": "asset", "schema_from": "found", "unattributed": false,
    });
    assert_eq!(added, expected);
}

#[test]
fn a_schema_or_contract_that_nobody_knows_is_refused_by_name() {
    let fixture = Fixture::archive();
    let data_dir = fixture.data_dir();
    for schema in ["nonsense", "token@v9"] {
        let ran = declare(&["--schema", schema], &data_dir).ends_with(1);
        assert_eq!(ran.json()["error"]["code"], "UNKNOWN_SCHEMA");
    }
    declare(&["--schema", "to ken"], &data_dir).ends_with(2);
    declare(&[], &data_dir).ends_with(2);
    let stranger = annals_sim::value::contract(999).to_string();
    let ran = report(&["reattribute", &stranger], &data_dir).ends_with(1);
    assert_eq!(ran.json()["error"]["code"], "UNKNOWN_CONTRACT");
    report(&["reattribute", "GABC"], &data_dir).ends_with(2);
}

#[test]
fn a_contract_whose_schema_is_gone_from_the_file_waits_and_the_run_says_so() {
    let fixture = Fixture::archive();
    let file = fixture.path().join("own.toml");
    fs::write(&file, "[[schema.mine.event]]\nname = \"ping\"\ndata = [\"any\"]\n").unwrap();
    let own = ["--schemas", file.to_str().unwrap()];
    declare(&[&["--schema", "mine"], &own[..]].concat(), &fixture.data_dir()).ends_with(0);
    let ran = report(&["reattribute"], &fixture.data_dir()).ends_with(1).json();
    assert_eq!((&ran["contracts"][0]["done"], &ran["interrupted"]), (&json!(false), &json!(false)));
    assert_eq!(ran["waiting"], json!([token().to_string()]));
    let with = report(&[&["reattribute"], &own[..]].concat(), &fixture.data_dir()).ends_with(0).json();
    assert_eq!((&with["contracts"][0]["done"], &with["waiting"]), (&json!(true), &json!([])));
    // Who verifies without the file does not vouch for the contract either.
    let uncompared = |file: &[&str]| {
        report(&[&["verify"], file].concat(), &fixture.data_dir()).ends_with(0).json()["uncompared"].clone()
    };
    assert_eq!([uncompared(&[]), uncompared(&own)], [json!(1), json!(0)]);
}

/// Counts what a run says of itself.
#[derive(Default)]
struct Counted {
    asked: Cell<u64>,
    ledgers: Cell<u64>,
    events: Cell<u64>,
}

impl Progress for Counted {
    fn begin(&self, ledgers: u64, _: u64) {
        self.asked.set(ledgers);
    }

    fn advance(&self, ledgers: u64, events: u64) {
        self.ledgers.set(self.ledgers.get() + ledgers);
        self.events.set(self.events.get() + events);
    }

    fn fault(&self, _: &GapFailure) {}

    fn end(&self) {}
}

#[test]
fn a_run_that_is_stopped_between_two_steps_leaves_the_contract_waiting_and_the_next_goes_on_there() {
    let fixture = Fixture::archive();
    declare(&["--schema", "token"], &fixture.data_dir()).ends_with(0);
    let store = SqliteStore::open_writer(&fixture.data_dir(), Arc::new(SystemClock::new())).unwrap();
    let run = |steps_max: u32| -> (Summary, Counted) {
        let (counted, steps) = (Counted::default(), Cell::new(0));
        let stop = || steps.replace(steps.get() + 1) >= steps_max;
        (reattribute::run(&[], &store, 2, &counted, &stop).unwrap(), counted)
    };
    let (first, counted) = run(3);
    assert_eq!((first.contracts[0].events, first.interrupted), (6, true));
    assert_eq!((first.waiting, store.status().unwrap().unattributed), (vec![token()], vec![token()]));
    assert!(counted.ledgers.get() < counted.asked.get());
    let (second, counted) = run(u32::MAX);
    assert_eq!((second.interrupted, second.waiting), (false, Vec::new()));
    assert_eq!((counted.ledgers.get(), counted.asked.get()), (20, 20));
    let all = run_all(&store);
    assert_eq!(first.contracts[0].events + second.contracts[0].events, all);
    assert_eq!(counted.events.get(), second.contracts[0].events);
}

/// How many events of the token there are.
fn run_all(store: &SqliteStore) -> u64 {
    let again = reattribute::run(&[token()], store, 1000, &Counted::default(), &|| false).unwrap();
    assert_eq!(again.contracts[0].changed, 0, "what was read twice belongs to the same");
    again.contracts[0].events
}

/// Whether a process has a handler of its own for SIGINT.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim();
    u64::from_str_radix(mask, 16).unwrap() & 1 << (2 - 1) != 0
}

#[test]
fn an_interrupt_ends_it_with_1_and_says_that_the_contract_waits() {
    let fixture = Fixture::archive();
    declare(&["--schema", "token"], &fixture.data_dir()).ends_with(0);
    // While somebody else holds the database, no step can begin.
    let held = rusqlite::Connection::open(fixture.data_dir().join("annals.db")).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = annals(["reattribute", "--json", "--data-dir"]);
    command.arg(fixture.data_dir()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while !catches_interrupts(child.id()) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it listened to signals");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("stopping once the step that runs is done")));
    held.execute_batch("ROLLBACK").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["interrupted"], &said["waiting"]), (&json!(true), &json!([token().to_string()])));
    report(&["reattribute"], &fixture.data_dir()).ends_with(0);
}
