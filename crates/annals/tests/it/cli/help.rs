//! What `--help` says is a contract: a stale golden fails. `ANNALS_BLESS=1` writes them anew.

use std::fs;
use std::path::Path;

use crate::binary::{Ran, annals};

const HELPS: [(&str, &[&str]); 21] = [
    ("annals", &[]),
    ("demo", &["demo"]),
    ("backfill", &["backfill"]),
    ("serve", &["serve"]),
    ("contracts", &["contracts"]),
    ("contracts-add", &["contracts", "add"]),
    ("contracts-list", &["contracts", "list"]),
    ("contracts-declare", &["contracts", "declare"]),
    ("contracts-schemas", &["contracts", "schemas"]),
    ("reattribute", &["reattribute"]),
    ("export", &["export"]),
    ("verify", &["verify"]),
    ("prove", &["prove"]),
    ("check", &["check"]),
    ("compare", &["compare"]),
    ("status", &["status"]),
    ("gaps", &["gaps"]),
    ("incidents", &["incidents"]),
    ("incidents-list", &["incidents", "list"]),
    ("incidents-resolve", &["incidents", "resolve"]),
    ("migrate", &["migrate"]),
];

#[test]
fn every_help_is_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/goldens");
    let mut stale = Vec::new();
    for (name, verb) in HELPS {
        let ran = Ran::of(annals(verb).arg("--help")).ends_with(0);
        assert_eq!(ran.stderr, "", "{name}");
        let path = folder.join(format!("{name}.txt"));
        if std::env::var_os("ANNALS_BLESS").is_some() {
            fs::write(&path, &ran.stdout).unwrap();
        }
        if fs::read_to_string(&path).ok().as_ref() != Some(&ran.stdout) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "stale: {stale:?}; run with ANNALS_BLESS=1 and read what changed");
}

#[test]
fn every_verb_has_a_golden_and_every_help_an_example() {
    let ran = Ran::of(&mut annals(["--help"]));
    let verbs = ran.stdout.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for verb in verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help") {
        assert!(HELPS.iter().any(|(name, _)| *name == verb), "{verb} has no golden");
        assert!(Ran::of(&mut annals([verb, "--help"])).stdout.contains("Examples:"), "{verb} shows no example");
    }
}
