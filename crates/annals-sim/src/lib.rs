//! Builds chains of Stellar ledgers from short descriptions, for tests and demonstrations.
//!
//! A [`LedgerPlan`] says what happens in a ledger; [`ChainBuilder`] makes the `LedgerCloseMeta` of it,
//! with every hash and link in its place, beside the [`annals_core::Event`]s that a right extraction
//! must find in it. [`random_chain`] plans whole chains from a seed: the same seed gives the same
//! bytes everywhere. [`LakeWriter`] and [`FramedWriter`] put ledgers where a source can read them, and
//! [`write_history_archive`] their headers where a witness has them.
//!
//! [`TokenTraffic`] plans the life of a confidential token, beside the truth that a [`Wallet`] has to find again;
//! [`AssetEvents`], [`CreationPlan`] and [`mod@shape`] make the other events and entries that an archive meets.
//!
//! [`SimNetwork`] is all of this at work: a chain that closes a ledger when it is told to. [`RpcServer`] hands its
//! ledgers out over HTTP as a node of the network's RPC does, or, by a [`Script`], as no node should.
//!
//! What ought to be refused is made by [`Fault`] (a builder that errs, all outer hashes in order) and by
//! [`edit_header`] (a header changed and hashed again). A plan that no network could run is an error of
//! the test that wrote it, and panics.

pub mod archive;
pub mod asset;
pub mod chain;
pub mod clock;
mod close;
mod envelope;
mod expect;
pub mod fault;
pub mod format;
pub mod framed;
pub mod generate;
pub mod instance;
pub mod lake;
mod meta;
pub mod network;
pub mod plan;
mod result;
pub mod rng;
pub mod rpc;
pub mod shape;
pub mod token;
pub mod traffic;
mod transaction;
pub mod value;
mod xdr;

pub use archive::write_history_archive;
pub use asset::{AmountForm, AssetEvent, AssetEvents};
pub use chain::{BuiltLedger, ChainBuilder};
pub use fault::{Fault, edit_header, edit_meta};
pub use format::Format;
pub use framed::FramedWriter;
pub use generate::{Mix, random_chain, random_plan};
pub use instance::{CreationPlan, InstanceChange, RestoredInstance};
pub use lake::{Ending, LakeLayout, LakeWriter};
pub use network::{LedgerRecord, NetworkOptions, SimNetwork};
pub use plan::{Body, CloseTime, EnvelopeForm, EventPlan, InvocationPlan, LedgerPlan, ReturnValue, TxPlan};
pub use rng::Rng;
pub use rpc::{HeldLedgers, Misbehaviour, RpcOptions, RpcServer, Script, SeenRequest, When};
pub use shape::Misshape;
pub use token::{
    AccountKeys, Opening, Openings, Refusal, ReplayWindow, TokenCall, TokenModel, TokenVersion, Wallet, WalletEvent,
};
pub use traffic::{Payload, TokenTraffic, TrafficEvent, TrafficLedger};
