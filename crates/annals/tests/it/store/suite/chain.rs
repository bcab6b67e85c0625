//! Hashes, links, network and pins.

use annals::store::{IncidentKind, Pin, Request, StoreError};
use annals_core::chain::Severance;
use annals_core::hash::sha256;
use annals_core::{ClassicEvents, ClassicPolicy, LedgerHash, LedgerSeq, Network, Scope};

use crate::store::fixtures::*;

pub fn inv_4_every_stored_ledger_hashes_and_links(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 40);
    for (from, to) in [(21, 30), (1, 8), (15, 20), (9, 14)] {
        store.commit(&full(from, to), fence).unwrap();
    }
    // Another chain may go on from what is stored; it links as well as any.
    store.commit(&batch_of(Scope::All, vec![forked(31), ledger_after_fork(32)]), fence).unwrap();
    let rows = store.ledgers(LedgerSeq::MIN, u32::MAX).unwrap();
    assert_eq!(rows.len(), 32);
    for row in &rows {
        assert_eq!(sha256(&[&row.header_xdr]), row.hash.0, "ledger {}", row.seq);
    }
    for pair in rows.windows(2) {
        if pair[0].seq.next() == Some(pair[1].seq) {
            assert_eq!(pair[1].previous_hash, pair[0].hash, "ledger {}", pair[1].seq);
        }
    }
}

fn ledger_after_fork(number: u32) -> annals_core::CheckedLedger {
    annals_core::CheckedLedger { previous_hash: forked(number - 1).hash, ..ledger(number, ClassicEvents::Present) }
}

pub fn a_batch_that_does_not_link_to_a_stored_neighbour_is_refused_on_both_sides(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(10, 12), fence).unwrap();
    let before = snapshot(store);

    let below = store.commit(&batch_of(Scope::All, vec![forked(9)]), fence).unwrap_err();
    assert!(matches!(below, StoreError::DoesNotLink { seq: at, stored } if at == seq(9) && stored == seq(10)));
    let above = store.commit(&batch_of(Scope::All, vec![ledger_after_fork(13)]), fence).unwrap_err();
    assert!(matches!(above, StoreError::DoesNotLink { seq: at, stored } if at == seq(13) && stored == seq(12)));
    assert!(above.contradicts_chain());
    assert_eq!(snapshot(store), before);

    let neighbours = store.neighbours(range(1, 9)).unwrap();
    assert_eq!((neighbours.before, neighbours.after), (None, Some(hash(9))));
    let neighbours = store.neighbours(range(13, 20)).unwrap();
    assert_eq!((neighbours.before, neighbours.after), (Some(hash(12)), None));
    store.commit(&full(9, 9), fence).unwrap();
    store.commit(&full(13, 13), fence).unwrap();
}

pub fn another_hash_for_a_stored_ledger_is_an_incident_and_stops_writing_until_resolved(
    fixture: &mut dyn StoreFixture,
) {
    let fence = begin(fixture.store(), 1, 20);
    fixture.store().commit(&full(1, 10), fence).unwrap();
    let before = snapshot(fixture.store());

    let offered = batch_of(Scope::All, vec![forked(5)]);
    let error = fixture.store().commit(&offered, fence).unwrap_err();
    let StoreError::Incident { id, what, ledger: at, position: None } = error else { panic!("{error:?}") };
    assert_eq!((what.as_str(), at), ("hash", seq(5)));
    fixture.reopen();
    let store = fixture.store();
    let fence = store.acquire().unwrap();

    let [incident] = store.incidents().unwrap().try_into().unwrap();
    assert_eq!((incident.id, incident.kind, incident.ledger), (id, IncidentKind::LedgerHash, seq(5)));
    assert_eq!(incident.stored_xdr, ledger(5, ClassicEvents::Present).header_xdr);
    assert_eq!(incident.offered_xdr, forked(5).header_xdr);
    assert_eq!((incident.source.as_str(), incident.resolved_at_ms), (SOURCE, None));
    let during = snapshot(store);
    assert_eq!(during.status.open_incidents, 1);
    assert_eq!((&during.events, &during.ledgers), (&before.events, &before.ledgers));

    let refused = store.commit(&full(11, 12), fence).unwrap_err();
    assert!(matches!(refused, StoreError::IncidentOpen { id: open } if open == id));
    let refused = store.request(&request(Scope::All, 1, 30), fence).unwrap_err();
    assert!(matches!(refused, StoreError::IncidentOpen { .. }));
    assert_eq!(snapshot(store), during, "reads go on, nothing is written");

    for unknown in [0, id + 1, u64::MAX] {
        let error = store.resolve_incident(unknown, None, fence).unwrap_err();
        assert!(matches!(error, StoreError::UnknownIncident { id } if id == unknown));
    }
    store.resolve_incident(id, Some("the lake was wrong"), fence).unwrap();
    assert!(matches!(store.resolve_incident(id, None, fence), Err(StoreError::UnknownIncident { .. })));
    let [resolved] = store.incidents().unwrap().try_into().unwrap();
    assert!(resolved.resolved_at_ms.is_some());
    assert_eq!(resolved.note.as_deref(), Some("the lake was wrong"));
    store.commit(&full(11, 12), fence).unwrap();
}

pub fn stored_ledgers_that_are_not_of_one_chain_are_an_incident_until_it_is_resolved_for_good(
    fixture: &mut dyn StoreFixture,
) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(1, 5), fence).unwrap();
    store.commit(&full(11, 12), fence).unwrap();
    let before = snapshot(store);
    let (header_xdr, below) = (forked(6).header_xdr, forked(5).hash);
    let found = Severance { between: range(6, 10), header_xdr, below, last: hash(10) };
    for nothing in [Severance { below: hash(5), ..found.clone() }, Severance { last: hash(9), ..found.clone() }] {
        store.record_severance(&nothing, SOURCE, fence).unwrap();
    }
    assert_eq!(snapshot(store), before, "what is stored is not contradicted");

    let error = store.record_severance(&found, SOURCE, fence).unwrap_err();
    assert!(matches!(&error, StoreError::Incident { what, ledger, .. } if what == "hash" && *ledger == seq(5)));
    assert!(error.contradicts_chain());
    let [incident] = store.incidents().unwrap().try_into().unwrap();
    assert_eq!((incident.kind, incident.ledger), (IncidentKind::LedgerHash, seq(5)));
    assert_eq!(incident.stored_xdr, ledger(5, ClassicEvents::Present).header_xdr);
    assert_eq!((incident.offered_xdr.as_slice(), incident.source.as_str()), (found.header_xdr.as_slice(), SOURCE));
    let refused = store.record_severance(&found, SOURCE, fence).unwrap_err();
    assert!(matches!(refused, StoreError::IncidentOpen { .. }));
    assert!(matches!(store.commit(&full(6, 7), fence), Err(StoreError::IncidentOpen { .. })));

    store.resolve_incident(incident.id, None, fence).unwrap();
    store.record_severance(&found, SOURCE, fence).expect("an operator has seen this very one");
    assert_eq!(store.incidents().unwrap().len(), 1);
    let another = Severance { header_xdr: b"another".to_vec(), ..found.clone() };
    assert!(matches!(store.record_severance(&another, SOURCE, fence), Err(StoreError::Incident { .. })));
    store.acquire().unwrap();
    assert!(matches!(store.record_severance(&found, SOURCE, fence), Err(StoreError::StaleFence)));
}

pub fn nothing_ties_a_silent_first_ledger_to_the_network_but_a_pin_or_a_neighbour(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 40);
    let before = snapshot(store);
    // Ledgers whose number is a multiple of three hold no transaction.
    let error = store.commit(&full(9, 9), fence).unwrap_err();
    assert!(matches!(error, StoreError::NetworkUnproven { seq: at } if at == seq(9)));
    assert_eq!(snapshot(store), before);

    let pinned = Request { pins: vec![Pin { seq: seq(9), hash: hash(9) }], ..request(Scope::All, 1, 40) };
    store.request(&pinned, fence).unwrap();
    store.commit(&full(9, 9), fence).unwrap();
    store.commit(&full(10, 11), fence).unwrap();
    store.commit(&full(12, 12), fence).expect("it links to ledger 11");
    store.commit(&full(12, 12), fence).expect("it is stored");
    assert!(matches!(store.commit(&full(15, 15), fence), Err(StoreError::NetworkUnproven { .. })));
    store.commit(&full(14, 15), fence).expect("ledger 14 has a transaction");
}

pub fn another_network_and_another_policy_are_refused_before_any_write(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    store.commit(&full(1, 4), fence).unwrap();
    let before = snapshot(store);
    let other = Network::new("Another Network");

    let error = store.request(&Request { network: other.clone(), ..request(Scope::All, 1, 20) }, fence).unwrap_err();
    assert!(matches!(&error, StoreError::NetworkMismatch { stored, asked }
        if stored == network().passphrase() && asked == "Another Network"));
    assert!(error.contradicts_chain());
    let dropping = Request { classic: ClassicPolicy::Drop, ..request(Scope::All, 1, 20) };
    assert!(matches!(store.request(&dropping, fence), Err(StoreError::PolicyMismatch { stored: "keep" })));
    let ledgers = || vec![ledger(5, ClassicEvents::Present)];
    let foreign = annals_core::Batch::checked(other, Scope::All, ClassicPolicy::Keep, SOURCE, ledgers()).unwrap();
    assert!(matches!(store.commit(&foreign, fence), Err(StoreError::NetworkMismatch { .. })));
    let dropped = annals_core::Batch::checked(network(), Scope::All, ClassicPolicy::Drop, SOURCE, ledgers()).unwrap();
    assert!(matches!(store.commit(&dropped, fence), Err(StoreError::PolicyMismatch { .. })));
    assert_eq!(snapshot(store), before);
}

pub fn a_pin_that_the_chain_contradicts_is_refused_before_any_write(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    store.commit(&full(4, 6), fence).unwrap();
    let wrong = |number| Pin { seq: seq(number), hash: LedgerHash([7; 32]) };
    let before = snapshot(store);

    // Of ledger 3 only the hash is known, by its stored successor.
    for number in [3, 5] {
        let asked = Request { pins: vec![wrong(number)], ..request(Scope::All, 1, 20) };
        let error = store.request(&asked, fence).unwrap_err();
        assert!(matches!(&error, StoreError::PinContradicted { seq: at, pinned, found }
            if *at == seq(number) && *pinned == "07".repeat(32) && *found == hash(number).to_string()));
    }
    assert_eq!(snapshot(store), before);

    let asked = Request { pins: vec![wrong(8)], ..request(Scope::All, 1, 10) };
    store.request(&asked, fence).unwrap();
    let other_pin = Request { pins: vec![Pin { seq: seq(8), hash: hash(8) }], ..request(Scope::All, 1, 10) };
    assert!(matches!(store.request(&other_pin, fence), Err(StoreError::PinnedOtherwise { .. })));
    let before = snapshot(store);
    let error = store.commit(&full(7, 8), fence).unwrap_err();
    assert!(matches!(error, StoreError::PinContradicted { seq: at, .. } if at == seq(8)));
    assert_eq!(snapshot(store), before);
}

pub fn a_pin_is_kept_whenever_it_came(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 10);
    store.commit(&full(1, 3), fence).unwrap();
    let pins = vec![Pin { seq: seq(2), hash: hash(2) }, Pin { seq: seq(4), hash: hash(4) }];
    store.request(&Request { pins: pins.clone(), ..request(Scope::All, 1, 10) }, fence).unwrap();
    store.commit(&full(4, 5), fence).unwrap();
    assert_eq!(store.status().unwrap().pins, pins);
}

pub fn a_batch_that_contradicts_the_pin_just_below_it_is_refused(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let pins = vec![Pin { seq: seq(9), hash: hash(9) }];
    store.request(&Request { pins, ..request(Scope::All, 1, 20) }, fence).unwrap();
    let before = snapshot(store);
    let other = annals_core::CheckedLedger { previous_hash: forked(9).hash, ..ledger(10, ClassicEvents::Present) };
    let refused = store.commit(&batch_of(Scope::All, vec![other]), fence).unwrap_err();
    assert!(matches!(&refused, StoreError::PinContradicted { seq: at, found, .. }
        if *at == seq(9) && *found == forked(9).hash.to_string()));
    assert_eq!(snapshot(store), before);
    store.commit(&full(10, 12), fence).unwrap();
}
