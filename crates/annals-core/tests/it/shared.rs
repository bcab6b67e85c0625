//! The real ledgers beside the project.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use annals_core::Network;

/// The folder of real ledgers; none where it is missing, which CI does not allow.
pub fn ledgers() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::var_os("ANNALS_SHARED").map(|shared| PathBuf::from(shared).join("ledgers"));
    let found = given
        .into_iter()
        .chain(root.ancestors().map(|folder| folder.join("shared/ledgers")))
        .find(|folder| folder.join("README.md").is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI needs the real ledgers in ../shared/ledgers");
        eprintln!("skipped: there are no real ledgers in ../shared/ledgers");
    }
    found
}

/// The ledger of a SEP-54 object of one ledger: what follows start, end and count.
pub fn single_ledger_object(path: &Path) -> Vec<u8> {
    zstd::decode_all(fs::File::open(path).unwrap()).unwrap().split_off(12)
}

/// The ledgers of a one-ledger-an-object lake, ascending.
pub fn lake(folder: &Path) -> Vec<Vec<u8>> {
    let partition =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let mut objects: Vec<PathBuf> = fs::read_dir(partition).unwrap().map(|entry| entry.unwrap().path()).collect();
    objects.sort();
    objects.iter().rev().map(|path| single_ledger_object(path)).collect()
}

/// The ledgers of framed bytes: a length with the high bit set, then the XDR.
pub fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut ledgers = Vec::new();
    while let Some((mark, rest)) = bytes.split_first_chunk::<4>() {
        let length = (u32::from_be_bytes(*mark) & 0x7FFF_FFFF) as usize;
        ledgers.push(rest[..length].to_vec());
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
    ledgers
}

/// The network of the core's own tests.
pub fn core_network() -> Network {
    Network::new("(V) (;,,;) (V)")
}

/// Gives each file of the core's own tests, its name and its chain of ledgers; whether they are there.
pub fn core_corpus(mut each: impl FnMut(&Path, &[Vec<u8>])) -> bool {
    let Some(folder) = ledgers() else { return false };
    let archive = fs::File::open(folder.join("core-corpus/test-lcm-current.tar.zst")).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if path.extension().is_some_and(|extension| extension == "xdr") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            each(&path, &frames(&bytes));
        }
    }
    true
}

/// The lines of a gzip file, as JSON.
pub fn json_lines(path: &Path) -> Vec<serde_json::Value> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
