//! A made-up network: consistent hashes and links, a few contracts, and events that follow from the ledger's number.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use annals::clock::Clock;
use annals::store::{EventQuery, FeedPosition, Fence, Pin, Request, Status, Store};
use annals_core::hash::sha256;
use annals_core::{
    Batch, Census, CheckedLedger, ClassicEvents, ClassicPolicy, ContractId, Coverage, Event, EventKind, EventsDigest,
    Invocation, LedgerHash, LedgerRange, LedgerSeq, Network, NetworkProof, Position, ProofClass, ProofMaterial,
    Registry, Scope, TxHash,
};

/// The source that batches name.
pub const SOURCE: &str = "a made-up lake";

/// A clock that stands still unless a test moves it.
#[derive(Default)]
pub struct StandingClock(pub AtomicU64);

impl Clock for StandingClock {
    fn now_unix_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.now_unix_ms())
    }

    fn sleep(&self, _duration: Duration) {}
}

/// A clock for stores under test.
pub fn clock() -> Arc<dyn Clock> {
    Arc::new(StandingClock(AtomicU64::new(1_700_000_000_000)))
}

/// An empty store of one backend, cleaned up when dropped.
pub trait StoreFixture {
    /// The store.
    fn store(&self) -> &dyn Store;
    /// Closes and opens the store again, as a restart does.
    fn reopen(&mut self);
    /// The same with other schemas.
    fn reopen_with(&mut self, registry: Arc<Registry>);
}

pub fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

pub fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

/// The contracts that emit events; the last is the one of fees.
pub fn contract(number: u8) -> ContractId {
    ContractId([number; 32])
}

pub fn contracts(numbers: &[u8]) -> Scope {
    Scope::Contracts(numbers.iter().copied().map(contract).collect::<BTreeSet<_>>())
}

pub fn network() -> Network {
    Network::new("Made-up Network ; 2026")
}

/// An event with a pseudo-random mark of its own.
pub fn event(position: Position, tx_order: u32, contract_id: Option<ContractId>, proof: ProofClass) -> Event {
    let (ledger, index) = (position.ledger().get(), position.index());
    Event {
        position,
        tx_hash: tx_hash(position.ledger(), tx_order),
        tx_order,
        successful: true,
        close_time_ms: close_time_ms(position.ledger()),
        contract_id,
        kind: if contract_id.is_none() { EventKind::System } else { EventKind::Contract },
        xdr: sha256(&[b"event", &ledger.to_be_bytes(), &position.toid().to_be_bytes(), &index.to_be_bytes()]).to_vec(),
        proof,
        rewritten_xdr: None,
    }
}

pub fn tx_hash(ledger: LedgerSeq, tx_order: u32) -> TxHash {
    TxHash(sha256(&[b"transaction", &ledger.get().to_be_bytes(), &tx_order.to_be_bytes()]))
}

pub fn close_time_ms(ledger: LedgerSeq) -> u64 {
    1_600_000_000_000 + u64::from(ledger.get()) * 5_000
}

/// The hash of `ledger`. It follows from the number alone, so that a ledger can be made without those before it.
pub fn hash(ledger: u32) -> LedgerHash {
    LedgerHash(sha256(&[&format!("header of {ledger}").into_bytes()]))
}

/// A ledger with `events`, which are put in order.
pub fn ledger_with(number: u32, classic: ClassicEvents, mut events: Vec<Event>) -> CheckedLedger {
    events.sort_by_key(|event| event.position);
    let committed: BTreeSet<u32> =
        events.iter().filter(|event| event.proof.is_proven()).map(|event| event.tx_order).collect();
    let invocation = |tx_order: &u32| Invocation {
        tx_order: *tx_order,
        tx_hash: tx_hash(seq(number), *tx_order),
        pre_image_xdr: format!("pre-image {number} {tx_order}").into_bytes(),
        uncommitted_prefix: 0,
        envelope_xdr: format!("envelope {number} {tx_order}").into_bytes(),
    };
    CheckedLedger {
        seq: seq(number),
        hash: hash(number),
        previous_hash: if number > 1 { hash(number - 1) } else { LedgerHash([0; 32]) },
        close_time_ms: close_time_ms(seq(number)),
        protocol: 23,
        header_xdr: format!("header of {number}").into_bytes(),
        network_proof: if events.is_empty() { NetworkProof::NoTransactions } else { NetworkProof::Proven },
        classic_events: classic,
        census: Census::of(&events),
        digest: EventsDigest::of(&events),
        creations: Vec::new(),
        proof: ProofMaterial {
            results_xdr: format!("results of {number}").into_bytes(),
            invocations: committed.iter().map(invocation).collect(),
        },
        events,
    }
}

/// The ledger `number` of the made-up network as a source with these classic events gives it: silent
/// ones, and others that invoke contract 1 or both 1 and 2, with fee events, a refund, and a classic operation's event.
pub fn ledger(number: u32, classic: ClassicEvents) -> CheckedLedger {
    let at = seq(number);
    let transactions = number % 3;
    let mut events = Vec::new();
    for tx in 1..=transactions {
        let emitter = contract(u8::try_from(tx).unwrap());
        for index in 0..=number % 2 {
            events.push(event(Position::op(at, tx, 0, index).unwrap(), tx, Some(emitter), ProofClass::Committed));
        }
        let charged = match classic {
            ClassicEvents::Absent => false,
            ClassicEvents::Inconsistent => tx == 1,
            ClassicEvents::Present => true,
        };
        if charged {
            let fee = Position::before_all_txs(at, tx - 1);
            events.push(event(fee, tx, Some(contract(9)), ProofClass::Uncommitted));
        }
    }
    if transactions == 2 && classic == ClassicEvents::Present {
        events.push(event(Position::after_tx(at, 2, 0).unwrap(), 2, Some(contract(1)), ProofClass::Uncommitted));
        events.push(event(Position::after_all_txs(at, 0), 2, Some(contract(9)), ProofClass::Uncommitted));
        events.push(event(Position::op(at, 3, 1, 0).unwrap(), 3, None, ProofClass::Uncommitted));
    }
    ledger_with(number, classic, events)
}

/// The same number on another chain: another hash, the same predecessor and events.
pub fn forked(number: u32) -> CheckedLedger {
    let header_xdr = format!("header of another ledger {number}").into_bytes();
    CheckedLedger { hash: LedgerHash(sha256(&[&header_xdr])), header_xdr, ..ledger(number, ClassicEvents::Present) }
}

pub fn batch_of(scope: Scope, ledgers: Vec<CheckedLedger>) -> Batch {
    Batch::checked(network(), scope, ClassicPolicy::Keep, SOURCE, ledgers).unwrap()
}

/// A batch of the made-up network.
pub fn batch(scope: Scope, from: u32, to: u32, classic: ClassicEvents) -> Batch {
    batch_of(scope, (from..=to).map(|number| ledger(number, classic)).collect())
}

/// All events of the made-up network, with classic events.
pub fn full(from: u32, to: u32) -> Batch {
    batch(Scope::All, from, to, ClassicEvents::Present)
}

/// The same events as a source gives them that proves nothing.
pub fn unverified(scope: Scope, from: u32, to: u32, classic: ClassicEvents) -> Batch {
    let ledgers = (from..=to).map(|number| ledger(number, classic));
    let events = ledgers.flat_map(|ledger| ledger.events).map(unproven).collect();
    Batch::unverified(network(), scope, SOURCE, range(from, to), events).unwrap()
}

pub fn unproven(event: Event) -> Event {
    Event { proof: ProofClass::Unverified, rewritten_xdr: None, ..event }
}

pub fn request(scope: Scope, from: u32, to: u32) -> Request {
    let pins: Vec<Pin> = Vec::new();
    Request { network: network(), scope, classic: ClassicPolicy::Keep, range: range(from, to), pins }
}

/// Takes the lease and asks for all events of a range.
pub fn begin(store: &dyn Store, from: u32, to: u32) -> Fence {
    let fence = store.acquire().unwrap();
    store.request(&request(Scope::All, from, to), fence).unwrap();
    fence
}

/// Every stored event, read in pages of `limit`.
pub fn all_events(store: &dyn Store, limit: u32) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map(|event| event.position);
        let query = EventQuery { after, to_inclusive: LedgerSeq::MAX, as_of: FeedPosition(u64::MAX), limit };
        let page = store.events(&query).unwrap();
        if page.is_empty() {
            return events;
        }
        assert!(page.len() <= limit as usize);
        events.extend(page);
    }
}

/// Everything that a reader can see, for "nothing changed".
#[derive(Debug, PartialEq)]
pub struct Snapshot {
    pub status: Status,
    pub events: Vec<Event>,
    pub ledgers: Vec<annals::store::StoredLedger>,
}

pub fn snapshot(store: &dyn Store) -> Snapshot {
    Snapshot {
        status: store.status().unwrap(),
        events: all_events(store, 500),
        ledgers: store.ledgers(LedgerSeq::MIN, u32::MAX).unwrap(),
    }
}

pub fn coverage(ranges: &[(u32, u32)]) -> Coverage {
    ranges.iter().map(|(from, to)| range(*from, *to)).collect()
}
