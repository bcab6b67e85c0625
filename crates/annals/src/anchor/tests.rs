use super::*;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn held() -> Coverage {
    [(10, 20), (25, 30)].iter().map(|(from, to)| LedgerRange::new(seq(*from), seq(*to)).unwrap()).collect()
}

fn pin(number: u32) -> Pin {
    Pin { seq: seq(number), hash: annals_core::LedgerHash([0; 32]) }
}

fn anchor(kind: AnchorKind, number: u32) -> Anchor {
    let hash = annals_core::LedgerHash([0; 32]);
    Anchor { ledger: seq(number), hash, kind, said_by: "a".to_owned(), seen_at_ms: 1 }
}

fn of(from: Option<u32>, to: Option<u32>, pins: &[Pin], anchors: &[Anchor]) -> &'static str {
    let window = Window { from_inclusive: from.map(seq), to_inclusive: to.map(seq) };
    HangsOn::of(window, &held(), pins, anchors).as_str()
}

/// What a window hangs on by one pin, and by one confirmation of each kind in its place.
fn by_one(from: Option<u32>, to: Option<u32>, number: u32) -> bool {
    let pinned = of(from, to, &[pin(number)], &[]) == "pinned";
    for kind in AnchorKind::ALL {
        assert_eq!(of(from, to, &[], &[anchor(kind, number)]) == kind.as_str(), pinned, "{from:?} {to:?} {number}");
    }
    pinned
}

#[test]
fn only_what_the_whole_window_links_up_to_is_what_it_hangs_on() {
    assert!(by_one(Some(12), Some(15), 15));
    assert!(by_one(Some(12), Some(15), 20));
    assert!(!by_one(Some(12), Some(15), 14), "what is below the end says nothing of it");
    assert!(!by_one(Some(12), Some(15), 26), "a gap lies between");
    assert!(!by_one(Some(9), Some(15), 20), "the window's first ledger is not held");
    assert!(!by_one(Some(12), Some(26), 30), "a gap lies within");
    assert!(by_one(None, Some(15), 20));
    assert!(!by_one(Some(12), None, 20));
    assert!(!by_one(Some(15), Some(12), 20), "an inverted window");
    assert_eq!(of(Some(12), Some(15), &[], &[]), "source");
    assert_eq!(of(None, None, &[], &[]), "source");
}

#[test]
fn the_strongest_of_what_reaches_a_window_is_named() {
    let (archive, agree) = (anchor(AnchorKind::HistoryArchive, 15), anchor(AnchorKind::SourcesAgree, 20));
    let all = [agree.clone(), archive.clone()];
    assert_eq!(of(Some(10), Some(12), &[pin(13)], &all), "pinned");
    assert_eq!(of(Some(10), Some(14), &[pin(13)], &all), "history-archive");
    assert_eq!(of(Some(10), Some(16), &[pin(13)], &all), "sources-agree");
    assert_eq!(of(Some(25), Some(26), &[pin(13)], &all), "source");
}
