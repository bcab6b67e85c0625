//! A transaction's result and meta.

use stellar_xdr::{
    ExtensionPoint, LedgerEntryChanges, OperationMeta, ScVal, SorobanTransactionMetaExt, TransactionEventStage,
};

use super::changes::push_creations;
use super::event_view::EventView;
use super::reader::{DecodeError, DecodeFault, Reader};
use super::result::ResultView;
use crate::ledger::Creation;

/// The stage of a `TransactionEvent` (CAP-67).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStage {
    /// `TRANSACTION_EVENT_STAGE_BEFORE_ALL_TXS`.
    BeforeAllTxs,
    /// `TRANSACTION_EVENT_STAGE_AFTER_TX`.
    AfterTx,
    /// `TRANSACTION_EVENT_STAGE_AFTER_ALL_TXS`.
    AfterAllTxs,
}

/// A `DiagnosticEvent`: evidence, never an event of the archive.
#[derive(Debug)]
pub struct DiagnosticView<'a> {
    /// Whether the call that emitted it succeeded.
    pub in_successful_contract_call: bool,
    /// The event.
    pub event: EventView<'a>,
}

/// One transaction in apply order: its result and what its meta gives.
#[derive(Debug)]
pub struct TransactionView<'a> {
    /// The result.
    pub result: ResultView<'a>,
    /// Each operation's events. `TransactionMetaV3` has events of its only operation alone.
    pub operations: Vec<Vec<EventView<'a>>>,
    /// Transaction-level events (`TransactionMetaV4`), as emitted.
    pub events: Vec<(TransactionStage, EventView<'a>)>,
    /// The contracts whose instances its operations created, as the meta gives them.
    pub creations: Vec<Creation>,
    /// Whether the meta holds a Soroban part.
    pub has_soroban_meta: bool,
    /// XDR of the invocation's return value, where the meta gives one.
    pub return_value: Option<&'a [u8]>,
    /// Diagnostic events.
    pub diagnostics: Vec<DiagnosticView<'a>>,
}

impl<'a> TransactionView<'a> {
    fn new(result: ResultView<'a>) -> Self {
        Self {
            result,
            operations: Vec::new(),
            events: Vec::new(),
            creations: Vec::new(),
            has_soroban_meta: false,
            return_value: None,
            diagnostics: Vec::new(),
        }
    }

    /// Reads a `TransactionResultMeta` (in `LedgerCloseMeta` V0 and V1).
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut view = Self::new(ResultView::read(reader)?);
        reader.skip::<LedgerEntryChanges>("TransactionResultMeta.feeProcessing")?;
        view.read_meta(reader)?;
        Ok(view)
    }

    /// Reads a `TransactionResultMetaV1` (in `LedgerCloseMeta` V2).
    pub(super) fn read_v1(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.skip::<ExtensionPoint>("TransactionResultMetaV1.ext")?;
        let view = Self::read(reader)?;
        reader.skip::<LedgerEntryChanges>("TransactionResultMetaV1.postTxApplyFeeProcessing")?;
        Ok(view)
    }

    fn read_meta(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let start = reader.offset();
        match reader.discriminant("TransactionMeta")? {
            0 => self.read_operations(reader),
            1 => {
                reader.skip::<LedgerEntryChanges>("TransactionMetaV1.txChanges")?;
                self.read_operations(reader)
            }
            2 => {
                reader.skip::<LedgerEntryChanges>("TransactionMetaV2.txChangesBefore")?;
                self.read_operations(reader)?;
                reader.skip::<LedgerEntryChanges>("TransactionMetaV2.txChangesAfter").map(drop)
            }
            3 => self.read_v3(reader),
            4 => self.read_v4(reader),
            other => reader.unknown(start, "TransactionMeta", other),
        }
    }

    fn read_operations(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let creations = &mut self.creations;
        self.operations = reader.array("TransactionMeta.operations", |reader| {
            let (operation, _) = reader.read::<OperationMeta>("OperationMeta")?;
            push_creations(&operation.changes, creations);
            Ok(Vec::new())
        })?;
        Ok(())
    }

    fn read_v3(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        reader.skip::<ExtensionPoint>("TransactionMetaV3.ext")?;
        reader.skip::<LedgerEntryChanges>("TransactionMetaV3.txChangesBefore")?;
        self.read_operations(reader)?;
        reader.skip::<LedgerEntryChanges>("TransactionMetaV3.txChangesAfter")?;
        let start = reader.offset();
        if !reader.present("TransactionMetaV3.sorobanMeta")? {
            return Ok(());
        }
        self.has_soroban_meta = true;
        reader.skip::<SorobanTransactionMetaExt>("SorobanTransactionMeta.ext")?;
        let events = reader.array("SorobanTransactionMeta.events", EventView::read)?;
        self.return_value = Some(reader.skip::<ScVal>("SorobanTransactionMeta.returnValue")?);
        self.read_diagnostics(reader)?;
        match (self.operations.as_mut_slice(), events.is_empty()) {
            (_, true) => Ok(()),
            ([only], false) => {
                *only = events;
                Ok(())
            }
            // A Soroban transaction has exactly one operation; events of no or of some operation have no position.
            _ => Err(reader.error(start, "SorobanTransactionMeta.events", DecodeFault::InvalidValue)),
        }
    }

    fn read_v4(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        reader.skip::<ExtensionPoint>("TransactionMetaV4.ext")?;
        reader.skip::<LedgerEntryChanges>("TransactionMetaV4.txChangesBefore")?;
        let creations = &mut self.creations;
        self.operations = reader.array("TransactionMetaV4.operations", |reader| {
            reader.skip::<ExtensionPoint>("OperationMetaV2.ext")?;
            let (changes, _) = reader.read::<LedgerEntryChanges>("OperationMetaV2.changes")?;
            push_creations(&changes, creations);
            reader.array("OperationMetaV2.events", EventView::read)
        })?;
        reader.skip::<LedgerEntryChanges>("TransactionMetaV4.txChangesAfter")?;
        self.has_soroban_meta = reader.present("TransactionMetaV4.sorobanMeta")?;
        if self.has_soroban_meta {
            reader.skip::<SorobanTransactionMetaExt>("SorobanTransactionMetaV2.ext")?;
            if reader.present("SorobanTransactionMetaV2.returnValue")? {
                self.return_value = Some(reader.skip::<ScVal>("SorobanTransactionMetaV2.returnValue")?);
            }
        }
        self.events = reader.array("TransactionMetaV4.events", |reader| {
            let (stage, _) = reader.read::<TransactionEventStage>("TransactionEvent.stage")?;
            let stage = match stage {
                TransactionEventStage::BeforeAllTxs => TransactionStage::BeforeAllTxs,
                TransactionEventStage::AfterTx => TransactionStage::AfterTx,
                TransactionEventStage::AfterAllTxs => TransactionStage::AfterAllTxs,
            };
            Ok((stage, EventView::read(reader)?))
        })?;
        self.read_diagnostics(reader)
    }

    fn read_diagnostics(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        self.diagnostics = reader.array("TransactionMeta.diagnosticEvents", |reader| {
            let in_successful_contract_call = reader.present("DiagnosticEvent.inSuccessfulContractCall")?;
            Ok(DiagnosticView { in_successful_contract_call, event: EventView::read(reader)? })
        })?;
        Ok(())
    }
}
