//! Random operations beside the oracle, after each of which everything readable is compared.

use annals::store::{Fence, GapFailure, Pin, Request, Store};
use annals_core::{Batch, CheckedLedger, ClassicEvents, Event, EventsDigest, Position, ProofClass, Scope};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed};

use super::fixtures::*;
use super::oracle::Oracle;
use super::sqlite::SqliteFixture;

const LEDGERS_MAX: u32 = 14;

/// What is wrong with a batch.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// A byte of one of its events differs.
    Byte,
    /// It brings one event more than the network has, in the given stage.
    Extra(bool),
    /// Its last ledger is another chain's.
    Fork,
}

#[derive(Debug, Clone)]
enum Step {
    Commit { from: u32, length: u32, scope: u8, classic: u8, proven: bool, fault: Fault, stale: bool, twice: bool },
    Request { from: u32, length: u32, scope: u8, pin: bool },
    Fail { from: u32, length: u32 },
    Restart,
    TakeOver,
    Resolve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = || (1..=LEDGERS_MAX, 0_u32..6);
    let fault = prop_oneof![
        12 => Just(Fault::None),
        1 => Just(Fault::Byte),
        1 => any::<bool>().prop_map(Fault::Extra),
        1 => Just(Fault::Fork),
    ];
    let commit =
        (span(), 0_u8..5, 0_u8..3, prop::bool::weighted(0.8), fault, prop::bool::weighted(0.05), any::<bool>());
    let step = prop_oneof![
        10 => commit.prop_map(|((from, length), scope, classic, proven, fault, stale, twice)| {
            Step::Commit { from, length, scope, classic, proven, fault, stale, twice }
        }),
        3 => (span(), 0_u8..5, prop::bool::weighted(0.1)).prop_map(|((from, length), scope, pin)| {
            Step::Request { from, length: length * 3, scope, pin }
        }),
        2 => span().prop_map(|(from, length)| Step::Fail { from, length }),
        1 => Just(Step::Restart),
        1 => Just(Step::TakeOver),
        3 => Just(Step::Resolve),
    ];
    // Nearly always something is asked for first; else everything is refused for want of it.
    let first = (prop::bool::weighted(0.95), 0_u8..5).prop_map(|(asked, scope)| {
        if asked { Step::Request { from: 1, length: LEDGERS_MAX, scope, pin: false } } else { Step::TakeOver }
    });
    (first, prop::collection::vec(step, 1..40)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn scope_of(choice: u8) -> Scope {
    match choice {
        0 | 1 => Scope::All,
        2 => contracts(&[1]),
        3 => contracts(&[2, 9]),
        _ => contracts(&[1, 2, 9]),
    }
}

fn classic_of(choice: u8) -> ClassicEvents {
    [ClassicEvents::Absent, ClassicEvents::Inconsistent, ClassicEvents::Present][usize::from(choice)]
}

fn spoil(events: &mut Vec<Event>, number: u32, fault: Fault) {
    match fault {
        Fault::None | Fault::Fork => {}
        Fault::Byte => {
            if let Some(event) = events.first_mut() {
                event.xdr.push(1);
            }
        }
        Fault::Extra(in_operation) => {
            let position = if in_operation {
                Position::op(seq(number), 1, 0, 77).unwrap()
            } else {
                Position::after_all_txs(seq(number), 77)
            };
            events.push(event(position, 1, Some(contract(1)), ProofClass::Uncommitted));
        }
    }
}

fn offered(from: u32, to: u32, scope: Scope, classic: ClassicEvents, proven: bool, fault: Fault) -> Batch {
    let mut ledgers: Vec<CheckedLedger> = (from..=to).map(|number| ledger(number, classic)).collect();
    let last = ledgers.last_mut().unwrap();
    spoil(&mut last.events, to, fault);
    last.events.sort_by_key(|event| event.position);
    last.digest = EventsDigest::of(&last.events);
    if matches!(fault, Fault::Fork) {
        (last.hash, last.header_xdr) = (forked(to).hash, forked(to).header_xdr);
    }
    if proven {
        return batch_of(scope, ledgers);
    }
    let events = ledgers.into_iter().flat_map(|ledger| ledger.events).map(unproven).collect();
    Batch::unverified(network(), scope, SOURCE, range(from, to), events).unwrap()
}

struct Run {
    fixture: SqliteFixture,
    oracle: Oracle,
    fence: Fence,
}

impl Run {
    fn new() -> Self {
        let fixture = SqliteFixture::in_memory();
        let mut run = Self { fence: Fence { number: 0, epoch: 0 }, oracle: Oracle::default(), fixture };
        run.take_over();
        run
    }

    fn store(&self) -> &dyn Store {
        self.fixture.store()
    }

    fn take_over(&mut self) {
        self.fence = self.store().acquire().unwrap();
        self.oracle.acquire();
    }

    fn apply(&mut self, step: &Step) {
        let code = |error: annals::store::StoreError| error.code();
        match *step {
            Step::Commit { from, length, scope, classic, proven, fault, stale, twice } => {
                let batch = offered(from, from + length, scope_of(scope), classic_of(classic), proven, fault);
                let fence = Fence { number: self.fence.number - u64::from(stale), ..self.fence };
                for _ in 0..=u8::from(twice) {
                    let did = self.store().commit(&batch, fence).map(drop).map_err(code);
                    assert_eq!(did, self.oracle.commit(&batch, fence));
                }
            }
            Step::Request { from, length, scope, pin } => {
                let pins = if pin { vec![Pin { seq: seq(from), hash: hash(from) }] } else { Vec::new() };
                let asked = Request { pins, ..request(scope_of(scope), from, from + length) };
                let did = self.store().request(&asked, self.fence).map(drop).map_err(code);
                assert_eq!(did, self.oracle.request(&asked, self.fence));
            }
            Step::Fail { from, length } => {
                let range = range(from, from + length);
                let failure = GapFailure { range, code: format!("CODE_{length}"), message: "no".to_owned() };
                self.store().record_failure(&failure, self.fence).unwrap();
                self.oracle.record_failure(&failure, self.fence).unwrap();
            }
            Step::Restart => self.fixture.reopen(),
            Step::TakeOver => self.take_over(),
            Step::Resolve => {
                for incident in self.store().incidents().unwrap() {
                    if incident.resolved_at_ms.is_none() {
                        self.store().resolve_incident(incident.id, None, self.fence).unwrap();
                    }
                }
                self.oracle.resolve_all();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 160,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(20_260_901),
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    #[test]
    fn after_any_operations_the_store_holds_what_the_oracle_holds(steps in steps(), limit in 1_u32..50) {
        let mut run = Run::new();
        for step in &steps {
            run.apply(step);
            run.oracle.check(run.store(), limit);
        }
    }
}
