//! Ledgers and lakes for the tests of the sources.

use std::fs;
use std::path::{Path, PathBuf};

use annals_core::{LedgerRange, LedgerSeq};

use super::{LedgerObject, LedgerSource, ObjectFault};

/// XDR of a `LedgerCloseMeta` V0 in which nothing but the ledger's number differs from zero.
pub(super) fn ledger(seq: u32) -> Vec<u8> {
    /// Where the header has its number.
    const SEQ_AT: usize = 184;
    let mut bytes = vec![0; 412];
    bytes[SEQ_AT..SEQ_AT + 4].copy_from_slice(&seq.to_be_bytes());
    bytes
}

/// XDR of a `LedgerCloseMetaBatch` of the ledgers `start` to `end`.
pub(super) fn batch(start: u32, end: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [start, end, end - start + 1].into_iter().flat_map(u32::to_be_bytes).collect();
    (start..=end).for_each(|seq| bytes.extend(ledger(seq)));
    bytes
}

/// zstd of [`batch`].
pub(super) fn object(start: u32, end: u32) -> Vec<u8> {
    compressed(&batch(start, end))
}

pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

pub(super) fn framed(bytes: &[u8]) -> Vec<u8> {
    let word = 0x8000_0000 | u32::try_from(bytes.len()).unwrap();
    [&word.to_be_bytes()[..], bytes].concat()
}

/// The name of the object of these ledgers, without its ending.
pub(super) fn stem(start: u32, end: u32) -> String {
    let reversed = u32::MAX - start;
    if start == end { format!("{reversed:08X}--{start}") } else { format!("{reversed:08X}--{start}-{end}") }
}

/// Writes a file below `folder`, and the folders above it.
pub(super) fn put(folder: &Path, name: impl AsRef<Path>, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Writes a sound object into `folder`.
pub(super) fn put_object(folder: &Path, start: u32, end: u32) {
    put(folder, format!("{}.xdr.zst", stem(start, end)), &object(start.max(2), end));
}

pub(super) fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(LedgerSeq::new(from).unwrap(), LedgerSeq::new(to).unwrap()).unwrap()
}

/// Everything that a source yields, taken apart: an object's name and the numbers of its ledgers, or a fault's object,
/// code and range.
pub(super) fn read(source: &dyn LedgerSource, range: LedgerRange) -> Vec<Result<(String, Vec<u32>), Fault>> {
    source.open(range).unwrap().map(|object| object.and_then(numbers).map_err(Fault::from)).collect()
}

fn numbers(object: LedgerObject) -> Result<(String, Vec<u32>), ObjectFault> {
    let name = object.name.clone();
    let ledgers = object.into_ledgers()?;
    Ok((name, ledgers.iter().map(|ledger| ledger.seq.expect("both encodings number their ledgers").get()).collect()))
}

/// The part of an [`ObjectFault`] that compares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) object: String,
    pub(super) code: &'static str,
    pub(super) range: Option<String>,
}

impl From<ObjectFault> for Fault {
    fn from(fault: ObjectFault) -> Self {
        let code = fault.code();
        Self { object: fault.object, code, range: fault.range.map(|range| range.to_string()) }
    }
}

/// All ledgers that were read, in the order of the stream.
pub(super) fn ledgers(read: &[Result<(String, Vec<u32>), Fault>]) -> Vec<u32> {
    read.iter().flatten().flat_map(|(_, numbers)| numbers.iter().copied()).collect()
}

/// All faults, in the order of the stream.
pub(super) fn faults(read: Vec<Result<(String, Vec<u32>), Fault>>) -> Vec<Fault> {
    read.into_iter().filter_map(Result::err).collect()
}

/// The folder of real ledgers; none, said on the output, where it is missing. In CI it must be there.
pub(super) fn real_ledgers() -> Option<PathBuf> {
    let named = std::env::var_os("ANNALS_SHARED").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared"));
    let found = named.into_iter().chain(above).map(|shared| shared.join("ledgers")).find(|folder| folder.is_dir());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "the real ledgers are missing: set ANNALS_SHARED");
        println!("skipped: the real ledgers are not here");
    }
    found
}
