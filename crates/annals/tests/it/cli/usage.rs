//! Wrong usage: exit code 2, one sentence that names the flag, nothing made.

use crate::binary::{Ran, annals};
use crate::cli::fixture::names;

const SOURCE: [&str; 5] = ["backfill", "--network", "pubnet", "--lake", "lake"];

/// Requires that the arguments are refused with one line that says `what`, and that nothing is made.
#[track_caller]
fn refused(args: &[&str], what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ran = Ran::of(annals(args).current_dir(folder.path())).ends_with(2);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(matches!(lines.as_slice(), [line] if line.starts_with("error: ") && line.ends_with("[USAGE]")), "{ran:?}");
    assert!(ran.stderr.contains(what), "{what}: {ran:?}");
    assert_eq!(ran.stdout, "");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

fn refused_range(range: &[&str], what: &str) {
    refused(&[&SOURCE, range].concat(), what);
}

#[test]
fn ranges_that_are_none_name_the_flag() {
    refused_range(&["--from", "9", "--to", "5"], "--to is \"5\"");
    refused_range(&["--from", "9:5"], "--from is \"9:5\"");
    refused_range(&["--from", "0", "--to", "5"], "--from is \"0\"");
    refused_range(&["--from", "1", "--to", "0"], "--to is \"0\"");
    refused_range(&["--from", "1", "--to", "2147483648"], "--to is \"2147483648\"");
    refused_range(&["--from", "2147483647:+2"], "--from is \"2147483647:+2\"");
    refused_range(&["--from", "99999999999999999999:+2"], "--from is");
    refused_range(&["--from", "ten", "--to", "20"], "--from is \"ten\"");
    refused_range(&["--from", "-5", "--to", "20"], "--from is \"-5\"");
    refused_range(&["--from", "5", "--to", "-20"], "--to is \"-20\"");
    refused_range(&["--from", "5:9", "--to", "20"], "--from and --to cannot both be given");
    refused_range(&["--from", "5"], "--to");
    refused_range(&["--to", "5"], "--from");
    refused_range(&[], "--from");
}

#[test]
fn other_values_that_are_none_name_the_flag() {
    let range = ["--from", "5:9"];
    for (flag, value) in [
        ("--contract", "GABC"),
        ("--contract", ""),
        ("--pin", "5"),
        ("--pin", "5:12"),
        ("--classic", "some"),
        ("--network-passphrase", ""),
        ("--mixed-layout", "maybe"),
        ("--log", "loud=very"),
        ("--data-dir", ""),
    ] {
        let given = format!("{flag}={value}");
        refused_range(&[&range[..], &[&given]].concat(), flag);
    }
    refused(&["backfill", "--network", "pubnett", "--lake", "lake", "--from", "5:9"], "--network is \"pubnett\"");
    refused(&["backfill", "--network", "pubnet", "--from", "5:9"], "--lake");
    refused(&["backfill", "--lake", "lake", "--from", "5:9"], "--network");
    refused_range(&["--from", "5:9", "--ledgers", "file"], "--lake and --ledgers");
}

#[test]
fn what_clap_refuses_is_one_line_too() {
    refused(&[], "a verb is missing");
    refused(&["verfiy"], "'verfiy': a similar subcommand exists: 'verify'");
    refused(&["status", "--jsn"], "'--jsn' found: a similar argument exists: '--json'");
    refused(&["export", "--qqq"], "'--qqq' found: see `annals --help`");
    refused(&["export", "--format", "csv"], "csv");
    refused(&["incidents", "resolve"], "ID");
    refused(&["incidents", "resolve", "first"], "first");
    refused(&["incidents"], "a verb is missing");
    refused(&["status", "--config", "nowhere.toml"], "nowhere.toml");
}

#[test]
fn an_error_is_an_object_where_json_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for args in [vec!["status", "--json", "--nonsense"], vec!["backfill", "--json", "--from", "0:9"]] {
        let ran = Ran::of(annals(args).current_dir(folder.path())).ends_with(2);
        let object = ran.json();
        assert_eq!(object["error"]["code"], "USAGE");
        let message = object["error"]["message"].as_str().unwrap();
        assert_eq!(ran.stderr, format!("error: {message} [USAGE]\n"));
    }
}
