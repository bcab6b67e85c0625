//! Flag over environment over file, through the binary.

use std::fs;
use std::path::Path;

use crate::binary::{Ran, annals};
use crate::cli::fixture::{Fixture, PASSPHRASE, RANGE};

/// The folder that a run without any archive names.
fn data_dir(folder: &Path, flag: Option<&str>, variable: Option<&str>) -> String {
    let mut command = annals(["status", "--json"]);
    command.current_dir(folder).args(flag.map(|value| format!("--data-dir={value}")));
    if let Some(value) = variable {
        command.env("DATA_DIR", value);
    }
    let ran = Ran::of(&mut command).ends_with(1);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    let named = message.strip_prefix("there is no archive in ").and_then(|rest| rest.split_once(": "));
    named.unwrap_or_else(|| panic!("{message}")).0.to_owned()
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(data_dir(folder.path(), None, None), "annals-data");
    fs::write(folder.path().join("annals.toml"), "data_dir = 'by-file'").unwrap();
    assert_eq!(data_dir(folder.path(), None, None), "by-file");
    assert_eq!(data_dir(folder.path(), None, Some("by-variable")), "by-variable");
    assert_eq!(data_dir(folder.path(), Some("by-flag"), Some("by-variable")), "by-flag");
    assert_eq!(data_dir(folder.path(), Some("by-flag"), None), "by-flag");
}

#[test]
fn a_whole_backfill_is_configured_by_a_file_and_the_environment() {
    let fixture = Fixture::lake();
    let config = fixture.path().join("own.toml");
    let text = format!("data_dir = 'archive'\nnetwork_passphrase = '{PASSPHRASE}'\nfrom = 1\nto = 2\nlake = 'lake'\n");
    fs::write(&config, text).unwrap();
    let mut command = annals(["backfill", "--json", "--config"]);
    let ran = Ran::of(command.arg(&config).env("FROM", RANGE).current_dir(fixture.path())).ends_with(0);
    assert_eq!(ran.json()["fetched"], 20, "{ran:?}");
}

#[test]
fn a_variable_that_a_verb_does_not_use_does_not_trouble_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = annals(["status"]);
    let ran = Ran::of(command.env("FROM", "a sender").env("NETWORK", "lan").current_dir(folder.path())).ends_with(1);
    assert!(ran.stderr.contains("[NO_ARCHIVE]"), "{ran:?}");
}

#[test]
fn an_unknown_key_is_refused_by_name_and_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("annals.toml"), "databse_url = 'x'").unwrap();
    let ran = Ran::of(annals(["status"]).current_dir(folder.path())).ends_with(2);
    assert!(ran.stderr.starts_with("error: annals.toml has the unknown key \"databse_url\""), "{ran:?}");
}
