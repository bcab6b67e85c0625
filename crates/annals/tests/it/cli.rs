//! The command line.

mod attributing;
mod bad_input;
mod configuration;
mod disk;
mod exporting;
pub mod fixture;
mod help;
mod migrating;
mod proving;
mod usage;
mod verifying;
