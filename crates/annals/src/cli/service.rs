//! One process that answers readers and, where it is to, follows a network: how it begins and how it ends.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Archive;
use super::error::CliError;
use super::following::{Follower, Following, WatchMaker};
use super::outcome::Outcome;
use super::output::Output;
use crate::api::{Limits, Server};
use crate::clock::Stop;
use crate::config::AllowedOrigins;
use crate::readiness::Place;

/// How long the server and the follower may take to end once they are told to. Whatever hangs then is left behind: a
/// commit is one transaction, so that nothing is half-written.
const END_MAX: Duration = Duration::from_secs(8);
/// How many connections wait to be accepted; more are refused.
const CONNECTIONS_WAITING_MAX: u32 = 1024;
/// How long reads that nobody waits for any more may go on once the server has ended.
const READS_GRACE: Duration = Duration::from_secs(1);

// Whoever stops a service waits ten seconds, as `docker stop` does.
const _: () = assert!(END_MAX.as_secs() + READS_GRACE.as_secs() < 10);

/// What a process does, all of it opened and checked, and nothing of it begun.
pub(super) struct Service {
    /// Answers readers.
    server: Server,
    /// Follows a network, where one is followed, and who is told how it gets on.
    following: Option<(Following, WatchMaker)>,
}

impl Service {
    /// What answers readers of an archive, and follows beside.
    pub fn over(
        archive: &Archive,
        following: Option<(Following, WatchMaker)>,
        origins: AllowedOrigins,
    ) -> Result<Self, CliError> {
        let store = Arc::new(archive.open_reader()?);
        let place = Place::of(&store);
        let place = match &following {
            Some((following, _)) => following.in_place(place),
            None => place,
        };
        let server = Server::new(store, archive.clock(), origins, Limits::default())?.in_place(place);
        Ok(Self { server, following })
    }
}

#[derive(Debug, Serialize)]
struct Listening {
    listening: String,
}

/// Takes the port, prepares a service on a thread of its own, and runs it until a signal comes or its follower ends as it
/// was told, whatever becomes of its follower otherwise. A second signal ends it at once, which is not all that was asked for.
pub(super) fn run(
    address: SocketAddr,
    output: &Output,
    prepare: impl FnOnce(&Stop) -> Result<Service, CliError> + Send + 'static,
) -> Result<Outcome, CliError> {
    let runtime = Runtime::new().map_err(|source| CliError::Listen { address, source })?;
    let ended = runtime.block_on(serve(address, output, prepare));
    if matches!(ended, Ok(Outcome::Done)) {
        runtime.shutdown_timeout(READS_GRACE);
    } else {
        runtime.shutdown_background();
    }
    ended
}

async fn serve(
    address: SocketAddr,
    output: &Output,
    prepare: impl FnOnce(&Stop) -> Result<Service, CliError> + Send + 'static,
) -> Result<Outcome, CliError> {
    // Asked for before anything is opened, so that a source that hangs keeps nobody from stopping this.
    let mut signals = Signals::listen().map_err(CliError::Signals)?;
    let failed = |source| CliError::Listen { address, source };
    let socket = bind(address).map_err(failed)?;
    let stop = Stop::new();
    let told = stop.clone();
    let Service { server, following } = tokio::select! {
        prepared = tokio::task::spawn_blocking(move || prepare(&told)) => match prepared {
            Ok(prepared) => prepared?,
            Err(broken) => std::panic::resume_unwind(broken.into_panic()),
        },
        () = signals.next() => {
            tracing::info!("stopping before anybody was answered");
            stop.stop();
            return Ok(Outcome::Done);
        }
    };
    let listener = socket.listen(CONNECTIONS_WAITING_MAX).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    if output.is_json() {
        output.object(&Listening { listening: bound.to_string() })?;
    } else {
        output.line(format_args!("listening on http://{bound}"))?;
    }
    let mut follower = match following {
        Some((following, watch)) => Some(following.start(watch(bound), &stop).map_err(CliError::Thread)?),
        None => None,
    };
    let (close, closed) = oneshot::channel::<()>();
    let serving = server.run(listener, async {
        // That the sender is gone says the same.
        let _ = closed.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => unreachable!("a server serves until it is told to end"),
        () = ended_in_order(&mut follower) => {}
        () = signals.next() => {}
    }
    tracing::info!("stopping");
    stop.stop();
    drop(close);
    let ending = async {
        serving.await;
        if let Some(follower) = &mut follower {
            follower.ended().await;
        }
    };
    tokio::select! {
        ended = timeout(END_MAX, ending) => {
            if ended.is_err() {
                tracing::warn!("what hangs is left behind; every ledger is stored whole or not at all");
            }
        }
        () = signals.next() => {
            tracing::warn!("ending at once");
            return Ok(Outcome::Incomplete);
        }
    }
    if let Some(error) = follower.and_then(Follower::failure) {
        tracing::warn!("following had failed before the stop: {} [{}]", error.sentence(), error.code());
    }
    Ok(Outcome::Done)
}

/// Takes a port without opening it, so that what cannot be listened on is told before anything is made.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // What a process before left half-closed on the port keeps nobody from it.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn ended_in_order(follower: &mut Option<Follower>) {
    match follower {
        Some(follower) => follower.ended_in_order().await,
        None => pending().await,
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
