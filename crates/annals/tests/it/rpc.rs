//! The RPC source over HTTP, against nodes that misbehave by a script.

mod altered;
pub mod bench;
mod commands;
mod endpoints;
mod events;
mod hostile;
mod pages;
mod polls;
mod range;
