//! Integration tests of the core: real ledgers with known results, built ledgers, and bytes that nobody vouches for.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skipped"
)]

mod assets;
mod built;
mod bundles;
mod close_meta;
mod corpus;
mod creations;
mod envelopes;
mod faults;
mod field_reports;
mod golden;
mod nesting;
mod payloads;
mod shared;
mod untrusted;
mod wire_versions;
