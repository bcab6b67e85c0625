//! Integration tests of the core: real ledgers with known results.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skipped"
)]

mod corpus;
mod golden;
mod shared;
