//! The ledger header.

use core::ops::RangeInclusive;

use stellar_xdr::{LedgerHeader, LedgerUpgradeType, StellarValueExt, UpgradeType};

use super::reader::{DecodeError, Reader};

/// A `LedgerHeader`: its bytes and what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderView<'a> {
    /// XDR of the `LedgerHeader`; the ledger's hash is sha256 of it.
    pub xdr: &'a [u8],
    /// `ledgerSeq`, as it stands there.
    pub seq: u32,
    /// `ledgerVersion`: the protocol at the ledger's end.
    pub protocol: u32,
    /// Whether the ledger's last act was to change the protocol (`LEDGER_UPGRADE_VERSION`).
    pub upgraded: bool,
    /// `previousLedgerHash`.
    pub previous_hash: [u8; 32],
    /// Close time, Unix milliseconds; from `closeTimeMs` where the value has one (protocol 30), else whole seconds.
    pub close_time_ms: u64,
    /// `scpValue.txSetHash`.
    pub tx_set_hash: [u8; 32],
    /// Whether consensus agreed on the empty set in place of the proposed one, so that `tx_set_hash` is zero (CAP-83).
    pub empty_tx_set: bool,
    /// `txSetResultHash`.
    pub tx_set_result_hash: [u8; 32],
}

/// Whether an upgrade is one of the protocol: a `LedgerUpgrade` that begins with `LEDGER_UPGRADE_VERSION`.
fn is_of_version(upgrade: &UpgradeType) -> bool {
    upgrade.0.first_chunk() == Some(&(LedgerUpgradeType::Version as i32).to_be_bytes())
}

impl<'a> HeaderView<'a> {
    /// The protocols that the ledger's transactions may have run under: upgrades are applied after them, so that those
    /// of an upgraded ledger ran under an earlier protocol than the header's.
    #[must_use]
    pub fn ran_under(&self) -> RangeInclusive<u32> {
        if self.upgraded { 0..=self.protocol.saturating_sub(1) } else { self.protocol..=self.protocol }
    }

    /// Reads a `LedgerHeader` that fills `xdr`.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn parse(xdr: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(xdr);
        let view = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(view)
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (header, xdr) = reader.read::<LedgerHeader>("LedgerHeader")?;
        let value = &header.scp_value;
        let (close_time_ms, empty_tx_set) = match &value.ext {
            StellarValueExt::Basic | StellarValueExt::Signed(_) => (None, false),
            StellarValueExt::EmptyTxSet(_) => (None, true),
            StellarValueExt::SignedMs(signed) => (Some(signed.close_time_ms.0), false),
            StellarValueExt::EmptyTxSetMs(proposed) => (Some(proposed.close_time_ms.0), true),
        };
        Ok(Self {
            xdr,
            seq: header.ledger_seq,
            protocol: header.ledger_version,
            upgraded: value.upgrades.iter().any(is_of_version),
            previous_hash: header.previous_ledger_hash.0,
            close_time_ms: close_time_ms.unwrap_or_else(|| value.close_time.0.saturating_mul(1000)),
            tx_set_hash: value.tx_set_hash.0,
            empty_tx_set,
            tx_set_result_hash: header.tx_set_result_hash.0,
        })
    }
}
