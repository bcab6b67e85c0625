//! Schemas from the command line: declared, listed, and read with again.

use std::fs;
use std::path::Path;

use annals_core::ContractId;
use serde_json::json;

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
}
