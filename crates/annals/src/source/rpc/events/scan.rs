//! One pass over a window of ledgers at one endpoint.

use std::collections::BTreeMap;

use annals_core::{ContractId, LedgerRange, LedgerSeq, Position, Scope};

use super::super::endpoint::{Endpoint, Verdict};
use super::super::fault::{NextStep, RequestFault, RequestFaultKind};
use super::entry::{Entry, Given};
use super::page::{Method, Next, Page};

/// Contracts in a pass: five filters of five.
const PASS_CONTRACTS_MAX: usize = 25;
/// A part ends with the ledger in which it has so many events, …
const PART_EVENTS: usize = 20_000;
/// … and no more than so many entries are read for one.
const PART_ENTRIES_MAX: usize = 1 << 20;
/// Pages in a row that neither hold an event nor come to the end of a ledger.
const STALLED_PAGES_MAX: u32 = 4;

const _: () = assert!(PART_EVENTS < PART_ENTRIES_MAX);

/// The contracts whose events are asked for together; none for those of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pass(pub(super) Vec<ContractId>);

impl Pass {
    /// The passes that take in all of `scope`.
    pub(super) fn all_of(scope: &Scope) -> Vec<Self> {
        match scope {
            Scope::All => vec![Self(Vec::new())],
            Scope::Contracts(contracts) => {
                let contracts: Vec<ContractId> = contracts.iter().copied().collect();
                contracts.chunks(PASS_CONTRACTS_MAX).map(|contracts| Self(contracts.to_vec())).collect()
            }
        }
    }
}

/// Where a page is to begin.
pub(super) enum Begin {
    /// With a ledger's first event.
    Ledger(LedgerSeq),
    /// Behind a cursor of the same endpoint's.
    Cursor(String),
}

/// What is asked of one endpoint.
pub(super) struct Scan<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) method: Method,
    pub(super) pass: &'a Pass,
    pub(super) window: LedgerRange,
    /// Events in a page.
    pub(super) events: u32,
}

/// What came of a window: its beginning, up to and with a ledger's end.
pub(super) struct Part {
    pub(super) through: LedgerSeq,
    pub(super) events: Vec<Given>,
    /// What of a ledger's events does not decode.
    pub(super) bad: BTreeMap<LedgerSeq, &'static str>,
}

/// A part that is no more, and whether it was asked for behind a cursor.
pub(super) struct Failed {
    pub(super) verdict: Verdict,
    pub(super) behind_cursor: bool,
}

impl Scan<'_> {
    /// Scans the window, or the beginning of it.
    ///
    /// Ends: each page goes on behind the one before it, or is one of a few that do not.
    pub(super) fn run(&self) -> Result<Part, Failed> {
        let mut tally = Tally::new(self.window);
        let mut begin = Begin::Ledger(self.window.from_inclusive());
        let mut stalled = 0;
        loop {
            let behind_cursor = matches!(begin, Begin::Cursor(_));
            let failed = |verdict| Failed { verdict, behind_cursor };
            let page = match self.page(&begin) {
                Ok(page) => page,
                Err(fault) => {
                    let verdict = self.verdict(tally.open, fault);
                    return tally.instead_of(verdict).map_err(failed);
                }
            };
            if let Some(floor) = page.floor.filter(|floor| tally.open < *floor) {
                return tally.instead_of(Verdict::BelowOldest(floor)).map_err(failed);
            }
            let tip = page.tip;
            let (is_onward, next) = tally.take(page).map_err(|kind| failed(self.fault(kind).into()))?;
            if tally.is_done() {
                return Ok(tally.part());
            }
            stalled = if is_onward { 0 } else { stalled + 1 };
            begin = match next {
                Next::Cursor(cursor) if stalled < STALLED_PAGES_MAX && self.may_stall(is_onward) => {
                    Begin::Cursor(cursor)
                }
                Next::Above if is_onward => {
                    tally.forget_open();
                    Begin::Ledger(tally.open)
                }
                Next::Later => return tally.instead_of(Verdict::Behind(tip)).map_err(failed),
                Next::Cursor(_) | Next::Above => {
                    let kind = RequestFaultKind::Page { wrong: "does not go on behind the one before it" };
                    return Err(failed(self.fault(kind).into()));
                }
            };
        }
    }

    /// Whether a page may bring nothing: `queryEvents` may look through a part of a ledger.
    fn may_stall(&self, is_onward: bool) -> bool {
        is_onward || self.method == Method::Query
    }

    fn fault(&self, kind: RequestFaultKind) -> RequestFault {
        self.endpoint.caller.fault(self.method.name(), kind)
    }

    /// Why a page that begins with `at` was refused. `queryEvents` tells wrong parameters and absent ledgers by one code.
    fn verdict(&self, at: LedgerSeq, fault: RequestFault) -> Verdict {
        let asks_range = match fault.kind {
            RequestFaultKind::Error { code: -32602, .. } => self.method == Method::Query,
            ref kind => kind.next_step() == NextStep::AskRange,
        };
        if asks_range { self.endpoint.outside(at, fault) } else { fault.into() }
    }
}

/// What a scan has brought so far.
struct Tally {
    window: LedgerRange,
    /// The first ledger that is not known to be whole.
    open: LedgerSeq,
    /// The last place at which something stood.
    last: Option<Position>,
    events: Vec<Given>,
    bad: BTreeMap<LedgerSeq, &'static str>,
    /// How many entries were read.
    entries: usize,
    is_through: bool,
}

impl Tally {
    fn new(window: LedgerRange) -> Self {
        let open = window.from_inclusive();
        Self { window, open, last: None, events: Vec::new(), bad: BTreeMap::new(), entries: 0, is_through: false }
    }

    /// Takes a page; tells whether it led on, and how it goes on.
    fn take(&mut self, page: Page) -> Result<(bool, Next), RequestFaultKind> {
        let mut is_onward = false;
        self.entries += page.entries.len();
        if self.entries > PART_ENTRIES_MAX {
            return Err(RequestFaultKind::Page { wrong: "is one of a ledger without end" });
        }
        for entry in &page.entries {
            let entry = Entry::read(entry)?;
            let (ledger, position) = match &entry {
                Entry::Event(given) => (given.event.position.ledger(), Some(given.event.position)),
                Entry::Diagnostic(position) => (position.ledger(), Some(*position)),
                Entry::Bad(ledger, position, _) => (*ledger, *position),
            };
            let repeats = position.is_some_and(|position| self.last.is_some_and(|last| position <= last));
            if repeats || ledger < self.open {
                return Err(RequestFaultKind::Page { wrong: "holds an event that is not behind those before it" });
            }
            self.last = position.or(self.last);
            if ledger > self.window.to_inclusive() {
                continue;
            }
            is_onward |= position.is_some();
            match entry {
                Entry::Event(given) => self.events.push(*given),
                Entry::Diagnostic(_) => {}
                Entry::Bad(ledger, _, wrong) => _ = self.bad.entry(ledger).or_insert(wrong),
            }
        }
        let is_whole = page.through.is_some_and(|through| through >= self.open);
        if let Some(through) = page.through.filter(|_| is_whole) {
            let above = through.next().filter(|_| through < self.window.to_inclusive());
            self.is_through = above.is_none();
            self.open = above.unwrap_or(self.window.to_inclusive());
        }
        // Only a cursor leads on from inside a ledger.
        Ok((is_whole || (is_onward && matches!(page.next, Next::Cursor(_))), page.next))
    }

    /// Whether there is a part that is worth handing out.
    fn is_done(&self) -> bool {
        self.is_through || (self.events.len() >= PART_EVENTS && self.has_whole())
    }

    /// Whether a ledger is whole.
    fn has_whole(&self) -> bool {
        self.is_through || self.open > self.window.from_inclusive()
    }

    /// Forgets what came of a ledger that is not whole; it comes again.
    fn forget_open(&mut self) {
        let open = self.open;
        self.events.retain(|given| given.event.position.ledger() < open);
        self.bad.retain(|ledger, _| *ledger < open);
        self.last = None;
    }

    /// What there is where the endpoint has no more. A request that failed is made again, and with it all of its part:
    /// another endpoint may be asked then.
    fn instead_of(self, verdict: Verdict) -> Result<Part, Verdict> {
        match verdict {
            Verdict::BelowOldest(_) | Verdict::Behind(_) if self.has_whole() => Ok(self.part()),
            verdict => Err(verdict),
        }
    }

    fn part(mut self) -> Part {
        let through = if self.is_through {
            self.window.to_inclusive()
        } else {
            self.forget_open();
            self.open.previous().unwrap_or(self.open)
        };
        Part { through, events: self.events, bad: self.bad }
    }
}
