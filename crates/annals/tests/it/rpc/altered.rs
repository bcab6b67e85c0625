//! A ledger that one endpoint gives altered, and another as it is.

use annals::backfill::Job;
use annals::store::{Pin, Store as _};
use annals_sim::{Misbehaviour, SimNetwork, When, edit_header};

use super::bench::{Client, fill, network, node, on, whole_job};
use crate::binary::{Ran, annals};
use crate::fill::bench::{Bench, seq, told};

type Edit = fn(&mut Vec<u8>);

/// What an endpoint may do to a ledger: another header, another body, no ledger.
const EDITS: [Edit; 3] = [
    |xdr| *xdr = edit_header(xdr, |header| header.base_fee += 1),
    |xdr| {
        let last = xdr.len() / 2;
        xdr[last] ^= 1;
    },
    |xdr| xdr.truncate(xdr.len() - 8),
];

fn altered(number: u32, edit: Edit) -> annals_sim::Script {
    on(When::method("getLedgers"), Misbehaviour::edit_ledger(seq(number), edit))
}

fn hash_of(network: &SimNetwork, number: u32) -> annals_core::LedgerHash {
    network.records().find(|record| record.seq == seq(number)).unwrap().hash
}

#[test]
fn what_the_first_endpoint_alters_is_stored_as_the_others_have_it() {
    let network = network(1, 60);
    let (lying, honest) = (node(&network), node(&network));
    for edit in EDITS {
        for number in [100, 130, 157] {
            lying.play(altered(number, edit));
            let (bench, summary) = fill(&network, &Client::of(&[&lying, &honest]), 100, 159);
            assert_eq!((summary.fetched, told(&summary)), (60, Vec::new()), "ledger {number}");
            let row = bench.store.ledgers(seq(number), 1).unwrap().remove(0);
            assert_eq!(row.hash, hash_of(&network, number));
        }
    }
}

#[test]
fn inv_4_a_few_ledgers_of_another_chain_that_link_to_each_other_are_stored_as_the_others_have_them() {
    let (network, other) = (network(7, 60), super::bench::network(8, 60));
    let (lying, honest) = (node(&network), node(&network));
    for foreign in [100..=101, 120..=121, 130..=132, 120..=150, 158..=159] {
        let given = other.kept().filter(|ledger| foreign.contains(&ledger.seq.get()));
        let script = given.fold(annals_sim::Script::new(), |script, ledger| {
            let xdr = ledger.xdr.clone();
            script.on(
                When::method("getLedgers"),
                Misbehaviour::edit_ledger(ledger.seq, move |told| told.clone_from(&xdr)),
            )
        });
        lying.play(script);
        for nodes in [[&lying, &honest], [&honest, &lying]] {
            let (bench, summary) = fill(&network, &Client::of(&nodes), 100, 159);
            assert_eq!((summary.fetched, told(&summary)), (60, Vec::new()), "{foreign:?}");
            let rows = bench.store.ledgers(seq(100), 60).unwrap();
            assert!(rows.iter().all(|row| row.hash == hash_of(&network, row.seq.get())), "{foreign:?}");
        }
    }
}

#[test]
fn what_every_endpoint_alters_is_told_once_and_the_rest_is_stored() {
    let network = network(2, 60);
    let (first, second) = (node(&network), node(&network));
    first.play(altered(130, EDITS[2]));
    second.play(altered(130, EDITS[0]));
    let (bench, summary) = fill(&network, &Client::of(&[&first, &second]), 100, 159);
    assert_eq!((summary.fetched, summary.failures.len()), (59, 1), "{:?}", summary.failures);
    assert!(summary.contradicts_chain());
    first.play(annals_sim::Script::new());
    assert_eq!(bench.run(&whole_job(&network, 100, 159), &Client::of(&[&first, &second]).source).fetched, 1);
}

#[test]
fn an_endpoint_of_another_chain_below_the_stored_one_is_passed_over_for_the_one_that_has_it() {
    let (network, other) = (network(3, 60), super::bench::network(4, 60));
    let (foreign, honest) = (node(&other), node(&network));
    let bench = Bench::new();
    bench.run(&whole_job(&network, 140, 159), &Client::of(&[&honest]).source);
    let summary = bench.run(&whole_job(&network, 100, 159), &Client::of(&[&foreign, &honest]).source);
    assert_eq!((summary.fetched, told(&summary)), (40, Vec::new()));
    assert_eq!(bench.store.ledgers(seq(100), 1).unwrap()[0].hash, hash_of(&network, 100));
}

#[test]
fn a_pin_is_held_against_what_any_endpoint_has_of_it() {
    let network = network(5, 60);
    let (lying, honest) = (node(&network), node(&network));
    lying.play(altered(130, EDITS[0]));
    let pins = vec![Pin { seq: seq(130), hash: hash_of(&network, 130) }];
    let job = Job { pins, ..whole_job(&network, 100, 159) };
    assert_eq!(Bench::new().run(&job, &Client::of(&[&lying, &honest]).source).fetched, 60);
    assert!(Bench::new().try_run(&job, &Client::of(&[&lying]).source).is_err());
}

#[test]
fn a_backfill_ends_well_and_names_the_endpoint_that_altered_a_ledger() {
    let network = network(6, 60);
    let (lying, honest) = (node(&network), node(&network));
    lying.play(altered(130, EDITS[0]));
    let folder = tempfile::tempdir().unwrap();
    let mut command = annals(["backfill", "--json", "--network-passphrase", "Annals Simulated Network"]);
    command.args(["--from", "100:159", "--rpc", &lying.url(), "--rpc", &honest.url()]);
    let ran = Ran::of(command.arg("--data-dir").arg(folder.path())).ends_with(0);
    assert_eq!(ran.json()["gaps"], serde_json::json!([]));
    let named = |line: &&str| line.contains(&lying.url()) && line.contains("ledger 130");
    assert_eq!(ran.stderr.lines().filter(named).count(), 1, "{ran:?}");
}
