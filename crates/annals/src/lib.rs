//! Annals: a self-hosted archive and indexer of Stellar contract events.
//!
//! The way through the house: a [`source`] gives raw ledgers, `annals-core` checks them, a [`store`] commits
//! them in one fenced transaction, and readers see rows together with the coverage that judges them.

pub mod anchor;
pub mod api;
pub mod backfill;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod config;
pub mod disk;
pub mod export;
pub mod follow;
pub mod marks;
pub mod prove;
pub mod readiness;
pub mod reattribute;
pub mod source;
pub mod store;
pub mod verify;
