//! The export says what it lacks, and a file appears whole.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::binary::{Ran, annals, export, report};
use crate::cli::fixture::{Fixture, RANGE, names, write_lake};

#[test]
fn an_export_is_every_event_in_order_and_says_that_it_is_gap_free() {
    let fixture = Fixture::archive();
    let ran = export(&fixture.data_dir()).ends_with(0);
    let status = report(&["status"], &fixture.data_dir()).json();
    let ids: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(status["events"]["total"], ids.len());
    assert!(ids.is_sorted(), "ids sort as positions");
    assert_eq!(
        ran.stderr,
        format!("exported {} events of all contracts, gap-free over ledgers 1000-1019\n", ids.len())
    );
}

#[test]
fn an_export_over_a_gap_holds_everything_else_names_the_gap_and_ends_with_1() {
    let fixture = Fixture::lake();
    let object = fs::read_dir(fixture.lake_path()).unwrap().map(|entry| entry.unwrap().path());
    let partition = object.into_iter().find(|path| path.is_dir()).unwrap();
    // 1010 as SEP-54 names it: the complement of the number in front.
    let lost = format!("{:08X}--1010.xdr.zst", u32::MAX - 1010);
    fs::remove_file(partition.join(lost)).unwrap();
    fixture.backfill(RANGE).ends_with(1);
    let ran = export(&fixture.data_dir()).ends_with(1);
    let ledgers = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["ledger_seq"].as_u64().unwrap();
    assert!(ran.stdout.lines().map(ledgers).any(|ledger| ledger > 1010), "what is held is exported");
    assert!(ran.stderr.contains("gap-free only over ledgers 1000-1009"), "{}", ran.stderr);
    assert!(ran.stderr.contains("missing although asked for: 1010;"), "{}", ran.stderr);
    let gaps = Ran::of(annals(["gaps", "--data-dir"]).arg(fixture.data_dir())).ends_with(1);
    assert!(gaps.stdout.starts_with("1010 of *: 1 attempt: "), "{}", gaps.stdout);
}

#[test]
fn a_hole_that_nobody_asked_for_is_named_too() {
    let fixture = Fixture::lake();
    fixture.backfill("1000:1004").ends_with(0);
    fixture.backfill("1010:1014").ends_with(0);
    let ran = export(&fixture.data_dir()).ends_with(0);
    assert!(ran.stderr.contains("gap-free only over ledgers 1000-1004"), "{}", ran.stderr);
    assert!(ran.stderr.contains("never asked for: 1005-1009;"), "{}", ran.stderr);
    report(&["gaps"], &fixture.data_dir()).ends_with(0);
}

#[test]
fn an_exported_file_is_the_stream_and_leaves_nothing_beside_it() {
    let fixture = Fixture::archive();
    let folder = fixture.path().join("out");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("events.jsonl");
    fs::write(&file, "what was there before").unwrap();
    let mut command = annals(["export", "--format", "jsonl", "--output"]);
    Ran::of(command.arg(&file).arg("--data-dir").arg(fixture.data_dir())).ends_with(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), export(&fixture.data_dir()).stdout);
    assert_eq!(names(&folder), ["events.jsonl"]);
    for target in [folder.join("absent/events.jsonl"), folder.clone()] {
        let mut command = annals(["export", "--output"]);
        let ran = Ran::of(command.arg(&target).arg("--data-dir").arg(fixture.data_dir())).ends_with(1);
        assert!(ran.stderr.trim_end().ends_with("[NOT_WRITTEN]"), "{ran:?}");
        assert!(ran.stderr.contains(target.to_str().unwrap()), "{ran:?}");
    }
    assert_eq!(names(&folder), ["events.jsonl"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_export_quietly() {
    let fixture = Fixture::lake();
    // More than a pipe and the program's own buffer hold.
    write_lake(&fixture.lake_path(), 300);
    fixture.backfill("1000:1299").ends_with(0);
    let mut command = annals(["export", "--data-dir"]);
    command.arg(fixture.data_dir()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
    assert!(line.starts_with("{\"id\":"));
}
