//! The checker in Python, written from the document alone, against this one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use annals_core::{LedgerHash, LedgerSeq, ProofClass, ProofVerdict, check_proof};
use annals_sim::value::contract;
use annals_sim::{Rng, random_chain};

use super::forge::Archive;
use super::json_text::{nodes, rearranged, replaced, set};
use super::lies::failed_bumps;
use super::pubnet::lake;
use crate::built::{first, mixes, network};

/// The interpreter that has `stellar-sdk`; none, said aloud, where there is none and this is not CI.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("ANNALS_PYTHON").map(PathBuf::from);
    if named.is_none() {
        assert!(std::env::var_os("CI").is_none(), "set ANNALS_PYTHON to a Python 3.11 that has stellar-sdk 16.1");
        eprintln!("skipped: ANNALS_PYTHON names no Python with stellar-sdk");
    }
    named
}

type Case = (Vec<u8>, Option<(LedgerSeq, LedgerHash)>);

/// Both checkers' answers to every case must be the same word; returns how many were proved, refuted and undecided.
fn agree(python: &Path, cases: &[Case]) -> [usize; 3] {
    let folder = tempfile::tempdir().unwrap();
    let mut requests = String::new();
    for (number, (bundle, anchor)) in cases.iter().enumerate() {
        let path = folder.path().join(number.to_string());
        std::fs::write(&path, bundle).unwrap();
        requests.push_str(path.to_str().unwrap());
        requests.extend(anchor.map(|(ledger, hash)| format!(" {ledger}:{hash}")));
        requests.push('\n');
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/check_proof.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ANNALS_PYTHON can be run");
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), cases.len());
    let mut counts = [0; 3];
    for (line, (bundle, anchor)) in answers.lines().zip(cases) {
        let verdict = check_proof(bundle, *anchor);
        let (at, word) = match verdict {
            ProofVerdict::Proved(_) => (0, "proved"),
            ProofVerdict::Refuted(_) => (1, "refuted"),
            ProofVerdict::Undecided(_) => (2, "undecided"),
        };
        assert_eq!(line.split('\t').next(), Some(word), "{line} {verdict:?} {}", String::from_utf8_lossy(bundle));
        counts[at] += 1;
    }
    counts
}

/// The bundles of a chain: of events, of what is not committed, and of two contracts' ledgers.
fn bundles(archive: &Archive) -> Vec<Vec<u8>> {
    let of_class = |class, step| archive.events(class).step_by(step);
    let mut bundles: Vec<_> = of_class(ProofClass::Committed, 9).map(|event| archive.prove(event, 3)).collect();
    bundles.extend(of_class(ProofClass::Rewritten, 3).map(|event| archive.prove(event, 3)));
    bundles.extend(of_class(ProofClass::Uncommitted, 11).map(|event| archive.explain(event, true)));
    bundles.extend(of_class(ProofClass::Uncommitted, 37).map(|event| archive.explain(event, false)));
    let kept = |number: &usize| archive.material(archive.at(*number).seq).material.is_some();
    let kept = (0..archive.ledgers.len()).filter(kept);
    bundles.extend(kept.take(3).map(|number| archive.prove_all(contract(1), number..number + 1, 2)));
    bundles
}

#[test]
fn another_checker_agrees_on_sound_and_on_damaged_bundles() {
    let Some(python) = python() else { return };
    let mut cases: Vec<Case> = Vec::new();
    let mut rng = Rng::new(3);
    // The Python SDK knows no close time in milliseconds, which is all that protocol 30 adds.
    for mix in mixes().into_iter().filter(|mix| mix.protocol < 30) {
        let built = random_chain(&network(), first(), 5, 8, mix);
        let archive = Archive::new(&network(), built.map(|ledger| ledger.xdr));
        let bundles = bundles(&archive);
        for (number, bundle) in bundles.iter().enumerate() {
            cases.push((bundle.clone(), None));
            for anchor in [archive.name(7), archive.name(2), (archive.name(5).0, LedgerHash([1; 32]))] {
                cases.push((bundle.clone(), Some(anchor)));
            }
            for _ in 0..12 {
                let at = rng.below(u32::try_from(bundle.len()).unwrap()) as usize;
                let by = [bundle[at] ^ (1 << rng.below(7))];
                let damaged = match rng.below(3) {
                    0 => replaced(bundle, at..at + 1, &by),
                    1 => replaced(bundle, at..at + 1, b""),
                    _ => replaced(bundle, at..at, &by),
                };
                cases.push((damaged, None));
            }
            let other = &bundles[(number + 1) % bundles.len()];
            let given = nodes(other);
            for node in nodes(bundle) {
                if let Some(part) = given.iter().find(|part| part.path == node.path) {
                    cases.push((replaced(bundle, node.range, &other[part.range.clone()]), None));
                }
            }
            cases.extend(rearranged(bundle).into_iter().map(|text| (text, None)));
        }
    }
    let of_no_kind = set(&cases[0].0, "/kind", b"[]");
    cases.extend(failed_bumps().into_iter().chain([of_no_kind]).map(|text| (text, None)));
    let [proved, refuted, undecided] = agree(&python, &cases);
    assert!(proved > 100 && refuted > 500 && undecided > 100, "{proved} {refuted} {undecided}");
}

#[test]
fn another_checker_agrees_on_real_ledgers() {
    let Some(python) = python() else { return };
    let (Some(p26), Some(p22)) = (lake("pubnet-p26-lake"), lake("pubnet-p22-rewritten-lake")) else { return };
    let mut cases: Vec<Case> = Vec::new();
    for event in p26.events(ProofClass::Committed).step_by(10) {
        cases.push((p26.prove(event, 64), Some(p26.name(9))));
        cases.push((p26.prove(event, 64), Some(p26.name(0))));
    }
    let busy = p26.events(ProofClass::Committed).next().unwrap().contract_id.unwrap();
    cases.push((p26.prove_all(busy, 0..2, 8), Some(p26.name(9))));
    cases.extend(p22.events(ProofClass::Rewritten).map(|event| (p22.prove(event, 0), None)));
    cases.extend(p22.events(ProofClass::Uncommitted).step_by(100).map(|event| (p22.explain(event, true), None)));
    let [proved, refuted, undecided] = agree(&python, &cases);
    assert!(proved >= 18 && refuted == 0 && undecided >= 12, "{proved} {refuted} {undecided}");
}
