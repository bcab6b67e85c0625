//! The simulated node, seen by a client.

mod captures;
mod client;
mod events;
mod http;
mod judges;
mod ledgers;
mod misbehaviour;
mod query;
mod transactions;

use annals_sim::{NetworkOptions, RpcOptions, RpcServer, SimNetwork};

use super::seq;

/// A network of `count` ledgers from ledger 2 on, and a node that serves it.
fn served(seed: u64, count: u32) -> (SimNetwork, RpcServer) {
    served_with(NetworkOptions { heavy_ledgers: Vec::new(), ..NetworkOptions::of_seed(seed) }, count)
}

fn served_with(options: NetworkOptions, count: u32) -> (SimNetwork, RpcServer) {
    let mut network = SimNetwork::with(options);
    network.close_many(count);
    let server = RpcServer::start(network.ledgers(), RpcOptions::default()).unwrap();
    (network, server)
}
