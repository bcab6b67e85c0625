//! The program `annals-sim`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use annals_core::{Network, check_ledger};
use annals_sim::{Format, Mix, random_chain};

use super::seq;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_annals-sim")).args(args).output().unwrap()
}

/// Every file below `folder`, by its path in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_program_writes_the_same_lake_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let [one, again, other] = [("one", "5"), ("again", "5"), ("other", "6")].map(|(name, seed)| {
        let out = folder.path().join(name);
        let path = out.to_str().unwrap();
        let sizes = ["--ledgers-per-object", "8", "--objects-per-partition", "4"];
        let output = run(&[&["lake", "--out", path, "--ledgers", "38", "--seed", seed], &sizes[..]].concat());
        assert!(output.status.success(), "{output:?}");
        files(&out)
    });
    assert_eq!(one, again);
    assert_ne!(one, other);
    let names: Vec<_> = one.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".config.json",
            "FFFFFFDF--32-63/FFFFFFDF--32-39.xdr.zst",
            "FFFFFFFF--0-31/FFFFFFE7--24-31.xdr.zst",
            "FFFFFFFF--0-31/FFFFFFEF--16-23.xdr.zst",
            "FFFFFFFF--0-31/FFFFFFF7--8-15.xdr.zst",
            "FFFFFFFF--0-31/FFFFFFFF--0-7.xdr.zst",
        ]
    );
}

#[test]
fn the_program_writes_framed_ledgers_of_the_network_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let network = Network::new("my network");
    let expected = random_chain(&network, seq(50), 3, 4, Mix::new(Format::V1Meta4));
    let expected: Vec<u8> = expected
        .flat_map(|ledger| {
            check_ledger(&ledger.xdr, &network).unwrap();
            let length = u32::try_from(ledger.xdr.len()).unwrap() | 1 << 31;
            [&length.to_be_bytes(), ledger.xdr.as_slice()].concat()
        })
        .collect();
    let chain = ["--ledgers", "4", "--from", "50", "--seed", "3", "--format", "v1-backfilled"];
    for name in ["ledgers.xdr", "ledgers.xdr.zst"] {
        let path = folder.path().join(name);
        let out = ["framed", "--network-passphrase", "my network", "--out", path.to_str().unwrap()];
        assert!(run(&[&out[..], &chain].concat()).status.success());
        let written = fs::read(&path).unwrap();
        let plain = if name.ends_with(".zst") { zstd::decode_all(written.as_slice()).unwrap() } else { written };
        assert_eq!(plain, expected, "{name}");
    }
}

#[test]
fn a_chain_that_cannot_be_is_refused_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lake");
    let lake = ["lake", "--out", out.to_str().unwrap(), "--ledgers", "2"];
    for wrong in [["--from", "2147483647"], ["--protocol", "22"], ["--protocol", "31"]] {
        let output = run(&[&lake[..], &wrong].concat());
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        assert!(!out.exists());
    }
    assert_eq!(run(&[&lake[..], &["--from", "0"]].concat()).status.code(), Some(2));
}

/// The program while it serves.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals-sim"));
        let mut child = command.arg("rpc").args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the program prints its URL").to_owned();
        Self { child, address }
    }

    fn latest(&self) -> serde_json::Value {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"getLatestLedger"}"#;
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = "POST / HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\nconnection: close\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let answer: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        answer["result"].clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_program_serves_a_network_whose_latest_ledger_is_of_now() {
    let still = Serving::start(&["--seed", "4", "--ledgers", "30", "--from", "1000", "--speed", "0"]);
    let latest = still.latest();
    assert_eq!((&latest["sequence"], &latest["protocolVersion"]), (&1029.into(), &28.into()));
    let age_ms =
        annals_sim::clock::now_unix_ms() - 1000 * latest["closeTime"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(age_ms < 60_000, "the latest ledger is {age_ms} ms old");
    assert_eq!(still.latest(), latest);
}

#[test]
fn the_program_closes_ledgers_while_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let args = ["--ledgers", "3", "--speed", "200", "--lake", lake.to_str().unwrap()];
    let moving = Serving::start(&args);
    let grew = (0..2000).any(|_| moving.latest()["sequence"].as_u64().unwrap() >= 10);
    assert!(grew, "ledger 10 has not closed");
    assert!(lake.join(".config.json").is_file());
}

#[test]
fn a_network_that_cannot_be_served_is_refused() {
    let speeds = ["-1", "NaN", "inf", "1e-300", "1e300"].map(|speed| ["--speed", speed]);
    for wrong in speeds.into_iter().chain([["--ledgers", "0"], ["--from", "2147483640"]]) {
        let [name, value] = wrong;
        assert_eq!(run(&["rpc", &format!("{name}={value}")]).status.code(), Some(1), "{wrong:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_told_in_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals-sim"));
    let output = command.args(["rpc", "--listen", &address]).env("RUST_BACKTRACE", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with(&format!("error: listening on {address}: Address already in use")), "{told}");
}

#[test]
fn after_the_last_possible_ledger_none_closes_and_the_network_is_served_on() {
    let last = Serving::start(&["--from", "2147483645", "--ledgers", "1", "--speed", "500"]);
    let at_end = || last.latest()["sequence"] == 2_147_483_647_u32;
    assert!((0..2000).any(|_| at_end()), "the last ledger has not closed");
    assert!((0..50).all(|_| at_end()));
}
