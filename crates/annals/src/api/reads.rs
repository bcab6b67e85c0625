//! The store's verbs block: they run on threads of their own, a bounded number at once.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::code::Code;
use super::error::ApiError;
use super::limits::Limits;
use crate::backfill::whole_chain;
use crate::store::{Store, StoreError};

/// Whose turn it is to read the archive.
pub(super) struct Reads {
    store: Arc<dyn Store>,
    turns: Arc<Semaphore>,
    // Whether the archive can be read is asked beside the readers, so that a crowd of them is not taken for a failure.
    probes: Arc<Semaphore>,
    turn: Duration,
}

/// What a reader is told whose cursor another copy of the archive issued.
const BEHIND: &str =
    "this copy of the archive is behind the one that issued the cursor: ask again later, or begin anew";

/// Why a read has no answer.
pub(super) enum ReadError {
    /// The request is refused.
    Refused(ApiError),
    /// The store failed.
    Store(StoreError),
    /// A stored thing has no form on the wire.
    Damaged(Box<dyn Error + Send + Sync>),
}

impl From<ApiError> for ReadError {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<Code> for ReadError {
    fn from(code: Code) -> Self {
        Self::Refused(code.into())
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl ReadError {
    /// Logs a failure and says no more of it than that it happened.
    fn into_api(self) -> ApiError {
        let (what, failure): (_, Box<dyn Error>) = match self {
            Self::Refused(error) => return error,
            Self::Store(StoreError::BehindCursor { .. }) => return ApiError::new(Code::StaleCursor, BEHIND),
            Self::Store(error) => ("the archive could not be read", Box::new(error)),
            Self::Damaged(error) => ("the archive is damaged", error),
        };
        log_failure(what, failure.as_ref());
        Code::Internal.into()
    }
}

/// Logs a failure once, with its whole chain.
fn log_failure(what: &str, failure: &dyn Error) {
    tracing::error!("{what}: {}", whole_chain(failure));
}

impl Reads {
    pub fn new(store: Arc<dyn Store>, limits: &Limits) -> Self {
        let turns = Arc::new(Semaphore::new(limits.reads));
        Self { store, turns, probes: Arc::new(Semaphore::new(1)), turn: limits.turn }
    }

    /// Runs `read` once it is the request's turn. A read that nobody waits for any more keeps its turn to its end.
    ///
    /// # Errors
    /// [`Code::Overloaded`] when the turn does not come in time, [`Code::Internal`] when the store fails.
    pub async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.on(&self.turns, read).await
    }

    /// Tells whether the archive can be read.
    ///
    /// # Errors
    /// [`Code::ArchiveUnreadable`], [`Code::Overloaded`].
    pub async fn probe(&self) -> Result<(), ApiError> {
        let probe = |store: &dyn Store| store.cursor_key().map(|_| true);
        if self.ask(probe, || false).await? { Ok(()) } else { Err(Code::ArchiveUnreadable.into()) }
    }

    /// Asks the archive for what whoever watches over it wants to know, beside the readers; `unreadable` stands for the
    /// answer of one that cannot be read.
    ///
    /// # Errors
    /// [`Code::Overloaded`], [`Code::Internal`] when the program fails.
    pub async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
        unreadable: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let read = |store: &dyn Store| {
            Ok(ask(store).unwrap_or_else(|error| {
                log_failure("the archive cannot be read", &error);
                unreadable()
            }))
        };
        self.on(&self.probes, read).await
    }

    async fn on<T: Send + 'static>(
        &self,
        turns: &Arc<Semaphore>,
        read: impl FnOnce(&dyn Store) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let waited = timeout(self.turn, Arc::clone(turns).acquire_owned()).await;
        let turn = waited.map_err(|_| Code::Overloaded)?.expect("the semaphore is never closed");
        let store = Arc::clone(&self.store);
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            read(store.as_ref())
        });
        match work.await {
            Ok(outcome) => outcome.map_err(ReadError::into_api),
            Err(panicked) => {
                tracing::error!("a read of the archive panicked: {panicked}");
                Err(Code::Internal.into())
            }
        }
    }
}
