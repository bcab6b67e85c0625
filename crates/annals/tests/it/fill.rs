//! Filling gaps through the library: odd sources, failing stores, and what must hold after each run.

pub mod bench;
mod forks;
mod limits;
mod order;
mod pins;
mod scopes;
mod stops;
