//! The pure part of Annals: what a Stellar ledger says, and what its hashes prove.
//!
//! From the raw bytes of one `LedgerCloseMeta`, [`check_ledger`] extracts every contract event with
//! its position and ties each to the ledger header with a [`ProofClass`]. [`Coverage`] is the algebra
//! of scanned ledgers, [`Chain`] decides which ledgers of a run link to each other, [`Batch`] is
//! what one commit of a store takes, and a [`Registry`] tells whom an event belongs to.
//!
//! Nothing here reads a file, a socket or a clock.

pub mod address;
pub mod batch;
pub mod bundle;
pub mod chain;
pub mod check;
pub mod coverage;
pub mod decode;
pub mod digest;
pub mod envelope;
pub mod event;
pub mod hash;
pub mod history_digest;
pub mod ledger;
pub mod ledger_seq;
pub mod network;
pub mod position;
pub mod proof;
pub mod registry;
pub mod window;
pub mod wire;

pub use address::{Address, AddressParseError};
pub use batch::{Batch, BatchError, BatchLedgers, ClassicPolicy, Scope, ScopeKey};
pub use bundle::{ProofVerdict, check_proof};
pub use chain::{Chain, ChainFault, Neighbours, Verdict};
pub use check::{LedgerFault, PROTOCOL_KNOWN_MAX, check_ledger};
pub use coverage::Coverage;
pub use digest::EventsDigest;
pub use envelope::{CheckedEnvelope, EnvelopeFault, TransactionKey};
pub use event::{Event, EventKind, ProofClass};
pub use hash::{ContractId, LedgerHash, TxHash};
pub use history_digest::{HistoryDigest, HistoryDigester, Part, RangeDigest};
pub use ledger::{Census, CheckedLedger, ClassicEvents, Creation, Executable, NetworkProof};
pub use ledger_seq::{LedgerRange, LedgerSeq};
pub use network::{Network, NetworkId};
pub use position::{Position, Stage};
pub use proof::{Invocation, ProofMaterial};
pub use registry::{Mark, Party, Payload, Registry, RegistryError, Schema, SchemaChoice, ShapeFault};
pub use window::{Evidence, IncompleteReason, Judgement, Window};
