//! Has what is stored confirmed by others than the source, every so often, on a thread of its own: a witness that hangs
//! holds up nobody.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use crate::clock::Stop;
use crate::store::{Fence, Store};

/// Asks witnesses about what is stored and records what they confirm; tells what they contradict.
pub type Confirm = Arc<dyn Fn(&dyn Store, Fence) + Send + Sync>;

/// Begins; ends with the follower, or once the witness that hangs does.
pub(super) fn start(
    confirm: Confirm,
    every: Duration,
    store: &Arc<dyn Store>,
    shared: &Arc<Shared>,
    stop: &Stop,
) -> io::Result<()> {
    let (store, shared, stop) = (Arc::clone(store), Arc::clone(shared), stop.clone());
    let work = move || {
        while !stop.wait(every) && !shared.is_ended() {
            confirm(store.as_ref(), shared.fence);
        }
    };
    std::thread::Builder::new().name("follow: witnesses".to_owned()).spawn(work).map(drop)
}
