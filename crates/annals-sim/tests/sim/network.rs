//! The simulated network against the real extraction, and against itself.

use std::collections::BTreeSet;

use annals_core::{EventsDigest, check_ledger};
use annals_sim::{BuiltLedger, LakeLayout, NetworkOptions, SimNetwork};
use stellar_xdr::{LedgerCloseMeta, LedgerUpgrade, Limits, ReadXdr};

use super::seq;

fn header(ledger: &BuiltLedger) -> stellar_xdr::LedgerHeader {
    match LedgerCloseMeta::from_xdr(&ledger.xdr, Limits::none()).unwrap() {
        LedgerCloseMeta::V1(meta) => meta.ledger_header.header,
        LedgerCloseMeta::V2(meta) => meta.ledger_header.header,
        LedgerCloseMeta::V0(_) => panic!("a simulated network has contracts"),
    }
}

fn upgrades(ledger: &BuiltLedger) -> Vec<LedgerUpgrade> {
    let upgrades = header(ledger).scp_value.upgrades;
    upgrades.iter().map(|upgrade| LedgerUpgrade::from_xdr(&upgrade.0, Limits::none()).unwrap()).collect()
}

#[test]
fn every_ledger_of_a_network_passes_the_check_and_links() {
    let mut network = SimNetwork::new(3);
    network.close_many(120);
    let mut previous = None;
    for ledger in network.kept() {
        let checked = check_ledger(&ledger.xdr, network.network()).unwrap();
        assert_eq!(checked.events, ledger.events, "ledger {}", ledger.seq);
        assert!(previous.is_none_or(|previous| previous == checked.previous_hash), "ledger {}", ledger.seq);
        previous = Some(ledger.hash);
    }
    let records = network.records().map(|record| (record.seq, record.hash, record.events, record.digest));
    let kept = network.kept().map(|built| (built.seq, built.hash, built.events.len(), EventsDigest::of(&built.events)));
    assert!(records.eq(kept));
}

#[test]
fn a_network_has_what_its_description_promises() {
    let mut network = SimNetwork::new(5);
    network.close_many(120);
    let ledgers: Vec<_> = network.kept().cloned().collect();
    assert!(ledgers.iter().filter(|ledger| ledger.events.is_empty()).count() > 5, "quiet ledgers");
    let largest = |ledger: &BuiltLedger| {
        let mut by_tx = std::collections::BTreeMap::new();
        ledger.events.iter().for_each(|event| *by_tx.entry(event.tx_hash).or_insert(0) += 1);
        by_tx.into_values().max().unwrap_or(0)
    };
    let heavy: Vec<_> = ledgers.iter().filter(|ledger| largest(ledger) >= 12_000).map(|ledger| ledger.seq).collect();
    assert_eq!(heavy, [seq(24)]);
    let upgraded: Vec<_> = ledgers.iter().filter(|ledger| !upgrades(ledger).is_empty()).collect();
    assert_eq!(upgraded.len(), 1);
    assert_eq!((upgraded[0].seq, upgrades(upgraded[0])), (seq(40), vec![LedgerUpgrade::Version(30)]));
    let protocols: Vec<_> = ledgers.iter().map(|ledger| header(ledger).ledger_version).collect();
    assert!(protocols[..38].iter().all(|protocol| *protocol == 28), "before ledger 40");
    assert!(protocols[38..].iter().all(|protocol| *protocol == 30), "from ledger 40 on, which says so already");
    let in_milliseconds = |ledger: &BuiltLedger| !ledger.close_time_ms.is_multiple_of(1000);
    assert!(!ledgers[..39].iter().any(|ledger| in_milliseconds(ledger)));
    assert!(ledgers[39..].iter().any(|ledger| in_milliseconds(ledger)));
    let twice = ledgers.windows(2).filter(|pair| pair[0].close_time_ms / 1000 == pair[1].close_time_ms / 1000);
    assert!(twice.count() > 3, "some ledgers close in the second of the one before");
    assert!(ledgers.windows(2).all(|pair| pair[0].close_time_ms < pair[1].close_time_ms));
    let token = network.token().model().contract();
    assert!(ledgers.iter().flat_map(|ledger| &ledger.events).any(|event| event.contract_id == Some(token)));
}

#[test]
fn a_seed_gives_the_same_network_and_another_seed_shares_no_hash_with_it() {
    let hashes = |seed| {
        let mut network = SimNetwork::new(seed);
        network.close_many(60);
        network.records().map(|record| record.hash).collect::<BTreeSet<_>>()
    };
    assert_eq!(hashes(1), hashes(1));
    assert!(hashes(1).is_disjoint(&hashes(2)));
}

#[test]
fn a_ledger_closes_when_it_is_told_to_and_always_after_the_one_before() {
    let mut network = SimNetwork::with(NetworkOptions {
        upgrades: vec![(seq(4), 30)],
        first_close_ms: Some(1_700_000_000_000),
        ..NetworkOptions::of_seed(1)
    });
    let closes: Vec<_> =
        [1_700_000_000_400, 1_700_000_000_600, 1_700_000_005_000, 1_700_000_005_250, 1_700_000_005_250]
            .map(|unix_ms| network.close_next_at(unix_ms).close_time_ms)
            .to_vec();
    let right = [1_700_000_000_000, 1_700_000_001_000, 1_700_000_005_000, 1_700_000_005_250, 1_700_000_005_251];
    assert_eq!(closes, right);
}

#[test]
fn a_network_may_upgrade_to_a_protocol_that_nobody_knows() {
    let mut network =
        SimNetwork::with(NetworkOptions { protocol: 30, upgrades: vec![(seq(5), 31)], ..NetworkOptions::of_seed(1) });
    network.close_many(8);
    let protocols: Vec<_> = network.kept().map(|ledger| header(ledger).ledger_version).collect();
    assert_eq!(protocols, [30, 30, 30, 31, 31, 31, 31, 31]);
}

#[test]
fn a_network_changes_the_form_of_its_ledgers_behind_an_upgrade() {
    let mut network = SimNetwork::with(NetworkOptions {
        protocol: 22,
        upgrades: vec![(seq(30), 23)],
        heavy_ledgers: Vec::new(),
        ..NetworkOptions::of_seed(1)
    });
    network.close_many(60);
    let forms: Vec<_> = network.kept().map(|ledger| ledger.xdr[3]).collect();
    assert!(forms[..29].iter().all(|form| *form == 1) && forms[29..].iter().all(|form| *form == 2), "{forms:?}");
    let versions: Vec<_> = network.kept().map(|ledger| header(ledger).ledger_version).collect();
    assert!(versions[..28].iter().all(|version| *version == 22) && versions[28..].iter().all(|version| *version == 23));
    // Ledger 30 ran under protocol 22 while its header says 23.
    for ledger in network.kept() {
        let checked = check_ledger(&ledger.xdr, network.network()).unwrap();
        assert_eq!(checked.events, ledger.events, "ledger {}", ledger.seq);
    }
}

#[test]
fn a_network_keeps_no_more_than_its_retention() {
    let mut network =
        SimNetwork::with(NetworkOptions { retention_ledgers: 7, heavy_ledgers: vec![], ..NetworkOptions::of_seed(1) });
    network.close_many(50);
    assert_eq!(network.kept().map(|ledger| ledger.seq.get()).collect::<Vec<_>>(), (45..=51).collect::<Vec<_>>());
    assert_eq!(network.ledgers().range().unwrap().to_string(), "45-51");
    assert_eq!(network.records().count(), 50);
}

#[test]
fn a_network_writes_its_lake_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let layout = LakeLayout { ledgers_per_object: 4, objects_per_partition: 1, ..LakeLayout::default() };
    let mut network = SimNetwork::new(1).writing_lake(folder.path(), layout).unwrap();
    let objects = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    network.close_many(5);
    assert_eq!(objects(), [".config.json", "FFFFFFFF--0-3.xdr.zst"], "ledgers 4 to 7 are not all there");
    network.close_many(1);
    network.finish_lake().unwrap();
    assert_eq!(objects(), [".config.json", "FFFFFFFB--4-7.xdr.zst", "FFFFFFFF--0-3.xdr.zst"]);
}

#[test]
fn a_fork_shares_the_past_and_nothing_else() {
    for count in 20..30 {
        let mut network = SimNetwork::with(NetworkOptions { heavy_ledgers: vec![], ..NetworkOptions::of_seed(1) });
        network.close_many(count);
        let mut fork = network.forked(2);
        network.close_many(5);
        fork.close_many(5);
        for (one, other) in network.kept().zip(fork.kept()) {
            assert_eq!(one.hash == other.hash, one.seq.get() <= count + 1, "ledger {}", one.seq);
        }
        check_ledger(&fork.latest().unwrap().xdr, fork.network()).unwrap();
        let range = seq(2)..=seq(count + 6);
        for ledgers in [network.ledgers(), fork.ledgers()] {
            let held = ledgers.range().unwrap();
            assert_eq!(held.from_inclusive()..=held.to_inclusive(), range);
        }
    }
}
