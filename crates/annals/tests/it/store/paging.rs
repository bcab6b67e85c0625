//! Random commits between the pages of several readers, each of whom must go on as it began.

use std::cell::Cell;

use annals::store::{Contract, ContractKind, Order, PageQuery, Store};
use annals_core::{Batch, ClassicEvents, Position, Scope};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRunner};

use super::fixtures::*;
use super::oracle::Oracle;
use super::reader::{Reader, first_page};
use super::sqlite::SqliteFixture;

const LEDGERS_MAX: u32 = 24;
const READERS: usize = 6;
const SEED: u64 = 20_261_130;

#[derive(Debug, Clone)]
enum Step {
    Commit {
        from: u32,
        length: u32,
        scope: u8,
        classic: u8,
        proven: bool,
    },
    Begin {
        reader: usize,
        contract: u8,
        from: Option<u32>,
        to: Option<u32>,
        above: Option<u32>,
        back: bool,
        limit: u32,
    },
    Turn {
        reader: usize,
    },
    Declare {
        contract: u8,
        origin: Option<u32>,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || prop::option::weighted(0.7, 1..=LEDGERS_MAX + 2);
    let commit = (1..=LEDGERS_MAX, 0_u32..5, 0_u8..5, 0_u8..3, prop::bool::weighted(0.8));
    let begin =
        (0..READERS, 0_u8..4, place(), place(), prop::option::weighted(0.2, 1..=LEDGERS_MAX), any::<bool>(), 1_u32..5);
    let step = prop_oneof![
        6 => commit.prop_map(|(from, length, scope, classic, proven)| Step::Commit { from, length, scope, classic, proven }),
        4 => begin.prop_map(|(reader, contract, from, to, above, back, limit)| {
            Step::Begin { reader, contract, from, to, above, back, limit }
        }),
        12 => (0..READERS).prop_map(|reader| Step::Turn { reader }),
        1 => (0_u8..2, prop::option::of(1..=LEDGERS_MAX)).prop_map(|(contract, origin)| Step::Declare { contract, origin }),
    ];
    prop::collection::vec(step, 1..240)
}

fn offered(from: u32, to: u32, scope: u8, classic: u8, proven: bool) -> Batch {
    let scope = match scope {
        0 | 1 => Scope::All,
        2 => contracts(&[1]),
        3 => contracts(&[2, 9]),
        _ => contracts(&[1, 2, 9]),
    };
    let classic = [ClassicEvents::Absent, ClassicEvents::Inconsistent, ClassicEvents::Present][usize::from(classic)];
    if proven { batch(scope, from, to, classic) } else { unverified(scope, from, to, classic) }
}

struct Run {
    fixture: SqliteFixture,
    oracle: Oracle,
    fence: annals::store::Fence,
    readers: [Option<Reader>; READERS],
}

impl Run {
    fn new() -> Self {
        let fixture = SqliteFixture::in_memory();
        let mut oracle = Oracle::default();
        let fence = fixture.store().acquire().unwrap();
        oracle.acquire();
        let asked = request(Scope::All, 3, LEDGERS_MAX);
        fixture.store().request(&asked, fence).unwrap();
        oracle.request(&asked, fence).unwrap();
        Self { fixture, oracle, fence, readers: Default::default() }
    }

    fn store(&self) -> &dyn Store {
        self.fixture.store()
    }

    /// Does a step; returns how many commits and pages it took.
    fn apply(&mut self, step: &Step) -> u32 {
        match *step {
            Step::Commit { from, length, scope, classic, proven } => {
                let batch = offered(from, from + length, scope, classic, proven);
                let did = self.store().commit(&batch, self.fence).map(drop).map_err(|error| error.code());
                assert_eq!(did, self.oracle.commit(&batch, self.fence));
                // Nothing but a silent ledger that nothing ties to the network is refused: the sources are all honest.
                assert!(did.is_ok() || did == Err("NETWORK_UNPROVEN"), "{did:?}");
                1
            }
            Step::Begin { reader, contract: of, from, to, above, back, limit } => {
                let of = contract([1, 2, 9, 77][usize::from(of)]);
                let query = PageQuery {
                    order: if back { Order::Descending } else { Order::Ascending },
                    above: above.map(|number| Position::op(seq(number), 1, 0, 0).unwrap()),
                    ..first_page(of, from.map(seq), to.map(seq), limit)
                };
                let mut begun = Reader::new(&self.oracle, query);
                begun.turn(self.fixture.store());
                self.readers[reader] = Some(begun);
                1
            }
            Step::Turn { reader } => match &mut self.readers[reader] {
                Some(reader) if !reader.is_done() => {
                    reader.turn(self.fixture.store());
                    1
                }
                _ => 0,
            },
            Step::Declare { contract: of, origin } => {
                let id = contract(of + 1);
                let said = Contract { id, origin: origin.map(seq), kind: Some(ContractKind::Wasm), schema: None };
                self.store().declare(&said, self.fence).unwrap();
                self.oracle.declare(&said);
                0
            }
        }
    }
}

#[test]
fn inv_1_and_5_no_commit_changes_what_a_reader_was_promised() {
    let config = ProptestConfig {
        cases: 240,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(SEED),
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    };
    let done = Cell::new(0);
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        let mut run = Run::new();
        for step in &steps {
            done.set(done.get() + run.apply(step));
        }
        for reader in run.readers.iter_mut().flatten() {
            reader.finish(run.fixture.store());
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("seed {SEED}: {failure}");
    }
    assert!(done.get() >= 10_000, "only {} commits and pages", done.get());
}
