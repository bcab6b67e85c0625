//! Who confirmed what is stored.

use annals::store::{Anchor, AnchorKind, Store, StoreError};
use annals_core::LedgerSeq;

use crate::store::fixtures::*;

fn anchor(kind: AnchorKind, ledger: u32) -> Anchor {
    Anchor { ledger: seq(ledger), hash: hash(ledger), kind, said_by: "a witness".to_owned(), seen_at_ms: 1_000 }
}

fn recorded(store: &dyn Store) -> Vec<Anchor> {
    let of = |kind| store.anchors(kind, LedgerSeq::MIN, 100).unwrap();
    AnchorKind::ALL.into_iter().flat_map(of).collect()
}

pub fn only_a_stored_ledgers_own_hash_is_confirmed_and_else_nothing_is_written(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let old = store.acquire().unwrap();
    let fence = begin(store, 1, 20);
    store.commit(&full(1, 10), fence).unwrap();
    let before = snapshot(store);
    for kind in AnchorKind::ALL {
        let other = Anchor { hash: forked(7).hash, ..anchor(kind, 7) };
        let refused = store.record_anchor(&other, fence).unwrap_err();
        assert_eq!((refused.code(), refused.contradicts_chain()), ("ANCHOR_CONTRADICTED", true));
        let told = refused.to_string();
        assert!(told.contains(&hash(7).to_string()) && told.contains(&forked(7).hash.to_string()), "{told}");
        let above = store.record_anchor(&anchor(kind, 11), fence).unwrap_err();
        assert_eq!((above.code(), above.contradicts_chain()), ("LEDGER_NOT_STORED", false));
        assert!(matches!(store.record_anchor(&anchor(kind, 7), old), Err(StoreError::StaleFence)));
    }
    assert_eq!((snapshot(store), recorded(store)), (before, Vec::new()));

    store.record_anchor(&anchor(AnchorKind::SourcesAgree, 7), fence).unwrap();
    let again = Anchor { seen_at_ms: 9_000, ..anchor(AnchorKind::SourcesAgree, 7) };
    store.record_anchor(&again, fence).unwrap();
    assert_eq!(recorded(store), [anchor(AnchorKind::SourcesAgree, 7)], "what was confirmed first stays");
    store.commit(&batch_of(annals_core::Scope::All, vec![forked(3)]), fence).unwrap_err();
    let waiting = store.record_anchor(&anchor(AnchorKind::HistoryArchive, 7), fence);
    assert!(matches!(waiting, Err(StoreError::IncidentOpen { .. })));
    fixture.reopen();
    assert_eq!(recorded(fixture.store()), [anchor(AnchorKind::SourcesAgree, 7)]);
}

pub fn of_each_chain_the_highest_confirmation_of_each_kind_is_told(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 40);
    store.commit(&full(1, 10), fence).unwrap();
    store.commit(&full(21, 30), fence).unwrap();
    let begun = store.status().unwrap().feed_position;
    use AnchorKind::{HistoryArchive, SourcesAgree};
    for (kind, ledger) in [(HistoryArchive, 3), (HistoryArchive, 8), (SourcesAgree, 5), (SourcesAgree, 30)] {
        store.record_anchor(&anchor(kind, ledger), fence).unwrap();
    }
    let told = |anchors: &[Anchor]| anchors.iter().map(|found| (found.kind, found.ledger.get())).collect::<Vec<_>>();
    let status = store.status().unwrap();
    assert_eq!(told(&status.anchors), [(HistoryArchive, 8), (SourcesAgree, 5), (SourcesAgree, 30)]);
    assert_eq!(told(&store.contract(contract(1)).unwrap().anchors), told(&status.anchors));
    assert_eq!(status.feed_position, begun, "no page depends on when something was confirmed");
    store.commit(&full(11, 20), fence).unwrap();
    assert_eq!(told(&store.status().unwrap().anchors), [(HistoryArchive, 8), (SourcesAgree, 30)]);
}
