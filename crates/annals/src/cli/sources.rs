//! Opens what the configuration names as sources.

use std::sync::Arc;

use annals_core::Network;

use super::error::CliError;
use crate::clock::Clock;
use crate::config::{LakeChoice, RpcMode, SourceChoice, public_lake};
use crate::source::{
    Address, FramedSource, LakeOptions, LakeSource, LedgerSource, RemoteLakeOptions, RemoteLakeSource, RpcOptions,
    RpcSource, Timeouts,
};

/// What a backfill reads.
pub(super) enum Source {
    /// Whole ledgers.
    Ledgers(Arc<dyn LedgerSource>),
    /// Events alone.
    Events(RpcSource),
}

/// Opens the source of a backfill of `network`.
pub(super) fn open(choice: SourceChoice, network: &Network, clock: Arc<dyn Clock>) -> Result<Source, CliError> {
    Ok(Source::Ledgers(match choice {
        SourceChoice::Lake(choice) => open_lake(choice, network, clock)?,
        SourceChoice::Ledgers { path } => Arc::new(FramedSource::open(path)?),
        SourceChoice::Rpc { addresses, mode } => {
            let rpc = connect_rpc(&addresses, Timeouts::default(), clock)?;
            match mode {
                RpcMode::Events => return Ok(Source::Events(rpc)),
                RpcMode::Ledgers => Arc::new(rpc),
            }
        }
    }))
}

/// Opens a lake of `network`.
pub(super) fn open_lake(
    choice: LakeChoice,
    network: &Network,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn LedgerSource>, CliError> {
    let address = match choice {
        LakeChoice::Folder { path, mixed_layout } => {
            return Ok(Arc::new(LakeSource::open(path, LakeOptions { mixed_layout })?));
        }
        LakeChoice::Address(address) => address,
        LakeChoice::Public => public_lake(network)?,
    };
    let options = RemoteLakeOptions { timeouts: Timeouts::default(), seed: clock.now_unix_ms() };
    Ok(Arc::new(RemoteLakeSource::open(address, options, clock)?))
}

/// Connects to RPC endpoints.
pub(super) fn connect_rpc(
    addresses: &[Address],
    timeouts: Timeouts,
    clock: Arc<dyn Clock>,
) -> Result<RpcSource, CliError> {
    let options = RpcOptions { timeouts, seed: clock.now_unix_ms() };
    Ok(RpcSource::connect(addresses, options, clock)?)
}
