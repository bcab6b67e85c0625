//! `annals demo`: out of nothing, and nothing left of it.

use std::path::Path;
use std::process::Command;

use super::process::{PATIENCE, Process, held};
use crate::api::client::{Reply, get};
use crate::binary::{Ran, annals, report};
use crate::cli::fixture::names;

/// A demonstration whose temporary files lie in `folder`.
fn demo(args: &[&str], folder: &Path) -> Command {
    let mut command = annals(["demo"]);
    command.args(args).env("TMPDIR", folder).current_dir(folder);
    command
}

#[test]
fn the_printed_queries_answer_and_an_interrupt_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Process::start(demo(&["--speed", "5"], folder.path()));
    let address = demo.listens();
    let mut replies: Vec<(String, Reply)> = Vec::new();
    loop {
        let line = demo.line();
        if line.contains("Ctrl-C") {
            break;
        }
        let Some(url) = line.strip_prefix("  curl '").and_then(|rest| rest.strip_suffix('\'')) else { continue };
        let path = url.strip_prefix(&format!("http://{address}")).unwrap();
        replies.push((path.to_owned(), get(address, path)));
    }
    let [(events, page), (account, checkpoint), (ready, readiness)] = &replies[..] else { panic!("{replies:?}") };
    assert!(events.starts_with("/v1/tokens/C") && events.ends_with("/events?order=desc&limit=2"), "{events}");
    let page = page.answers();
    assert_eq!((page["events"].as_array().unwrap().len(), &page["complete"]), (2, &true.into()), "{page}");
    assert!(account.ends_with("/checkpoint"), "{account}");
    let checkpoint = checkpoint.answers();
    assert!(checkpoint["event"].is_object() && checkpoint["complete"] == true, "{checkpoint}");
    assert_eq!((ready.as_str(), readiness.status), ("/readyz", 200), "{readiness:?}");
    assert!(demo.line().starts_with("archived ledger "));
    assert_eq!(names(folder.path()).len(), 1);
    let ended = demo.ends_by("-INT");
    assert_eq!((ended.code, ended.stderr), (Some(0), Vec::<String>::new()));
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn it_ends_by_itself_after_as_many_ledgers_as_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let ended = Process::start(demo(&["--ledgers", "20", "--speed", "50"], folder.path())).ends_within(PATIENCE);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn what_is_kept_can_be_verified_and_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let args = ["--ledgers", "5", "--speed", "50", "--seed", "9", "--data-dir", kept.to_str().unwrap()];
    let ran = Ran::of(&mut demo(&args, folder.path())).ends_with(0);
    assert!(ran.stdout.ends_with(&format!("they are kept: annals verify --data-dir {}\n", kept.display())), "{ran:?}");
    report(&["verify"], &kept).ends_with(0);
    let before = held(&kept);
    assert!(before[0][0]["to"].as_u64() >= Some(70), "{before:?}");
    let ran = Ran::of(&mut demo(&args, folder.path())).ends_with(1);
    assert!(ran.stderr.ends_with("name another folder with --data-dir [NOT_EMPTY]\n"), "{ran:?}");
    assert_eq!(held(&kept), before);
}

#[test]
fn no_configuration_reaches_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("annals.toml"), "this is no TOML").unwrap();
    let real = folder.path().join("real");
    let mut command = demo(&["--ledgers", "1", "--speed", "50"], folder.path());
    command.env("DATA_DIR", &real).env("LISTEN", "nonsense").env("NETWORK", "pubnet").env("LOG", "a=loud");
    let ran = Ran::of(&mut command).ends_with(0);
    assert_eq!(ran.stderr, "", "{ran:?}");
    assert_eq!(names(folder.path()), ["annals.toml"]);
}

#[test]
fn a_bad_speed_is_a_matter_of_usage() {
    for args in [["--speed", "0"], ["--speed", "fast"], ["--ledgers", "0"], ["--listen", "8787"]] {
        let ran = Ran::of(&mut annals(["demo"].iter().chain(&args))).ends_with(2);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.ends_with("[USAGE]\n"), "{ran:?}");
    }
}
