//! Endpoints that are asked for the same ledger.

use annals::anchor::AnchorError;
use annals::store::{IncidentKind, Store as _};
use annals_sim::{Misbehaviour, When};

use super::bench::*;
use crate::fill::bench::seq;
use crate::rpc::bench::{network, on};

#[test]
fn two_hosts_that_give_the_same_ledger_anchor_what_links_up_to_it() {
    let network = network(1, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let (one, other) = (node_at(1, &network), node_at(2, &network));
    let anchored = checked(&bench, &witnesses(&[], &[&one, &other]));
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![("sources-agree", LAST)], vec![]));
    let both = format!("{}, {}", one.url(), other.url());
    assert_eq!(anchored.recorded[0].said_by, both);
    assert_eq!(hangs_on(&bench, 100, LAST), "sources-agree");
    let published = Published::of(&network);
    checked(&bench, &witnesses(&[published.server.url()], &[]));
    assert_eq!((hangs_on(&bench, 100, 191), hangs_on(&bench, 100, 192)), ("history-archive", "sources-agree"));
}

#[test]
fn endpoints_behind_one_host_never_agree_with_themselves() {
    let network = network(2, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let (one, same, other) = (node_at(1, &network), node_at(1, &network), node_at(2, &network));
    let alone = witnesses(&[], &[&one, &same]);
    assert!(!alone.can_confirm());
    assert_eq!(checked(&bench, &alone), annals::anchor::Anchored::default());
    assert!(one.requests().is_empty() && same.requests().is_empty(), "nobody is asked in vain");
    for what in [
        Misbehaviour::unavailable(None),
        Misbehaviour::null_result(),
        Misbehaviour::html(),
        Misbehaviour::Passphrase("Another Network".to_owned()),
    ] {
        other.play(on(When::always(), what.clone()));
        let anchored = checked(&bench, &witnesses(&[], &[&one, &same, &other]));
        assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![], vec!["NOT_SERVED"]), "{what:?}");
        assert_eq!(hangs_on(&bench, 100, LAST), "source");
    }
    other.play(annals_sim::Script::new());
    assert_eq!(recorded(&checked(&bench, &witnesses(&[], &[&one, &same, &other]))), [("sources-agree", LAST)]);
}

#[test]
fn endpoints_that_lag_or_keep_little_are_asked_for_what_both_have() {
    let network = network(3, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let (one, behind) = (node_at(1, &network), node_at(2, &network));
    behind.play(on(When::always(), Misbehaviour::Behind(20)));
    assert_eq!(recorded(&checked(&bench, &witnesses(&[], &[&one, &behind]))), [("sources-agree", LAST - 20)]);
    assert_eq!((hangs_on(&bench, 100, 180), hangs_on(&bench, 100, 181)), ("sources-agree", "source"));
    let bench = filled(&network, &[(100, 120)]);
    behind.play(on(When::always(), Misbehaviour::OldestLedger(seq(150))));
    let anchored = checked(&bench, &witnesses(&[], &[&one, &behind]));
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![], vec![]), "120 is kept by one alone");
}

#[test]
fn an_endpoint_that_gives_another_ledger_is_an_incident_that_keeps_both() {
    let mut network = network(4, 60);
    let mut fork = network.forked(9);
    network.close_many(41);
    fork.close_many(41);
    let bench = filled(&network, &[(100, LAST)]);
    let (one, lying) = (node_at(1, &network), node_at(2, &fork));
    let witnesses = witnesses(&[], &[&one, &lying]);
    let error = try_check(&bench, &witnesses).unwrap_err();
    let AnchorError::Contradicted { ledger, said, said_by, incident: Some(id), .. } = &error else { panic!("{error}") };
    let other = fork.latest().unwrap().hash;
    assert_eq!((ledger.get(), said, said_by), (LAST, &other.to_string(), &lying.url()));
    assert_eq!((error.code(), error.contradicts_chain()), ("ANCHOR_CONTRADICTED", true));
    let incidents = bench.store.incidents().unwrap();
    assert_eq!((incidents.len(), incidents[0].id, incidents[0].kind), (1, *id, IncidentKind::LedgerHash));
    assert_eq!((incidents[0].ledger.get(), &incidents[0].source), (LAST, &format!("rpc:{}", lying.url())));
    assert_eq!(bench.store.status().unwrap().anchors, []);
    let open = try_check(&bench, &witnesses).unwrap_err();
    assert_eq!((open.code(), open.contradicts_chain()), ("INCIDENT_OPEN", true));
    assert_eq!(bench.store.incidents().unwrap().len(), 1);
}
