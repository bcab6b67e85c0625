//! The builder against the real extraction, against a decoder that shares nothing with it, and against itself.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "clippy takes only functions marked #[test] for tests")]

mod extraction;
mod faults;
mod independent;
mod instance;
mod network;
mod program;
mod replay;
mod rpc;
mod shared;
mod token;
mod traffic;
mod writers;

use annals_core::{LedgerSeq, Network};
use annals_sim::{BuiltLedger, Format, Mix, random_chain};

/// Every form, each with protocols that give it a shape of its own.
const FORMS: [(Format, u32); 13] = [
    (Format::V0Meta0, 2),
    (Format::V0Meta1, 9),
    (Format::V0Meta1, 12),
    (Format::V0Meta2, 12),
    (Format::V0Meta2, 19),
    (Format::V0Meta4, 19),
    (Format::V1Meta3, 20),
    (Format::V1Meta3, 22),
    (Format::V1Meta4, 22),
    (Format::V2Meta4, 23),
    (Format::V2Meta4, 26),
    (Format::V2Meta4, 28),
    (Format::V2Meta4, 30),
];

fn network() -> Network {
    Network::new("a network of tests")
}

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn chain(format: Format, protocol: u32, seed: u64, count: u32) -> Vec<BuiltLedger> {
    random_chain(&network(), seq(100), seed, count, Mix::new(format).of_protocol(protocol)).collect()
}
