use std::path::PathBuf;

use tempfile::{TempDir, tempdir};

use super::*;
use crate::source::fixtures::*;

/// A file of these bytes, plain and compressed.
fn files(bytes: &[u8]) -> (TempDir, [PathBuf; 2]) {
    let folder = tempdir().unwrap();
    put(folder.path(), "plain", bytes);
    put(folder.path(), "packed", &compressed(bytes));
    let paths = ["plain", "packed"].map(|name| folder.path().join(name));
    (folder, paths)
}

fn frames(seqs: &[u32]) -> Vec<u8> {
    seqs.iter().flat_map(|seq| framed(&ledger(*seq))).collect()
}

/// Reads both files, which must give the same; faults come as `number code range`.
fn read_both(bytes: &[u8], asked: LedgerRange) -> (Vec<u32>, Vec<String>) {
    let (_folder, paths) = files(bytes);
    let [plain, packed] = paths.map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let read = read(&FramedSource::open(path).unwrap(), asked);
        let ledgers = ledgers(&read);
        let faults = faults(read).into_iter().map(|fault| {
            let number = fault.object.strip_prefix(&format!("{name}#frame ")).unwrap().to_owned();
            format!("{number} {} {}", fault.code, fault.range.as_deref().unwrap_or("?"))
        });
        (ledgers, faults.collect::<Vec<_>>())
    });
    assert_eq!(plain, packed);
    plain
}

#[test]
fn the_real_load_file_gives_its_thirty_ledgers() {
    let Some(real) = real_ledgers() else { return };
    let source = FramedSource::open(real.join("load/p25-30-ledgers.framed.xdr.zst")).unwrap();
    let all = read(&source, range(2, 2_147_483_647));
    assert_eq!(ledgers(&all), (10_048..=10_077).collect::<Vec<_>>());
    assert_eq!(all[29].as_ref().unwrap().0, "p25-30-ledgers.framed.xdr.zst#frame 30");
    assert_eq!(ledgers(&read(&source, range(10_050, 10_051))), [10_050, 10_051]);
}

#[test]
fn the_made_ledger_is_one_that_the_decoder_takes() {
    assert_eq!(annals_core::decode::ledger_len(&[&ledger(7)[..], &[1; 9]].concat()), Ok(412));
}

#[test]
fn frames_come_as_the_file_has_them_and_only_those_asked_for() {
    let bytes = frames(&[7, 5, 9, 5, 6]);
    assert_eq!(read_both(&bytes, range(2, 100)), (vec![7, 5, 9, 5, 6], vec![]));
    assert_eq!(read_both(&bytes, range(5, 6)), (vec![5, 5, 6], vec![]));
    assert_eq!(read_both(&bytes, range(10, 20)), (vec![], vec![]));
}

#[test]
fn a_frame_gives_its_own_bytes_and_its_own_number() {
    let (_folder, [plain, _]) = files(&frames(&[7]));
    let object = FramedSource::open(plain).unwrap().open(range(1, 9)).unwrap().next().unwrap().unwrap();
    assert_eq!((object.name.as_str(), object.named), ("plain#frame 1", Some(range(7, 7))));
    assert_eq!(object.into_ledgers().unwrap()[0].bytes, ledger(7));
}

#[test]
fn each_way_a_frame_can_be_bad_names_the_frame() {
    let asked = range(2, 100);
    let sound = frames(&[5, 6]);
    let with = |more: &[u8]| read_both(&[&sound[..], more].concat(), asked);
    let kept = |fault: &str| (vec![5, 6], vec![fault.to_owned()]);
    assert_eq!(read_both(b"", asked), (vec![], vec!["1 EMPTY_OBJECT ?".to_owned()]));
    assert_eq!(with(&[0x80, 0]), kept("3 TRUNCATED_OBJECT ?"));
    assert_eq!(with(&framed(&ledger(7))[..411]), kept("3 TRUNCATED_OBJECT 7"));
    assert_eq!(with(&framed(&ledger(7))[..50]), kept("3 TRUNCATED_OBJECT ?"));
    assert_eq!(with(b"trailing"), kept("3 NOT_A_FRAME ?"));
    assert_eq!(with(&[0, 0, 1, 156]), kept("3 NOT_A_FRAME ?"));
    assert_eq!(with(&[0xFF; 9]), kept("3 OBJECT_TOO_LARGE ?"));
    // A frame that is sound as a frame does not take the next ones with it.
    let undecodable = [framed(&[0; 20]), framed(&[]), framed(&[0, 0, 0, 3]), framed(&ledger(0)), frames(&[8])].concat();
    let faults = ["3", "4", "5", "6"].map(|number| format!("{number} UNDECODABLE_OBJECT ?")).to_vec();
    assert_eq!(with(&undecodable), (vec![5, 6, 8], faults));
}

#[test]
fn a_frame_cut_off_outside_the_asked_range_is_nobodys_loss() {
    let bytes = frames(&[5, 6, 7]);
    assert_eq!(read_both(&bytes[..bytes.len() - 1], range(5, 6)), (vec![5, 6], vec![]));
}

#[test]
fn a_broken_compression_names_the_frame_that_it_cuts() {
    let folder = tempdir().unwrap();
    let packed = compressed(&frames(&[5, 6]));
    let read = |bytes: &[u8]| {
        put(folder.path(), "f", bytes);
        let read = read(&FramedSource::open(folder.path().join("f")).unwrap(), range(2, 100));
        let ledgers = ledgers(&read);
        (ledgers, faults(read).into_iter().map(|fault| (fault.object, fault.code)).collect::<Vec<_>>())
    };
    assert_eq!(read(&[&packed[..], b"junk"].concat()), (vec![5, 6], vec![("f#frame 3".to_owned(), "TRAILING_BYTES")]));
    let (_, faults) = read(&packed[..packed.len() - 2]);
    assert_eq!(faults.iter().map(|(_, code)| *code).collect::<Vec<_>>(), ["TRUNCATED_OBJECT"]);
    assert_eq!(read(&[packed.clone(), compressed(&frames(&[7]))].concat()), (vec![5, 6, 7], vec![]));
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempdir().unwrap();
    let code = |path: PathBuf| FramedSource::open(path).unwrap_err().code();
    assert_eq!(code(folder.path().to_owned()), "NOT_A_SOURCE");
    assert_eq!(code(folder.path().join("missing")), "SOURCE_NOT_FOUND");
    put(folder.path(), "readme", b"# Real ledgers");
    assert_eq!(code(folder.path().join("readme")), "NOT_A_SOURCE");
}
