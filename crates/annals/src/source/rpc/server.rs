//! One endpoint of several, asked alone.

use std::sync::Arc;

use annals_core::LedgerRange;

use super::endpoint::Endpoint;
use super::pool::Pool;
use super::stream::RpcStream;
use crate::source::{LedgerSource, ObjectStream, SourceError};

/// The endpoint in one place of a pool.
pub(super) struct Server {
    pub(super) pool: Arc<Pool>,
    pub(super) place: usize,
}

impl LedgerSource for Server {
    fn name(&self) -> String {
        format!("rpc:{}", Endpoint::name(&self.pool.endpoints[self.place]))
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        Some(&self.pool.passphrase)
    }

    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        Ok(Box::new(RpcStream::new(Arc::clone(&self.pool), Some(self.place), self.name(), range)))
    }
}
