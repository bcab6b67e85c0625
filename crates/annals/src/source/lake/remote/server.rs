//! The server of a lake or an archive.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Clock;
use crate::source::http::{Address, Backoff, HttpClient, Jitter};
use crate::source::lake::objects::Objects;
use crate::source::{HttpFault, NextStep, ObjectFaultKind, RequestFault, RequestFaultKind, SourceError};

/// A lake's object is asked for so often, over about half a minute.
const TRIES_MAX: u32 = 6;

/// Reads objects by name, and tries again what may pass.
pub(in crate::source) struct Server {
    http: HttpClient,
    base: Address,
    clock: Arc<dyn Clock>,
    jitter: Mutex<Jitter>,
    tries_max: u32,
}

impl Server {
    pub(in crate::source) fn new(http: HttpClient, base: Address, clock: Arc<dyn Clock>, jitter: Jitter) -> Self {
        Self { http, base, clock, jitter: Mutex::new(jitter), tries_max: TRIES_MAX }
    }

    /// The same, which is asked so often for each object; at least once.
    pub(in crate::source) fn trying(self, tries_max: u32) -> Self {
        Self { tries_max, ..self }
    }

    /// Why nothing can be read of the lake.
    pub(super) fn unreadable(&self, path: &str, kind: ObjectFaultKind) -> SourceError {
        let source = match kind {
            ObjectFaultKind::Unreadable(cause) => cause,
            other => io::Error::other(other),
        };
        SourceError::Transient { place: self.place_of(path), source }
    }

    /// Asks once; none for a name under which nothing stands.
    fn ask(&self, address: &Address, bytes_max: u64) -> Result<Option<Vec<u8>>, RequestFaultKind> {
        let answer = self.http.get(address, bytes_max)?;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_success() && answer.is_html => Err(RequestFaultKind::WebPage),
            _ if answer.is_success() => Ok(Some(answer.body)),
            status => {
                let retry_after = answer.retry_after(self.clock.now_unix_ms());
                Err(RequestFaultKind::Status { status, retry_after })
            }
        }
    }
}

/// Whether the server says that something is not to be read (RFC 9110, section 15.5.4).
pub(super) fn is_forbidden(cause: &io::Error) -> bool {
    let fault = cause.get_ref().and_then(|cause| cause.downcast_ref::<RequestFault>());
    fault.is_some_and(|fault| matches!(fault.kind, RequestFaultKind::Status { status: 403, .. }))
}

impl Objects for Server {
    fn place_of(&self, path: &str) -> String {
        match self.base.below(path) {
            Ok(address) if !path.is_empty() => address.to_string(),
            _ => self.base.to_string(),
        }
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ObjectFaultKind> {
        let address = self.base.below(path).map_err(|fault| ObjectFaultKind::Unreadable(io::Error::other(fault)))?;
        let mut backoff = Backoff::default();
        for number in 1.. {
            let kind = match self.ask(&address, bytes_max) {
                Ok(found) => return Ok(found),
                Err(RequestFaultKind::Http(HttpFault::TooLarge { bytes_max })) => {
                    return Err(ObjectFaultKind::TooLarge { bytes_max });
                }
                Err(kind) => kind,
            };
            // A page for people in the place of an object is what some servers have for any name.
            let passes = kind.next_step() != NextStep::Never && !matches!(kind, RequestFaultKind::WebPage);
            if !passes || number >= self.tries_max {
                let fault = RequestFault { endpoint: self.base.to_string(), method: "GET", kind };
                return Err(ObjectFaultKind::Unreadable(io::Error::other(fault)));
            }
            let mut jitter = self.jitter.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = backoff.failed(kind.retry_after(), &mut jitter);
            drop(jitter);
            tracing::debug!("{address}: {kind}, asked again in {:.1} s", wait.as_secs_f64());
            self.clock.sleep(wait);
        }
        unreachable!("the last try returns")
    }
}
