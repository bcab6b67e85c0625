use std::cell::Cell;

use annals_core::decode::peek_header;
use annals_core::{LedgerRange, Network};
use annals_sim::{BuiltLedger, ChainBuilder, Format, LedgerPlan, TxPlan, value};

use super::*;
use crate::compare::{Archive, ArchiveFault, Asked, ShownEvent, ShownHeader, ShownProof, Whose, WindowDigest};

const FIRST: u32 = 500;
const LAST: u32 = 627;
/// 128 ledgers are halved seven times to one.
const HEADERS_MAX: u32 = 8;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

/// The chain, forked from a ledger on; none is the chain itself.
fn chain(forked: Option<u32>) -> Vec<BuiltLedger> {
    let network = Network::new("A Network that forks");
    let mut builder = ChainBuilder::new(&network, seq(FIRST), 1, Format::V2Meta4);
    let transactions = |number| {
        let is_other = forked.is_some_and(|forked| number >= forked);
        if is_other { vec![TxPlan::invocation(value::contract(1), vec![])] } else { vec![] }
    };
    (FIRST..=LAST).map(|number| builder.push(&LedgerPlan::new(transactions(number)))).collect()
}

/// The headers of a chain, but for those of some ledgers.
struct Headers {
    chain: Vec<BuiltLedger>,
    missing: Option<LedgerRange>,
    asked: Cell<u32>,
}

impl Headers {
    fn of(chain: Vec<BuiltLedger>) -> Self {
        Self { chain, missing: None, asked: Cell::new(0) }
    }
}

impl Archive for Headers {
    fn header(&self, ledger: LedgerSeq) -> Result<Option<ShownHeader>, ArchiveFault> {
        self.asked.set(self.asked.get() + 1);
        let is_held = self.missing.is_none_or(|missing| !missing.contains(ledger));
        let built = self.chain.iter().find(|built| is_held && built.seq == ledger);
        let header = |built: &BuiltLedger| peek_header(&built.xdr).unwrap().xdr.to_vec();
        Ok(built.map(|built| ShownHeader { hash: built.hash, xdr: header(built) }))
    }

    fn marks(&self) -> Result<Marks, ArchiveFault> {
        unreachable!("only headers are asked for")
    }

    fn digest(&self, _: LedgerRange) -> Result<WindowDigest, ArchiveFault> {
        unreachable!("only headers are asked for")
    }

    fn events(&self, _: LedgerSeq, _: Whose) -> Result<Vec<ShownEvent>, ArchiveFault> {
        unreachable!("only headers are asked for")
    }

    fn proof(&self, _: LedgerSeq) -> Result<ShownProof, ArchiveFault> {
        unreachable!("only headers are asked for")
    }
}

fn marks(start: u32, through: u32, latest: u32) -> Marks {
    let (start, through, latest) = (Some(seq(start)), Some(seq(through)), Some(seq(latest)));
    Marks { network: None, start, first: start, through, latest }
}

/// Where chains part as seen from a ledger, of which one lacks some headers.
fn fork_from(ledger: u32, a: &Headers, b: &Headers, marks: &Both<Marks>) -> Result<Option<Fork>, Halt> {
    let asked = Asked { contract: value::contract(1), account: None, from: None, to: None };
    let pair = Pair { asked: &asked, archives: [a, b] };
    let window = LedgerRange::new(seq(FIRST), seq(LAST)).unwrap();
    let known = hashes(&pair, seq(ledger))?;
    fork(&pair, seq(ledger), window, &known, marks)
}

fn fork_of(a: &Headers, b: &Headers, start: u32) -> Result<Fork, Halt> {
    let marks = Both { a: marks(1, LAST, LAST), b: marks(start, LAST, LAST) };
    Ok(fork_from(LAST, a, b, &marks)?.expect("they differ in the last ledger"))
}

#[test]
fn the_first_header_that_differs_is_found_by_halving_wherever_it_is() {
    let a = Headers::of(chain(None));
    for forked in FIRST..=LAST {
        let b = Headers::of(chain(Some(forked)));
        let Ok(found) = fork_of(&a, &b, FIRST) else { panic!("{forked}") };
        let same_through = (forked > FIRST).then(|| seq(forked - 1));
        let of = |headers: &Headers| headers.chain[(forked - FIRST) as usize].hash;
        let hashes = Both { a: of(&a), b: of(&b) };
        assert_eq!(found, Fork { same_through, differs_from: seq(forked), hashes });
        assert!(b.asked.get() <= HEADERS_MAX, "{forked}: {} headers", b.asked.get());
    }
}

#[test]
fn where_headers_are_missing_no_more_is_said_than_is_known() {
    let a = Headers::of(chain(None));
    for forked in (FIRST..=LAST).step_by(5) {
        for missing in (FIRST..LAST).step_by(9) {
            let missing = LedgerRange::new(seq(missing), seq((missing + 3).min(LAST - 1))).unwrap();
            let b = Headers { missing: Some(missing), ..Headers::of(chain(Some(forked))) };
            let Ok(Fork { same_through, differs_from, .. }) = fork_of(&a, &b, 1) else { panic!("{forked}") };
            assert!(differs_from >= seq(forked), "{forked}: {differs_from}");
            assert!(same_through.is_none_or(|same| same < seq(forked)), "{forked}: {same_through:?}");
        }
    }
}

/// Seen from a ledger whose header one of both lacks, two chains are told by any other that both hold, unless they part
/// above the ledger.
#[test]
fn two_chains_are_found_from_a_ledger_that_one_of_both_lacks() {
    let a = Headers::of(chain(None));
    for forked in (FIRST..=LAST).step_by(3) {
        for lacked in (FIRST + 2..LAST - 4).step_by(7) {
            let missing = LedgerRange::new(seq(lacked), seq(lacked + 3)).unwrap();
            let b = Headers { missing: Some(missing), ..Headers::of(chain(Some(forked))) };
            let both = Both { a: marks(FIRST, LAST, LAST), b: marks(FIRST, lacked - 1, LAST) };
            let swapped = Both { a: both.b.clone(), b: both.a.clone() };
            let Ok(found) = fork_from(lacked + 1, &a, &b, &both) else { panic!("{forked} {lacked}") };
            let Ok(other) = fork_from(lacked + 1, &b, &a, &swapped) else { panic!("{forked} {lacked}") };
            assert_eq!(found.as_ref().map(|fork| fork.differs_from), other.map(|fork| fork.differs_from));
            match found {
                None => assert!(forked > lacked + 3, "{forked} {lacked}"),
                Some(fork) => {
                    assert!(fork.differs_from >= seq(forked) && fork.same_through < Some(seq(forked)), "{fork:?}");
                    assert!(
                        forked >= lacked || fork.differs_from == seq(forked),
                        "below the gap all is known: {fork:?}"
                    );
                    assert!(fork.same_through < Some(seq(lacked + 1)), "{fork:?}");
                }
            }
        }
    }
    // What nobody else holds either tells nothing.
    let none = LedgerRange::new(seq(FIRST), seq(LAST)).unwrap();
    let b = Headers { missing: Some(none), ..Headers::of(chain(Some(FIRST))) };
    let both = Both { a: marks(FIRST, LAST, LAST), b: marks(FIRST, LAST, LAST) };
    assert!(matches!(fork_from(LAST - 9, &a, &b, &both), Ok(None)));
}

#[test]
fn a_header_of_another_ledger_or_hash_is_a_contradiction() {
    let a = Headers::of(chain(None));
    let mut swapped = chain(Some(FIRST + 40));
    let other = swapped[3].clone();
    for built in &mut swapped {
        *built = BuiltLedger { seq: built.seq, ..other.clone() };
    }
    let halted = fork_of(&a, &Headers::of(swapped), FIRST);
    assert!(matches!(halted, Err(Halt::Lie(Side::B, Lie::Header(_)))));
}
