//! Integration tests of the archive, over the library and over the built binary.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skipped"
)]

mod anchor;
mod api;
mod binary;
mod cli;
mod fill;
mod follow;
mod history;
mod kill;
mod remote_lake;
mod rpc;
mod serve;
mod shared;
mod store;
mod tamper;
