//! Connections: how many, how long each may keep the server waiting, and how they end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::code::Code;
use super::limits::{HEAD_BUFFER_BYTES, HEADERS_READ_MAX, Limits};
use guard::{Guard, bare_reply};

mod guard;

/// How long nothing is accepted after the system refused to hand a connection out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a last word to a client that is too slow may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves until `stop` comes, then lets requests that run end within the grace period.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (place, stream) = accept(&listener, &places) => {
                connections.spawn(handle(stream, router.clone(), limits, stopped.clone(), place));
            }
            Some(ended) = connections.join_next() => log_panic(ended),
        }
    }
    drop(listener);
    // Nobody listens any more when all connections have ended.
    let _ = stopping.send(true);
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            log_panic(ended);
        }
    };
    if timeout(limits.grace, all_ended).await.is_err() {
        tracing::warn!("requests that took longer than the grace period were cut off");
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!("a connection failed: {error}");
    }
}

/// Accepts the next connection once there is a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (OwnedSemaphorePermit, TcpStream) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (place, stream),
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::warn!("no connection can be accepted now: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Whether the error is of a connection that went away before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn handle(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    mut stopped: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) {
    // A socket that is gone already fails at its first use too.
    let _ = stream.set_nodelay(true);
    let head_began = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(Guard::new(stream, limits.stall, Arc::clone(&head_began)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BUFFER_BYTES)
        .max_headers(HEADERS_READ_MAX);
    let mut connection = http.serve_connection(io, TowerToHyperService::new(router));
    let ended = tokio::select! {
        ended = std::pin::Pin::new(&mut connection) => ended,
        _ = stopped.changed() => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            std::pin::Pin::new(&mut connection).await
        }
    };
    if let Err(error) = ended
        && error.is_timeout()
        && head_began.load(Ordering::Relaxed)
    {
        let mut stream = connection.into_parts().io.into_inner().into_stream();
        let farewell = async {
            stream.write_all(&bare_reply(Code::RequestTimeout)).await?;
            stream.shutdown().await
        };
        // Who was too slow to ask may be too slow to be told.
        let _ = timeout(FAREWELL, farewell).await;
    }
    drop(place);
}
