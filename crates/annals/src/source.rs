//! Where ledgers come from.

use std::sync::Arc;
use std::time::Duration;

use annals_core::{LedgerRange, LedgerSeq};

/// A source of raw ledgers.
///
/// Reading and decoding are two steps, so that the reader of a slow medium and the decoders of its objects can
/// work side by side: [`LedgerSource::open`] yields objects in ascending order as they were read, and
/// [`LedgerObject::into_ledgers`] takes one apart.
pub trait LedgerSource: Send + Sync {
    /// What is recorded with each ledger and shown to people; never holds a secret.
    fn name(&self) -> String;

    /// The network that the source says it is of; none when it says nothing.
    fn claimed_passphrase(&self) -> Option<&str>;

    /// Refuses a range that the network has not come to, where the source can tell. It is asked before anything is
    /// written, so that a slip in a number leaves no archive behind that begins in the future.
    ///
    /// # Errors
    /// [`SourceError::AboveTip`].
    fn check_range(&self, range: LedgerRange) -> Result<(), SourceError> {
        let _ = range;
        Ok(())
    }

    /// Opens an ordered stream of everything the source has that overlaps `range`. A ledger that no object
    /// holds is absent from the stream; the caller tells absence by what did not come.
    ///
    /// # Errors
    /// [`SourceError`] when nothing can be read at all.
    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError>;

    /// Whether opening any range reads all that the source has, so that far-apart ranges are best read together.
    fn reads_whole(&self) -> bool {
        false
    }

    /// Each of its servers as a source of its own, where it has several: what one of them gave and cannot be used, another
    /// may give as it is.
    fn servers(&self) -> Vec<Box<dyn LedgerSource>> {
        Vec::new()
    }
}

/// A source that can be asked for what comes next, once, without waiting for it.
///
/// Nothing that it says of its tip proves anything: an endpoint that lags says less than one that does not.
pub trait TipSource: LedgerSource {
    /// Asks one endpoint, which is the same one for as long as it serves, for up to `ledgers_max` ledgers from `next`
    /// on. Never sleeps and never asks for a ledger above what the endpoint says it has.
    fn poll(&self, next: LedgerSeq, ledgers_max: u32) -> Poll;

    /// What each endpoint says of its tip, each asked once that is not to be left alone; of those that are, why.
    fn announced(&self) -> Vec<Result<Tip, Arc<RequestFault>>>;

    /// The highest ledger that an endpoint says there is; none when none says one.
    fn tip(&self) -> Option<Tip> {
        self.announced().into_iter().flatten().max_by_key(|tip| tip.latest)
    }

    /// Asks for one ledger alone, and nobody but endpoints that said that they have it. Those that do not give it are
    /// asked after others for a while, as by [`TipSource::pass_over`].
    ///
    /// # Errors
    /// What became of it where nobody gives it; none where nobody says any more that it is there.
    fn serve(&self, seq: LedgerSeq) -> Result<LedgerObject, Option<Arc<RequestFault>>>;

    /// The highest protocol that an endpoint says it knows or runs, each asked once; none when none answers.
    fn protocol(&self) -> Option<u32>;

    /// Says that what the last [`TipSource::poll`] or [`TipSource::serve`] gave cannot be used: others are asked before
    /// that endpoint for a while.
    fn pass_over(&self);
}

/// What one asking came to.
#[derive(Debug)]
pub enum Poll {
    /// Ledgers from the one asked for on, ascending without a hole, at least one.
    Ledgers(Vec<LedgerObject>, Tip),
    /// There is nothing new; the tip may even lie below what was served before.
    AtTip(Tip),
    /// Nothing so old is kept any more.
    BelowRetention {
        /// The oldest ledger that is.
        oldest: LedgerSeq,
    },
    /// The endpoint goes on with a later ledger.
    LeftOut {
        /// The ledger it goes on with.
        next: LedgerSeq,
    },
    /// Nobody could be asked, or whoever was failed.
    NotServed {
        /// What became of it.
        fault: Arc<RequestFault>,
        /// How long until an endpoint may be asked again; zero where another one may be asked at once.
        retry_after: Duration,
    },
}

/// Objects in ascending order of their first ledger. An error names one object; the stream goes on after it.
pub type ObjectStream = Box<dyn Iterator<Item = Result<LedgerObject, ObjectFault>> + Send>;

/// How an object's bytes hold its ledgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectEncoding {
    /// zstd of an XDR `LedgerCloseMetaBatch` (SEP-54).
    ZstdBatch,
    /// XDR of one `LedgerCloseMeta`.
    Ledger,
}

/// One object as it was read, not yet decoded.
#[derive(Debug)]
pub struct LedgerObject {
    /// The object's name: a path below the lake, or a file and the number of the frame in it.
    pub name: String,
    /// The ledgers that the object's name promises, or the header of a frame, which has no name of its own.
    pub named: Option<LedgerRange>,
    /// How `bytes` hold the ledgers.
    pub encoding: ObjectEncoding,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// One ledger's raw bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct RawLedger {
    /// The sequence number that the object gives it; its header is still to be checked against it.
    pub seq: Option<LedgerSeq>,
    /// XDR of the `LedgerCloseMeta`.
    pub bytes: Vec<u8>,
}

/// The longest passphrase of a network that a source is believed, characters.
const PASSPHRASE_CHARS_MAX: usize = 200;

/// Whether what a source calls its network can be one, and be shown.
fn is_passphrase(text: &str) -> bool {
    text.chars().count() <= PASSPHRASE_CHARS_MAX && !text.chars().any(char::is_control)
}

mod archive;
mod error;
#[cfg(test)]
mod fixtures;
mod framed;
mod http;
mod lake;
mod object;
mod rpc;
mod zstd_frames;

pub use archive::{ArchiveState, HistoryArchive};
pub use error::{ObjectFault, ObjectFaultKind, OtherNetwork, SourceError};
pub use framed::FramedSource;
pub use http::{Address, AddressError, HttpFault, Timeouts};
pub(crate) use http::{Answer, HttpClient};
pub use lake::{LakeOptions, LakeSource, RemoteLakeOptions, RemoteLakeSource};
pub use rpc::{
    EnvelopeReader, NextStep, RequestFault, RequestFaultKind, RpcOptions, RpcSource, RpcWitness, Scanned, Tip,
};
