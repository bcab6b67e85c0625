use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::{TempDir, tempdir};

use super::*;
use crate::source::fixtures::*;

fn all() -> LedgerRange {
    range(2, 2_147_483_647)
}

fn lake(folder: &Path) -> LakeSource {
    LakeSource::open(folder, LakeOptions::default()).unwrap()
}

fn mixed_lake(folder: &Path) -> LakeSource {
    LakeSource::open(folder, LakeOptions { mixed_layout: true }).unwrap()
}

fn refusal(folder: &Path) -> SourceError {
    LakeSource::open(folder, LakeOptions::default()).unwrap_err()
}

/// A flat lake of sound objects.
fn lake_of(objects: &[(u32, u32)]) -> TempDir {
    let folder = tempdir().unwrap();
    objects.iter().for_each(|(start, end)| put_object(folder.path(), *start, *end));
    folder
}

fn mixed(folder: &Path, range: LedgerRange) -> Option<(u64, u64)> {
    match lake(folder).open(range).err() {
        None => None,
        Some(SourceError::MixedLayout { first, second, .. }) => Some((first, second)),
        Some(other) => panic!("{other}"),
    }
}

fn fault(object: &str, code: &'static str, range: &str) -> Fault {
    Fault { object: object.to_owned(), code, range: Some(range.to_owned()) }
}

#[test]
fn the_real_lake_of_protocol_26_gives_its_ten_ledgers() {
    let Some(real) = real_ledgers() else { return };
    let lake = lake(&real.join("pubnet-p26-lake"));
    assert_eq!(lake.claimed_passphrase(), Some("Public Global Stellar Network ; September 2015"));
    let read_all = read(&lake, all());
    assert_eq!(read_all.len(), 10);
    assert_eq!(ledgers(&read_all), (63_092_982..=63_092_991).collect::<Vec<_>>());
    assert_eq!(read_all[0].as_ref().unwrap().0, "FC3E15FF--63040000-63103999/FC3D4709--63092982.xdr.zst");
    assert_eq!(ledgers(&read(&lake, range(63_092_985, 63_092_986))), [63_092_985, 63_092_986]);
    assert!(read(&lake, range(63_092_992, 63_200_000)).is_empty());
}

#[test]
fn a_real_object_with_the_older_ending_is_read_from_a_flat_lake_without_a_manifest() {
    let Some(real) = real_ledgers() else { return };
    let lake = lake(&real.join("sep54-object"));
    assert_eq!(lake.claimed_passphrase(), None);
    assert_eq!(ledgers(&read(&lake, range(2, 60_000_000))), [53_312_000]);
}

#[test]
fn h6_a_lake_with_holes_and_batches_of_another_size_says_exactly_what_it_has() {
    let folder = lake_of(&[(2, 63), (64, 127), (192, 255), (256, 383)]);
    assert_eq!(mixed(folder.path(), range(2, 383)), Some((64, 128)));
    assert_eq!(mixed(folder.path(), range(70, 71)), Some((64, 128)), "a flat lake is judged as a whole");

    let lake = mixed_lake(folder.path());
    let expected: Vec<u32> = (2..=127).chain(192..=383).collect();
    assert_eq!(ledgers(&read(&lake, range(2, 400))), expected);
    // Two holes do not lead a resume astray: what overlaps comes, wherever it begins.
    assert_eq!(ledgers(&read(&lake, range(100, 200))), (64..=127).chain(192..=255).collect::<Vec<_>>());
    assert!(read(&lake, range(128, 191)).is_empty());
}

#[test]
fn h6_a_batch_that_disagrees_with_its_name_is_refused_with_the_range_of_its_name() {
    let folder = lake_of(&[(64, 67), (72, 75)]);
    for (start, end) in [(69, 72), (68, 70), (67, 71), (0, 71), (72, 75), (71, 68), (u32::MAX - 3, u32::MAX)] {
        let mut inner = batch(68, 71);
        inner[..4].copy_from_slice(&start.to_be_bytes());
        inner[4..8].copy_from_slice(&u32::to_be_bytes(end));
        put(folder.path(), "FFFFFFBB--68-71.xdr.zst", &compressed(&inner));
        let read = read(&lake(folder.path()), range(64, 75));
        assert_eq!(ledgers(&read), [64, 65, 66, 67, 72, 73, 74, 75]);
        assert_eq!(faults(read), [fault("FFFFFFBB--68-71.xdr.zst", "MISNAMED_OBJECT", "68-71")]);
    }
}

#[test]
fn h6_overlapping_objects_all_come_in_ascending_order() {
    let folder = lake_of(&[(64, 67), (66, 69), (64, 65), (68, 71)]);
    put(folder.path(), "FFFFFFBF--64-67.xdr.zstd", &object(64, 67));
    let names: Vec<String> =
        read(&mixed_lake(folder.path()), range(65, 70)).into_iter().map(|object| object.unwrap().0).collect();
    assert_eq!(
        names,
        [
            "FFFFFFBF--64-65.xdr.zst",
            "FFFFFFBF--64-67.xdr.zst",
            "FFFFFFBF--64-67.xdr.zstd",
            "FFFFFFBD--66-69.xdr.zst",
            "FFFFFFBB--68-71.xdr.zst",
        ]
    );
}

#[test]
fn only_the_first_and_the_newest_object_may_be_smaller_and_none_larger() {
    let judged = |objects: &[(u32, u32)]| mixed(lake_of(objects).path(), all());
    assert_eq!(judged(&[(2, 63), (64, 127), (128, 191)]), None);
    assert_eq!(judged(&[(0, 63), (64, 127), (128, 150)]), None);
    assert_eq!(judged(&[(100, 127), (128, 191), (192, 200)]), None);
    assert_eq!(judged(&[(5, 5)]), None);
    assert_eq!(judged(&[(0, 63), (64, 127), (128, 191), (192, 200), (201, 210)]), Some((64, 9)));
    assert_eq!(judged(&[(0, 63), (64, 100), (128, 191)]), Some((64, 37)));
    assert_eq!(judged(&[(0, 3), (4, 7), (8, 15)]), Some((4, 8)));
    assert_eq!(judged(&[(2, 2), (3, 3), (4, 4), (5, 8)]), Some((1, 4)));
}

#[test]
fn an_odd_object_is_not_taken_for_the_first_or_the_newest_where_other_partitions_follow() {
    let folder = tempdir().unwrap();
    let partition = |start: u32, end: u32| folder.path().join(stem(start, end));
    put_object(&partition(0, 63), 0, 7);
    put_object(&partition(64, 127), 64, 67);
    put_object(&partition(64, 127), 72, 79);
    put_object(&partition(128, 191), 128, 135);
    assert_eq!(mixed(folder.path(), range(64, 127)), Some((4, 8)));
    assert_eq!(mixed(folder.path(), range(2, 63)), None);
    assert_eq!(mixed(folder.path(), range(128, 191)), None, "partitions that are not asked for are not looked into");
    assert_eq!(mixed(folder.path(), all()), Some((8, 4)));
    fs::remove_dir_all(partition(0, 63)).unwrap();
    assert_eq!(mixed(folder.path(), range(64, 127)), None, "now it is the first of the lake");
    put_object(&partition(64, 127), 120, 123);
    assert_eq!(mixed(folder.path(), range(64, 127)), Some((8, 4)));
    fs::remove_dir_all(partition(128, 191)).unwrap();
    assert_eq!(mixed(folder.path(), range(64, 127)), None, "now that one is the newest");
}

#[test]
fn both_layouts_and_both_endings_give_the_same_ledgers() {
    let flat = tempdir().unwrap();
    let parted = tempdir().unwrap();
    for start in (0..128_u32).step_by(8) {
        let ending = if start % 16 == 0 { "xdr.zst" } else { "xdr.zstd" };
        let name = format!("{}.{ending}", stem(start, start + 7));
        let bytes = object(start.max(2), start + 7);
        put(flat.path(), &name, &bytes);
        put(parted.path(), format!("{}/{name}", stem(start / 32 * 32, start / 32 * 32 + 31)), &bytes);
    }
    for asked in [all(), range(2, 2), range(1, 1), range(33, 63), range(60, 70), range(127, 500), range(128, 500)] {
        let from_flat = read(&lake(flat.path()), asked);
        let from_parted = read(&lake(parted.path()), asked);
        assert_eq!(ledgers(&from_flat), ledgers(&from_parted), "{asked}");
        assert!(from_flat.iter().chain(&from_parted).all(Result::is_ok), "{asked}");
    }
    assert_eq!(ledgers(&read(&lake(flat.path()), all())), (2..=127).collect::<Vec<_>>());
}

#[test]
fn partitions_that_overlap_are_merged_into_one_ascending_stream() {
    let folder = tempdir().unwrap();
    for (start, end, partition) in [(4, 7, (0, 63)), (32, 35, (0, 63)), (16, 19, (16, 31)), (8, 11, (0, 15))] {
        put_object(&folder.path().join(stem(partition.0, partition.1)), start, end);
    }
    put_object(folder.path(), 12, 15);
    let starts: Vec<u32> = ledgers(&read(&lake(folder.path()), all())).into_iter().step_by(4).collect();
    assert_eq!(starts, [4, 8, 12, 16, 32]);
}

#[test]
fn a_partition_is_looked_into_only_when_the_asked_range_touches_it() {
    let folder = tempdir().unwrap();
    put_object(&folder.path().join(stem(0, 63)), 0, 63);
    // A file in a partition's place cannot be listed, so any look into it shows.
    put(folder.path(), stem(64, 127), b"");
    let lake = lake(folder.path());
    assert_eq!(ledgers(&read(&lake, range(2, 63))).len(), 62);
    let read = read(&lake, range(60, 64));
    assert_eq!(ledgers(&read).len(), 62);
    assert_eq!(faults(read), [fault("FFFFFFBF--64-127", "UNREADABLE_OBJECT", "64-127")]);
}

#[test]
fn a_wrong_name_is_a_fault_where_it_claims_asked_ledgers_and_nothing_elsewhere() {
    let folder = lake_of(&[(64, 67), (68, 71)]);
    put(folder.path(), "FFFFFFB0--72-75.xdr.zst", &object(72, 75));
    put(folder.path(), "FFFFFFB0--79-76.xdr.zst", &object(76, 79));
    put(folder.path(), "FFFFFF00--128-191/FFFFFF7F--128-131.xdr.zst", &object(128, 131));
    let source = mixed_lake(folder.path());
    assert_eq!(ledgers(&read(&source, range(64, 71))).len(), 8);
    assert!(faults(read(&source, range(64, 71))).is_empty());
    assert_eq!(
        faults(read(&source, range(64, 200))),
        [
            fault("FFFFFFB0--72-75.xdr.zst", "MISNAMED_OBJECT", "72-75"),
            fault("FFFFFFB0--79-76.xdr.zst", "MISNAMED_OBJECT", "76-79"),
            fault("FFFFFF00--128-191", "MISNAMED_OBJECT", "128-191"),
        ]
    );
}

#[test]
fn an_object_in_a_partition_that_does_not_hold_its_ledgers_is_a_fault() {
    let folder = tempdir().unwrap();
    let partition = folder.path().join(stem(64, 127));
    put_object(&partition, 64, 67);
    put_object(&partition, 60, 63);
    put_object(&partition, 124, 131);
    let read_all = read(&mixed_lake(folder.path()), range(2, 200));
    assert_eq!(ledgers(&read_all), [64, 65, 66, 67]);
    assert_eq!(
        faults(read_all),
        [
            fault("FFFFFFBF--64-127/FFFFFFC3--60-63.xdr.zst", "MISNAMED_OBJECT", "60-63"),
            fault("FFFFFFBF--64-127/FFFFFF83--124-131.xdr.zst", "MISNAMED_OBJECT", "124-131"),
        ]
    );
}

#[test]
fn a_bad_object_is_named_with_its_range_and_its_neighbours_are_kept() {
    let whole = object(68, 71);
    let miscounted = {
        let mut inner = batch(68, 71);
        inner[11] = 3;
        compressed(&inner)
    };
    for (bytes, code) in [
        (whole[..whole.len() - 1].to_vec(), "TRUNCATED_OBJECT"),
        (Vec::new(), "EMPTY_OBJECT"),
        ([&whole[..], b"x"].concat(), "TRAILING_BYTES"),
        (compressed(&[&batch(68, 71)[..], &[0; 4]].concat()), "TRAILING_BYTES"),
        (b"<html>not found</html>".to_vec(), "NOT_ZSTD"),
        (compressed(&batch(68, 71)[..500]), "UNDECODABLE_OBJECT"),
        (compressed(&[0; 11]), "UNDECODABLE_OBJECT"),
        (miscounted, "MISCOUNTED_BATCH"),
    ] {
        let folder = lake_of(&[(64, 67), (72, 75)]);
        put(folder.path(), "FFFFFFBB--68-71.xdr.zst", &bytes);
        let read = read(&lake(folder.path()), range(64, 75));
        assert_eq!(ledgers(&read), [64, 65, 66, 67, 72, 73, 74, 75]);
        assert_eq!(faults(read), [fault("FFFFFFBB--68-71.xdr.zst", code, "68-71")]);
    }
}

#[test]
fn a_folder_in_an_objects_place_is_a_fault_and_files_that_are_no_objects_are_passed_over() {
    let folder = lake_of(&[(64, 67)]);
    fs::create_dir(folder.path().join("FFFFFFBB--68-71.xdr.zst")).unwrap();
    for other in ["README.md", "FFFFFFB7--72-75.xdr.zst.part", "FFFFFFB7--72-75.xdr", "deeper/FFFFFFB7--72-75.xdr.zst"]
    {
        put(folder.path(), other, b"anything");
    }
    let read = read(&lake(folder.path()), all());
    assert_eq!(ledgers(&read), [64, 65, 66, 67]);
    assert_eq!(faults(read), [fault("FFFFFFBB--68-71.xdr.zst", "UNREADABLE_OBJECT", "68-71")]);
}

#[test]
fn what_is_no_lake_is_refused_with_what_was_expected() {
    let folder = tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert!(matches!(refusal(&missing), SourceError::NotFound { place } if place == missing.display().to_string()));
    for (prepare, reason) in [("", "it is empty"), ("notes.txt", "nothing in it has such a name")] {
        if !prepare.is_empty() {
            put(folder.path(), prepare, b"");
        }
        let refusal = refusal(folder.path());
        assert_eq!(refusal.code(), "NOT_A_SOURCE");
        assert!(refusal.to_string().ends_with(reason), "{refusal}");
        assert!(refusal.to_string().contains("is not a SEP-54 lake (a folder of objects like "), "{refusal}");
    }
    assert!(refusal(&folder.path().join("notes.txt")).to_string().ends_with("it is a file"));
}

#[test]
fn a_manifest_is_a_claim_and_one_that_cannot_be_used_is_named() {
    let folder = lake_of(&[(64, 67)]);
    let manifest = |text: &str| put(folder.path(), ".config.json", text.as_bytes());
    manifest(r#"{"networkPassphrase": "any words", "version": "9", "compression": "zstd", "more": []}"#);
    assert_eq!(lake(folder.path()).claimed_passphrase(), Some("any words"));
    manifest("{}");
    assert_eq!(lake(folder.path()).claimed_passphrase(), None);
    for (text, code) in [
        ("", "BAD_MANIFEST"),
        ("networkPassphrase = 1", "BAD_MANIFEST"),
        (r#"{"networkPassphrase": 1}"#, "BAD_MANIFEST"),
        (r#"{"ledgersPerBatch": -64}"#, "BAD_MANIFEST"),
        (r#"{"compression": "gzip"}"#, "UNSUPPORTED_COMPRESSION"),
        (&format!("{{}}{}", " ".repeat(70_000)), "BAD_MANIFEST"),
    ] {
        manifest(text);
        let refusal = refusal(folder.path());
        assert_eq!(refusal.code(), code, "{text}");
        assert!(refusal.to_string().contains(".config.json"), "{refusal}");
    }
    fs::remove_file(folder.path().join(".config.json")).unwrap();
    fs::create_dir(folder.path().join(".config.json")).unwrap();
    assert_eq!(refusal(folder.path()).code(), "SOURCE_UNREADABLE");
}

/// Where a test's log goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_manifest_that_contradicts_the_names_is_not_followed_and_is_told_once() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    let told = || String::from_utf8(log.0.lock().unwrap().clone()).unwrap().matches("contradicts").count();
    tracing::subscriber::with_default(subscriber, || {
        let folder = tempdir().unwrap();
        (64..128_u32).step_by(8).for_each(|start| put_object(&folder.path().join(stem(64, 127)), start, start + 7));
        for (per_batch, per_partition, expected) in [(8, 8, 0), (1, 64_000, 1), (8, 1, 2), (64, 1, 3)] {
            let text = format!(r#"{{"ledgersPerBatch": {per_batch}, "batchesPerPartition": {per_partition}}}"#);
            put(folder.path(), ".config.json", text.as_bytes());
            let lake = lake(folder.path());
            assert_eq!(ledgers(&read(&lake, all())), (64..=127).collect::<Vec<_>>());
            assert_eq!(ledgers(&read(&lake, all())).len(), 64);
            assert_eq!(told(), expected);
        }
    });
}
