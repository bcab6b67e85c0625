//! Transaction sets and their envelopes.

use stellar_xdr::{DecoratedSignature, FeeBumpTransaction, Transaction, TransactionV0, TxSetComponentType, VecM};

use super::reader::{DecodeError, Reader};

/// `ENVELOPE_TYPE_TX_V0`, `ENVELOPE_TYPE_TX` and `ENVELOPE_TYPE_TX_FEE_BUMP`, `Stellar-ledger-entries.x`.
const ENVELOPE_TX_V0: i32 = 0;
pub(crate) const ENVELOPE_TX: i32 = 2;
pub(crate) const ENVELOPE_TX_FEE_BUMP: i32 = 5;

/// A `TransactionEnvelope`: its bytes and the slice that its transaction's hash is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeView<'a> {
    /// XDR of the `TransactionEnvelope`.
    pub xdr: &'a [u8],
    /// XDR of the transaction without signatures.
    pub body: &'a [u8],
    /// The envelope's discriminant.
    pub kind: i32,
}

impl<'a> EnvelopeView<'a> {
    /// Reads a `TransactionEnvelope` that fills `xdr`.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn parse(xdr: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(xdr);
        let view = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(view)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = reader.offset();
        let kind = reader.discriminant("TransactionEnvelope")?;
        let body = match kind {
            ENVELOPE_TX_V0 => reader.skip::<TransactionV0>("TransactionV0")?,
            ENVELOPE_TX => reader.skip::<Transaction>("Transaction")?,
            ENVELOPE_TX_FEE_BUMP => reader.skip::<FeeBumpTransaction>("FeeBumpTransaction")?,
            other => return reader.unknown(start, "TransactionEnvelope", other),
        };
        reader.skip::<VecM<DecoratedSignature, 20>>("TransactionEnvelope.signatures")?;
        Ok(Self { xdr: reader.since(start), body, kind })
    }

    /// Whether the envelope is of the form before protocol 13, whose source account lacks its key type.
    #[must_use]
    pub fn is_v0(&self) -> bool {
        self.kind == ENVELOPE_TX_V0
    }
}

/// A transaction set.
#[derive(Debug)]
pub struct TxSetView<'a> {
    /// XDR of the `GeneralizedTransactionSet` or the legacy `TransactionSet`.
    pub xdr: &'a [u8],
    /// Whether it is a legacy set, which hashes without its count.
    pub legacy: bool,
    /// `previousLedgerHash`.
    pub previous_hash: [u8; 32],
    /// The envelopes, in the set's own order (not apply order).
    pub envelopes: Vec<EnvelopeView<'a>>,
}

impl<'a> TxSetView<'a> {
    /// Reads a `TransactionSet` (protocols before 20).
    pub(super) fn read_legacy(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = reader.offset();
        let previous_hash = reader.hash("TransactionSet.previousLedgerHash")?;
        let envelopes = reader.array("TransactionSet.txs", EnvelopeView::read)?;
        Ok(Self { xdr: reader.since(start), legacy: true, previous_hash, envelopes })
    }

    /// Reads a `GeneralizedTransactionSet`.
    pub(super) fn read_generalized(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = reader.offset();
        let version = reader.discriminant("GeneralizedTransactionSet")?;
        if version != 1 {
            return reader.unknown(start, "GeneralizedTransactionSet", version);
        }
        let previous_hash = reader.hash("TransactionSetV1.previousLedgerHash")?;
        let mut envelopes = Vec::new();
        reader.array("TransactionSetV1.phases", |reader| read_phase(reader, &mut envelopes))?;
        Ok(Self { xdr: reader.since(start), legacy: false, previous_hash, envelopes })
    }
}

fn read_phase<'a>(reader: &mut Reader<'a>, envelopes: &mut Vec<EnvelopeView<'a>>) -> Result<(), DecodeError> {
    let start = reader.offset();
    match reader.discriminant("TransactionPhase")? {
        0 => reader.array("TransactionPhase.v0Components", |reader| {
            // The type has one arm; an unknown one is refused by the typed read.
            reader.skip::<TxSetComponentType>("TxSetComponent")?;
            read_component(reader, envelopes)
        })?,
        1 => {
            reader.skip::<Option<i64>>("ParallelTxsComponent.baseFee")?;
            reader.array("ParallelTxsComponent.executionStages", |reader| {
                reader.array("ParallelTxExecutionStage", |reader| read_cluster(reader, envelopes)).map(drop)
            })?
        }
        other => return reader.unknown(start, "TransactionPhase", other),
    };
    Ok(())
}

fn read_component<'a>(reader: &mut Reader<'a>, envelopes: &mut Vec<EnvelopeView<'a>>) -> Result<(), DecodeError> {
    reader.skip::<Option<i64>>("TxSetComponent.baseFee")?;
    read_cluster(reader, envelopes)
}

fn read_cluster<'a>(reader: &mut Reader<'a>, envelopes: &mut Vec<EnvelopeView<'a>>) -> Result<(), DecodeError> {
    envelopes.extend(reader.array("TransactionEnvelope", EnvelopeView::read)?);
    Ok(())
}
