//! What following may be told to do otherwise.

use std::sync::Arc;
use std::time::Duration;

use super::Confirm;

/// Says how many bytes are free where the archive is; none when nobody can tell.
pub type FreeBytes = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Is told how many ledgers more were stored of the gaps.
pub type Filled = Arc<dyn Fn(u64) + Send + Sync>;

/// How to follow.
#[derive(Clone)]
pub struct FollowOptions {
    /// Up to so many ledgers below the tip are taken in order before the loop is live; what lies farther back is left to
    /// the gaps. Default 1,000.
    pub catch_up_max: u32,
    /// The shortest time between two requests while the next ledger is expected. Default 10 ms.
    pub poll_min: Duration,
    /// The longest time between two requests. Default 2 s.
    pub poll_max: Duration,
    /// How long a source may say less than is stored before it is asked for a stored ledger. Default 30 s.
    pub behind_max: Duration,
    /// How long to wait before something is tried again that takes another endpoint, an operator or time. Default 5 s.
    pub rest: Duration,
    /// How long to wait before a ledger of an unknown protocol is asked for again. Default 5 minutes.
    pub unknown_protocol_rest: Duration,
    /// How long after a round over all gaps the next one begins; each round that stores nothing doubles it, up to an
    /// hour. Default 1 minute.
    pub gaps_rest: Duration,
    /// How often a sign of life is written, whatever happens. Default 2 s.
    pub heartbeat: Duration,
    /// Nothing is committed while fewer bytes are free. Default 512 MiB.
    pub disk_reserve_bytes: u64,
    /// How many bytes are free. Nobody tells by default.
    pub free_bytes: FreeBytes,
    /// Who is told that ledgers of the gaps were stored. Nobody by default.
    pub filled: Filled,
    /// Who has what is stored confirmed by others than the source. Nobody by default.
    pub confirm: Option<Confirm>,
    /// How often that is done. Default 5 minutes.
    pub confirm_every: Duration,
    /// How long to wait for threads that hang in a request once following is to end. Default 2 s.
    pub end_grace: Duration,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            catch_up_max: 1_000,
            poll_min: Duration::from_millis(10),
            poll_max: Duration::from_secs(2),
            behind_max: Duration::from_secs(30),
            rest: Duration::from_secs(5),
            unknown_protocol_rest: Duration::from_secs(300),
            gaps_rest: Duration::from_secs(60),
            heartbeat: Duration::from_secs(2),
            disk_reserve_bytes: 512 << 20,
            free_bytes: Arc::new(|| None),
            filled: Arc::new(|_| ()),
            confirm: None,
            confirm_every: Duration::from_secs(300),
            end_grace: Duration::from_secs(2),
        }
    }
}

impl std::fmt::Debug for FollowOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowOptions").finish_non_exhaustive()
    }
}
