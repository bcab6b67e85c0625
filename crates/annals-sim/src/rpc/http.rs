//! The connections of a server.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::exchange::{Act, Exchange, HttpAnswer, Reply};

/// What a node takes of a request's body, bytes.
const REQUEST_BYTES_MAX: usize = 512 * 1024;
/// How long nothing is accepted after the system refused to hand a connection out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves until `stop` changes.
pub(super) async fn serve(listener: TcpListener, exchange: Arc<Exchange>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tokio::spawn(converse(stream, Arc::clone(&exchange)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

async fn converse(stream: TcpStream, exchange: Arc<Exchange>) {
    // A socket that is gone already fails at its first use too.
    let _ = stream.set_nodelay(true);
    let state = Arc::new(LineState::default());
    let line = Line { stream, state: Arc::clone(&state) };
    let service = service_fn(move |request| answer(request, Arc::clone(&exchange), Arc::clone(&state)));
    // What goes wrong on a connection is the client's to see.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(line), service).await;
}

/// A connection that was reset on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the connection is reset")]
struct Cut;

async fn answer(
    request: Request<Incoming>,
    exchange: Arc<Exchange>,
    state: Arc<LineState>,
) -> Result<Response<CutBody>, Cut> {
    let Reply { latency, act } = match read(request).await {
        Ok(body) => exchange.reply(&body),
        Err((status, text)) => exchange.refuse(status.as_u16(), text),
    };
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    match act {
        Act::Answer(answer) => Ok(response(answer, state)),
        Act::Hang => pending().await,
        Act::Reset => {
            state.reset.store(true, Ordering::Relaxed);
            Err(Cut)
        }
    }
}

/// The body of a POST of JSON; of everything else the status and the text of its answer.
async fn read(request: Request<Incoming>) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    if request.method() != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, ""));
    }
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if content_type.split(';').next().map(str::trim) != Some("application/json") {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, ""));
    }
    let mut incoming = request.into_body();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body ends early"))?;
        if let Ok(data) = frame.into_data() {
            body.extend_from_slice(&data);
        }
        if body.len() > REQUEST_BYTES_MAX {
            return Err((StatusCode::INTERNAL_SERVER_ERROR, "http: request body too large"));
        }
    }
    Ok(body)
}

fn response(answer: HttpAnswer, state: Arc<LineState>) -> Response<CutBody> {
    let promised = answer.body.len() as u64;
    let mut body = answer.body;
    if let Some(cut_at) = answer.cut_at {
        body.truncate(cut_at);
    }
    let mut response = Response::new(CutBody { data: Some(Bytes::from(body)), promised, state, flushes: 0 });
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if let Some(seconds) = answer.retry_after_seconds {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A body that may end before the length that it promises.
struct CutBody {
    data: Option<Bytes>,
    promised: u64,
    state: Arc<LineState>,
    /// How often the connection had been flushed when the data went.
    flushes: u64,
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Some(data) = self.data.take() {
            self.promised -= data.len() as u64;
            self.flushes = self.state.flushes.load(Ordering::Relaxed);
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if self.promised == 0 {
            return Poll::Ready(None);
        }
        // An error drops what is not on the wire yet.
        if self.state.flushes.load(Ordering::Relaxed) == self.flushes {
            *self.state.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(Cut)))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none() && self.promised == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.promised)
    }
}

/// What a connection and the answer on it tell each other.
#[derive(Default)]
struct LineState {
    /// Whether the connection is to end with a reset.
    reset: AtomicBool,
    /// How often all that was written went out.
    flushes: AtomicU64,
    /// Who waits for that to happen again.
    waiting: Mutex<Option<Waker>>,
}

/// A connection that ends with a reset where it is told to.
struct Line {
    stream: TcpStream,
    state: Arc<LineState>,
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.state.reset.load(Ordering::Relaxed) {
            // Closing a socket that lingers for no time sends RST. One that is gone already needs none.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.state.flushes.fetch_add(1, Ordering::Relaxed);
            if let Some(waiting) = self.state.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() {
                waiting.wake();
            }
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.state.reset.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
