use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use annals_core::{HistoryDigester, ProofClass};
use annals_sim::{EventPlan, Rng, value};

use super::*;

/// The way from 2^31 ledgers to one, the first answer included, and the ledger once more: 2^31 are two parts of 64^5.
const DIGESTS_MAX: u32 = 8;
/// Beside digests: marks, events, proof, and the headers of the ledger and of the highest.
const OTHERS_MAX: u32 = 5;

type Events = BTreeMap<Position, Vec<u8>>;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

fn contract() -> ContractId {
    value::contract(1)
}

fn xdr(amount: u32) -> Vec<u8> {
    EventPlan::transfer(contract(), value::account(1), value::account(2), amount.into()).xdr()
}

/// Edits what an archive answers of a window.
type Edit = Box<dyn Fn(LedgerRange, &mut WindowDigest)>;

/// An archive in memory that can lie, and counts what it is asked.
struct Memory {
    events: RefCell<Events>,
    missing: Option<LedgerRange>,
    withheld: Option<Position>,
    edit: Edit,
    digests: Cell<u32>,
    others: Cell<u32>,
}

impl Memory {
    fn of(events: &Events) -> Self {
        Self {
            events: RefCell::new(events.clone()),
            missing: None,
            withheld: None,
            edit: Box::new(|_, _| {}),
            digests: Cell::new(0),
            others: Cell::new(0),
        }
    }

    fn lying(events: &Events, edit: impl Fn(LedgerRange, &mut WindowDigest) + 'static) -> Self {
        Self { edit: Box::new(edit), ..Self::of(events) }
    }

    fn within(&self, window: LedgerRange) -> Vec<(Position, Vec<u8>)> {
        let (from, to) = (Position::first_of(window.from_inclusive()), Position::last_of(window.to_inclusive()));
        self.events.borrow().range(from..=to).map(|(position, xdr)| (*position, xdr.clone())).collect()
    }
}

impl Archive for Memory {
    fn marks(&self) -> Result<Marks, ArchiveFault> {
        self.others.set(self.others.get() + 1);
        let network = Some("memory".to_owned());
        let (first, through) = (Some(seq(1)), Some(LedgerSeq::MAX));
        Ok(Marks { network, start: first, first, through, latest: through })
    }

    fn digest(&self, window: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
        self.digests.set(self.digests.get() + 1);
        let mut digester = HistoryDigester::new(window);
        for (position, xdr) in self.within(window) {
            digester.event(position, &xdr).unwrap();
        }
        let found = digester.finish().unwrap();
        let missing = self.missing.and_then(|missing| missing.intersection(window));
        let incomplete = missing.map(|range| Incomplete { reason: "gap".to_owned(), missing: Some(range) });
        let (events, digest, parts) = (found.events, found.digest, found.parts);
        let mut answer = WindowDigest { events, digest, parts, incomplete, anchor: "source".to_owned() };
        (self.edit)(window, &mut answer);
        Ok(answer)
    }

    fn events(&self, ledger: LedgerSeq, _: Whose) -> Result<Vec<ShownEvent>, ArchiveFault> {
        self.others.set(self.others.get() + 1);
        let shown = self.within(LedgerRange::single(ledger)).into_iter();
        let shown = shown.filter(|(position, _)| self.withheld != Some(*position));
        let class = ProofClass::Uncommitted;
        Ok(shown.map(|(position, xdr)| ShownEvent { position, xdr, class }).collect())
    }

    fn header(&self, _: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault> {
        self.others.set(self.others.get() + 1);
        Ok(None)
    }

    fn proof(&self, _: LedgerSeq) -> Result<ShownProof, ArchiveFault> {
        self.others.set(self.others.get() + 1);
        Ok(ShownProof::Absent("NOT_PROVABLE".to_owned()))
    }
}

fn compare(a: &Memory, b: &Memory, from: u32, to: u32) -> Verdict {
    let asked = Asked { contract: contract(), account: None, from: Some(seq(from)), to: Some(seq(to)) };
    run(&asked, a, b).unwrap().verdict
}

fn differ(verdict: Verdict) -> Difference {
    match verdict {
        Verdict::Differ(difference) => *difference,
        other => panic!("{other:?}"),
    }
}

/// A window of up to 2^31 ledgers, and events in it: some close together, some anywhere.
fn random(rng: &mut Rng) -> (u32, u32, Events) {
    let (beginning, width) = (rng.below(31), rng.below(31));
    let from = 1 + rng.below(0x7fff_ffff >> beginning);
    let to = from.saturating_add(rng.below(1 << width)).min(LedgerSeq::MAX.get());
    let events = (0..rng.below(60)).map(|number| (place(rng, from, to), xdr(number))).collect();
    (from, to, events)
}

fn place(rng: &mut Rng, from: u32, to: u32) -> Position {
    let width = (to - from).saturating_add(1);
    let width = if rng.chance(50) { width.min(200) } else { width };
    let ledger = seq(from + rng.below(width));
    Position::op(ledger, 1 + rng.below(3), rng.below(2), rng.below(3)).unwrap()
}

/// Adds, takes away or changes an event.
fn change(rng: &mut Rng, events: &mut Events, from: u32, to: u32) {
    let chosen = events.keys().nth(rng.below(60) as usize).copied();
    match (rng.below(3), chosen) {
        (0, Some(position)) => drop(events.remove(&position)),
        (1, Some(position)) => drop(events.insert(position, xdr(1000 + rng.below(1000)))),
        _ => drop(events.insert(place(rng, from, to), xdr(2000 + rng.below(1000)))),
    }
}

/// Ledgers that an archive says it lacks: none, any, or around one of its own events.
fn gap(rng: &mut Rng, events: &Events, from: u32, to: u32) -> Option<LedgerRange> {
    let around = events.keys().nth(rng.below(60) as usize).map_or(from, |at| at.ledger().get());
    let first = around.saturating_sub(rng.below(40)).max(from);
    let last = first.saturating_add(rng.below(80)).min(to);
    rng.chance(60).then(|| range(first, last))
}

/// The first position at which two histories differ, found by looking at every one.
fn first_difference(a: &Events, b: &Events) -> Option<(Position, Kind)> {
    let positions = a.keys().chain(b.keys()).filter(|position| a.get(position) != b.get(position));
    let position = *positions.min()?;
    let kind = match (a.contains_key(&position), b.contains_key(&position)) {
        (true, true) => Kind::OtherBytes,
        (is_in_a, _) => Kind::OnlyIn(if is_in_a { Side::A } else { Side::B }),
    };
    Some((position, kind))
}

#[test]
fn the_first_ledger_that_differs_is_found_in_few_requests_whatever_differs() {
    let mut found = [0; 3];
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let (from, to, events) = random(&mut rng);
        let mut others = events.clone();
        for _ in 0..rng.below(5) {
            change(&mut rng, &mut others, from, to);
        }
        let missing = [&events, &others].map(|events| gap(&mut rng, events, from, to));
        let [a, b] = [(&events, missing[0]), (&others, missing[1])]
            .map(|(events, missing)| Memory { missing, ..Memory::of(events) });
        let verdict = compare(&a, &b, from, to);
        match first_difference(&events, &others) {
            None => {
                assert!(matches!(verdict, Verdict::Equal { events: count, .. } if count == events.len() as u64));
                found[0] += 1;
            }
            Some((position, kind)) => {
                let Difference { ledger, position: first, kind: what, reason, .. } = differ(verdict);
                assert_eq!((ledger, first, what), (position.ledger(), position, kind), "seed {seed}: {from}-{to}");
                // Nothing here is committed, so that only a gap tells more.
                let lacks = |side: Side| missing[side as usize].is_some_and(|range| range.contains(ledger));
                let in_gap = match kind {
                    Kind::OnlyIn(side) => Some(side.other()).filter(|other| lacks(*other)),
                    Kind::OtherBytes => None,
                };
                let expected = if in_gap.is_some() { "GAP" } else { "UNCOMMITTED_DIFFERS" };
                assert_eq!((reason.code(), reason.side()), (expected, in_gap), "seed {seed}");
                found[1 + usize::from(in_gap.is_some())] += 1;
            }
        }
        for archive in [&a, &b] {
            let (digests, others) = (archive.digests.get(), archive.others.get());
            assert!(digests <= DIGESTS_MAX && others <= OTHERS_MAX, "seed {seed}: {digests} digests, {others} others");
        }
    }
    assert!(found.iter().all(|count| *count > 50), "{found:?}");
}

#[test]
fn from_all_ledgers_to_one_it_takes_seven_digests_of_each() {
    let one = Events::from([(Position::first_of(seq(0x5555_5555)), xdr(1))]);
    let (a, b) = (Memory::of(&one), Memory::of(&Events::new()));
    assert_eq!(differ(compare(&a, &b, 1, LedgerSeq::MAX.get())).ledger, seq(0x5555_5555));
    assert_eq!((a.digests.get(), b.digests.get()), (8, 8), "and once more of the ledger");
    let (a, b) = (Memory::of(&one), Memory::of(&one));
    compare(&a, &b, 1, LedgerSeq::MAX.get());
    assert_eq!((a.digests.get(), b.digests.get()), (1, 1), "what is equal is told at once");
}

#[test]
fn the_one_that_lacks_an_event_in_a_gap_is_named_with_its_reason() {
    let events = Events::from([(Position::first_of(seq(70)), xdr(1)), (Position::first_of(seq(90)), xdr(2))]);
    let mut fewer = events.clone();
    fewer.pop_first();
    let b = Memory { missing: Some(range(65, 75)), ..Memory::of(&fewer) };
    let Difference { ledger, reason, standings, .. } = differ(compare(&Memory::of(&events), &b, 1, 100));
    let (side, position, listed) = (Side::B, Position::first_of(seq(70)), Both { a: false, b: false });
    assert_eq!((ledger, &reason), (seq(70), &Reason::Gap { side, position, reason: "gap".to_owned(), listed }));
    assert!(standings.a.incomplete.is_none() && standings.b.incomplete.is_some());
    // The gap explains what is not there, and nothing that is.
    let Difference { reason, .. } = differ(compare(&b, &Memory::of(&Events::new()), 76, 100));
    assert_eq!(reason.code(), "UNCOMMITTED_DIFFERS");
    let Verdict::Equal { incomplete, .. } = compare(&b, &Memory::of(&fewer), 1, 100) else { panic!() };
    assert_eq!(incomplete.a.unwrap().missing, Some(range(65, 75)));
    assert_eq!(incomplete.b, None);
}

#[test]
fn a_digest_that_does_not_follow_is_never_believed_whatever_is_wrong_with_it() {
    let events: Events = (0..40).map(|number| (Position::first_of(seq(1 + number * 7)), xdr(number))).collect();
    let honest = Memory::of(&Events::new());
    let edits: [fn(&mut WindowDigest); 7] = [
        |answer| answer.digest.0[0] ^= 1,
        |answer| answer.events += 1,
        |answer| answer.parts.truncate(3),
        |answer| answer.parts.reverse(),
        |answer| answer.parts[0].digest.0[31] ^= 1,
        |answer| answer.parts[0].events += 1,
        |answer| answer.parts[0].events = u64::MAX,
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let liar = Memory::lying(&events, move |_, answer| edit(answer));
        for (a, b, side) in [(&honest, &liar, Side::B), (&liar, &honest, Side::A)] {
            let Verdict::Contradicts { side: found, lie } = compare(a, b, 1, 1000) else { panic!("{number}") };
            assert_eq!((found, lie), (side, Lie::Digest(range(1, 1000))), "{number}");
            assert_eq!(lie.code(), "BAD_DIGEST");
        }
        assert_eq!(liar.digests.get(), 2, "one answer that contradicts itself is enough");
    }
}

#[test]
fn a_part_that_is_another_when_asked_for_alone_is_a_contradiction() {
    let events: Events = (0..40).map(|number| (Position::first_of(seq(1 + number * 7)), xdr(number))).collect();
    let mut others = events.clone();
    others.insert(Position::first_of(seq(100)), xdr(99));
    // Of the whole window it says what the other holds; of a part what it holds itself.
    let truth = Memory::of(&others);
    let liar = Memory::lying(&events, move |window, answer| {
        if window.count() == 1000 {
            *answer = truth.digest(window).unwrap();
        }
    });
    let verdict = compare(&liar, &Memory::of(&events), 1, 1000);
    assert_eq!(verdict, Verdict::Contradicts { side: Side::A, lie: Lie::Part(range(64, 127)) });
}

#[test]
fn events_that_are_not_those_of_the_digest_are_a_contradiction() {
    let at = Position::first_of(seq(70));
    let events = Events::from([(at, xdr(1))]);
    let withholder = Memory { withheld: Some(at), ..Memory::of(&events) };
    let verdict = compare(&Memory::of(&Events::new()), &withholder, 1, 100);
    assert_eq!(verdict, Verdict::Contradicts { side: Side::B, lie: Lie::Events(seq(70)) });
}

/// An archive that before its answers takes in what comes, or nothing.
struct Growing<'a> {
    held: &'a Memory,
    coming: RefCell<VecDeque<Option<Position>>>,
}

impl<'a> Growing<'a> {
    fn of(held: &'a Memory, coming: impl IntoIterator<Item = Option<Position>>) -> Self {
        Self { held, coming: RefCell::new(coming.into_iter().collect()) }
    }

    fn grow(&self) {
        if let Some(Some(position)) = self.coming.borrow_mut().pop_front() {
            self.held.events.borrow_mut().insert(position, xdr(5));
        }
    }
}

impl Archive for Growing<'_> {
    fn marks(&self) -> Result<Marks, ArchiveFault> {
        self.held.marks()
    }
    fn digest(&self, window: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
        self.grow();
        let mut answer = self.held.digest(window)?;
        let coming = self.coming.borrow();
        let missing = coming.iter().flatten().map(|at| at.ledger()).filter(|ledger| window.contains(*ledger)).min();
        let reason = "not_yet_ingested".to_owned();
        answer.incomplete = missing.map(|ledger| Incomplete { reason, missing: Some(LedgerRange::single(ledger)) });
        Ok(answer)
    }
    fn events(&self, ledger: LedgerSeq, whose: Whose) -> Result<Vec<ShownEvent>, ArchiveFault> {
        self.grow();
        self.held.events(ledger, whose)
    }
    fn header(&self, ledger: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault> {
        self.grow();
        self.held.header(ledger)
    }
    fn proof(&self, ledger: LedgerSeq) -> Result<ShownProof, ArchiveFault> {
        self.grow();
        self.held.proof(ledger)
    }
}

/// What is told was so before and after all that it was concluded from.
#[test]
fn what_comes_while_an_archive_is_compared_is_neither_a_difference_nor_a_lie() {
    let asked = Asked { contract: contract(), account: None, from: Some(seq(1)), to: Some(seq(5000)) };
    let mut told = BTreeMap::<&str, u32>::new();
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let all: Events = (0..60).map(|_| (place(&mut rng, 1, 5000), xdr(5))).collect();
        // It holds the lower ledgers, takes in some above them in order, with pauses, and never has the highest.
        let held = rng.below(all.len() as u32 + 1) as usize;
        let comes = rng.below(all.len() as u32 + 1) as usize;
        let coming: Vec<Position> = all.keys().skip(held).take(comes).copied().collect();
        let lacks: Vec<Position> = all.keys().skip(held + comes).copied().collect();
        let pauses = rng.below(12);
        let coming = coming.iter().flat_map(|at| {
            let pause = rng.below(1 + pauses) as usize;
            std::iter::repeat_n(None, pause).chain([Some(*at)]).collect::<Vec<_>>()
        });
        let memory = Memory::of(&all.iter().take(held).map(|(at, xdr)| (*at, xdr.clone())).collect());
        let growing = Growing::of(&memory, coming.collect::<Vec<_>>());
        let whole = Memory::of(&all);
        let code = match run(&asked, &growing, &whole) {
            Ok(Comparison { verdict: Verdict::Equal { incomplete, .. }, .. }) => {
                assert!(incomplete.a.is_none() && lacks.is_empty(), "seed {seed}");
                "EQUAL"
            }
            Ok(Comparison { verdict: Verdict::Differ(difference), .. }) => {
                let at = difference.position;
                let is_coming = growing.coming.borrow().iter().flatten().any(|coming| *coming == at);
                let code = difference.reason.code();
                assert!(is_coming || lacks.contains(&at), "seed {seed}: {at} is there");
                assert_eq!(code, if is_coming { "GAP" } else { "UNCOMMITTED_DIFFERS" }, "seed {seed}: {at}");
                code
            }
            Ok(other) => panic!("seed {seed}: {other:?}"),
            Err(error) => error.code(),
        };
        assert!(memory.digests.get() <= COMPARISONS_MAX * (DIGESTS_MAX + 1), "seed {seed}");
        *told.entry(code).or_default() += 1;
    }
    let expected = ["CHANGING", "EQUAL", "GAP", "UNCOMMITTED_DIFFERS"];
    assert!(told.keys().eq(&expected) && told.values().all(|count| *count > 10), "{told:?}");
}

#[test]
fn an_archive_that_took_something_in_once_is_compared_again() {
    let events: Events = (0..40).map(|number| (Position::first_of(seq(1 + number * 7)), xdr(number))).collect();
    let others = Events::from([(Position::first_of(seq(3)), xdr(0))]);
    let (late, other) = (Memory::of(&events), Memory::of(&others));
    // Its second answer tells of another event, so that the part is not that of the whole.
    // Its first answer is of before, and the second of after.
    let growing = Growing::of(&late, [None, Some(Position::first_of(seq(2)))]);
    let asked = Asked { contract: contract(), account: None, from: Some(seq(1)), to: Some(seq(1000)) };
    let verdict = run(&asked, &growing, &other).unwrap().verdict;
    assert_eq!(differ(verdict).ledger, seq(1));
    assert_eq!(late.digests.get(), 7, "three until it is seen to have grown, three to the ledger, and that once more");
}

#[test]
fn what_is_left_out_of_the_window_is_where_both_are_gap_free() {
    struct Marked(Option<u32>, Option<u32>, &'static str);
    impl Archive for Marked {
        fn marks(&self) -> Result<Marks, ArchiveFault> {
            let (first, through) = (self.0.map(seq), self.1.map(seq));
            Ok(Marks { network: Some(self.2.to_owned()), start: first, first, through, latest: through })
        }
        fn digest(&self, window: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
            Memory::of(&Events::new()).digest(window)
        }
        fn events(&self, _: LedgerSeq, _: Whose) -> Result<Vec<ShownEvent>, ArchiveFault> {
            unreachable!("nothing differs")
        }
        fn header(&self, _: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault> {
            unreachable!("nothing differs")
        }
        fn proof(&self, _: LedgerSeq) -> Result<ShownProof, ArchiveFault> {
            unreachable!("nothing differs")
        }
    }
    let window = |from: Option<u32>, to: Option<u32>, a: &Marked, b: &Marked| {
        let asked = Asked { contract: contract(), account: None, from: from.map(seq), to: to.map(seq) };
        run(&asked, a, b).map(|comparison| comparison.window)
    };
    let (a, b) = (Marked(Some(10), Some(50), "n"), Marked(Some(20), Some(40), "n"));
    assert_eq!(window(None, None, &a, &b).unwrap(), Some(range(20, 40)));
    assert_eq!(window(Some(5), None, &a, &b).unwrap(), Some(range(5, 40)));
    assert_eq!(window(None, Some(60), &a, &b).unwrap(), Some(range(20, 60)));
    assert_eq!(window(Some(1), Some(2), &Marked(None, None, "n"), &b).unwrap(), Some(range(1, 2)));
    for (from, a) in [(None, Marked(None, Some(50), "n")), (None, Marked(Some(1), None, "n")), (Some(41), a)] {
        assert_eq!(window(from, None, &a, &b).unwrap_err().code(), "NO_COMMON_WINDOW");
    }
    assert_eq!(window(None, None, &Marked(None, None, "m"), &b).unwrap(), None, "two networks");
}
