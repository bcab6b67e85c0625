//! What a demonstration says of itself.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use annals_core::{Address, LedgerSeq};

use super::simulated::Simulated;
use crate::cli::error::CliError;
use crate::cli::output::{Output, grouped};
use crate::clock::{Clock, Stop};
use crate::follow::{FollowState, Visible, Watch};
use crate::marks::Marks;
use crate::store::{CheckpointQuery, SqliteStore, Store as _, StoreError};

/// A line is written for at least so many ledgers …
const LEDGERS_A_LINE: u32 = 5;
/// … and no sooner than this after the last one.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Shows what there is to ask once the past is archived, and then what comes.
pub(super) struct Tour {
    simulated: Simulated,
    store: SqliteStore,
    clock: Arc<dyn Clock>,
    output: Output,
    ledgers: Option<u32>,
    stop: Stop,
    /// None before there was anything to ask for.
    told: Mutex<Option<Told>>,
}

/// What was told, and when.
struct Told {
    through: LedgerSeq,
    events: u64,
    at: Duration,
}

/// A tour of what is served at an address.
struct TourAt {
    tour: Tour,
    address: SocketAddr,
}

impl Tour {
    /// Ends what it is a tour of once `ledgers` were archived as they closed.
    pub fn new(
        simulated: Simulated,
        store: SqliteStore,
        clock: Arc<dyn Clock>,
        ledgers: Option<u32>,
        stop: Stop,
    ) -> Self {
        Self { simulated, store, clock, output: Output::new(false), ledgers, stop, told: Mutex::default() }
    }

    /// The same, where the server listens at `address`.
    pub fn at(self, address: SocketAddr) -> impl Watch {
        TourAt { tour: self, address }
    }

    /// The last ledger that is waited for.
    fn is_last(&self, ledger: &Visible) -> bool {
        let archived = ledger.seq.get().saturating_sub(self.simulated.last_before().get());
        self.ledgers.is_some_and(|ledgers| archived >= ledgers)
    }

    /// What is archived without a gap by now; none before all of the past is.
    fn archived(&self) -> Result<Option<Told>, StoreError> {
        let status = self.store.status()?;
        let through = Marks::of(&status).verified_through;
        let through = through.filter(|through| *through >= self.simulated.last_before());
        let (events, at) = (status.events.total(), self.clock.monotonic());
        Ok(through.map(|through| Told { through, events, at }))
    }

    /// An account that has told its balance.
    fn account(&self) -> Result<Option<Address>, StoreError> {
        for account in self.simulated.accounts() {
            let query = CheckpointQuery { contract: self.simulated.token(), account: *account, at: None };
            if self.store.checkpoint(&query)?.checkpoint.is_some() {
                return Ok(Some(*account));
            }
        }
        Ok(None)
    }
}

impl TourAt {
    fn tell(&self, told: &mut Option<Told>, ledger: &Visible) -> Result<(), CliError> {
        let Some(before) = told.as_ref() else {
            *told = self.tour.archived()?;
            return if told.is_some() { self.introduce() } else { Ok(()) };
        };
        let ledgers = ledger.seq.get().saturating_sub(before.through.get());
        let waited = self.tour.clock.monotonic().saturating_sub(before.at);
        if ledgers < LEDGERS_A_LINE || waited < LINE_EVERY {
            return Ok(());
        }
        let Some(now) = self.tour.archived()? else { return Ok(()) };
        let readable = ledger.after_closed_ms.map_or(String::new(), |ms| format!(", readable {ms} ms after it closed"));
        self.tour.output.line(format_args!(
            "archived ledger {}{readable}: {} events more",
            now.through,
            grouped(now.events.saturating_sub(before.events))
        ))?;
        *told = Some(now);
        Ok(())
    }

    fn introduce(&self) -> Result<(), CliError> {
        let Tour { output, simulated, .. } = &self.tour;
        let token = format!("http://{}/v1/tokens/{}", self.address, simulated.token());
        output
            .line("A simulated network closes ledgers, and this archive follows it. Ask it from another terminal:")?;
        output.line(format_args!("  curl '{token}/events?order=desc&limit=2'"))?;
        if let Some(account) = self.tour.account()? {
            output.line(format_args!("  curl '{token}/accounts/{account}/checkpoint'"))?;
        }
        output.line(format_args!("  curl 'http://{}/readyz'", self.address))?;
        output.line("Ctrl-C ends it.")
    }
}

impl Watch for TourAt {
    fn state(&self, _: &FollowState) {}

    fn committed(&self, ledger: &Visible) {
        let mut told = self.tour.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.tell(&mut told, ledger) {
            // Nobody watches a demonstration that cannot show itself.
            if !error.is_broken_pipe() {
                tracing::error!("{} [{}]", error.sentence(), error.code());
            }
            self.tour.stop.stop();
        }
        if self.tour.is_last(ledger) {
            self.tour.stop.stop();
        }
    }

    fn announce(&self, _: &str) {}
}
