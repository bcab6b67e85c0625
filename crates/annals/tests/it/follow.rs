//! Following over HTTP, against nodes that misbehave by a script.

mod begin;
mod bench;
mod downtime;
mod ends;
mod exported;
mod faults;
mod foreign;
mod gaps;
mod incidents;
mod limits;
mod live;
mod soak;
mod tip;
mod witnesses;
