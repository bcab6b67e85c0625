//! Follows a network beside a server.

mod heard;
mod pins;

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use annals_core::{ClassicPolicy, LedgerSeq, Network, Scope};
use tokio::sync::oneshot;

use self::heard::Heard;
use super::error::CliError;
use super::sources::{connect_rpc, open_lake};
use super::{Archive, Context, missing_network};
use crate::anchor::{self, Witnesses};
use crate::clock::{Clock, Stop, StoppableClock};
use crate::config::FollowChoice;
use crate::disk;
use crate::follow::{self, Confirm, Ended, FollowError, FollowJob, FollowOptions, FollowSources, Watch};
use crate::readiness::{OwnFollower, Place};
use crate::source::{Address, Timeouts};
use crate::store::{Fence, Pin, Store, StoreError};

/// A page at the tip is small, and another endpoint may be waiting; all of it ends before a follower that waits for it
/// is taken for dead.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(5), read: Duration::from_secs(10), total: Duration::from_secs(40) };

/// Makes who is told how following gets on, once it is known where the server listens.
pub(super) type WatchMaker = Box<dyn FnOnce(SocketAddr) -> Arc<dyn Watch> + Send>;

/// What is to be followed, as it is configured.
pub(super) struct FollowPlan {
    pub choice: FollowChoice,
    /// None where the archive has to say it.
    pub network: Option<Network>,
    pub scope: Scope,
    pub classic: ClassicPolicy,
    pub from: Option<LedgerSeq>,
    pub pins: Vec<Pin>,
    /// The history archives that confirm what is stored.
    pub archives: Vec<Address>,
    pub options: FollowOptions,
}

impl FollowPlan {
    /// Reads the configuration.
    pub fn of(choice: FollowChoice, context: &Context) -> Result<Self, CliError> {
        let settings = &context.settings;
        let mut options = FollowOptions::default();
        if let Some(bytes) = settings.disk_reserve()? {
            options.disk_reserve_bytes = bytes;
        }
        Ok(Self {
            choice,
            network: settings.network()?,
            scope: settings.scope()?,
            classic: settings.classic()?,
            from: settings.follow_from()?,
            pins: settings.pins()?,
            archives: settings.history_archives()?,
            options,
        })
    }
}

/// A follower whose sources and archive are open and do not contradict each other, and that has not begun.
pub(super) struct Following {
    job: FollowJob,
    store: Arc<dyn Store>,
    sources: FollowSources,
    options: FollowOptions,
    clock: Arc<dyn Clock>,
    own: Arc<OwnFollower>,
}

impl Following {
    /// Opens the sources, and the archive for writing. What cannot be followed is refused before anything is made.
    pub fn prepare(plan: FollowPlan, archive: &Archive, stop: &Stop) -> Result<Self, CliError> {
        let existing = match archive.open_writer() {
            Ok(store) => Some(store),
            Err(CliError::Store(StoreError::NoArchive { .. })) => None,
            Err(error) => return Err(error),
        };
        let status = existing.as_ref().map(Store::status).transpose()?;
        let stored = || status.as_ref()?.passphrase.as_deref().map(Network::new);
        let network = plan.network.or_else(stored).ok_or_else(missing_network)?;
        let clock: Arc<dyn Clock> = Arc::new(StoppableClock::new(stop.clone()));
        let FollowChoice { rpc, lakes } = plan.choice;
        let tip = Arc::new(connect_rpc(&rpc, TIMEOUTS, Arc::clone(&clock))?);
        let lakes = lakes.into_iter().map(|lake| open_lake(lake, &network, Arc::clone(&clock)));
        let sources = FollowSources { tip, history: lakes.collect::<Result<_, _>>()? };
        let FollowPlan { scope, classic, from, pins, archives, mut options, .. } = plan;
        let witnesses = Witnesses::new(&archives, &rpc, &clock);
        let job = FollowJob { network, scope, classic, from, pins };
        follow::check(&job, status.as_ref(), &sources)?;
        pins::check(&job, existing.as_ref(), &*sources.tip)?;
        let store = match existing {
            Some(store) => store,
            None => archive.create_or_open()?,
        };
        let database = store.database_path().to_owned();
        options.confirm = witnesses.can_confirm().then(|| confirming(witnesses, Arc::clone(&clock)));
        options.free_bytes = Arc::new(move || disk::free_bytes(&database).ok());
        Ok(Self { job, store: Arc::new(store), sources, options, clock, own: Arc::default() })
    }

    /// Whether anybody beside the source can confirm what is stored.
    pub fn has_witnesses(&self) -> bool {
        self.options.confirm.is_some()
    }

    /// The same place, whose network this follows.
    pub fn in_place(&self, place: Place) -> Place {
        let own_follower = Some(Arc::clone(&self.own));
        Place { own_follower, reserve_bytes: self.options.disk_reserve_bytes, ..place }
    }

    /// Begins on a thread of its own.
    pub fn start(self, watch: Arc<dyn Watch>, stop: &Stop) -> io::Result<Follower> {
        let Self { job, store, sources, options, clock, own } = self;
        let (tell, told) = oneshot::channel();
        let stop = stop.clone();
        let heard = Heard { watch, own: Arc::clone(&own) };
        let work = move || {
            let ended = follow::run(&job, &store, &sources, &options, &clock, &stop, &heard);
            // Its connections are closed before the process ends.
            drop((store, sources));
            // Nobody waits for it where the process has ended without it.
            let _ = tell.send(ended);
        };
        std::thread::Builder::new().name("follow".to_owned()).spawn(work)?;
        Ok(Follower { told, outcome: None, own })
    }
}

/// Asks the witnesses, and logs what they do not confirm.
fn confirming(witnesses: Witnesses, clock: Arc<dyn Clock>) -> Confirm {
    Arc::new(move |store: &dyn Store, fence: Fence| match anchor::check(store, fence, &witnesses, clock.as_ref()) {
        Ok(anchored) => {
            for unheard in anchored.unheard {
                tracing::warn!("{} confirms nothing: {} [{}]", unheard.witness, unheard.message, unheard.code);
            }
        }
        Err(error) => {
            let error = CliError::from(error);
            tracing::error!("what is stored is not confirmed: {} [{}]", error.sentence(), error.code());
        }
    })
}

/// A follower that runs or has ended.
pub(super) struct Follower {
    told: oneshot::Receiver<Result<Ended, FollowError>>,
    outcome: Option<Result<(), CliError>>,
    own: Arc<OwnFollower>,
}

impl Follower {
    /// Waits until it has ended.
    pub async fn ended(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        // A thread that panicked tells nothing.
        let told = (&mut self.told).await.unwrap_or(Err(FollowError::Broken("the follower")));
        let outcome = told.map(|_| ()).map_err(CliError::from);
        if let Err(error) = &outcome {
            self.own.has_failed(error.code());
            tracing::error!("following ended, and nothing new is stored: {} [{}]", error.sentence(), error.code());
        }
        self.outcome = Some(outcome);
    }

    /// Waits until it has ended in order. One that failed never does: what is stored can still be read.
    pub async fn ended_in_order(&mut self) {
        self.ended().await;
        if matches!(self.outcome, Some(Err(_))) {
            pending().await
        }
    }

    /// Why it failed, where it did.
    pub fn failure(self) -> Option<CliError> {
        self.outcome?.err()
    }
}
