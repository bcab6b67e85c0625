//! A store that does what no archive of a test can be made to do.

use std::sync::{Condvar, Mutex};

use annals::store::{
    Anchor, AnchorKind, Audited, AuditedDigests, AuditedEnvelopes, CheckpointAnswer, CheckpointQuery, Committed,
    Contract, ContractView, DigestAnswer, DigestQuery, Digested, EventLookup, EventQuery, FeedPosition, Fence,
    Freshness, GapFailure, Incident, JudgedWindow, Page, PageQuery, Plan, Reattributed, Request, Sealed, Status, Store,
    StoreError, StoredLedger, Wanted, WantedQuery,
};
use annals_core::chain::{Neighbours, Severance};
use annals_core::registry::Payload;
use annals_core::{
    Batch, Census, CheckedEnvelope, ClassicPolicy, ContractId, Coverage, Event, LedgerRange, LedgerSeq, Position,
    ProofMaterial, Scope, ScopeKey, TransactionKey,
};

/// What no answer may hold.
pub const SECRET: &str = "no such column: s3cr3t";

/// How reads end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Answers,
    Fails,
    Panics,
}

struct State {
    mood: Mood,
    epoch: u64,
    is_open: bool,
    inside: u32,
}

/// An archive of all contracts with ledger 5, which was scanned without a header. Reads wait at a gate.
pub struct Fake {
    state: Mutex<State>,
    changed: Condvar,
}

impl Fake {
    pub fn new(mood: Mood) -> Self {
        let state = State { mood, epoch: 0, is_open: true, inside: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    pub fn close(&self) {
        self.change(|state| state.is_open = false);
    }

    pub fn open(&self) {
        self.change(|state| state.is_open = true);
    }

    pub fn set_mood(&self, mood: Mood) {
        self.change(|state| state.mood = mood);
    }

    pub fn roll_back(&self) {
        self.change(|state| state.epoch += 1);
    }

    /// Waits until so many reads stand at the gate.
    pub fn wait_for(&self, readers: u32) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.inside < readers).unwrap());
    }

    fn pass(&self) -> Result<u64, StoreError> {
        let mut state = self.state.lock().unwrap();
        state.inside += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| !state.is_open).unwrap();
        state.inside -= 1;
        let (mood, epoch) = (state.mood, state.epoch);
        drop(state);
        match mood {
            Mood::Answers => Ok(epoch),
            Mood::Fails => Err(StoreError::Database(SECRET.into())),
            Mood::Panics => panic!("{SECRET}"),
        }
    }

    fn view(epoch: u64) -> ContractView {
        ContractView {
            as_of: FeedPosition(1),
            epoch,
            in_scope: true,
            contract: None,
            start: Some(five()),
            coverage: held(),
            verified: Coverage::new(),
            lowest_incident: None,
            pins: Vec::new(),
            anchors: Vec::new(),
        }
    }
}

fn five() -> LedgerSeq {
    LedgerSeq::new(5).unwrap()
}

fn held() -> Coverage {
    Coverage::from_iter([LedgerRange::single(five())])
}

impl Store for Fake {
    fn acquire(&self) -> Result<Fence, StoreError> {
        unreachable!("readers write nothing")
    }

    fn request(&self, _: &Request, _: Fence) -> Result<Plan, StoreError> {
        unreachable!("readers write nothing")
    }

    fn commit(&self, _: &Batch, _: Fence) -> Result<Committed, StoreError> {
        unreachable!("readers write nothing")
    }

    fn record_failure(&self, _: &GapFailure, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn record_failures(&self, _: &[GapFailure], _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn record_severance(&self, _: &Severance, _: &str, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn resolve_incident(&self, _: u64, _: Option<&str>, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn declare(&self, _: &Contract, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn adopt(&self, _: Fence) -> Result<Vec<ContractId>, StoreError> {
        unreachable!("readers write nothing")
    }

    fn reattribute(&self, _: ContractId, _: Option<Position>, _: u32, _: Fence) -> Result<Reattributed, StoreError> {
        unreachable!("readers write nothing")
    }

    fn note_freshness(&self, _: &Freshness, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn seal(&self, _: u32, _: Fence) -> Result<Sealed, StoreError> {
        unreachable!("readers write nothing")
    }

    fn record_anchor(&self, _: &Anchor, _: Fence) -> Result<(), StoreError> {
        unreachable!("readers write nothing")
    }

    fn anchors(&self, _: AnchorKind, _: LedgerSeq, _: u32) -> Result<Vec<Anchor>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn status(&self) -> Result<Status, StoreError> {
        let epoch = self.pass()?;
        Ok(Status {
            passphrase: Some("a network of fakes".to_owned()),
            classic: ClassicPolicy::Keep,
            start: Some(five()),
            coverage: vec![(ScopeKey::All, held())],
            verified: Coverage::new(),
            latest_ledger: Some(five()),
            grown_ms: None,
            events: Census::default(),
            gaps: Vec::new(),
            open_incidents: 0,
            feed_position: FeedPosition(1),
            epoch,
            pins: Vec::new(),
            anchors: Vec::new(),
            quarantined: 0,
            unattributed: Vec::new(),
            freshness: None,
        })
    }

    fn neighbours(&self, _: LedgerRange) -> Result<Neighbours, StoreError> {
        unreachable!("readers ask for no neighbours")
    }

    fn ledgers(&self, _: LedgerSeq, _: u32) -> Result<Vec<StoredLedger>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn events(&self, _: &EventQuery) -> Result<Vec<Event>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn proof(&self, _: LedgerSeq) -> Result<Option<ProofMaterial>, StoreError> {
        self.pass().map(|_| None)
    }

    fn tally(&self, _: &Scope, _: LedgerRange) -> Result<Census, StoreError> {
        self.pass().map(|_| Census::default())
    }

    /// Every page has one after it.
    fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        let view = Self::view(self.pass()?);
        let window = annals_core::Window::resolve(query.asked_from, query.asked_to, None, view.start, &view.coverage);
        let next = Some(Position::first_of(five()));
        Ok(Page { events: Vec::new(), next, window, classic_events_absent: false, unattributed: None, view })
    }

    fn checkpoint(&self, query: &CheckpointQuery) -> Result<CheckpointAnswer, StoreError> {
        let view = Self::view(self.pass()?);
        let window = annals_core::Window::resolve(None, query.at, None, view.start, &view.coverage);
        let judged = JudgedWindow { window, classic_events_absent: false, unattributed: None };
        Ok(CheckpointAnswer { checkpoint: None, t0: None, t0_mark: None, window: judged, replay_window: judged, view })
    }

    /// Every window has too many events.
    fn digest(&self, query: &DigestQuery) -> Result<DigestAnswer, StoreError> {
        let view = Self::view(self.pass()?);
        let window = annals_core::Window::resolve(query.asked_from, query.asked_to, None, view.start, &view.coverage);
        let window = JudgedWindow { window, classic_events_absent: false, unattributed: None };
        Ok(DigestAnswer { digested: Digested::TooWide, window, view })
    }

    fn payloads(&self, events: &[Event]) -> Result<Vec<Payload>, StoreError> {
        self.pass().map(|_| events.iter().map(|_| Payload::NotApplicable).collect())
    }

    fn wanted_by(&self, _: &[Event]) -> Result<Vec<TransactionKey>, StoreError> {
        unreachable!("readers want no envelopes")
    }

    fn wanted_envelopes(&self, _: &WantedQuery<'_>) -> Result<Wanted, StoreError> {
        unreachable!("readers want no envelopes")
    }

    fn add_envelopes(&self, _: &[CheckedEnvelope], _: Fence) -> Result<u64, StoreError> {
        unreachable!("readers write nothing")
    }

    fn audit_envelopes(&self, _: Option<TransactionKey>, _: u32) -> Result<AuditedEnvelopes, StoreError> {
        unreachable!("readers audit nothing")
    }

    fn audit(&self, _: FeedPosition, _: u32) -> Result<Audited, StoreError> {
        unreachable!("readers audit nothing")
    }

    fn audit_digests(&self, _: Option<LedgerSeq>, _: u32) -> Result<AuditedDigests, StoreError> {
        unreachable!("readers audit nothing")
    }

    fn contract(&self, _: ContractId) -> Result<ContractView, StoreError> {
        self.pass().map(Self::view)
    }

    fn contracts(&self) -> Result<Vec<Contract>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn declared(&self) -> Result<Vec<Contract>, StoreError> {
        self.pass().map(|_| Vec::new())
    }

    fn quarantined(&self, _: ContractId) -> Result<u64, StoreError> {
        self.pass().map(|_| 0)
    }

    fn event(&self, _: Position) -> Result<EventLookup, StoreError> {
        self.pass().map(|_| EventLookup::Absent { covered: true })
    }

    fn cursor_key(&self) -> Result<[u8; 32], StoreError> {
        self.pass().map(|_| [7; 32])
    }
}
