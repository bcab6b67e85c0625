//! How large bundles of real ledgers are, and how long a check of one takes.
//!
//!     cargo bench -p annals-core --bench proof
//!
//! For each ledger of the lakes in ../shared/ledgers: the bundle of an event of its largest invocation, and that of all
//! events of this contract in the ledger, with the headers up to the end of the lake. Compressed is what `gzip -9` makes
//! of it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints what it measured"
)]

use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use annals_core::bundle::{Above, LedgerMaterial, event_bundle, ledgers_bundle};
use annals_core::{CheckedLedger, Event, Network, ProofVerdict, check_ledger, check_proof};

const CHECKS: u32 = 200;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::var_os("ANNALS_SHARED").map(|shared| PathBuf::from(shared).join("ledgers"));
    let found = given.into_iter().chain(root.ancestors().map(|folder| folder.join("shared/ledgers")));
    let Some(ledgers) = found.into_iter().find(|folder| folder.join("README.md").is_file()) else {
        println!("skipped: there are no real ledgers in ../shared/ledgers");
        return;
    };
    println!("lake ledger kind transactions bytes gzip-9 check-µs");
    for lake in ["pubnet-p26-lake", "pubnet-p22-rewritten-lake"] {
        let network = Network::preset("pubnet").unwrap();
        let checked: Vec<_> =
            lake_of(&ledgers.join(lake)).iter().map(|xdr| check_ledger(xdr, &network).unwrap()).collect();
        for (number, ledger) in checked.iter().enumerate() {
            measure(lake, &network, ledger, &checked[number + 1..]);
        }
    }
    // 248 invocations in one ledger; a proof of all of a contract's events holds every one.
    let network = Network::new("Standalone Network ; February 2017");
    let load = frames(
        &zstd::decode_all(std::fs::File::open(ledgers.join("load/p25-30-ledgers.framed.xdr.zst")).unwrap()).unwrap(),
    );
    let checked: Vec<_> = load.iter().take(3).map(|xdr| check_ledger(xdr, &network).unwrap()).collect();
    measure("load-p25", &network, &checked[0], &checked[1..]);
}

fn measure(lake: &str, network: &Network, ledger: &CheckedLedger, above: &[CheckedLedger]) {
    let headers_xdr = above.iter().map(|ledger| ledger.header_xdr.clone()).collect();
    let above = Above { headers_xdr, unreached: None };
    let largest = ledger.proof.invocations.iter().max_by_key(|call| call.pre_image_xdr.len() + call.envelope_xdr.len());
    let of_largest =
        |event: &&Event| event.proof.is_proven() && largest.is_some_and(|call| call.tx_hash == event.tx_hash);
    let proven = ledger.events.iter().find(of_largest);
    let proven = proven.or_else(|| ledger.events.iter().find(|event| event.proof.is_proven()));
    let Some(event) = proven else { return };
    let (seq, header_xdr) = (ledger.seq, ledger.header_xdr.clone());
    let material = LedgerMaterial { seq, header_xdr, material: Some(ledger.proof.clone()) };
    let transactions = annals_core::decode::result_pairs(&ledger.proof.results_xdr).unwrap().len();
    let of_event = event_bundle(network, event, &material, &above).unwrap();
    let of_ledger = ledgers_bundle(network, event.contract_id.unwrap(), &[material], &above).unwrap();
    for (kind, bundle) in [("event", of_event), ("ledger", of_ledger)] {
        let started = Instant::now();
        for _ in 0..CHECKS {
            assert!(matches!(check_proof(black_box(&bundle), None), ProofVerdict::Proved(_)));
        }
        let micros = started.elapsed().as_micros() / u128::from(CHECKS);
        println!("{lake} {seq} {kind} {transactions} {} {} {micros}", bundle.len(), gzip(&bundle));
    }
}

fn gzip(bytes: &[u8]) -> usize {
    let mut gzip = Command::new("gzip").arg("-9c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes).unwrap());
    let output = gzip.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout.len()
}

/// The ledgers of a one-ledger-an-object lake, ascending: what follows start, end and count of each object.
fn lake_of(folder: &Path) -> Vec<Vec<u8>> {
    let partition = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    let mut objects: Vec<_> =
        std::fs::read_dir(partition.unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    objects.sort();
    objects
        .iter()
        .rev()
        .map(|path| zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap().split_off(12))
        .collect()
}

/// The ledgers of framed bytes: a length with the high bit set, then the XDR.
fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut ledgers = Vec::new();
    while let Some((mark, rest)) = bytes.split_first_chunk::<4>() {
        let length = (u32::from_be_bytes(*mark) & 0x7FFF_FFFF) as usize;
        ledgers.push(rest[..length].to_vec());
        bytes = &rest[length..];
    }
    ledgers
}
