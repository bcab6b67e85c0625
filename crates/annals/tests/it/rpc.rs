//! The RPC source over HTTP, against nodes that misbehave by a script.

pub mod bench;
mod commands;
mod endpoints;
mod pages;
mod range;
