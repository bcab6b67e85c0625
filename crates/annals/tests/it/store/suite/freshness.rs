//! What followers say of themselves.

use annals::store::{FollowStateName, Freshness, Latency, SeenTip, Store, StoreError};

use crate::store::fixtures::*;

fn following(now_ms: u64, tip: u32) -> Freshness {
    Freshness {
        state: FollowStateName::Following,
        tip: Some(SeenTip { ledger: seq(tip), closed_ms: Some(now_ms - 700), seen_ms: now_ms }),
        source_answered_ms: Some(now_ms),
        ..Freshness::beginning(now_ms)
    }
}

fn noted(store: &dyn Store) -> Freshness {
    store.status().unwrap().freshness.unwrap()
}

pub fn what_a_follower_says_replaces_what_it_said_before_and_is_there_after_a_restart(fixture: &mut dyn StoreFixture) {
    assert_eq!(fixture.store().status().unwrap().freshness, None);
    let fence = fixture.store().acquire().unwrap();
    fixture.store().note_freshness(&Freshness::beginning(5_000), fence).unwrap();
    assert_eq!(noted(fixture.store()), Freshness::beginning(5_000));

    for state in FollowStateName::ALL {
        let said = Freshness {
            state,
            code: Some("UNKNOWN_PROTOCOL".to_owned()),
            message: Some("ledger 70 is of protocol 31".to_owned()),
            announced: Some("protocol 31 begins soon".to_owned()),
            latency: Some(Latency {
                ledgers: 100,
                close_to_visible_p50_ms: 800,
                close_to_visible_p99_ms: 1_900,
                seen_to_visible_p50_ms: 12,
                seen_to_visible_p99_ms: 45,
            }),
            ..following(9_000, 70)
        };
        fixture.store().note_freshness(&said, fence).unwrap();
        assert_eq!(noted(fixture.store()), said);
        fixture.reopen();
        assert_eq!(noted(fixture.store()), said);
    }
    fixture.store().note_freshness(&Freshness::beginning(9_500), fence).unwrap();
    assert_eq!(noted(fixture.store()), Freshness::beginning(9_500), "nothing is left of what was said before");
}

pub fn the_follower_without_the_lease_says_nothing(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let old = store.acquire().unwrap();
    let new = store.acquire().unwrap();
    store.note_freshness(&following(5_000, 7), new).unwrap();
    assert!(matches!(store.note_freshness(&following(6_000, 8), old), Err(StoreError::StaleFence)));
    assert_eq!(noted(store), following(5_000, 7));
}

pub fn saying_that_one_lives_uses_no_feed_position_and_changes_no_page(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 20);
    store.commit(&full(1, 10), fence).unwrap();
    let before = snapshot(store);
    store.note_freshness(&following(5_000, 70), fence).unwrap();
    let mut after = snapshot(store);
    assert!(after.status.freshness.take().is_some());
    assert_eq!(after, before);
}

pub fn a_tip_that_is_only_repeated_grows_old(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    let seen = |store: &dyn Store| noted(store).tip.map(|tip| (tip.ledger.get(), tip.seen_ms));
    store.note_freshness(&following(5_000, 70), fence).unwrap();
    for later in [6_000, 60_000] {
        store.note_freshness(&following(later, 70), fence).unwrap();
        assert_eq!(seen(store), Some((70, 5_000)));
        assert_eq!(noted(store).heartbeat_ms, later);
    }
    // A restart, or an endpoint that does not say when the ledger closed, makes it no younger either.
    let again = store.acquire().unwrap();
    let tip = Some(SeenTip { ledger: seq(70), closed_ms: None, seen_ms: 61_000 });
    store.note_freshness(&Freshness { tip, ..following(61_000, 70) }, again).unwrap();
    let closed = noted(store).tip.and_then(|tip| tip.closed_ms);
    assert_eq!((seen(store), closed), (Some((70, 5_000)), Some(59_300)));
    store.note_freshness(&following(62_000, 71), again).unwrap();
    assert_eq!(seen(store), Some((71, 62_000)));
}

pub fn no_time_but_that_of_a_close_is_kept_behind_the_sign_of_life(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.note_freshness(&following(900_000, 70), fence).unwrap();
    // The clock was set back: what was seen "in the future" was seen at the latest now.
    let said = Freshness { source_answered_ms: Some(900_000), heartbeat_ms: 30_000, ..following(900_000, 70) };
    store.note_freshness(&said, fence).unwrap();
    let kept = noted(store);
    let tip = kept.tip.unwrap();
    assert_eq!((kept.heartbeat_ms, kept.source_answered_ms, tip.seen_ms), (30_000, Some(30_000), 30_000));
    assert_eq!(tip.closed_ms, Some(899_300), "the network's own word stays");
    // A follower that goes on to date it in the future makes it no younger with each sign of life.
    store.note_freshness(&Freshness { heartbeat_ms: 95_000, ..said }, fence).unwrap();
    let kept = noted(store);
    assert_eq!((kept.heartbeat_ms, kept.source_answered_ms), (95_000, Some(30_000)));
    assert_eq!(kept.tip.map(|tip| tip.seen_ms), Some(30_000));
    // A clock beyond what the database can hold is no reason to fail.
    store.note_freshness(&Freshness::beginning(u64::MAX), fence).unwrap();
    assert_eq!(noted(store).heartbeat_ms, i64::MAX.unsigned_abs());
}
