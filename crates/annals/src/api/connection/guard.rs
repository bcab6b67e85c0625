//! A socket that gives up on a client who takes nothing, and says in our own words what the HTTP library refuses.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::api::code::Code;
use crate::api::error::ApiError;

/// The longest head that the HTTP library writes for a request that it refuses itself.
const BARE_HEAD_BYTES_MAX: usize = 512;

/// One client's socket.
pub(super) struct Guard {
    stream: TcpStream,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// Whether bytes came since the last answer went out.
    head_began: Arc<AtomicBool>,
    /// Our own words for a refusal of the HTTP library, and how many of their bytes are written.
    replacement: Option<(Vec<u8>, usize)>,
}

impl Guard {
    pub fn new(stream: TcpStream, stall: Duration, head_began: Arc<AtomicBool>) -> Self {
        Self { stream, stall, stalled: None, head_began, replacement: None }
    }

    /// The socket itself.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Fails once the client has taken nothing for too long.
    fn watch(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Guard {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.head_began.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Guard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        this.head_began.store(false, Ordering::Relaxed);
        if this.replacement.is_none() {
            this.replacement = refused(buf).map(|code| (bare_reply(code), 0));
        }
        while let Some((bytes, done)) = &mut this.replacement {
            if *done == bytes.len() {
                this.replacement = None;
                return Poll::Ready(Ok(buf.len()));
            }
            let written = Pin::new(&mut this.stream).poll_write(cx, &bytes[*done..]);
            let written = match written {
                Poll::Ready(Ok(count)) if count > 0 => {
                    *done += count;
                    this.stalled = None;
                    continue;
                }
                Poll::Ready(Ok(_)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                other => other,
            };
            return this.watch(cx, written);
        }
        let written = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.watch(cx, written)
    }

    /// A head and its body in one go, without a copy of the body behind the head. What may have to be put in our own
    /// words, or is being, goes the way of single buffers.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
        let bufs = match bufs.iter().position(|buf| refused(buf).is_some()) {
            _ if self.replacement.is_some() => &bufs[..0],
            Some(place) => &bufs[..place],
            None => bufs,
        };
        if bufs.iter().all(|buf| buf.is_empty()) {
            return self.poll_write(cx, first);
        }
        let this = &mut *self;
        this.head_began.store(false, Ordering::Relaxed);
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What a head without our own headers refuses: the HTTP library writes such ones for what it cannot read.
fn refused(written: &[u8]) -> Option<Code> {
    if written.len() > BARE_HEAD_BYTES_MAX || !written.ends_with(b"\r\n\r\n") {
        return None;
    }
    let head = std::str::from_utf8(written).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ").or_else(|| head.strip_prefix("HTTP/1.0 "))?.get(..3)?;
    // Every answer of ours says so.
    if head.contains("cache-control") || !status.starts_with('4') {
        return None;
    }
    Some(match status {
        "414" => Code::UriTooLong,
        "431" => Code::HeadersTooLarge,
        "413" => Code::BodyTooLarge,
        "408" => Code::RequestTimeout,
        _ => Code::BadRequest,
    })
}

/// A whole answer to a request that could not be read, after which the connection ends.
pub(super) fn bare_reply(code: Code) -> Vec<u8> {
    let body = ApiError::from(code).body();
    let (status, length) = (code.status(), body.len());
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n"
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_heads_that_are_not_ours_are_put_in_our_words() {
        let bare = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(refused(bare("431 Request Header Fields Too Large").as_bytes()), Some(Code::HeadersTooLarge));
        assert_eq!(refused(bare("414 URI Too Long").as_bytes()), Some(Code::UriTooLong));
        assert_eq!(refused(bare("400 Bad Request").as_bytes()), Some(Code::BadRequest));
        assert_eq!(refused(bare("200 OK").as_bytes()), None);
        assert_eq!(refused(b"HTTP/1.1 404 Not Found\r\ncache-control: no-store\r\n\r\n"), None);
        assert_eq!(refused(b"{\"events\":[]}"), None);
        assert_eq!(refused(b""), None);
        for code in Code::ALL {
            assert_eq!(refused(&bare_reply(code)), None, "{code:?}");
        }
    }
}
