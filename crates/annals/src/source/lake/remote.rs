//! A SEP-54 lake behind an address.
//!
//! Nothing is listed: an object's name is computed from the lake's layout, and one that does not stand under its
//! exact name, with either ending, is absent.

mod probe;
mod server;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use annals_core::LedgerRange;

pub(in crate::source) use self::server::Server;
use self::server::is_forbidden;
use self::stream::RemoteStream;
use super::grid::{Grid, Slot};
use super::manifest::Manifest;
use super::objects::Objects;
use crate::clock::Clock;
use crate::source::http::{Address, HttpClient, Jitter, Timeouts};
use crate::source::{LedgerSource, ObjectFaultKind, ObjectStream, SourceError};

/// How a lake behind an address is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteLakeOptions {
    /// How long an answer may take.
    pub timeouts: Timeouts,
    /// What the jitter of waits grows from; the same seed waits the same.
    pub seed: u64,
}

/// A SEP-54 lake behind an `http://` or `https://` address.
pub struct RemoteLakeSource {
    objects: Arc<RemoteObjects>,
    manifest: Option<Manifest>,
    /// The layout, once it is known.
    grid: OnceLock<Grid>,
}

impl RemoteLakeSource {
    /// Takes the lake at `address`: reads its manifest, if it has one. One that is forbidden may be none: a bucket that
    /// may not be listed answers so for whatever is not there.
    ///
    /// # Errors
    /// [`SourceError::Transient`] where the server does not answer, [`SourceError::BadManifest`],
    /// [`SourceError::UnsupportedCompression`].
    pub fn open(address: Address, options: RemoteLakeOptions, clock: Arc<dyn Clock>) -> Result<Self, SourceError> {
        let server = Server::new(HttpClient::new(options.timeouts), address, clock, Jitter::new(options.seed));
        let manifest = match Manifest::read(&server) {
            Err(SourceError::Transient { source, .. }) if is_forbidden(&source) => None,
            read => read?,
        };
        let objects = Arc::new(RemoteObjects { server, older_ending: AtomicBool::new(false) });
        Ok(Self { objects, manifest, grid: OnceLock::new() })
    }

    /// The layout by which the names of `range` are computed: the manifest's, unless another finds objects of the
    /// range and the manifest's none.
    fn grid(&self, range: LedgerRange) -> Result<Grid, SourceError> {
        if let Some(grid) = self.grid.get() {
            return Ok(*grid);
        }
        let claimed = self.manifest.as_ref().and_then(Grid::of);
        match probe::find(&self.objects, claimed, range) {
            Ok(Some(found)) => {
                if claimed.is_some_and(|claimed| claimed != found) {
                    tracing::warn!(
                        "{}: its manifest contradicts the names of its objects; the names are followed",
                        self.name()
                    );
                }
                Ok(*self.grid.get_or_init(|| found))
            }
            // The range may just not be there.
            Ok(None) => claimed.ok_or_else(|| SourceError::UnknownLayout { place: self.objects.server.place_of("") }),
            Err(kind) => Err(self.objects.server.unreadable("", kind)),
        }
    }
}

impl std::fmt::Debug for RemoteLakeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RemoteLakeSource").field(&self.name()).finish()
    }
}

impl LedgerSource for RemoteLakeSource {
    fn name(&self) -> String {
        format!("lake:{}", self.objects.server.place_of(""))
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        self.manifest.as_ref()?.network_passphrase.as_deref()
    }

    /// Refuses a lake in which nothing says where the range's objects lie. How far it reaches nothing tells.
    fn check_range(&self, range: LedgerRange) -> Result<(), SourceError> {
        self.grid(range).map(drop)
    }

    /// Objects are fetched side by side and come in ascending order.
    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        let grid = self.grid(range)?;
        Ok(Box::new(RemoteStream::new(Arc::clone(&self.objects), grid, range)))
    }
}

/// The lake's objects, under either ending.
struct RemoteObjects {
    server: Server,
    /// Whether the last object found had the older ending; a lake has seldom both.
    older_ending: AtomicBool,
}

impl RemoteObjects {
    /// The object of a slot, with its path; none where it is absent. One that is forbidden under one ending may stand
    /// under the other.
    fn read(&self, slot: &Slot, bytes_max: u64) -> Result<Option<(String, Vec<u8>)>, ObjectFaultKind> {
        let older_first = self.older_ending.load(Ordering::Relaxed);
        let mut forbidden = None;
        for is_older in [older_first, !older_first] {
            let path = format!("{}.xdr.{}", slot.stem, if is_older { "zstd" } else { "zst" });
            match self.server.read(&path, bytes_max) {
                Ok(Some(bytes)) => {
                    self.older_ending.store(is_older, Ordering::Relaxed);
                    return Ok(Some((path, bytes)));
                }
                Ok(None) => {}
                Err(ObjectFaultKind::Unreadable(cause)) if is_forbidden(&cause) => forbidden = Some(cause),
                Err(kind) => return Err(kind),
            }
        }
        forbidden.map_or(Ok(None), |cause| Err(ObjectFaultKind::Unreadable(cause)))
    }
}
