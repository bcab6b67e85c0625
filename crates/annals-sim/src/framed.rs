//! Ledgers one after another in a file, each with its length in front (RFC 5531 record marking).

use std::io::{self, Write};

use crate::chain::BuiltLedger;

/// The bit that marks the last fragment of a record; exporters write one fragment a ledger.
const LAST_FRAGMENT: u32 = 0x8000_0000;

/// Writes framed ledgers; give it a zstd encoder for a compressed file.
#[derive(Debug)]
pub struct FramedWriter<W>(W);

impl<W: Write> FramedWriter<W> {
    /// Writes into `writer`.
    pub fn new(writer: W) -> Self {
        Self(writer)
    }

    /// Appends a ledger.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn push(&mut self, ledger: &BuiltLedger) -> io::Result<()> {
        self.push_xdr(&ledger.xdr)
    }

    /// Appends any bytes as one record.
    ///
    /// # Errors
    /// What the writer reports; `InvalidInput` from 2 GiB on.
    pub fn push_xdr(&mut self, xdr: &[u8]) -> io::Result<()> {
        let length = u32::try_from(xdr.len()).ok().filter(|length| length & LAST_FRAGMENT == 0);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        self.0.write_all(&(length | LAST_FRAGMENT).to_be_bytes())?;
        self.0.write_all(xdr)
    }

    /// Flushes, and gives the writer back.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.flush()?;
        Ok(self.0)
    }
}
