//! An end at any moment, `kill -9` included, loses nothing and repeats nothing; a ledger is in one commit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use annals::clock::SystemClock;
use annals::store::{EventQuery, FeedPosition, SqliteStore, Store as _, StoreError};
use annals_core::{LedgerSeq, ScopeKey};
use annals_sim::{Misbehaviour, RpcOptions, RpcServer, Script, When};

use super::{chain, contract, holds_exactly, job_of_one, serve, stored};
use crate::binary::{Ran, annals, export};
use crate::fill::bench::{Bench, PASSPHRASE, seq};
use crate::rpc::bench::{Client, on, requests_of};

/// Longer than any of these runs; whoever waits so long has failed.
const AT_MOST: Duration = Duration::from_secs(60);

fn backfill(node: &RpcServer, range: &str, data_dir: &Path) -> Command {
    let mut command = annals(["backfill", "--json", "--network-passphrase", PASSPHRASE, "--rpc-mode", "events"]);
    command.args(["--from", range, "--contract", &contract(1).to_string(), "--rpc", &node.url()]);
    command.arg("--data-dir").arg(data_dir).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(node: &RpcServer, range: &str, data_dir: &Path) {
    Ran::of(backfill(node, range, data_dir).stdout(Stdio::piped()).stderr(Stdio::piped())).ends_with(0);
}

/// Whether two ledgers of 250 events each survive a kill at every page of 100, and another provider after it.
fn survives(method: &str, first: &RpcServer, second: &RpcServer, script: impl Fn() -> Script) {
    let uninterrupted = tempfile::tempdir().unwrap();
    second.play(Script::new());
    run(second, "2:60", uninterrupted.path());
    let expected = export(uninterrupted.path()).ends_with(0).stdout;
    assert_eq!(expected.lines().count(), 503);
    for page in 2..=6 {
        let data = tempfile::tempdir().unwrap();
        run(second, "2:29", data.path());
        first.play(script().on(When::method(method).call(page), Misbehaviour::Hang));
        let before = requests_of(first, method).len();
        let mut child = backfill(first, "2:60", data.path()).spawn().unwrap();
        let came = first.wait_for(AT_MOST, |seen| {
            seen.iter().filter(|request| request.method == method).count() - before >= page as usize
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(came, "{method}: page {page} was never asked for");
        let reader = SqliteStore::open_reader(data.path(), Arc::new(SystemClock::new())).unwrap();
        let covered = reader.status().unwrap().covered(ScopeKey::Contract(contract(1)));
        assert_eq!(covered.latest(), Some(seq(29)), "{method}: page {page}");
        let all = EventQuery { after: None, to_inclusive: LedgerSeq::MAX, as_of: FeedPosition(1 << 40), limit: 1_000 };
        assert_eq!(reader.events(&all).unwrap().len(), 3, "{method}: page {page}: no part of a ledger");
        drop(reader);
        run(second, "2:60", data.path());
        assert!(export(data.path()).ends_with(0).stdout == expected, "{method}: page {page}");
    }
}

#[test]
fn a3_a_kill_between_any_two_pages_of_one_ledger_loses_nothing_and_repeats_nothing() {
    let ledgers = chain(60, |seq| if seq == 30 || seq == 31 { 250 } else { u32::from(seq == 10) * 3 });
    let options = || RpcOptions { events_max: 100, ..RpcOptions::default() };
    let node = serve(&ledgers, options());
    let other = serve(&ledgers, options());
    survives("getEvents", &node, &other, Script::new);
}

#[test]
fn a8_a_kill_after_any_page_needs_no_cursor_and_another_provider_goes_on() {
    let ledgers = chain(60, |seq| if seq == 30 || seq == 31 { 250 } else { u32::from(seq == 10) * 3 });
    let query = serve(&ledgers, RpcOptions { query_events: true, events_scan_ledgers: 5, ..RpcOptions::default() });
    let other = serve(&ledgers, RpcOptions::default());
    survives("queryEvents", &query, &other, || {
        on(When::method("getEvents"), Misbehaviour::no_such_method("getEvents"))
    });
}

#[test]
fn a3_a_commit_that_fails_is_made_again_whole() {
    let ledgers = chain(60, |seq| if seq % 10 == 0 { 25 } else { 0 });
    let node = serve(&ledgers, RpcOptions { events_max: 10, ..RpcOptions::default() });
    let job = job_of_one(2, 60);
    for fails in 0..6 {
        // The first three requests ask for more than the node gives at once; smaller windows make several commits.
        node.play(on(When::method("getEvents").calls(4..=5), Misbehaviour::over_limit()));
        let mut bench = Bench::new();
        bench.store.before_commit = Box::new(move |number, _| match number == fails {
            true => Err(StoreError::Database(Box::new(std::io::Error::other("the disk is gone")))),
            false => Ok(()),
        });
        bench.try_events(&job, &Client::of(&[&node]).source).unwrap_err();
        let held = super::covered(&bench, ScopeKey::Contract(contract(1)));
        let of_covered = |event: &annals_core::Event| held.contains(event.position.ledger());
        assert!(stored(&bench).iter().all(of_covered), "commit {fails}");
        bench.store.before_commit = Box::new(|_, _| Ok(()));
        node.play(Script::new());
        bench.try_events(&job, &Client::of(&[&node]).source).unwrap();
        holds_exactly(&bench, &ledgers, &job);
    }
}
