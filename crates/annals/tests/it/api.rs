//! What readers are told over HTTP.

mod accounts;
mod alone;
mod archive;
pub mod client;
mod compare;
mod conformance;
mod cursors;
mod document;
mod errors;
mod fake;
mod front;
mod health;
mod history;
mod index;
mod load;
mod lookups;
mod pages;
mod program;
mod proofs;
mod readiness;
mod refused;
mod server;
mod token;
mod waiting;
mod wallet;
