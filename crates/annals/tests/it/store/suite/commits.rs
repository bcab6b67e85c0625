//! What one commit does, and what it never does.

use annals::store::{EventQuery, FeedPosition, GapFailure, IncidentKind, StoreError};
use annals_core::{Census, ClassicEvents, LedgerSeq, Scope, ScopeKey, TxHash};

use crate::store::fixtures::*;

pub fn a_commit_is_there_after_a_restart(fixture: &mut dyn StoreFixture) {
    let fence = begin(fixture.store(), 2, 30);
    let offered = full(2, 20);
    let committed = fixture.store().commit(&offered, fence).unwrap();
    let expected: Vec<_> = offered.events().cloned().collect();
    assert_eq!((committed.events_added, committed.events_known), (expected.len() as u64, 0));
    assert_eq!(committed.ledgers_written, 19);
    let before = snapshot(fixture.store());
    fixture.reopen();
    assert_eq!(snapshot(fixture.store()), before);

    let status = before.status;
    assert_eq!(before.events, expected);
    assert_eq!(status.coverage, [(ScopeKey::All, coverage(&[(2, 20)]))]);
    assert_eq!(status.verified, coverage(&[(2, 20)]));
    assert_eq!((status.latest_ledger, status.start), (Some(seq(20)), Some(seq(2))));
    assert_eq!(status.passphrase.as_deref(), Some(network().passphrase()));
    assert_eq!(status.feed_position, committed.feed_position);
    assert_eq!(status.gaps.len(), 1);
    assert_eq!(status.gaps[0].range, range(21, 30));
    assert_eq!(before.ledgers[3].header_xdr, ledger(5, ClassicEvents::Present).header_xdr);
    assert_eq!(before.ledgers[3].source, SOURCE);
}

pub fn committing_the_same_again_changes_nothing(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 30);
    store.commit(&full(1, 9), fence).unwrap();
    let later = store.commit(&full(10, 20), fence).unwrap();
    let before = snapshot(store);
    for (from, to) in [(1, 9), (10, 20), (4, 14), (20, 20)] {
        let again = store.commit(&full(from, to), fence).unwrap();
        assert_eq!((again.events_added, again.ledgers_written), (0, 0));
        assert_eq!(again.events_known, full(from, to).events().count() as u64);
        assert_eq!(again.feed_position, later.feed_position);
    }
    assert_eq!(snapshot(store), before);
}

pub fn inv_2_coverage_grows_only_for_ledgers_that_were_stored(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 50);
    store.commit(&full(10, 12), fence).unwrap();
    store.commit(&full(14, 20), fence).unwrap();
    let covered = coverage(&[(10, 12), (14, 20)]);
    assert_eq!(store.status().unwrap().covered(ScopeKey::All), covered);
    // Neither a failure nor a refused batch nor a request covers anything.
    let failure = GapFailure { range: range(13, 13), code: "NOT_FOUND".into(), message: "no such object".into() };
    store.record_failure(&failure, fence).unwrap();
    store.commit(&batch_of(Scope::All, vec![forked(13)]), fence).unwrap_err();
    store.request(&request(Scope::All, 1, 60), fence).unwrap();
    let mut stale = fence;
    stale.number -= 1;
    store.commit(&full(13, 13), stale).unwrap_err();
    assert_eq!(store.status().unwrap().covered(ScopeKey::All), covered);
    assert_eq!(store.status().unwrap().verified, covered);
}

pub fn inv_3_other_bytes_under_a_stored_position_are_an_incident_that_keeps_both(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(4, 6), fence).unwrap();
    let before = snapshot(store);
    let mut other = ledger(5, ClassicEvents::Present);
    let position = other.events[1].position;
    let stored_xdr = other.events[1].xdr.clone();
    other.events[1].xdr[0] ^= 1;
    let offered_xdr = other.events[1].xdr.clone();
    // The batch brings a new ledger besides; it must not be stored either.
    let error = store
        .commit(
            &batch_of(Scope::All, vec![other, ledger(6, ClassicEvents::Present), ledger(7, ClassicEvents::Present)]),
            fence,
        )
        .unwrap_err();
    let StoreError::Incident { what, ledger: at, position: Some(named), .. } = error else { panic!("{error:?}") };
    assert_eq!((what, at, named), (format!("event {position}"), seq(5), position));

    let [incident] = store.incidents().unwrap().try_into().unwrap();
    assert_eq!((incident.kind, incident.position), (IncidentKind::EventBytes, Some(position)));
    assert_eq!((incident.stored_xdr, incident.offered_xdr), (stored_xdr, offered_xdr));
    let after = snapshot(store);
    assert_eq!((after.events, after.ledgers), (before.events, before.ledgers));
    assert_eq!(after.status.coverage, before.status.coverage);
    assert_eq!(after.status.gaps, before.status.gaps);
    assert_eq!(after.status.feed_position, before.status.feed_position);
}

pub fn inv_3_another_transaction_under_a_stored_position_is_an_incident(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&unverified(Scope::All, 4, 6, ClassicEvents::Present), fence).unwrap();
    let before = all_events(store, 100);
    let mut other = ledger(5, ClassicEvents::Present);
    other.events[0].tx_hash = TxHash([8; 32]);
    let error = store.commit(&batch_of(Scope::All, vec![other]), fence).unwrap_err();
    assert!(matches!(error, StoreError::Incident { position: Some(_), .. }));
    assert_eq!(all_events(store, 100), before);
}

pub fn inv_7_the_holder_of_an_old_fence_writes_nothing(fixture: &mut dyn StoreFixture) {
    let old = begin(fixture.store(), 1, 20);
    fixture.store().commit(&full(1, 5), old).unwrap();
    fixture.store().commit(&batch_of(Scope::All, vec![forked(3)]), old).unwrap_err();
    let incident = fixture.store().incidents().unwrap()[0].id;
    fixture.reopen();
    let store = fixture.store();
    let new = store.acquire().unwrap();
    assert!(new.number > old.number);
    let before = snapshot(store);

    let mut other_epoch = new;
    other_epoch.epoch += 1;
    let failure = GapFailure { range: range(6, 7), code: "X".into(), message: "x".into() };
    for stale in [old, other_epoch] {
        let refusals = [
            store.commit(&full(6, 7), stale).map(drop),
            store.commit(&batch_of(Scope::All, vec![forked(3)]), stale).map(drop),
            store.request(&request(Scope::All, 1, 90), stale).map(drop),
            store.record_failure(&failure, stale),
            store.resolve_incident(incident, None, stale),
        ];
        for refusal in refusals {
            assert!(matches!(refusal, Err(StoreError::StaleFence)), "{refusal:?}");
        }
    }
    assert_eq!(snapshot(store), before);
    assert_eq!(store.incidents().unwrap().len(), 1);
    store.resolve_incident(incident, None, new).unwrap();
    store.commit(&full(6, 7), new).unwrap();
}

pub fn inv_11_the_watermark_never_moves_back(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 5, 40);
    let mut watermark = None;
    let mut take = |step: &dyn Fn()| {
        step();
        let now = store.status().unwrap().covered(ScopeKey::All).watermark(seq(5));
        assert!(now >= watermark, "{now:?} after {watermark:?}");
        watermark = now;
    };
    take(&|| drop(store.commit(&full(10, 12), fence)));
    take(&|| drop(store.commit(&full(5, 7), fence)));
    take(&|| drop(store.commit(&full(8, 9), fence)));
    take(&|| drop(store.commit(&full(1, 2), fence)));
    take(&|| drop(store.commit(&batch(Scope::All, 5, 9, ClassicEvents::Absent), fence)));
    take(&|| drop(store.commit(&unverified(Scope::All, 6, 20, ClassicEvents::Absent), fence)));
    take(&|| drop(store.commit(&full(6, 20), fence)));
    take(&|| drop(store.commit(&batch_of(Scope::All, vec![forked(7)]), fence)));
    take(&|| drop(store.request(&request(Scope::All, 30, 40), fence)));
    assert_eq!(watermark, Some(seq(20)));
}

pub fn nothing_is_stored_before_the_first_request(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    assert!(matches!(store.commit(&full(1, 3), fence), Err(StoreError::NotRequested)));
    let status = store.status().unwrap();
    assert_eq!((status.passphrase, status.start, status.latest_ledger), (None, None, None));
    assert_eq!((status.feed_position, status.events), (FeedPosition(0), Census::default()));
    assert!(status.coverage.is_empty() && status.verified.is_empty() && status.gaps.is_empty());
}

pub fn a_page_never_shows_what_was_committed_after_its_feed_position(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    let mut expected = Vec::new();
    for (from, to) in [(11, 14), (1, 5), (15, 20), (6, 10)] {
        let committed = store.commit(&full(from, to), fence).unwrap();
        expected.extend(full(from, to).events().cloned());
        expected.sort_by_key(|event| event.position);
        // A silent commit has a position of its own.
        expected.dedup();
        let query =
            EventQuery { after: None, to_inclusive: LedgerSeq::MAX, as_of: committed.feed_position, limit: 999 };
        assert_eq!(store.events(&query).unwrap(), expected);
    }
    let query = EventQuery { after: None, to_inclusive: seq(4), as_of: FeedPosition(u64::MAX), limit: 999 };
    assert_eq!(store.events(&query).unwrap(), full(1, 4).events().cloned().collect::<Vec<_>>());
    let first = store.events(&EventQuery { as_of: FeedPosition(1), ..query }).unwrap();
    assert!(first.is_empty(), "feed position 1 is of ledger 11");
}

pub fn a_new_contract_gets_its_events_of_stored_ledgers_and_its_own_coverage(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[1]), 1, 9), fence).unwrap();
    store.commit(&batch(contracts(&[1]), 1, 9, ClassicEvents::Present), fence).unwrap();
    let plan = store.request(&request(contracts(&[1, 2]), 4, 9), fence).unwrap();
    assert_eq!(plan.missing, coverage(&[(4, 9)]));
    let committed = store.commit(&batch(contracts(&[1, 2]), 4, 9, ClassicEvents::Present), fence).unwrap();
    assert_eq!(committed.ledgers_written, 0);
    assert!(committed.events_added > 0 && committed.events_known > 0);

    let status = store.status().unwrap();
    assert_eq!(status.covered(ScopeKey::Contract(contract(1))), coverage(&[(1, 9)]));
    assert_eq!(status.covered(ScopeKey::Contract(contract(2))), coverage(&[(4, 9)]));
    assert!(status.covered(ScopeKey::All).is_empty() && status.gaps.is_empty());
    let expected: Vec<_> = full(1, 9)
        .events()
        .filter(|event| {
            event.contract_id == Some(contract(1))
                || event.contract_id == Some(contract(2)) && event.position.ledger() >= seq(4)
        })
        .cloned()
        .collect();
    assert_eq!(all_events(store, 100), expected);
}

pub fn only_ledgers_with_a_proven_event_in_scope_keep_proof_material(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[2]), 1, 9), fence).unwrap();
    store.commit(&batch(contracts(&[2]), 1, 9, ClassicEvents::Present), fence).unwrap();
    for number in 1..=9 {
        // Contract 2 is invoked by the second transaction; only every third ledger has one.
        let expected = (number % 3 == 2).then(|| ledger(number, ClassicEvents::Present).proof);
        assert_eq!(store.proof(seq(number)).unwrap(), expected, "ledger {number}");
    }
    let whole = store.proof(seq(2)).unwrap().unwrap();
    assert_eq!(whole.invocations.len(), 2, "siblings outside the scope are part of the material");
    assert_eq!(store.proof(seq(99)).unwrap(), None);
}

pub fn the_counts_of_events_equal_the_events_themselves(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 30);
    store.commit(&unverified(Scope::All, 1, 8, ClassicEvents::Absent), fence).unwrap();
    store.commit(&batch(Scope::All, 5, 20, ClassicEvents::Absent), fence).unwrap();
    store.commit(&full(12, 20), fence).unwrap();
    let events = all_events(store, 100);
    let counted = |low: u32, high: u32, scope: &Scope| {
        Census::of(
            events.iter().filter(|event| scope.takes(event) && range(low, high).contains(event.position.ledger())),
        )
    };
    assert_eq!(store.status().unwrap().events, Census::of(&events));
    for scope in [Scope::All, contracts(&[1]), contracts(&[1, 9]), contracts(&[77])] {
        for (low, high) in [(1, 30), (1, 2_147_483_647), (6, 13), (20, 20), (25, 30)] {
            assert_eq!(store.tally(&scope, range(low, high)).unwrap(), counted(low, high, &scope));
        }
    }
}
