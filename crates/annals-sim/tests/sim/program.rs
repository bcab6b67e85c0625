//! The program `annals-sim`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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
