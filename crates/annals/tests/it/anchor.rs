//! What a chain hangs on, asked for over HTTP.

mod archives;
pub mod bench;
mod commands;
mod endpoints;
mod lies;
