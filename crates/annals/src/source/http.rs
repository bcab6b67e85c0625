//! HTTP as sources, and other archives, are asked: blocking, one request at a time, every wait and every body bounded.
//!
//! No redirect is followed: who answers for an address is for the operator to say, and a request may carry his
//! secrets. Variables like `HTTPS_PROXY` are heeded.

mod address;
mod backoff;
mod fault;

use std::io::Read as _;
use std::time::Duration;

use ureq::Agent;
use ureq::http::header::{CONTENT_TYPE, RETRY_AFTER};

pub use self::address::{Address, AddressError};
pub(super) use self::backoff::{Backoff, Jitter, RETRY_AFTER_MAX};
pub use self::fault::HttpFault;

/// The most of an answer that is kept where it is no success, bytes.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;
/// Room for a body that promises more grows to no more than this before its bytes come, bytes.
const ROOM_BYTES_MAX: u64 = 8 << 20;

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the name's lookup to the connection's end of handshake.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub read: Duration,
    /// From the request to the answer's last byte.
    pub total: Duration,
}

impl Default for Timeouts {
    /// An RPC gives itself 10 s for a page; the rest is the way.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), read: Duration::from_secs(30), total: Duration::from_secs(120) }
    }
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// `Retry-After` as it was sent (RFC 9110, section 10.2.3).
    retry_after: Option<String>,
    /// Whether the server says that the body is for a browser.
    pub(super) is_html: bool,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How long the server asks to be left alone.
    pub(crate) fn retry_after(&self, now_unix_ms: u64) -> Option<Duration> {
        backoff::retry_after(self.retry_after.as_deref()?, now_unix_ms)
    }
}

/// Asks one server after another; connections are kept for the next request.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    agent: Agent,
}

impl HttpClient {
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("annals/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(timeouts.connect))
            .timeout_connect(Some(timeouts.connect))
            .timeout_per_read(Some(timeouts.read))
            .timeout_per_write(Some(timeouts.read))
            .timeout_global(Some(timeouts.total));
        Self { agent: config.build().new_agent() }
    }

    /// Fetches what stands at `address`, of at most `bytes_max` once decompressed.
    pub(crate) fn get(&self, address: &Address, bytes_max: u64) -> Result<Answer, HttpFault> {
        read(self.agent.get(address.uri()).call()?, bytes_max)
    }

    /// The same in no more than `total`, however much longer an answer may take otherwise.
    pub(crate) fn get_within(&self, address: &Address, bytes_max: u64, total: Duration) -> Result<Answer, HttpFault> {
        let request = self.agent.get(address.uri()).config().timeout_global(Some(total)).build();
        read(request.call()?, bytes_max)
    }

    /// Sends JSON.
    pub(super) fn post(&self, address: &Address, json: &[u8], bytes_max: u64) -> Result<Answer, HttpFault> {
        let request = self.agent.post(address.uri()).header(CONTENT_TYPE, "application/json");
        read(request.send(json)?, bytes_max)
    }
}

fn read(response: ureq::http::Response<ureq::Body>, bytes_max: u64) -> Result<Answer, HttpFault> {
    let (parts, body) = response.into_parts();
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let is_html = header(CONTENT_TYPE).is_some_and(|value| value.trim_start().starts_with("text/html"));
    let retry_after = header(RETRY_AFTER).map(str::to_owned);
    let status = parts.status.as_u16();
    let mut answer = Answer { status, retry_after, is_html, body: Vec::new() };
    let bytes_max = if answer.is_success() { bytes_max } else { REFUSAL_BYTES_MAX };
    let too_large = HttpFault::TooLarge { bytes_max };
    let promised = body.content_length().unwrap_or(0);
    if answer.is_success() && promised > bytes_max {
        return Err(too_large);
    }
    answer.body.reserve(usize::try_from(promised.min(ROOM_BYTES_MAX)).unwrap_or(0));
    let read = body.into_reader().take(bytes_max + 1).read_to_end(&mut answer.body);
    match read {
        // Of a refusal the beginning is enough.
        Err(_) if !answer.is_success() => {}
        Err(cause) => return Err(HttpFault::of_body(cause)),
        Ok(read) if answer.is_success() && read as u64 > bytes_max => return Err(too_large),
        Ok(_) => {}
    }
    Ok(answer)
}

#[cfg(test)]
mod tests;
