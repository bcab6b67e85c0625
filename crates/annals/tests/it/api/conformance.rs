//! Programs of others that know only the document.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::{holder, token};
use super::server::whole;

/// The interpreter that has the tools; none, said aloud, where there is none and this is not CI.
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("ANNALS_PYTHON").map(PathBuf::from);
    if named.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "set ANNALS_PYTHON to a Python 3.11 that has tests/python/requirements.txt: CI skips nothing"
        );
        eprintln!("skipped: ANNALS_PYTHON names no Python with schemathesis");
    }
    named
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("ANNALS_PYTHON can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn schemathesis_finds_no_failure_and_no_undocumented_answer() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/v1/openapi.json", whole().address);
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", &url, "--checks", "all", "--max-examples", "60"]);
    command.args(["--seed", "1", "--phases", "examples,coverage,fuzzing", "--no-color"]);
    // A schema has no word for a strkey's checksum or a cursor's signature.
    command.args(["--exclude-checks", "positive_data_acceptance"]);
    let report = run(command.current_dir(folder.path()));
    // The tool leaves the path out that it reads the document from.
    let tested = format!("Tested: {}", super::document::operations().count() - 1);
    assert!(report.contains(&tested), "{tested}: {report}");
}

#[test]
fn a_generated_client_reads_every_page() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command.arg(script("read_pages.py")).arg(format!("http://{}", whole().address));
    let read = run(command.arg(token().to_string()).arg(holder().to_string()).current_dir(folder.path()));
    let [all, own]: [Vec<String>; 2] = serde_json::from_str(&read).unwrap();
    assert_eq!(all, super::archive::ids(&super::archive::events_of(token(), 1000, 1039)));
    let account = format!("/v1/tokens/{}/accounts/{}/events?limit=1000", token(), holder());
    assert!(own.len() > 20, "{own:?}");
    assert_eq!(own, super::pages::page_ids(&whole().get(&account).answers()));
}
