//! `annals serve` as a program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::archive::{Archive, token};
use super::client::get;
use super::pages::path;
use super::server::Served;
use crate::binary::{Ran, annals};

#[test]
fn without_an_archive_nothing_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Ran::of(annals(["serve", "--listen", "127.0.0.1:0"]).current_dir(folder.path())).ends_with(1);
    assert!(ran.stderr.ends_with("[NO_ARCHIVE]\n"), "{ran:?}");
}

#[test]
fn both_signals_end_it_with_0() {
    let archive = Archive::of(&["1000:1001"]);
    for signal in ["-TERM", "-INT"] {
        let served = Served::over(&archive.data_dir(), &[]);
        served.get("/healthz").answers();
        assert_eq!(served.ends_by(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn a_server_whose_archive_was_replaced_answers_neither_for_the_one_nor_the_other() {
    let (archive, other) = (Archive::of(&["1000:1009"]), Archive::of(&["1000:1039"]));
    let served = Served::over(&archive.data_dir(), &[]);
    let page = served.get(&format!("{}?from_ledger=1000&limit=3", path(token()))).answers();
    let next = format!("{}?cursor={}", path(token()), page["cursor"].as_str().unwrap());
    let aside = archive.path().join("aside");
    fs::rename(archive.data_dir(), &aside).unwrap();
    for put in [false, true] {
        if put {
            fs::rename(other.data_dir(), archive.data_dir()).unwrap();
        }
        served.get(&next).refuses(500, "INTERNAL");
        served.get("/v1/health").refuses(500, "INTERNAL");
        served.get("/healthz").refuses(503, "ARCHIVE_UNREADABLE");
    }
    fs::rename(archive.data_dir(), archive.path().join("other")).unwrap();
    fs::rename(aside, archive.data_dir()).unwrap();
    served.get(&next).answers();
    served.get("/healthz").answers();
}

#[test]
fn an_address_in_use_is_said_in_one_line() {
    let archive = Archive::of(&["1000:1001"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let mut command = annals(["serve", "--listen", &served.address.to_string()]);
    let ran = Ran::of(command.arg("--data-dir").arg(archive.data_dir())).ends_with(1);
    assert!(ran.stderr.ends_with("[NOT_LISTENING]\n") && ran.stderr.lines().count() == 1, "{ran:?}");
}

#[test]
fn the_first_line_names_the_address_and_the_environment_the_port() {
    let archive = Archive::of(&["1000:1001"]);
    let mut command = annals(["serve"]);
    command.env("PORT", "0").arg("--data-dir").arg(archive.data_dir()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on http://").unwrap().trim_end().parse().unwrap();
    get(address, "/healthz").answers();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn bad_settings_are_a_matter_of_usage() {
    for (args, named) in [
        (["--listen", "8787"], "--listen is \"8787\""),
        (["--port", "http"], "--port is \"http\""),
        (["--allowed-origin", "wallet.example/"], "--allowed-origin is \"wallet.example/\""),
    ] {
        let ran = Ran::of(annals(["serve"]).args(args)).ends_with(2);
        assert!(ran.stderr.contains(named), "{ran:?}");
    }
}
