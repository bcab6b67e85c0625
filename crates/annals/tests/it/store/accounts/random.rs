//! Random commits, declarations, registries and readings between the pages of several readers of accounts, each of whom
//! must go on as it began.

use std::cell::Cell;

use annals::store::{CheckpointQuery, Contract, ContractKind, EventFilter, FeedPosition, Order, PageQuery, Store};
use annals_core::registry::Payload;
use annals_core::{Address, Batch, ClassicEvents, ContractId, LedgerSeq, Mark, Scope};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRunner};

use crate::store::fixtures::*;
use crate::store::oracle::Oracle;
use crate::store::people::*;
use crate::store::reader::{Reader, first_page};
use crate::store::sqlite::SqliteFixture;

const LEDGERS_MAX: u32 = 20;
const READERS: usize = 6;
const SEED: u64 = 20_261_201;
const CONTRACTS: [u8; 4] = [1, 2, 9, 77];
const SCHEMAS: [&str; 5] = ["test", "test", "token", "asset", "none"];

#[derive(Debug, Clone)]
enum Step {
    Commit { from: u32, length: u32, scope: u8, classic: u8, proven: bool },
    Begin { reader: usize, query: Begun },
    Turn { reader: usize },
    Declare { contract: usize, schema: Option<usize>, kind: bool },
    Adopt { registry: usize },
    Open { registry: usize },
    Reattribute { contract: usize, after: Option<u32>, limit: u32 },
    Check { contract: usize, account: usize, at: Option<u32> },
}

#[derive(Debug, Clone)]
struct Begun {
    contract: usize,
    account: Option<usize>,
    from: Option<u32>,
    to: Option<u32>,
    above: Option<u32>,
    of_type: Option<usize>,
    back: bool,
    limit: u32,
}

impl Begun {
    fn query(&self) -> PageQuery {
        let of = peopled_contract(CONTRACTS[self.contract]);
        let types = ["open", "move", "fold", "spend", "transfer"];
        let types = self.of_type.map(|of_type| types[of_type].to_owned()).into_iter().collect();
        PageQuery {
            account: self.account.map(|account| accounts()[account]),
            order: if self.back { Order::Descending } else { Order::Ascending },
            above: self.above.map(first_of),
            // A contract's own pages are not what is filtered here.
            filter: EventFilter { types, ..EventFilter::default() },
            ..first_page(of, self.from.map(seq), self.to.map(seq), self.limit)
        }
    }
}

fn begun() -> impl Strategy<Value = Begun> {
    let place = || prop::option::weighted(0.7, 1..=LEDGERS_MAX + 2);
    let window = (place(), place(), prop::option::weighted(0.2, 1..=LEDGERS_MAX));
    let how = (prop::option::weighted(0.2, 0_usize..5), any::<bool>(), 1_u32..5);
    let whose = (0..CONTRACTS.len(), prop::option::weighted(0.9, 0_usize..5));
    (whose, window, how).prop_map(|((contract, account), (from, to, above), (of_type, back, limit))| {
        let of_type = of_type.filter(|_| account.is_some());
        Begun { contract, account, from, to, above, of_type, back, limit }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let commit = (1..=LEDGERS_MAX, 0_u32..5, 0_u8..5, 0_u8..3, prop::bool::weighted(0.7));
    let contract = || 0..CONTRACTS.len();
    let step = prop_oneof![
        6 => commit.prop_map(|(from, length, scope, classic, proven)| Step::Commit { from, length, scope, classic, proven }),
        5 => (0..READERS, begun()).prop_map(|(reader, query)| Step::Begin { reader, query }),
        12 => (0..READERS).prop_map(|reader| Step::Turn { reader }),
        3 => (contract(), prop::option::weighted(0.9, 0..SCHEMAS.len()), prop::bool::weighted(0.3))
            .prop_map(|(contract, schema, kind)| Step::Declare { contract, schema, kind }),
        1 => (0..REGISTRIES_MAX).prop_map(|registry| Step::Adopt { registry }),
        1 => (0..REGISTRIES_MAX).prop_map(|registry| Step::Open { registry }),
        6 => (contract(), prop::option::of(1..=LEDGERS_MAX), 1_u32..30)
            .prop_map(|(contract, after, limit)| Step::Reattribute { contract, after, limit }),
        4 => (contract(), 0_usize..5, prop::option::of(1..=LEDGERS_MAX))
            .prop_map(|(contract, account, at)| Step::Check { contract, account, at }),
    ];
    // Most runs begin with a schema; the others read events with one that were stored before.
    let first = (prop::bool::weighted(0.7)).prop_map(|declared| {
        let schema = Some(if declared { 0 } else { SCHEMAS.len() - 1 });
        Step::Declare { contract: 0, schema, kind: declared }
    });
    (first, prop::collection::vec(step, 1..240)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn offered(from: u32, to: u32, scope: u8, classic: u8, proven: bool) -> Batch {
    let scope = match scope {
        0 | 1 => Scope::All,
        2 => peopled_scope(&[1]),
        3 => peopled_scope(&[2, 9]),
        _ => peopled_scope(&[1, 2, 9]),
    };
    let classic = [ClassicEvents::Absent, ClassicEvents::Inconsistent, ClassicEvents::Present][usize::from(classic)];
    if proven { peopled_batch(scope, from, to, classic) } else { peopled_unverified(scope, from, to, classic) }
}

struct Run {
    fixture: SqliteFixture,
    oracle: Oracle,
    fence: annals::store::Fence,
    readers: [Option<Reader>; READERS],
    /// Readings that found events to be attributed otherwise.
    corrected: u32,
}

impl Run {
    fn new() -> Self {
        let mut fixture = SqliteFixture::in_memory();
        fixture.reopen_with(registry(0));
        let mut oracle = Oracle::default();
        oracle.with_registry(registry(0));
        let fence = fixture.store().acquire().unwrap();
        oracle.acquire();
        let asked = request(Scope::All, 3, LEDGERS_MAX);
        fixture.store().request(&asked, fence).unwrap();
        oracle.request(&asked, fence).unwrap();
        Self { fixture, oracle, fence, readers: Default::default(), corrected: 0 }
    }

    fn store(&self) -> &dyn Store {
        self.fixture.store()
    }

    /// Does a step; returns how many commits and pages it took.
    fn apply(&mut self, step: &Step) -> u32 {
        match step {
            Step::Commit { from, length, scope, classic, proven } => {
                let batch = offered(*from, from + length, *scope, *classic, *proven);
                let did = self.store().commit(&batch, self.fence).map(drop).map_err(|error| error.code());
                assert_eq!(did, self.oracle.commit(&batch, self.fence));
                assert!(did.is_ok() || did == Err("NETWORK_UNPROVEN"), "{did:?}");
                return 1;
            }
            Step::Begin { reader, query } => {
                let mut begun = Reader::new(&self.oracle, query.query());
                begun.schema_may_be_missing = true;
                begun.turn(self.fixture.store());
                self.readers[*reader] = Some(begun);
                return 1;
            }
            Step::Turn { reader } => {
                if let Some(reader) = self.readers[*reader].as_mut().filter(|reader| !reader.is_done()) {
                    reader.turn(self.fixture.store());
                    return 1;
                }
            }
            Step::Declare { contract, schema, kind } => self.declare(*contract, *schema, *kind),
            Step::Adopt { registry: number } => {
                self.open(*number);
                let waiting = self.store().adopt(self.fence).unwrap();
                assert_eq!(waiting, self.oracle.adopt());
            }
            // Nobody says so to the store: what it then attributes must not pass for what another schema said.
            Step::Open { registry: number } => self.open(*number),
            Step::Reattribute { contract, after, limit } => {
                let contract = peopled_contract(CONTRACTS[*contract]);
                let after = after.map(first_of);
                let did = self.store().reattribute(contract, after, *limit, self.fence).unwrap();
                assert_eq!(did, self.oracle.reattribute(contract, after, *limit));
                self.corrected += u32::from(did.changed > 0);
            }
            Step::Check { contract, account, at } => {
                let contract = peopled_contract(CONTRACTS[*contract]);
                check(self.store(), &self.oracle, contract, accounts()[*account], at.map(seq));
            }
        }
        0
    }

    fn open(&mut self, number: usize) {
        self.fixture.reopen_with(registry(number));
        self.oracle.with_registry(registry(number));
    }

    fn declare(&mut self, contract: usize, schema: Option<usize>, kind: bool) {
        let id = peopled_contract(CONTRACTS[contract]);
        let kind = kind.then_some(ContractKind::Wasm);
        let said = Contract { id, origin: None, kind, schema: schema.map(|schema| choice(SCHEMAS[schema])) };
        match self.store().declare(&said, self.fence) {
            Ok(()) => self.oracle.declare(&said),
            // Of the registries one lacks the schema.
            Err(error) => assert_eq!((error.code(), SCHEMAS[schema.unwrap()]), ("UNKNOWN_SCHEMA", "test")),
        }
    }

    /// Compares the status, and that nothing waits once all was read.
    fn finish(&mut self) {
        let status = self.store().status().unwrap();
        assert_eq!(status.quarantined, self.oracle.quarantined());
        assert_eq!(status.unattributed, self.oracle.waiting());
        self.oracle.check(self.store(), 40);
        let (mut after, mut named) = (FeedPosition(0), 0);
        loop {
            let audited = self.store().audit(after, 17).unwrap();
            assert_eq!(audited.wrong, []);
            named += audited.parties;
            match audited.next {
                Some(next) => after = next,
                None => break assert_eq!(audited.stored, Some(named)),
            }
        }
        for reader in self.readers.iter_mut().flatten() {
            reader.finish(self.fixture.store());
        }
    }
}

/// Compares the answer of a checkpoint with what a plain search finds.
fn check(store: &dyn Store, oracle: &Oracle, contract: ContractId, account: Address, at: Option<LedgerSeq>) {
    let answer = store.checkpoint(&CheckpointQuery { contract, account, at }).unwrap();
    let told = oracle.answer(contract, None, at);
    let until = |number: u32| told.to.is_some_and(|to| number <= to);
    let mut owned = oracle.owned(contract, account);
    owned.retain(|(shown, _)| until(shown.event.position.ledger().get()));
    let marked = |mark: Mark| {
        let position =
            |(shown, marks): &(annals::store::PageEvent, Vec<Mark>)| marks.contains(&mark).then(|| shown.clone());
        owned.iter().filter_map(position).collect::<Vec<_>>()
    };
    let checkpoint = marked(Mark::Checkpoint).pop();
    let before = |shown: &annals::store::PageEvent| {
        checkpoint.as_ref().is_some_and(|checkpoint| shown.event.position <= checkpoint.event.position)
    };
    let fold = marked(Mark::Fold).into_iter().rfind(|shown| before(shown));
    let opening = marked(Mark::Opening).into_iter().find(|shown| checkpoint.is_none() || before(shown));
    let t0 = fold.clone().map(|fold| (fold, Mark::Fold)).or(opening.map(|opening| (opening, Mark::Opening)));
    let settled =
        |shown: annals::store::PageEvent| annals::store::PageEvent { payload: Payload::NotApplicable, ..shown };
    assert_eq!(answer.checkpoint.clone().map(settled), checkpoint);
    assert_eq!(answer.t0.clone().map(settled).zip(answer.t0_mark), t0);
    for (window, begins) in [(answer.window, &answer.checkpoint), (answer.replay_window, &answer.t0)] {
        let first = begins.as_ref().map(|shown| shown.event.position.ledger().get());
        assert_eq!(window.window.from_inclusive.map(LedgerSeq::get), first.or(told.from));
        assert_eq!(window.window.to_inclusive.map(LedgerSeq::get), told.to);
        let lowest = first.or(told.from).or(told.scanned.first().copied());
        let inside = |number: u32| lowest.is_some_and(|lowest| lowest <= number) && until(number);
        assert_eq!(window.unattributed, oracle.unattributed(contract, inside));
    }
}

#[test]
fn inv_1_and_5_nothing_that_is_done_between_pages_changes_what_an_account_was_promised() {
    let config = ProptestConfig {
        cases: 320,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(SEED),
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    };
    let (done, corrected) = (Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        let mut run = Run::new();
        for step in &steps {
            done.set(done.get() + run.apply(step));
        }
        run.finish();
        corrected.set(corrected.get() + run.corrected);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("seed {SEED}: {failure}");
    }
    assert!(done.get() >= 10_000, "only {} commits and pages", done.get());
    assert!(corrected.get() >= 500, "only {} readings that changed anything", corrected.get());
}
