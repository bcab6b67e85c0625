//! What went wrong at a source, typed by what the caller does next.

use std::sync::Arc;

use annals_core::decode::DecodeError;
use annals_core::{LedgerRange, LedgerSeq, Network};

use super::http::HttpFault;
use super::{LedgerSource, NextStep, RequestFault, RequestFaultKind};

/// A source says that it is of another network.
#[derive(Debug, thiserror::Error)]
#[error(
    "{source_name} is of the network \"{claimed}\" and \"{asked}\" was asked for: name the right source or network"
)]
pub struct OtherNetwork {
    source_name: String,
    claimed: String,
    asked: String,
}

impl OtherNetwork {
    /// The stable code.
    pub const CODE: &str = "NETWORK_MISMATCH";

    /// Refuses a source that says that it is of another network than the one that is asked for.
    ///
    /// # Errors
    /// Itself.
    pub fn check(source: &dyn LedgerSource, network: &Network) -> Result<(), Self> {
        let asked = network.passphrase();
        match source.claimed_passphrase().filter(|claimed| *claimed != asked) {
            Some(claimed) => {
                Err(Self { source_name: source.name(), claimed: claimed.to_owned(), asked: asked.to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// Why a source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing is there.
    #[error("{place} does not exist: check the path")]
    NotFound {
        /// The path or address.
        place: String,
    },
    /// What is there is no source of this kind.
    #[error("{place} is not {expected}: {reason}")]
    NotASource {
        /// The path or address.
        place: String,
        /// What was expected there.
        expected: &'static str,
        /// What was found.
        reason: String,
    },
    /// The lake's manifest cannot be understood.
    #[error("the manifest {place} cannot be used: {reason}; mend it or remove it")]
    BadManifest {
        /// The manifest.
        place: String,
        /// What is wrong with it.
        reason: &'static str,
        /// What the JSON reader says, where it has a say.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// The lake's manifest names a compression that SEP-54 does not know.
    #[error("the manifest {place} names the compression {compression:?}; only zstd is read")]
    UnsupportedCompression {
        /// The manifest.
        place: String,
        /// The compression.
        compression: String,
    },
    /// A lake that cannot be listed does not say how it is laid out.
    #[error(
        "{place} has no manifest that says its layout, and no object of the range is found where lakes commonly have \
         them: check the address and the range, or put a .config.json there"
    )]
    UnknownLayout {
        /// The lake.
        place: String,
    },
    /// The lake's objects hold different numbers of ledgers.
    #[error("{place} mixes objects of {first} and of {second} ledgers: pass --mixed-layout if that is meant")]
    MixedLayout {
        /// The lake.
        place: String,
        /// Ledgers an object, as found first.
        first: u64,
        /// Ledgers an object, as found later.
        second: u64,
    },
    /// No endpoint could be asked for its network; this is what became of the first.
    #[error("no RPC endpoint can be used: {}", advice(.0))]
    NoEndpoint(#[source] Arc<RequestFault>),
    /// Two endpoints are of different networks.
    #[error("{first} is of the network \"{passphrase}\" and {second} of \"{claimed}\": name endpoints of one network")]
    NetworksDiffer {
        /// The first endpoint.
        first: String,
        /// Its network.
        passphrase: String,
        /// The other endpoint.
        second: String,
        /// Its network.
        claimed: String,
    },
    /// The range begins above what the source says is the network's latest ledger.
    #[error("ledger {from} is above {latest}, the latest of {source_name}: begin at or below that")]
    AboveTip {
        /// The source.
        source_name: String,
        /// The first ledger asked for.
        from: LedgerSeq,
        /// The source's latest.
        latest: LedgerSeq,
    },
    /// Reading failed; trying again may help.
    #[error("{place} could not be read")]
    Transient {
        /// The path or address.
        place: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl SourceError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "SOURCE_NOT_FOUND",
            Self::NotASource { .. } => "NOT_A_SOURCE",
            Self::BadManifest { .. } => "BAD_MANIFEST",
            Self::UnsupportedCompression { .. } => "UNSUPPORTED_COMPRESSION",
            Self::UnknownLayout { .. } => "UNKNOWN_LAYOUT",
            Self::MixedLayout { .. } => "MIXED_LAYOUT",
            Self::NoEndpoint(fault) => endpoint_code(&fault.kind),
            Self::NetworksDiffer { .. } => "NETWORKS_DIFFER",
            Self::AboveTip { .. } => "ABOVE_TIP",
            Self::Transient { .. } => "SOURCE_UNREADABLE",
        }
    }
}

fn endpoint_code(kind: &RequestFaultKind) -> &'static str {
    match kind {
        RequestFaultKind::Http(HttpFault::Unreachable(_) | HttpFault::Insecure(_)) => "ENDPOINT_UNREACHABLE",
        RequestFaultKind::Status { status: 401 | 403, .. } => "ENDPOINT_REFUSES",
        RequestFaultKind::Status { status: 300..=499, .. } if kind.next_step() == NextStep::Never => "NOT_AN_RPC",
        RequestFaultKind::Http(HttpFault::NotHttp(_)) | RequestFaultKind::WebPage => "NOT_AN_RPC",
        RequestFaultKind::NotJson(_) | RequestFaultKind::NotRpc | RequestFaultKind::BadResult(_) => "NOT_AN_RPC",
        RequestFaultKind::Error { code: -32601, .. } => "NOT_AN_RPC",
        _ => "ENDPOINT_UNAVAILABLE",
    }
}

fn advice(fault: &RequestFault) -> &'static str {
    match endpoint_code(&fault.kind) {
        "ENDPOINT_UNREACHABLE" => "check the address and the way to it",
        "ENDPOINT_REFUSES" => "check the key in the address",
        "NOT_AN_RPC" => "give the address of a Stellar RPC, which is another than Horizon's and than a web page's",
        _ => "try again later, or name another with a further --rpc",
    }
}

/// What is wrong with one object.
#[derive(Debug)]
pub struct ObjectFault {
    /// The object's name.
    pub object: String,
    /// The ledgers that are lost with it, as far as they are known.
    pub range: Option<LedgerRange>,
    /// What is wrong.
    pub kind: ObjectFaultKind,
}

impl ObjectFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl std::fmt::Display for ObjectFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.object, self.kind)
    }
}

/// The kind is part of the sentence, so the next cause is the kind's own.
impl std::error::Error for ObjectFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

/// The kinds of [`ObjectFault`].
#[derive(Debug, thiserror::Error)]
pub enum ObjectFaultKind {
    /// Reading failed; trying again may help.
    #[error("it could not be read")]
    Unreadable(#[source] std::io::Error),
    /// There is not one byte.
    #[error("it is empty")]
    Empty,
    /// The bytes end before what they began.
    #[error("it is cut off")]
    Truncated,
    /// The bytes go on after the end of what they hold.
    #[error("bytes follow its end")]
    TrailingBytes,
    /// The bytes do not begin as zstd does.
    #[error("it is not zstd")]
    NotZstd,
    /// zstd finds its own structure or checksum broken.
    #[error("its zstd is corrupt")]
    CorruptZstd(#[source] std::io::Error),
    /// gzip finds its own structure or checksum broken.
    #[error("its gzip is corrupt")]
    CorruptGzip(#[source] std::io::Error),
    /// A header is given a hash that its bytes do not have.
    #[error("it gives ledger {seq} a hash that its header does not have")]
    HashContradicted {
        /// As the header has it.
        seq: u32,
    },
    /// A header does not follow the one before it.
    #[error("its ledger {seq} does not link to the one before it there")]
    Unlinked {
        /// As the header has it.
        seq: u32,
    },
    /// It is larger than any ledger or batch has reason to be.
    #[error("it holds more than {bytes_max} bytes")]
    TooLarge {
        /// The bound, bytes.
        bytes_max: u64,
    },
    /// The XDR inside is none of a ledger or a batch of ledgers.
    #[error("its XDR does not decode")]
    Undecodable(#[source] DecodeError),
    /// It gives its ledgers numbers that no ledger, or no range of them, can have.
    #[error("it numbers its ledgers {start} to {end}, which no ledgers are")]
    ImpossibleLedgers {
        /// `startSequence` of the batch, or `ledgerSeq` of the one ledger's header.
        start: u32,
        /// `endSequence` of the batch, or `ledgerSeq` again.
        end: u32,
    },
    /// The batch says it holds one number of ledgers and its ends say another.
    #[error("its batch holds {count} ledgers where {promised} were promised")]
    Miscounted {
        /// As its ends have it.
        promised: u64,
        /// As its list has it.
        count: u32,
    },
    /// The name contradicts itself or the folder it lies in.
    #[error("its name is wrong: {reason}")]
    Misnamed {
        /// The contradiction.
        reason: &'static str,
    },
    /// The batch inside is of other ledgers than the name says.
    #[error("its name promises ledgers {named} and it holds {start} to {end}")]
    NameContradicted {
        /// As the name has it.
        named: LedgerRange,
        /// `startSequence` of the batch.
        start: u32,
        /// `endSequence` of the batch.
        end: u32,
    },
    /// The source keeps nothing so old any more.
    #[error("nothing is kept below ledger {oldest}: fill it from a lake")]
    BelowRetention {
        /// The oldest ledger that is kept.
        oldest: LedgerSeq,
    },
    /// The source gives events alone, and below a ledger it may have dropped some.
    #[error("events below ledger {from} are dropped there, or about to be: fill it from a lake")]
    AtRetention {
        /// The first ledger that is sure to have all of its events.
        from: LedgerSeq,
    },
    /// The source gives events alone, and part of one does not decode.
    #[error("{wrong} of it does not decode: fill it from a source of whole ledgers")]
    BadEvent {
        /// What does not decode.
        wrong: &'static str,
    },
    /// The source gives another envelope than the transaction's.
    #[error("it has no right envelope: name another RPC, or fill it from a lake")]
    WrongEnvelope(#[source] Arc<RequestFault>),
    /// The network has not come to it, as the source has it.
    #[error("the latest ledger there is {latest}: ask again when the network has come to it")]
    AboveTip {
        /// The latest ledger.
        latest: LedgerSeq,
    },
    /// The source passes from an earlier ledger to a later one.
    #[error("it is left out there: fill it from another source")]
    LeftOut,
    /// The server failed for as long as it was asked.
    #[error("it was not served")]
    NotServed(#[source] Arc<RequestFault>),
    /// A frame's length word lacks the mark of a last fragment (RFC 5531, section 11); nothing after it can be read.
    #[error("no frame begins there")]
    NotAFrame,
}

impl ObjectFaultKind {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "UNREADABLE_OBJECT",
            Self::Empty => "EMPTY_OBJECT",
            Self::Truncated => "TRUNCATED_OBJECT",
            Self::TrailingBytes => "TRAILING_BYTES",
            Self::NotZstd => "NOT_ZSTD",
            Self::TooLarge { .. } => "OBJECT_TOO_LARGE",
            Self::HashContradicted { .. } | Self::Unlinked { .. } => "INCONSISTENT_OBJECT",
            Self::CorruptGzip(_) => "UNDECODABLE_OBJECT",
            Self::CorruptZstd(_) | Self::Undecodable(_) | Self::ImpossibleLedgers { .. } => "UNDECODABLE_OBJECT",
            Self::Miscounted { .. } => "MISCOUNTED_BATCH",
            Self::Misnamed { .. } | Self::NameContradicted { .. } => "MISNAMED_OBJECT",
            Self::BelowRetention { .. } | Self::AtRetention { .. } => "BELOW_RETENTION",
            Self::BadEvent { .. } => "UNDECODABLE_EVENT",
            Self::WrongEnvelope(_) => "WRONG_ENVELOPE",
            Self::AboveTip { .. } => "ABOVE_TIP",
            Self::LeftOut => "NOT_IN_SOURCE",
            Self::NotServed(_) => "NOT_SERVED",
            Self::NotAFrame => "NOT_A_FRAME",
        }
    }
}
