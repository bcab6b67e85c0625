//! What a lying or broken lake gives is named, refused and listed; its neighbours are kept.

use std::fs;
use std::path::{Path, PathBuf};

use annals_core::{LedgerSeq, Network};
use annals_sim::{
    BuiltLedger, ChainBuilder, EventPlan, Fault, Format, LakeLayout, LakeWriter, LedgerPlan, TxPlan, edit_header,
    edit_meta, lake::write_object, value,
};
use serde_json::{Value, json};
use stellar_xdr::LedgerCloseMeta;
use tempfile::TempDir;

use crate::binary::{Ran, backfill, export, report};

const PASSPHRASE: &str = "Annals Tamper Network";
const FIRST: u32 = 100;
const LAST: u32 = 111;
const VICTIM: u32 = 105;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn plan(number: u32) -> LedgerPlan {
    let transfer = |index: u32| {
        let amount = i128::from(number * 10 + index);
        EventPlan::transfer(value::contract(index), value::account(1), value::account(2), amount)
    };
    LedgerPlan::new(vec![
        TxPlan::invocation(value::contract(1), vec![transfer(1), transfer(2), transfer(3)]),
        TxPlan::payments(vec![vec![transfer(4)]]),
    ])
}

/// The chain from ledger 100 to 111; `fault` is planted in ledger 105.
fn chain(passphrase: &str, seed: u64, fault: Option<Fault>) -> Vec<BuiltLedger> {
    let mut builder = ChainBuilder::new(&Network::new(passphrase), seq(FIRST), seed, Format::V2Meta4);
    (FIRST..=LAST)
        .map(|number| match fault.filter(|_| number == VICTIM) {
            Some(fault) => builder.push_faulty(&plan(number), fault),
            None => builder.push(&plan(number)),
        })
        .collect()
}

struct Lake {
    folder: TempDir,
}

impl Lake {
    fn of(ledgers: &[BuiltLedger]) -> Self {
        let lake = Self { folder: tempfile::tempdir().unwrap() };
        let mut writer = LakeWriter::new(lake.path(), LakeLayout::default());
        ledgers.iter().for_each(|ledger| writer.push(ledger).unwrap());
        writer.finish().unwrap();
        lake
    }

    fn sound() -> Self {
        Self::of(&chain(PASSPHRASE, 7, None))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn object(&self, number: u32) -> PathBuf {
        self.path().join(LakeLayout::default().object_path(seq(number)))
    }

    /// Changes the bytes of ledger 105 inside its object.
    fn edited(edit: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        let lake = Self::sound();
        let ledgers = chain(PASSPHRASE, 7, None);
        let victim = &ledgers[(VICTIM - FIRST) as usize];
        write_object(&lake.object(VICTIM), victim.seq, victim.seq, &[edit(&victim.xdr)]).unwrap();
        lake
    }

    /// Changes the file of ledger 105's object.
    fn damaged(damage: impl FnOnce(&Path, Vec<u8>)) -> Self {
        let lake = Self::sound();
        let object = lake.object(VICTIM);
        damage(&object, fs::read(&object).unwrap());
        lake
    }
}

/// Backfills the lake and requires that just `gap` is missing, for `code`, and that the object is named.
#[track_caller]
fn refused(lake: &Lake, code: &str, gap: (u32, u32)) {
    let data = tempfile::tempdir().unwrap();
    let ran = Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "100:111")).ends_with(3);
    let summary = ran.json();
    let missing = u64::from(gap.1 - gap.0) + 1;
    assert_eq!(summary["gaps"], json!([{"from": gap.0, "to": gap.1}]), "{ran:#?}");
    assert_eq!(summary["fetched"], json!(12 - missing));
    assert_eq!(summary["verified_through"], json!(gap.0 - 1));
    let listed = gaps(data.path());
    let all: Vec<(u64, u64)> =
        listed.iter().map(|gap| (gap["from"].as_u64().unwrap(), gap["to"].as_u64().unwrap())).collect();
    assert_eq!(all.first().map(|gap| gap.0), Some(u64::from(gap.0)), "{listed:?}");
    assert_eq!(all.last().map(|gap| gap.1), Some(u64::from(gap.1)), "{listed:?}");
    for entry in &listed {
        assert_eq!(entry["last_code"], code, "{listed:?}");
        let number = entry["from"].as_u64().unwrap();
        let object = lake.object(u32::try_from(number).unwrap());
        let object = object.file_name().unwrap().to_str().unwrap();
        assert!(entry["last_error"].as_str().unwrap().contains(object), "{object} is not named: {listed:?}");
        assert!(ran.stderr.contains(object), "{object} is not named: {ran:#?}");
    }
    assert_kept(data.path(), gap);
    report(&["verify"], data.path()).ends_with(0);
    // A sound copy fills just what was missing.
    let sound = Lake::sound();
    let again = Ran::of(&mut backfill(&sound.path(), data.path(), PASSPHRASE, "100:111")).ends_with(0).json();
    assert_eq!(again["fetched"], json!(missing));
    assert_eq!(export(data.path()).ends_with(0).stdout, sound_export());
}

fn gaps(data_dir: &Path) -> Vec<Value> {
    let ran = report(&["gaps"], data_dir);
    ran.json()["gaps"].as_array().unwrap_or_else(|| panic!("{ran:?}")).clone()
}

fn sound_export() -> String {
    let data = tempfile::tempdir().unwrap();
    Ran::of(&mut backfill(&Lake::sound().path(), data.path(), PASSPHRASE, "100:111")).ends_with(0);
    export(data.path()).ends_with(0).stdout
}

/// Every event of the ledgers beside the gap is kept, byte for byte, and none of the gap's.
fn assert_kept(data_dir: &Path, gap: (u32, u32)) {
    let ledger = |line: &str| serde_json::from_str::<Value>(line).unwrap()["ledger_seq"].as_u64().unwrap();
    let sound = sound_export();
    let outside = |line: &&str| !(u64::from(gap.0)..=u64::from(gap.1)).contains(&ledger(line));
    let expected: Vec<&str> = sound.lines().filter(outside).collect();
    let exported = export(data_dir).stdout;
    assert_eq!(exported.lines().collect::<Vec<_>>(), expected);
}

fn meta_v2(meta: &mut LedgerCloseMeta) -> &mut stellar_xdr::LedgerCloseMetaV2 {
    match meta {
        LedgerCloseMeta::V2(meta) => meta,
        _ => panic!("the chain is of V2 ledgers"),
    }
}

#[test]
fn a_changed_byte_of_the_header_is_refused() {
    let lake = Lake::edited(|xdr| edit_meta(xdr, |meta| meta_v2(meta).ledger_header.header.base_fee += 1));
    refused(&lake, "HEADER_HASH_MISMATCH", (VICTIM, VICTIM));
}

#[test]
fn a_changed_byte_of_a_result_is_refused() {
    let lake = Lake::edited(|xdr| {
        edit_meta(xdr, |meta| {
            let mut transactions = meta_v2(meta).tx_processing.to_vec();
            transactions[1].result.result.fee_charged += 1;
            meta_v2(meta).tx_processing = transactions.try_into().unwrap();
        })
    });
    refused(&lake, "RESULTS_HASH_MISMATCH", (VICTIM, VICTIM));
}

#[test]
fn a_changed_byte_of_a_committed_event_is_refused() {
    refused(&Lake::of(&chain(PASSPHRASE, 7, Some(Fault::AlteredEvent))), "SUCCESS_HASH_MISMATCH", (VICTIM, VICTIM));
}

#[test]
fn a_dropped_committed_event_is_refused() {
    refused(&Lake::of(&chain(PASSPHRASE, 7, Some(Fault::DroppedEvent))), "SUCCESS_HASH_MISMATCH", (VICTIM, VICTIM));
}

#[test]
fn a_committed_event_out_of_order_or_one_too_many_is_refused() {
    for fault in [Fault::SwappedEvents, Fault::AddedEvent] {
        refused(&Lake::of(&chain(PASSPHRASE, 7, Some(fault))), "SUCCESS_HASH_MISMATCH", (VICTIM, VICTIM));
    }
}

#[test]
fn a_rehashed_ledger_is_refused_because_its_successor_links_on_without_it() {
    let lake = Lake::edited(|xdr| edit_header(xdr, |header| header.base_fee += 1));
    refused(&lake, "DOES_NOT_LINK", (VICTIM, VICTIM));
}

#[test]
fn another_chains_ledger_in_the_middle_is_refused() {
    let lake = Lake::sound();
    let foreign = &chain(PASSPHRASE, 8, None)[(VICTIM - FIRST) as usize];
    write_object(&lake.object(VICTIM), foreign.seq, foreign.seq, std::slice::from_ref(&foreign.xdr)).unwrap();
    refused(&lake, "DOES_NOT_LINK", (VICTIM, VICTIM));
}

#[test]
fn an_object_of_another_network_is_refused() {
    let lake = Lake::sound();
    let foreign = &chain("Annals Other Network", 7, None)[(VICTIM - FIRST) as usize];
    write_object(&lake.object(VICTIM), foreign.seq, foreign.seq, std::slice::from_ref(&foreign.xdr)).unwrap();
    refused(&lake, "WRONG_NETWORK", (VICTIM, VICTIM));
}

#[test]
fn a_truncated_object_is_refused() {
    let lake = Lake::damaged(|path, bytes| fs::write(path, &bytes[..bytes.len() / 2]).unwrap());
    refused(&lake, "TRUNCATED_OBJECT", (VICTIM, VICTIM));
}

#[test]
fn an_empty_object_is_refused() {
    refused(&Lake::damaged(|path, _| fs::write(path, []).unwrap()), "EMPTY_OBJECT", (VICTIM, VICTIM));
}

#[test]
fn an_object_with_trailing_bytes_is_refused() {
    let lake = Lake::damaged(|path, bytes| fs::write(path, [bytes.as_slice(), b"more"].concat()).unwrap());
    refused(&lake, "TRAILING_BYTES", (VICTIM, VICTIM));
    let inside = Lake::edited(|xdr| [xdr, &[0; 4]].concat());
    refused(&inside, "UNDECODABLE_LEDGER", (VICTIM, VICTIM));
}

#[test]
fn a_misnamed_object_is_refused() {
    let lake = Lake::sound();
    fs::copy(lake.object(FIRST), lake.object(VICTIM)).unwrap();
    refused(&lake, "MISNAMED_OBJECT", (VICTIM, VICTIM));
}

#[test]
fn an_object_that_lies_about_its_only_ledger_is_refused() {
    let lake = Lake::sound();
    let other = &chain(PASSPHRASE, 7, None)[0];
    write_object(&lake.object(VICTIM), seq(VICTIM), seq(VICTIM), std::slice::from_ref(&other.xdr)).unwrap();
    refused(&lake, "MISNAMED_OBJECT", (VICTIM, VICTIM));
}

#[test]
fn two_swapped_ledgers_are_both_refused() {
    let lake = Lake::sound();
    let (first, second) = (lake.object(VICTIM), lake.object(VICTIM + 1));
    let bytes = fs::read(&first).unwrap();
    fs::copy(&second, &first).unwrap();
    fs::write(&second, bytes).unwrap();
    refused(&lake, "MISNAMED_OBJECT", (VICTIM, VICTIM + 1));
}

#[test]
fn what_no_hash_covers_is_archived_and_never_called_proven() {
    let lake = Lake::of(&chain(PASSPHRASE, 7, Some(Fault::WrongFeeSum)));
    let data = tempfile::tempdir().unwrap();
    Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "100:111")).ends_with(0);
    let sound = sound_export();
    let exported = export(data.path()).ends_with(0).stdout;
    let changed: Vec<Value> = exported
        .lines()
        .zip(sound.lines())
        .filter(|(found, sound)| found != sound)
        .map(|(found, _)| serde_json::from_str(found).unwrap())
        .collect();
    assert!(!changed.is_empty());
    for row in changed {
        assert_eq!((row["event_type"].as_str(), row["proof"].as_str()), (Some("fee"), Some("uncommitted")));
    }
}

#[test]
fn a_chain_that_does_not_link_to_the_stored_one_is_refused_whole() {
    let data = tempfile::tempdir().unwrap();
    Ran::of(&mut backfill(&Lake::sound().path(), data.path(), PASSPHRASE, "100:103")).ends_with(0);
    let before = export(data.path()).stdout;
    let fork = Lake::of(&chain(PASSPHRASE, 8, None));
    let ran = Ran::of(&mut backfill(&fork.path(), data.path(), PASSPHRASE, "100:111")).ends_with(3);
    assert_eq!(ran.json()["gaps"], json!([{"from": 104, "to": 111}]));
    assert!(gaps(data.path()).iter().all(|gap| gap["last_code"] == "CONTRADICTS_STORED"));
    assert_eq!(export(data.path()).stdout, before);
}

#[test]
fn stored_ledgers_that_are_not_of_one_chain_are_an_incident_as_soon_as_a_source_proves_it() {
    let (sound, fork) = (Lake::sound(), Lake::of(&chain(PASSPHRASE, 8, None)));
    let data = tempfile::tempdir().unwrap();
    let run = |lake: &Lake, range| Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, range));
    run(&sound, "100:103").ends_with(0);
    run(&fork, "108:111").ends_with(0);
    let nothing_proven = run(&sound, "100:111").ends_with(3);
    assert_eq!(nothing_proven.json()["gaps"], json!([{"from": 104, "to": 107}]), "anybody can go on from a ledger");
    let incidents = || report(&["incidents", "list"], data.path()).ends_with(0).json()["incidents"].clone();
    assert_eq!(incidents(), json!([]));
    let stored = export(data.path()).stdout;
    let proven = run(&fork, "100:111").ends_with(3);
    assert!(proven.stderr.contains("[INCIDENT]"), "{proven:?}");
    let found = incidents()[0].clone();
    assert_eq!((&found["kind"], &found["ledger"]), (&json!("ledger_hash"), &json!(103)), "{found}");
    assert!(!found["stored_xdr"].as_str().unwrap().is_empty() && found["stored_xdr"] != found["offered_xdr"]);
    let open = run(&sound, "100:111").ends_with(3);
    assert!(open.stderr.contains("[INCIDENT_OPEN]"), "{open:?}");
    report(&["incidents", "resolve", "1", "--note", "the first lake was ours"], data.path()).ends_with(0);
    let known = run(&fork, "100:111").ends_with(3);
    assert_eq!(known.json()["gaps"], json!([{"from": 104, "to": 107}]), "{known:?}");
    assert!(gaps(data.path()).iter().all(|gap| gap["last_code"] == "CONTRADICTS_STORED"));
    assert_eq!(incidents().as_array().unwrap().len(), 1, "what was resolved stops nothing again");
    assert_eq!(export(data.path()).stdout, stored);
}

#[test]
fn inv_11_lowering_the_start_is_printed_and_moves_no_mark_back() {
    let data = tempfile::tempdir().unwrap();
    let lake = Lake::sound();
    let first = Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "104:108")).ends_with(0);
    assert_eq!(first.json()["verified_through"], 108);
    assert!(!first.stderr.contains("start was lowered"), "{first:?}");
    let lower = Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "101:105")).ends_with(0);
    assert!(lower.stderr.contains("start was lowered from ledger 104 to 101"), "{lower:?}");
    assert_eq!(lower.json()["verified_through"], 108);
}

#[test]
fn a_pin_that_the_chain_contradicts_refuses_before_anything_is_written() {
    let lake = Lake::sound();
    let ledgers = chain(PASSPHRASE, 7, None);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("archive");
    let wrong = format!("106:{}", ledgers[0].hash);
    let ran = Ran::of(backfill(&lake.path(), &data, PASSPHRASE, "100:111").args(["--pin", &wrong])).ends_with(3);
    assert!(ran.stderr.contains("PIN_CONTRADICTED"), "{ran:?}");
    assert!(!data.exists(), "nothing is written");
    let right = format!("106:{}", ledgers[6].hash);
    Ran::of(backfill(&lake.path(), &data, PASSPHRASE, "100:111").args(["--pin", &right])).ends_with(0);
}

#[test]
fn b5_of_five_bad_objects_four_close_and_the_fifth_stays_listed_with_its_attempts() {
    let (lake, sound) = (Lake::sound(), Lake::sound());
    let bad = [101, 103, 105, 107, 111];
    bad.iter().for_each(|number| fs::write(lake.object(*number), b"garbage").unwrap());
    let data = tempfile::tempdir().unwrap();
    let run = |code| Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "100:111")).ends_with(code).json();
    let listed = || -> Vec<(u64, u64)> {
        let number = |gap: &Value, key: &str| gap[key].as_u64().unwrap();
        gaps(data.path()).iter().map(|gap| (number(gap, "from"), number(gap, "attempts"))).collect()
    };
    assert_eq!(run(3)["fetched"], json!(7));
    assert_eq!(listed(), [(101, 1), (103, 1), (105, 1), (107, 1), (111, 1)]);
    assert_eq!(run(3)["fetched"], json!(0));
    assert_eq!(listed(), [(101, 2), (103, 2), (105, 2), (107, 2), (111, 2)]);
    for number in &bad[..4] {
        fs::copy(sound.object(*number), lake.object(*number)).unwrap();
    }
    let third = run(3);
    assert_eq!((third["fetched"].clone(), third["ingested_through"].clone()), (json!(4), json!(110)));
    assert_eq!(listed(), [(111, 3)]);
    let left = &gaps(data.path())[0];
    assert_eq!(left["last_code"], "NOT_ZSTD");
    assert!(left["last_error"].as_str().unwrap().contains("111"), "{left}");
}

#[test]
fn an_object_that_cannot_be_read_is_listed_and_is_no_contradiction() {
    for number in [FIRST, VICTIM, LAST] {
        let (lake, data) = (Lake::sound(), tempfile::tempdir().unwrap());
        fs::remove_file(lake.object(number)).unwrap();
        fs::create_dir(lake.object(number)).unwrap();
        let ran = Ran::of(&mut backfill(&lake.path(), data.path(), PASSPHRASE, "100:111")).ends_with(1);
        assert_eq!(ran.json()["fetched"], json!(11));
        let listed = gaps(data.path());
        assert_eq!(listed[0]["last_code"], "UNREADABLE_OBJECT", "{listed:?}");
        assert!(listed[0]["last_error"].as_str().unwrap().contains("directory"), "the cause is told: {listed:?}");
    }
}
