use annals_core::Position;

use super::*;

fn ledger() -> LedgerSeq {
    LedgerSeq::new(70).unwrap()
}

fn at(index: u32) -> Position {
    Position::op(ledger(), 1, 0, index).unwrap()
}

fn event(index: u32, byte: u8, class: ProofClass) -> ShownEvent {
    ShownEvent { position: at(index), xdr: vec![byte], class }
}

fn committed(events: &[(u32, u8)]) -> Vec<ShownEvent> {
    events.iter().map(|(index, byte)| event(*index, *byte, ProofClass::Committed)).collect()
}

fn uncommitted(events: &[(u32, u8)]) -> Vec<ShownEvent> {
    events.iter().map(|(index, byte)| event(*index, *byte, ProofClass::Uncommitted)).collect()
}

fn proved(events: &[(u32, u8)]) -> Option<ProvedEvents> {
    Some(events.iter().map(|(index, byte)| (at(*index), vec![*byte])).collect())
}

fn hash(byte: u8) -> Option<LedgerHash> {
    Some(LedgerHash([byte; 32]))
}

fn incomplete() -> Option<Incomplete> {
    Some(Incomplete { reason: "gap".to_owned(), missing: None })
}

/// Two archives, each by what it shows, what its proof proves and its header.
struct Two {
    shown: Both<Vec<ShownEvent>>,
    proved: Both<Option<ProvedEvents>>,
    hashes: Both<Option<LedgerHash>>,
    incomplete: Both<Option<Incomplete>>,
}

impl Two {
    fn of(a: Vec<ShownEvent>, b: Vec<ShownEvent>) -> Self {
        Self {
            shown: Both { a, b },
            proved: Both { a: None, b: None },
            hashes: Both { a: hash(1), b: hash(1) },
            incomplete: Both { a: None, b: None },
        }
    }

    fn proving(self, a: Option<ProvedEvents>, b: Option<ProvedEvents>) -> Self {
        Self { proved: Both { a, b }, ..self }
    }

    /// The reason, which must be that of the two in each other's place as well.
    #[track_caller]
    fn code(&self) -> (&'static str, Option<Side>) {
        let code = |two: &Self| {
            let (position, kind) = first(&two.shown).unwrap();
            let case = Case {
                shown: &two.shown,
                proved: two.proved.clone(),
                hashes: two.hashes.clone(),
                incomplete: two.incomplete.clone(),
            };
            match case.judge(position, kind) {
                Judged::Reason(reason) => (reason.code(), reason.side()),
                Judged::TwoChains(_) => ("OTHER_CHAIN", None),
            }
        };
        let swapped = Self {
            shown: Both { a: self.shown.b.clone(), b: self.shown.a.clone() },
            proved: Both { a: self.proved.b.clone(), b: self.proved.a.clone() },
            hashes: Both { a: self.hashes.b, b: self.hashes.a },
            incomplete: Both { a: self.incomplete.b.clone(), b: self.incomplete.a.clone() },
        };
        let (found, other) = (code(self), code(&swapped));
        assert_eq!((found.0, found.1.map(Side::other)), other, "it matters which comes first");
        found
    }
}

#[test]
fn who_shows_less_than_its_own_proof_withholds() {
    let two = Two::of(committed(&[(0, 1), (1, 2)]), committed(&[(0, 1)]));
    let truth = || proved(&[(0, 1), (1, 2)]);
    assert_eq!(two.proving(truth(), truth()).code(), ("WITHHELD", Some(Side::B)));
    let two = Two::of(committed(&[(0, 1), (1, 2)]), committed(&[(0, 1)]));
    assert_eq!(two.proving(None, truth()).code(), ("WITHHELD", Some(Side::B)), "whatever the other can prove");
}

#[test]
fn who_shows_other_bytes_than_its_own_proof_or_calls_more_proved_is_named() {
    let two = Two::of(committed(&[(0, 1)]), committed(&[(0, 9)])).proving(None, proved(&[(0, 1)]));
    assert_eq!(two.code(), ("OTHER_BYTES", Some(Side::B)));
    let two = Two::of(committed(&[(0, 1)]), committed(&[(0, 1), (1, 9)])).proving(None, proved(&[(0, 1)]));
    assert_eq!(two.code(), ("INCONSISTENT", Some(Side::B)));
}

#[test]
fn who_says_that_it_lacks_ledgers_withholds_nothing() {
    let mut two = Two::of(committed(&[(0, 1)]), vec![]).proving(proved(&[(0, 1)]), proved(&[(0, 1)]));
    two.incomplete.b = incomplete();
    assert_eq!(two.code(), ("GAP", Some(Side::B)));
    // It explains no event that is there.
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 9)])).proving(proved(&[(0, 1)]), None);
    two.incomplete.b = incomplete();
    assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)));
}

#[test]
fn headers_that_differ_are_two_chains_also_where_nothing_is_proved() {
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 2)]));
    two.hashes.b = hash(2);
    assert_eq!(two.code(), ("OTHER_CHAIN", None));
    let two = two.proving(proved(&[(0, 1)]), proved(&[(0, 2)]));
    assert_eq!(two.code(), ("OTHER_CHAIN", None));
}

#[test]
fn one_proof_judges_both() {
    for shown in [vec![], committed(&[(0, 9)]), uncommitted(&[(0, 9)])] {
        let two = Two::of(committed(&[(0, 1)]), shown).proving(proved(&[(0, 1)]), None);
        assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)));
    }
    let two = Two::of(vec![], committed(&[(0, 9)])).proving(proved(&[]), None);
    assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)), "it calls proved what the header does not list");
    let two = Two::of(vec![], uncommitted(&[(0, 9)])).proving(proved(&[]), None);
    assert_eq!(two.code(), ("UNCOMMITTED_DIFFERS", None));
}

#[test]
fn what_the_protocol_does_not_commit_to_neither_can_prove() {
    assert_eq!(Two::of(uncommitted(&[(0, 1)]), uncommitted(&[(0, 2)])).code(), ("UNCOMMITTED_DIFFERS", None));
    assert_eq!(Two::of(uncommitted(&[(0, 1)]), vec![]).code(), ("UNCOMMITTED_DIFFERS", None));
    assert_eq!(Two::of(committed(&[(0, 1)]), uncommitted(&[(0, 2)])).code(), ("NOT_PROVABLE", None));
    assert_eq!(Two::of(committed(&[(0, 1)]), vec![]).code(), ("NOT_PROVABLE", None));
    let fee = |byte| {
        let position = Position::before_all_txs(ledger(), 0);
        vec![ShownEvent { position, xdr: vec![byte], class: ProofClass::Committed }]
    };
    assert_eq!(Two::of(fee(1), fee(2)).code(), ("UNCOMMITTED_DIFFERS", None), "no ledger commits to one there");
}

#[test]
fn two_proofs_that_differ_without_two_headers_are_not_judged() {
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 2)])).proving(proved(&[(0, 1)]), proved(&[(0, 2)]));
    assert_eq!(two.code(), ("CANNOT_JUDGE", None));
    two.hashes.b = None;
    assert_eq!(two.code(), ("CANNOT_JUDGE", None));
}

#[test]
fn every_reason_has_a_sentence_that_names_whom_it_is_about() {
    let position = at(0);
    let fork = |same: Option<u32>| Fork {
        same_through: same.map(|same| LedgerSeq::new(same).unwrap()),
        differs_from: ledger(),
    };
    let hashes = || Both { a: LedgerHash([1; 32]), b: LedgerHash([2; 32]) };
    let reasons = [
        Reason::Gap { side: Side::B, reason: "gap".to_owned() },
        Reason::Withheld { side: Side::A, position },
        Reason::OtherBytes { side: Side::A, position },
        Reason::NotListed { side: Side::B, position },
        Reason::OtherChain { fork: fork(Some(69)), hashes: hashes() },
        Reason::OtherChain { fork: fork(Some(60)), hashes: hashes() },
        Reason::OtherChain { fork: fork(None), hashes: hashes() },
        Reason::UncommittedDiffers,
        Reason::NotProvable(Both { a: true, b: true }),
        Reason::NotProvable(Both { a: false, b: true }),
        Reason::OtherAttribution,
        Reason::CannotJudge,
    ];
    let sentences: std::collections::BTreeSet<_> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(sentences.len(), reasons.len());
    for reason in &reasons {
        let sentence = reason.to_string();
        assert!(reason.side().is_none_or(|side| sentence.starts_with(side.name())), "{sentence}");
    }
    assert!(reasons[4].to_string().ends_with("ledger 70 has two hashes, the first that differs"));
}
