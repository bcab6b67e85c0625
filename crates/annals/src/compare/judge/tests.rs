use annals_core::{LedgerHash, LedgerRange, Position};
use annals_sim::Rng;

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

/// What an archive says that did not scan the ledger.
fn unscanned() -> Option<Incomplete> {
    Some(Incomplete { reason: "gap".to_owned(), missing: Some(LedgerRange::single(ledger())) })
}

/// What an archive says that scanned the ledger and is not sure of it.
fn unsure(reason: IncompleteReason) -> Option<Incomplete> {
    Some(Incomplete { reason: reason.as_str().to_owned(), missing: None })
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

    fn swapped(&self) -> Self {
        Self {
            shown: Both { a: self.shown.b.clone(), b: self.shown.a.clone() },
            proved: Both { a: self.proved.b.clone(), b: self.proved.a.clone() },
            hashes: Both { a: self.hashes.b, b: self.hashes.a },
            incomplete: Both { a: self.incomplete.b.clone(), b: self.incomplete.a.clone() },
        }
    }

    fn reason(&self) -> Reason {
        let case = Case {
            // Of an account whose only event the first has and the second has not.
            subject: first(&self.shown).unwrap_or((at(0), Kind::OnlyIn(Side::A))),
            shown: &self.shown,
            proved: self.proved.clone(),
            incomplete: Both { a: self.incomplete.a.as_ref(), b: self.incomplete.b.as_ref() },
        };
        let fork = match self.hashes {
            Both { a: Some(a), b: Some(b) } if a != b => {
                Some(Fork { same_through: None, differs_from: ledger(), hashes: Both { a, b } })
            }
            _ => None,
        };
        case.reason(|| Ok(fork)).unwrap_or_else(|_| panic!("nothing is asked"))
    }

    /// The reason, which must be that of the two in each other's place as well.
    #[track_caller]
    fn code(&self) -> (&'static str, Option<Side>) {
        let code = |two: &Self| {
            let reason = two.reason();
            (reason.code(), reason.side())
        };
        let (found, other) = (code(self), code(&self.swapped()));
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
fn who_did_not_scan_the_ledger_withholds_nothing_and_whose_proof_lists_the_event_is_told() {
    let lacking = |shown, proved: Option<ProvedEvents>, listed| {
        let mut two = Two::of(committed(&[(0, 1)]), shown).proving(proved.clone(), proved);
        two.incomplete.b = unscanned();
        assert_eq!(two.code(), ("GAP", Some(Side::B)));
        assert!(two.reason().to_string().contains(listed), "{}", two.reason());
    };
    lacking(vec![], proved(&[(0, 1)]), ", which its own proof of the ledger lists, and says");
    lacking(vec![], None, "event 0000000300647714816-0000000000 and says");
    let mut two = Two::of(committed(&[(0, 1)]), vec![]).proving(proved(&[(0, 1)]), None);
    two.incomplete.b = unscanned();
    assert_eq!(two.code(), ("GAP", Some(Side::B)));
    assert!(two.reason().to_string().contains(", which A proves, and says"), "{}", two.reason());
    // Of a ledger that it shows something of it says in vain that it did not scan it.
    let mut two = Two::of(committed(&[(0, 1), (1, 2)]), committed(&[(1, 2)]));
    two.incomplete.b = unscanned();
    assert_eq!(two.code(), ("GAP", Some(Side::B)), "nothing else is known");
    let truth = || proved(&[(0, 1), (1, 2)]);
    two.proved = Both { a: None, b: truth() };
    assert_eq!(two.code(), ("WITHHELD", Some(Side::B)));
    two.proved = Both { a: truth(), b: None };
    assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)));
    // It explains no event that is there.
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 9)])).proving(proved(&[(0, 1)]), None);
    two.incomplete.b = unscanned();
    assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)));
}

#[test]
fn what_is_proved_comes_before_the_word_of_who_is_not_complete() {
    for reason in [IncompleteReason::ClassicEventsAbsent, IncompleteReason::Incident] {
        let mut two = Two::of(committed(&[(0, 1)]), vec![]);
        two.incomplete.b = unsure(reason);
        assert_eq!(two.code(), ("GAP", Some(Side::B)), "as long as nobody proves anything");
        two.proved = Both { a: proved(&[(0, 1)]), b: None };
        assert_eq!(two.code(), ("NOT_PROVABLE", Some(Side::B)));
        two.proved.b = proved(&[(0, 1)]);
        assert_eq!(two.code(), ("WITHHELD", Some(Side::B)));
        let mut two = Two::of(uncommitted(&[(0, 1)]), vec![]).proving(proved(&[]), proved(&[]));
        assert_eq!(two.code(), ("UNCOMMITTED_DIFFERS", None));
        two.incomplete.b = unsure(reason);
        assert_eq!(two.code(), ("GAP", Some(Side::B)), "no proof tells of such an event");
    }
}

#[test]
fn what_an_archive_does_not_know_of_accounts_explains_no_event_of_the_contract() {
    for reason in [IncompleteReason::NoSchema, IncompleteReason::UnattributedEvents] {
        let mut two = Two::of(committed(&[(0, 1)]), vec![]);
        two.incomplete.b = unsure(reason);
        assert_eq!(two.code(), ("NOT_PROVABLE", None));
        let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 1)]));
        assert_eq!(two.reason(), Reason::OtherAttribution);
        two.incomplete.b = unsure(reason);
        assert_eq!((two.reason().code(), two.reason().side()), ("GAP", Some(Side::B)));
    }
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 1)]));
    two.incomplete.b = unsure(IncompleteReason::ClassicEventsAbsent);
    assert_eq!(two.reason(), Reason::OtherAttribution, "both show the event");
}

#[test]
fn two_chains_come_before_a_gap_and_after_what_one_says_against_itself() {
    let mut two = Two::of(committed(&[(0, 1)]), vec![]);
    (two.hashes.b, two.incomplete.b) = (hash(2), unscanned());
    assert_eq!(two.code(), ("OTHER_CHAIN", None));
    let mut two = Two::of(committed(&[(0, 1)]), committed(&[(0, 1), (1, 2)])).proving(proved(&[(0, 1)]), None);
    (two.hashes.b, two.proved.b) = (hash(2), proved(&[(0, 1), (1, 2), (2, 3)]));
    assert_eq!(two.code(), ("WITHHELD", Some(Side::B)));
}

/// The reason by the rules alone, of two archives that differ.
fn expected(two: &Two) -> (&'static str, Option<Side>) {
    let (position, kind) = first(&two.shown).unwrap();
    let shows = |side: Side, at: Position| two.shown.of(side).iter().find(|event| event.position == at);
    let gives_up = |side: Side| {
        let lacks = two.incomplete.of(side).as_ref();
        two.shown.of(side).is_empty() && lacks.is_some_and(|lacks| lacks.missing.is_some())
    };
    for side in Side::BOTH {
        let Some(truth) = two.proved.of(side).as_ref().filter(|_| !gives_up(side)) else { continue };
        for (at, xdr) in truth {
            match shows(side, *at) {
                None => return ("WITHHELD", Some(side)),
                Some(event) if event.xdr != *xdr => return ("OTHER_BYTES", Some(side)),
                Some(_) => {}
            }
        }
        if two.shown.of(side).iter().any(|event| event.class.is_proven() && !truth.contains_key(&event.position)) {
            return ("INCONSISTENT", Some(side));
        }
    }
    if let (Some(a), Some(b)) = (two.hashes.a, two.hashes.b)
        && a != b
    {
        return ("OTHER_CHAIN", None);
    }
    let lacks = match kind {
        Kind::OnlyIn(side) => Some(side.other()),
        Kind::OtherBytes => None,
    };
    let gap = lacks.filter(|side| {
        let word = two.incomplete.of(*side).as_ref().map(|lacks| lacks.reason.as_str());
        word.is_some_and(|word| word != "no_schema")
    });
    let truths: Vec<&ProvedEvents> = Side::BOTH.iter().filter_map(|side| two.proved.of(*side).as_ref()).collect();
    if let Some(side) = gap.filter(|side| gives_up(*side)) {
        return ("GAP", Some(side));
    }
    if truths.len() == 2 && truths[0] != truths[1] {
        return ("CANNOT_JUDGE", None);
    }
    let refuted: Vec<Side> = Side::BOTH
        .into_iter()
        .filter(|side| match (truths.first().map(|truth| truth.get(&position)), shows(*side, position)) {
            (None, _) | (Some(None), None) => false,
            (Some(Some(xdr)), shown) => shown.is_none_or(|event| event.xdr != *xdr),
            (Some(None), Some(event)) => event.class.is_proven(),
        })
        .collect();
    let shown = Side::BOTH.into_iter().filter_map(|side| shows(side, position));
    let is_uncommitted = shown.map(|event| event.class).all(|class| class == ProofClass::Uncommitted);
    match (refuted.as_slice(), gap) {
        ([side], _) => ("NOT_PROVABLE", Some(*side)),
        (_, Some(side)) => ("GAP", Some(side)),
        ([], None) if !truths.is_empty() || is_uncommitted => ("UNCOMMITTED_DIFFERS", None),
        _ => ("NOT_PROVABLE", None),
    }
}

#[test]
fn whatever_two_archives_show_prove_and_say_the_reason_is_that_of_the_rules() {
    let classes = [ProofClass::Committed, ProofClass::Committed, ProofClass::Uncommitted, ProofClass::Unverified];
    let mut found = std::collections::BTreeMap::<&str, u32>::new();
    for seed in 0..30_000 {
        let mut rng = Rng::new(seed);
        let truth: Vec<(u32, u8)> = (0..3).filter(|_| rng.chance(60)).map(|index| (index, 1)).collect();
        let side = |rng: &mut Rng| {
            let mut shown = Vec::new();
            for index in 0..3 {
                let byte = if rng.chance(85) { 1 } else { 2 };
                let is_true = rng.chance(70).then(|| truth.iter().any(|(at, _)| *at == index));
                if is_true.unwrap_or_else(|| rng.chance(50)) {
                    shown.push(event(index, byte, classes[rng.below(4) as usize]));
                }
            }
            if rng.chance(15) {
                shown.clear();
            }
            let other: Vec<_> = truth.iter().filter(|_| rng.chance(50)).copied().collect();
            let proved = if rng.chance(90) { proved(&truth) } else { proved(&other) };
            let proved = proved.filter(|_| rng.chance(50));
            let hash = hash(if rng.chance(90) { 1 } else { 2 }).filter(|_| rng.chance(80));
            let incomplete = match rng.below(6) {
                0 | 1 => unscanned(),
                2 => unsure(IncompleteReason::ClassicEventsAbsent),
                3 => unsure(IncompleteReason::NoSchema),
                _ => None,
            };
            (shown, proved, hash, incomplete)
        };
        let (a, b) = (side(&mut rng), side(&mut rng));
        let two = Two {
            shown: Both { a: a.0, b: b.0 },
            proved: Both { a: a.1, b: b.1 },
            hashes: Both { a: a.2, b: b.2 },
            incomplete: Both { a: a.3, b: b.3 },
        };
        if first(&two.shown).is_some() {
            let reason = two.reason();
            assert_eq!((reason.code(), reason.side()), expected(&two), "seed {seed}");
            *found.entry(reason.code()).or_default() += 1;
        }
    }
    assert!(found.len() == 8 && found.values().all(|count| *count > 50), "{found:?}");
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
        hashes: Both { a: LedgerHash([1; 32]), b: LedgerHash([2; 32]) },
    };
    let gap = |listed| Reason::Gap { side: Side::B, position, reason: "gap".to_owned(), listed };
    let reasons = [
        gap(Both { a: false, b: false }),
        gap(Both { a: true, b: false }),
        gap(Both { a: true, b: true }),
        Reason::Withheld { side: Side::A, position },
        Reason::OtherBytes { side: Side::A, position },
        Reason::NotListed { side: Side::B, position },
        Reason::OtherChain(fork(Some(69))),
        Reason::OtherChain(fork(Some(60))),
        Reason::OtherChain(fork(None)),
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
    assert!(reasons[6].to_string().ends_with("ledger 70 has two hashes, the first that differs"));
}
