//! The store's contract: one suite for every backend, an oracle beside it, and what only SQLite can get wrong.

mod accounts;
pub mod fixtures;
mod history;
mod oracle;
mod paging;
mod people;
mod random;
mod reader;
mod sqlite;
mod suite;
mod topics;
