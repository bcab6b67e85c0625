//! The Python decoder beside the crate reads what the builder wrote.

use std::path::{Path, PathBuf};
use std::process::Command;

use annals_core::check::check_tx_set;
use annals_core::hash::sha256;
use annals_core::registry::Payload;
use annals_core::wire::ExportedEvent;
use annals_core::{Event, check_ledger};
use annals_sim::{
    BuiltLedger, ChainBuilder, EnvelopeForm, Fault, Format, FramedWriter, LakeLayout, LakeWriter, LedgerPlan, Mix, Rng,
    TokenTraffic, TokenVersion, TxPlan, random_plan,
};
use serde_json::{Value, json};

use super::faults::faulty;
use super::token::Run;
use super::{FORMS, chain, network};

/// The interpreter that has `stellar-sdk`; none, said aloud, where there is none and this is not CI.
pub(crate) fn python() -> Option<PathBuf> {
    let named = std::env::var_os("ANNALS_PYTHON").map(PathBuf::from);
    if named.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "set ANNALS_PYTHON to a Python 3.11 that has stellar-sdk 16.1: in CI this check is not skipped"
        );
        println!("skipped: ANNALS_PYTHON names no Python with stellar-sdk");
    }
    named
}

pub(crate) struct Decoded {
    pub(crate) rows: Vec<Value>,
    pub(crate) complaints: String,
}

pub(crate) fn decode(python: &Path, files: &[PathBuf]) -> Decoded {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/decode.py");
    let output = Command::new(python)
        .arg(script)
        .args(files)
        .env("ANNALS_PASSPHRASE", network().passphrase())
        .output()
        .expect("ANNALS_PYTHON can be run");
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "the decoder itself failed: {complaints}");
    assert_eq!(output.status.success(), complaints.is_empty());
    let rows =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Decoded { rows, complaints }
}

pub(crate) fn framed(folder: &Path, ledgers: &[BuiltLedger]) -> PathBuf {
    let path = folder.join("ledgers.framed");
    let mut writer = FramedWriter::new(std::fs::File::create(&path).unwrap());
    for ledger in ledgers {
        writer.push(ledger).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// The event as the decoder writes it.
fn row(event: &Event) -> Value {
    let exported = ExportedEvent::new(event, &Payload::NotApplicable).unwrap();
    let mut row = json!({
        "id": exported.id,
        "ledger": exported.ledger_seq,
        "txHash": exported.tx_hash,
        "tx": exported.tx_order,
        "op": (exported.stage == "op").then_some(exported.operation_index),
        "stage": exported.stage,
        "type": exported.kind,
        "contractId": exported.contract_id,
        "topics": exported.topics_xdr,
        "value": exported.data_xdr,
        "eventXdrSha256": hex::encode(sha256(&[&event.xdr])),
        "commitment": exported.proof,
        "txSuccessful": exported.successful,
    });
    if let (Some(form), Some(xdr)) = (exported.rewritten, &event.rewritten_xdr) {
        let hash = hex::encode(sha256(&[xdr]));
        row["rewritten"] = json!({ "topics": form.topics_xdr, "value": form.data_xdr, "eventXdrSha256": hash });
    }
    row
}

/// What the real extraction finds.
pub(crate) fn extracted(ledgers: &[BuiltLedger]) -> Vec<Value> {
    let checked = ledgers.iter().flat_map(|ledger| check_ledger(&ledger.xdr, &network()).unwrap().events);
    checked.map(|event| row(&event)).collect()
}

#[test]
fn another_decoder_finds_the_same_events_in_every_form_with_contracts() {
    let Some(python) = python() else { return };
    // The Python SDK knows no close time in milliseconds, which is all that protocol 30 adds.
    for (format, protocol) in FORMS.into_iter().filter(|(form, protocol)| form.has_contracts() && *protocol < 30) {
        let ledgers = chain(format, protocol, 11, 12);
        let empty_set = |ledger: &BuiltLedger| annals_core::decode::decode(&ledger.xdr).unwrap().header.empty_tx_set;
        assert!(protocol < 28 || ledgers.iter().any(empty_set), "the seed makes an empty transaction set");
        let folder = tempfile::tempdir().unwrap();
        let decoded = decode(&python, &[framed(folder.path(), &ledgers)]);
        assert_eq!(decoded.complaints, "");
        assert!(decoded.rows.len() > 20, "{format:?} {protocol}: {} events", decoded.rows.len());
        assert_eq!(decoded.rows, extracted(&ledgers), "{format:?} {protocol}");
    }
}

#[test]
fn another_decoder_follows_one_chain_through_every_form_since_the_first() {
    let Some(python) = python() else { return };
    let mut chain = ChainBuilder::new(&network(), super::seq(100), 1, Format::V0Meta0);
    let mut rng = Rng::new(11);
    let mut ledgers = Vec::new();
    for (format, protocol) in FORMS.into_iter().filter(|(_, protocol)| *protocol < 30) {
        chain = chain.upgraded(format);
        let mix = Mix::new(format).of_protocol(protocol);
        ledgers.extend((0..6).map(|_| chain.push(&random_plan(&mut rng, mix))));
    }
    let before_contracts = &ledgers[..36];
    let transactions = |ledger: &BuiltLedger| annals_core::decode::decode(&ledger.xdr).unwrap().transactions.len();
    assert!(before_contracts.iter().map(transactions).sum::<usize>() > 50);
    assert!(before_contracts[..30].iter().all(|ledger| ledger.events.is_empty()), "no meta has room for events");
    assert!(before_contracts[30..].iter().any(|ledger| !ledger.events.is_empty()), "classic events are backfilled");
    let folder = tempfile::tempdir().unwrap();
    let decoded = decode(&python, &[framed(folder.path(), &ledgers)]);
    assert_eq!(decoded.complaints, "");
    assert_eq!(decoded.rows, extracted(&ledgers));
}

#[test]
fn another_decoder_reads_the_lake() {
    let Some(python) = python() else { return };
    let ledgers = chain(Format::V2Meta4, 26, 12, 12);
    let folder = tempfile::tempdir().unwrap();
    let layout = LakeLayout { ledgers_per_object: 4, ..LakeLayout::default() };
    let mut lake = LakeWriter::new(folder.path(), layout);
    for ledger in &ledgers {
        lake.push(ledger).unwrap();
    }
    lake.finish().unwrap();
    let objects = ledgers.iter().step_by(4).map(|ledger| folder.path().join(layout.object_path(ledger.seq)));
    let decoded = decode(&python, &objects.collect::<Vec<_>>());
    assert_eq!(decoded.complaints, "");
    assert_eq!(decoded.rows, extracted(&ledgers));
}

#[test]
fn another_decoder_finds_the_same_events_in_the_traffic_of_every_version() {
    let Some(python) = python() else { return };
    for (format, protocol) in
        [(Format::V1Meta3, 21), (Format::V1Meta4, 22), (Format::V2Meta4, 23), (Format::V2Meta4, 28)]
    {
        let traffic = TokenTraffic::deployed(4, &network(), TokenVersion::Operator).of_protocol(protocol);
        let run = Run::new(traffic.with_hidden_transfers(), format, &TokenVersion::ALL, 6);
        let ledgers: Vec<_> = run.ledgers.into_iter().map(|(built, _)| built).collect();
        let folder = tempfile::tempdir().unwrap();
        let decoded = decode(&python, &[framed(folder.path(), &ledgers)]);
        assert_eq!(decoded.complaints, "");
        assert!(decoded.rows.len() > 100, "{format:?} {protocol}: {} events", decoded.rows.len());
        assert_eq!(decoded.rows, extracted(&ledgers), "{format:?} {protocol}");
    }
}

#[test]
fn another_decoder_finds_the_same_faults_in_ledgers_before_contracts() {
    let Some(python) = python() else { return };
    for format in [Format::V0Meta0, Format::V0Meta1, Format::V0Meta2, Format::V0Meta4] {
        let plan = LedgerPlan::new(vec![TxPlan::payments(vec![Vec::new()]).in_envelope(EnvelopeForm::V0)]);
        for (fault, code, complaint) in [
            (Fault::WrongTxHashNetwork, Some("WRONG_NETWORK"), "the transactions do not hash"),
            (Fault::WrongResultsHash, Some("RESULTS_HASH_MISMATCH"), "the results do not hash"),
            (Fault::WrongTxSetHash, None, "the transaction set does not hash"),
            (Fault::WrongHeaderHash, Some("HEADER_HASH_MISMATCH"), "the header does not hash"),
        ] {
            let mut chain = ChainBuilder::new(&network(), super::seq(100), 1, format);
            let ledger = chain.push_faulty(&plan, fault);
            let checked = check_ledger(&ledger.xdr, &network());
            assert_eq!(checked.as_ref().err().map(annals_core::LedgerFault::code), code, "{format:?} {fault:?}");
            let set = check_tx_set(&annals_core::decode::decode(&ledger.xdr).unwrap(), ledger.seq);
            assert_eq!(set.is_err(), fault == Fault::WrongTxSetHash, "{format:?} {fault:?}");
            if format != Format::V0Meta2 {
                // The decoder's checks see the meta of no version.
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let decoded = decode(&python, &[framed(folder.path(), &[ledger])]);
            assert_eq!(decoded.complaints, format!("ledger 100: {complaint}\n"), "{format:?} {fault:?}");
        }
    }
}

#[test]
fn a_planted_fault_fails_the_check_by_another_decoder() {
    let Some(python) = python() else { return };
    for fault in Fault::ALL {
        let mut ledgers = vec![faulty(fault)];
        if fault == Fault::WrongPreviousHash {
            // Only a ledger in front can show it.
            let mut whole = annals_sim::ChainBuilder::new(&network(), super::seq(99), 1, Format::V2Meta4);
            ledgers.insert(0, whole.push(&annals_sim::LedgerPlan::new(Vec::new())));
        }
        let folder = tempfile::tempdir().unwrap();
        let decoded = decode(&python, &[framed(folder.path(), &ledgers)]);
        let planned: Vec<_> = ledgers.iter().flat_map(|ledger| &ledger.events).map(row).collect();
        let complaint = match fault {
            // No hash covers a fee event; its value alone differs from the plan.
            Fault::WrongFeeSum => "",
            Fault::WrongSuccessHash
            | Fault::DroppedEvent
            | Fault::AlteredEvent
            | Fault::SwappedEvents
            | Fault::AddedEvent => "ledger 100: the events of transaction 2 do not hash\n",
            Fault::WrongTxHashNetwork => "ledger 100: the transactions do not hash\n",
            Fault::WrongResultsHash => "ledger 100: the results do not hash\n",
            Fault::WrongTxSetHash => "ledger 100: the transaction set does not hash\n",
            Fault::WrongPreviousHash => "ledger 100: the header does not link to the ledger before\n",
            Fault::WrongHeaderHash => "ledger 100: the header does not hash\n",
        };
        assert_eq!(decoded.complaints, complaint, "{fault:?}");
        let in_events = complaint.is_empty() || complaint.contains("events");
        assert_eq!(decoded.rows != planned, in_events, "{fault:?}");
    }
}
