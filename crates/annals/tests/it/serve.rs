//! `annals serve` as a follower, and `annals demo`: the built binary against a simulated network.

mod demo;
mod following;
mod full_disk;
mod process;
mod refusals;
mod stopping;
mod trickle;
