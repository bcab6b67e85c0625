use std::fs;

use annals_sim::{
    ChainBuilder, Ending, Format, FramedWriter, LakeLayout, LakeWriter, Mix, random_chain, write_history_archive,
};
use flate2::read::GzDecoder;
use stellar_xdr::{Frame, LedgerCloseMetaBatch, LedgerHeaderHistoryEntry, Limits, ReadXdr as _, WriteXdr as _};

use super::{chain, network, seq};

fn layout(ledgers_per_object: u32, objects_per_partition: u32) -> LakeLayout {
    LakeLayout { ledgers_per_object, objects_per_partition, ending: Ending::Zst }
}

#[test]
fn object_names_are_those_of_sep_54() {
    let name = |layout: LakeLayout, ledger| layout.object_path(seq(ledger)).to_str().unwrap().to_owned();
    let one = layout(1, 64_000);
    assert_eq!(name(one, 58_816_920), "FC7E89FF--58816000-58879999/FC7E8667--58816920.xdr.zst");
    assert_eq!(name(layout(64, 1), 2), "FFFFFFFF--0-63.xdr.zst");
    assert_eq!(name(layout(64, 10), 700), "FFFFFD7F--640-1279/FFFFFD7F--640-703.xdr.zst");
    let old = LakeLayout { ending: Ending::Zstd, ..layout(1, 1) };
    assert_eq!(name(old, 53_312_000), "FCD285FF--53312000.xdr.zstd");
}

#[test]
fn a_lake_holds_the_ledgers_that_were_written_and_begins_with_ledger_2_in_an_object_named_from_0() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(8, 2);
    let ledgers: Vec<_> = random_chain(&network(), seq(2), 1, 30, Mix::new(Format::V2Meta4)).collect();
    let mut lake = LakeWriter::new(folder.path(), layout);
    for ledger in &ledgers {
        lake.push(ledger).unwrap();
    }
    lake.finish().unwrap();
    let mut read = Vec::new();
    for (cell, first) in [(0, 2), (8, 8), (16, 16), (24, 24)] {
        let path = folder.path().join(layout.object_path(seq(first)));
        let xdr = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
        let batch = LedgerCloseMetaBatch::from_xdr(xdr, Limits { depth: 500, len: 1 << 24 }).unwrap();
        assert_eq!((batch.start_sequence, batch.end_sequence), (first, cell + 7));
        let metas = batch.ledger_close_metas.iter();
        read.extend(metas.map(|meta| meta.to_xdr(Limits { depth: 500, len: 1 << 24 }).unwrap()));
    }
    assert!(read.iter().eq(ledgers.iter().map(|ledger| &ledger.xdr)));
    assert!(folder.path().join("FFFFFFFF--0-15/FFFFFFFF--0-7.xdr.zst").exists());
    assert!(!folder.path().join(".config.json").exists());
}

#[test]
fn a_manifest_says_how_the_lake_is_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    layout(8, 2).write_manifest(folder.path(), &network()).unwrap();
    let text = fs::read_to_string(folder.path().join(".config.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["networkPassphrase"], network().passphrase());
    assert_eq!(manifest["ledgersPerBatch"], 8);
    assert_eq!(manifest["batchesPerPartition"], 2);
    assert_eq!(manifest["compression"], "zstd");
}

#[test]
fn framed_ledgers_carry_their_length_with_the_high_bit_set() {
    let ledgers = chain(Format::V1Meta3, 22, 1, 3);
    let mut framed = FramedWriter::new(Vec::new());
    for ledger in &ledgers {
        framed.push(ledger).unwrap();
    }
    let file = framed.finish().unwrap();
    let mut rest = file.as_slice();
    for ledger in &ledgers {
        let (length, after) = rest.split_first_chunk().unwrap();
        let length = u32::from_be_bytes(*length);
        assert_eq!(length, 0x8000_0000 | u32::try_from(ledger.xdr.len()).unwrap());
        assert_eq!(after[..ledger.xdr.len()], ledger.xdr);
        rest = &after[ledger.xdr.len()..];
    }
    assert!(rest.is_empty());
}

#[test]
fn a_history_archive_holds_the_headers_of_whole_checkpoints_and_names_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let ledgers: Vec<_> = random_chain(&network(), seq(2), 1, 130, Mix::new(Format::V2Meta4)).collect();
    write_history_archive(folder.path(), &network(), &ledgers).unwrap();
    let mut read = Vec::new();
    for name in ["ledger/00/00/00/ledger-0000003f.xdr.gz", "ledger/00/00/00/ledger-0000007f.xdr.gz"] {
        let file = GzDecoder::new(fs::File::open(folder.path().join(name)).unwrap());
        let mut frames = stellar_xdr::Limited::new(file, Limits::none());
        read.extend(Frame::<LedgerHeaderHistoryEntry>::read_xdr_iter(&mut frames).map(|frame| frame.unwrap().0));
    }
    let numbers: Vec<u32> = read.iter().map(|entry| entry.header.ledger_seq).collect();
    assert_eq!(numbers, (2..=127).collect::<Vec<_>>());
    assert!(read.iter().zip(&ledgers).all(|(entry, ledger)| entry.hash.0 == ledger.hash.0));
    let state = fs::read_to_string(folder.path().join(".well-known/stellar-history.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!((&state["currentLedger"], &state["networkPassphrase"]), (&127.into(), &network().passphrase().into()));
}

#[test]
fn a_chain_ends_with_the_last_ledger_that_there_can_be() {
    let mut chain = ChainBuilder::new(&network(), annals_core::LedgerSeq::MAX, 1, Format::V2Meta4);
    let ledger = chain.push(&annals_sim::LedgerPlan::new(Vec::new()));
    assert_eq!(ledger.seq, annals_core::LedgerSeq::MAX);
    let path = LakeLayout::default().object_path(ledger.seq);
    assert_eq!(path.file_name().unwrap(), "80000000--2147483647.xdr.zst");
}
