//! `annals prove` and `annals check`.

use std::fs;
use std::path::{Path, PathBuf};

use annals_core::{LedgerSeq, Network, ProofClass};
use annals_sim::{BuiltLedger, ChainBuilder, EventPlan, Format, LakeLayout, LakeWriter, LedgerPlan, TxPlan, value};
use tempfile::TempDir;

use crate::binary::{Ran, annals, backfill};
use crate::shared;

const PASSPHRASE: &str = "Annals Proving Network";
/// Beyond 63, a checkpoint, and up to beyond 127 and 191.
const FIRST: u32 = 100;
const LAST: u32 = 199;

/// An archive whose lake is gone.
struct Proving {
    folder: TempDir,
    chain: Vec<BuiltLedger>,
}

impl Proving {
    fn new(pins: &[u32]) -> Self {
        let network = Network::new(PASSPHRASE);
        let mut builder = ChainBuilder::new(&network, LedgerSeq::new(FIRST).unwrap(), 7, Format::V2Meta4);
        let plan = |amount: u32| {
            let event = EventPlan::transfer(value::contract(1), value::account(1), value::account(2), amount.into());
            let silent = TxPlan::invocation(value::contract(2), vec![]);
            LedgerPlan::new(vec![TxPlan::invocation(value::contract(1), vec![event]), silent])
        };
        let chain: Vec<_> = (FIRST..=LAST).map(|number| builder.push(&plan(number))).collect();
        let archive = Self { folder: tempfile::tempdir().unwrap(), chain };
        let lake = archive.path("lake");
        let mut writer = LakeWriter::new(lake.clone(), LakeLayout::default());
        archive.chain.iter().for_each(|ledger| writer.push(ledger).unwrap());
        writer.finish().unwrap();
        let mut command = backfill(&lake, &archive.path("archive"), PASSPHRASE, &format!("{FIRST}:{LAST}"));
        for pin in pins {
            command.arg("--pin").arg(archive.anchor(*pin));
        }
        Ran::of(&mut command).ends_with(0);
        fs::remove_dir_all(lake).unwrap();
        archive
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ledger(&self, number: u32) -> &BuiltLedger {
        self.chain.iter().find(|ledger| ledger.seq.get() == number).unwrap()
    }

    fn anchor(&self, number: u32) -> String {
        format!("{number}:{}", self.ledger(number).hash)
    }

    /// The id of a ledger's first event of a class.
    fn event(&self, number: u32, class: ProofClass) -> String {
        self.ledger(number).events.iter().find(|event| event.proof == class).unwrap().position.to_string()
    }

    fn prove(&self, id: &str) -> PathBuf {
        prove(&self.path("archive"), id, &self.path("proof.json"))
    }
}

fn prove(archive: &Path, id: &str, file: &Path) -> PathBuf {
    let ran = Ran::of(annals(["prove", id, "--data-dir"]).arg(archive).arg("--out").arg(file)).ends_with(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    file.to_path_buf()
}

fn check(file: &Path, more: &[&str]) -> Ran {
    Ran::of(annals(["check"]).arg(file).args(more))
}

#[test]
fn a_proof_checks_without_its_archive_and_its_lake() {
    let archive = Proving::new(&[]);
    let id = archive.event(110, ProofClass::Committed);
    let file = archive.prove(&id);
    let printed = Ran::of(annals(["prove", &id, "--data-dir"]).arg(archive.path("archive"))).ends_with(0);
    assert_eq!(printed.stdout, fs::read_to_string(&file).unwrap());
    fs::remove_dir_all(archive.path("archive")).unwrap();
    let ran = check(&file, &[]).ends_with(0);
    let hash = archive.ledger(127).hash.to_string();
    assert!(
        ran.stdout.starts_with(&format!("proved: event {id} of {PASSPHRASE:?}, relative to checkpoint 127 {hash}"))
    );
    for ledger in [110, 120, 127] {
        let verdict = check(&file, &["--json", "--anchor", &archive.anchor(ledger)]).ends_with(0).json();
        assert_eq!((&verdict["verdict"], &verdict["anchor"]["given"]), (&"proved".into(), &true.into()));
        assert_eq!(verdict["events"][0]["id"], id);
    }
    let piped = |file: &Path| Ran::of(annals(["check", "-"]).stdin(fs::File::open(file).unwrap()));
    assert_eq!(piped(&file).ends_with(0).stdout, ran.stdout);
    piped(Path::new("/dev/null")).ends_with(3);
    let below = check(&file, &["--anchor", &archive.anchor(109)]).ends_with(1);
    assert!(below.stdout.starts_with("not decidable: "), "{}", below.stdout);
    let other = format!("127:{}", archive.ledger(126).hash);
    let contradicted = check(&file, &["--anchor", &other]).ends_with(3);
    assert!(contradicted.stdout.trim_end().ends_with("[ANCHOR_CONTRADICTED]"), "{}", contradicted.stdout);
}

#[test]
fn a_changed_file_is_refuted_and_one_that_is_no_bundle_too() {
    let archive = Proving::new(&[]);
    let file = archive.prove(&archive.event(110, ProofClass::Committed));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("}\n") && text.lines().count() == 1);
    let verdict_of = |text: &str| {
        fs::write(&file, text).unwrap();
        check(&file, &["--json"])
    };
    verdict_of(text.trim_end()).ends_with(0);
    for changed in [format!("{text}\n"), text.replace('\n', "\r\n"), text.replacen("00000", "00001", 1), String::new()]
    {
        let verdict = verdict_of(&changed).ends_with(3).json();
        assert_eq!(verdict["verdict"], "refuted");
    }
    let later = verdict_of("{\"format\":\"annals-proof/2\"}").ends_with(1).json();
    assert_eq!((&later["verdict"], &later["code"]), (&"undecided".into(), &"UNKNOWN_FORMAT".into()));
}

#[test]
fn the_headers_lead_to_the_nearest_pin_and_name_one_that_is_too_far() {
    let archive = Proving::new(&[150, 195]);
    // To the pin, also beyond the checkpoint 127, and no further.
    for (ledger, anchor) in [(110, 150), (150, 150), (160, 195), (100, 150)] {
        let file = archive.prove(&archive.event(ledger, ProofClass::Committed));
        let bundle: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(bundle["above"]["anchor"]["ledger"], anchor, "{ledger}");
        assert!(bundle["above"]["unreached"].is_null());
        check(&file, &[]).ends_with(0);
    }
    let archive = Proving::new(&[195]);
    let file = archive.prove(&archive.event(110, ProofClass::Committed));
    let verdict = check(&file, &["--json"]).ends_with(1).json();
    assert_eq!(verdict["code"], "UNREACHED");
    check(&file, &["--anchor", &archive.anchor(127)]).ends_with(0);
    check(&file, &["--anchor", &archive.anchor(195)]).ends_with(1);
    let beyond = archive.prove(&archive.event(197, ProofClass::Committed));
    let bundle: serde_json::Value = serde_json::from_str(&fs::read_to_string(beyond).unwrap()).unwrap();
    assert_eq!((&bundle["above"]["anchor"]["ledger"], &bundle["above"]["unreached"]), (&LAST.into(), &().into()));
}

#[test]
fn an_event_that_nothing_proves_is_not_decidable_and_one_that_is_not_there_has_no_proof() {
    let archive = Proving::new(&[]);
    let file = archive.prove(&archive.event(110, ProofClass::Uncommitted));
    let ran = check(&file, &[]).ends_with(1);
    assert!(ran.stdout.contains("the protocol commits to no such event"), "{}", ran.stdout);
    assert!(ran.stdout.contains("sum to the 37655 stroops"), "{}", ran.stdout);
    let prove = |id: &str| Ran::of(annals(["prove", id, "--data-dir"]).arg(archive.path("archive")));
    let absent = annals_core::Position::after_all_txs(LedgerSeq::new(110).unwrap(), 99).to_string();
    assert!(prove(&absent).ends_with(1).stderr.trim_end().ends_with("[EVENT_NOT_FOUND]"));
    let beyond = annals_core::Position::after_all_txs(LedgerSeq::new(LAST + 1).unwrap(), 0).to_string();
    assert!(prove(&beyond).ends_with(1).stderr.trim_end().ends_with("[LEDGER_NOT_COVERED]"));
    assert!(prove("110-1").ends_with(2).stderr.trim_end().ends_with("[USAGE]"));
    for anchor in ["127", "127:ff", "0:00", &archive.ledger(127).hash.to_string()] {
        check(&file, &["--anchor", anchor]).ends_with(2);
    }
    let absent = check(&archive.path("absent.json"), &[]).ends_with(1);
    assert!(absent.stderr.trim_end().ends_with("[NOT_READ]"), "{}", absent.stderr);
}

#[test]
fn a_damaged_archive_hands_no_proof_out_and_one_that_keeps_less_says_so() {
    let archive = Proving::new(&[]);
    let edit = |sql: &str| {
        let database = rusqlite::Connection::open(archive.path("archive/annals.db")).unwrap();
        assert!(database.execute(sql, []).unwrap() > 0);
    };
    // The second invocation emitted nothing; of an archive that never kept such, events alone are proved.
    edit("DELETE FROM proof_invocations WHERE tx_order = 2 AND seq = 110");
    check(&archive.prove(&archive.event(110, ProofClass::Committed)), &[]).ends_with(0);
    let store = annals::store::SqliteStore::open_reader(
        &archive.path("archive"),
        std::sync::Arc::new(annals::clock::SystemClock::new()),
    )
    .unwrap();
    let range = |from: u32, to: u32| {
        let seq = |number| LedgerSeq::new(number).unwrap();
        annals::prove::ledgers(&store, value::contract(1), annals_core::LedgerRange::new(seq(from), seq(to)).unwrap())
    };
    let error = range(105, 112).unwrap_err();
    assert_eq!(error.code(), "NOT_PROVABLE");
    assert!(error.to_string().contains("1 of the 2 invocations of ledger 110"), "{error}");
    range(111, 112).unwrap();
    edit(
        "UPDATE proof_invocations SET envelope_zstd = (SELECT envelope_zstd FROM proof_invocations WHERE seq = 111) \
          WHERE seq = 112",
    );
    let id = archive.event(112, ProofClass::Committed);
    let ran = Ran::of(annals(["prove", &id, "--data-dir"]).arg(archive.path("archive"))).ends_with(3);
    assert!(ran.stdout.is_empty() && ran.stderr.trim_end().ends_with("[DAMAGED]"), "{ran:?}");
}

#[test]
fn pubnet_events_are_proved_from_the_archive_after_the_lake_is_gone() {
    let Some(shared) = shared::ledgers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (lake, archive) = (folder.path().join("lake"), folder.path().join("archive"));
    copy(&shared.join("pubnet-p26-lake"), &lake);
    let passphrase = Network::preset("pubnet").unwrap().passphrase().to_owned();
    Ran::of(&mut backfill(&lake, &archive, &passphrase, "63092982:63092991")).ends_with(0);
    fs::remove_dir_all(&lake).unwrap();
    let exported = crate::binary::export(&archive).stdout;
    let events = exported.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let committed: Vec<_> = events.filter(|event| event["proof"] == "committed").step_by(20).collect();
    assert_eq!(committed.len(), 5);
    for event in committed {
        let file = prove(&archive, event["id"].as_str().unwrap(), &folder.path().join("proof.json"));
        let verdict = check(&file, &["--json"]).ends_with(0).json();
        assert_eq!(verdict["anchor"]["ledger"], 63_092_991, "history archives hold this checkpoint");
        assert_eq!((&verdict["anchor"]["checkpoint"], &verdict["events"][0]["id"]), (&true.into(), &event["id"]));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::write(&target, fs::read(&path).unwrap()).unwrap() }
    }
}
