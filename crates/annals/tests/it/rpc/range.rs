//! Where a node's history begins and ends.

use annals::source::{LedgerSource as _, SourceError};
use annals_sim::{Misbehaviour, When};

use super::bench::{Client, fill, network, node, on, requests_of};
use crate::fill::bench::{range, seq, told};

#[test]
fn b1_what_lies_below_retention_is_a_listed_gap_that_a_lake_can_close_and_the_rest_comes() {
    let network = network(1, 100);
    let node = node(&network);
    for (oldest, faults) in [(100, vec![]), (101, vec!["100 BELOW_RETENTION"]), (150, vec!["100-149 BELOW_RETENTION"])]
    {
        node.play(on(When::always(), Misbehaviour::OldestLedger(seq(oldest))));
        let (ledgers, told) = Client::of(&[&node]).read(100, 199);
        assert_eq!(ledgers, (oldest..=199).collect::<Vec<_>>());
        assert_eq!(told, faults);
    }
    let (bench, summary) = fill(&network, &Client::of(&[&node]), 100, 199);
    assert_eq!((summary.fetched, told(&summary)), (50, vec!["100-149 BELOW_RETENTION".to_owned()]));
    assert!(!summary.contradicts_chain());
    assert_eq!(summary.verified_through, None, "a start that is missing is no start");
    let message = &summary.failures[0].message;
    assert!(message.ends_with("nothing is kept below ledger 150: fill it from a lake"), "{message}");
    node.play(annals_sim::Script::new());
    let filled = bench.run(&super::bench::whole_job(&network, 100, 199), &Client::of(&[&node]).source);
    assert_eq!((filled.fetched, filled.verified_through), (50, Some(199)));
}

#[test]
fn b1_a_floor_that_moves_past_the_next_page_costs_what_it_passed_and_no_more() {
    let network = network(2, 100);
    let node = node(&network);
    let pruned = |call| When::always().from_call(call..);
    // A probe of the network, one of the tip, two pages.
    node.play(on(pruned(5), Misbehaviour::OldestLedger(seq(130))));
    let (ledgers, faults) = Client::of(&[&node]).read(100, 199);
    assert_eq!(ledgers, (100..=111).chain(130..=199).collect::<Vec<_>>());
    assert_eq!(faults, ["112-129 BELOW_RETENTION"]);
}

#[test]
fn a5_no_page_is_asked_for_above_the_latest_ledger_and_what_closes_later_is_not_skipped() {
    let mut network = network(3, 20);
    let node = node(&network);
    let client = Client::of(&[&node]);
    let (ledgers, faults) = client.read(100, 125);
    assert_eq!(ledgers, (100..=119).collect::<Vec<_>>());
    assert_eq!(faults, ["120-125 ABOVE_TIP"]);
    network.close_many(6);
    assert_eq!(client.read(120, 125), ((120..=125).collect(), Vec::new()));
    let asked = requests_of(&node, "getLedgers");
    assert!(asked.iter().all(|page| !page.misbehaved && page.begins_with.is_some_and(|seq| seq.get() <= 125)));
    let starts_above = |page: &annals_sim::SeenRequest| page.begins_with.is_some_and(|seq| seq.get() == 120);
    assert_eq!(
        asked.iter().filter(|page| starts_above(page)).count(),
        1,
        "ledger 120 was asked for once it had closed"
    );
}

#[test]
fn h3_a_lagging_replica_is_behind_and_the_next_one_is_asked() {
    let network = network(4, 60);
    let (lagging, current) = (node(&network), node(&network));
    lagging.play(on(When::always(), Misbehaviour::StuckAt(seq(120))));
    let client = Client::of(&[&lagging, &current]);
    assert_eq!(client.read(100, 159), ((100..=159).collect(), Vec::new()));
    assert!(requests_of(&lagging, "getLedgers").iter().all(|page| page.begins_with.unwrap() <= seq(120)));
    let (bench, summary) = fill(&network, &Client::of(&[&current]), 100, 159);
    assert_eq!(summary.verified_through, Some(159));
    let behind = bench.run(&super::bench::whole_job(&network, 100, 159), &Client::of(&[&lagging]).source);
    assert_eq!((behind.fetched, behind.verified_through), (0, Some(159)), "height alone takes nothing away");
}

#[test]
fn h3_replicas_that_rotate_behind_one_address_are_asked_again_until_one_has_it() {
    let network = network(5, 60);
    let node = node(&network);
    node.play(
        on(When::always().every(2, 1), Misbehaviour::Behind(50))
            .on(When::always().every(3, 1), Misbehaviour::Behind(20)),
    );
    assert_eq!(Client::of(&[&node]).read(130, 159), ((130..=159).collect(), Vec::new()));
}

#[test]
fn a_tip_that_is_announced_and_not_served_is_waited_for_and_then_listed() {
    let network = network(6, 30);
    let node = node(&network);
    node.play(on(When::method("getLedgers").calls(1..=5), Misbehaviour::UnservedTip(2)));
    assert_eq!(Client::of(&[&node]).read(100, 129), ((100..=129).collect(), Vec::new()));
    node.play(on(When::method("getLedgers"), Misbehaviour::UnservedTip(2)));
    let client = Client::of(&[&node]);
    let (ledgers, faults) = client.read(100, 129);
    assert_eq!(ledgers, (100..=127).collect::<Vec<_>>());
    assert_eq!(faults, ["128 NOT_SERVED", "129 NOT_SERVED"]);
    assert!(!client.clock.slept().is_empty());
}

#[test]
fn a_range_that_begins_above_every_tip_is_refused_and_one_that_ends_there_is_not() {
    let network = network(7, 30);
    let (lagging, current) = (node(&network), node(&network));
    lagging.play(on(When::always(), Misbehaviour::Behind(10)));
    let client = Client::of(&[&lagging, &current]);
    client.source.check_range(range(129, 200)).unwrap();
    let refusal = client.source.check_range(range(130, 200)).unwrap_err();
    assert!(matches!(refusal, SourceError::AboveTip { latest, .. } if latest == seq(129)), "{refusal}");
}

#[test]
fn tips_are_told_of_each_endpoint_and_an_unhealthy_node_still_tells_its_latest() {
    let network = network(8, 30);
    let (healthy, stale) = (node(&network), node(&network));
    let client = Client::of(&[&healthy, &stale]);
    stale.play(on(When::method("getHealth"), Misbehaviour::error(-32603, "latency is too high")));
    let tips: Vec<_> = client.source.tips().into_iter().map(|(name, tip)| (name, tip.unwrap())).collect();
    assert_eq!((tips[0].0.clone(), tips[1].0.clone()), (healthy.url(), stale.url()));
    assert_eq!((tips[0].1.latest, tips[0].1.oldest), (seq(129), Some(seq(100))));
    assert_eq!((tips[1].1.latest, tips[1].1.oldest), (seq(129), None));
    assert!(tips[0].1.latest_closed_unix_ms.is_some());
    assert_eq!(tips[0].1.latest_closed_unix_ms, tips[1].1.latest_closed_unix_ms);
}

#[test]
fn c8_ranges_that_meet_and_overlap_store_each_ledger_once() {
    let network = network(9, 40);
    let node = node(&network);
    let client = Client::of(&[&node]);
    let (bench, first) = fill(&network, &client, 100, 120);
    let second = bench.run(&super::bench::whole_job(&network, 120, 139), &client.source);
    assert_eq!((first.fetched, second.fetched), (21, 19));
    let whole = bench.run(&super::bench::whole_job(&network, 100, 139), &client.source);
    assert_eq!((whole.fetched, whole.verified_through), (0, Some(139)));
    assert_eq!(whole.events, network.records().map(|record| record.events as u64).sum::<u64>());
}
