//! One `ContractEvent`.

use stellar_xdr::{ContractEventType, ContractId as XdrContractId, ExtensionPoint, ScVal};

use super::reader::{DecodeError, Reader};
use super::walk;
use crate::event::EventKind;
use crate::hash::ContractId;

/// A `ContractEvent`: its bytes and the slices of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventView<'a> {
    /// XDR of the `ContractEvent`.
    pub xdr: &'a [u8],
    /// The emitting contract.
    pub contract_id: Option<ContractId>,
    /// Contract or system; none for a diagnostic event.
    pub kind: Option<EventKind>,
    /// XDR of each topic's `ScVal`.
    pub topics: Vec<&'a [u8]>,
    /// XDR of the data's `ScVal`.
    pub data: &'a [u8],
}

/// `SCV_SYMBOL`, `Stellar-contract.x`.
const SCV_SYMBOL: [u8; 4] = 15_u32.to_be_bytes();
/// `SCV_I128`, `Stellar-contract.x`.
const SCV_I128: [u8; 4] = 10_u32.to_be_bytes();

impl<'a> EventView<'a> {
    /// Reads a `ContractEvent` that fills `xdr`.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn parse(xdr: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(xdr);
        let view = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(view)
    }

    /// Reads a `ContractEvent` that [`EventView::parse`] took before it was stored: the same at a fraction of the
    /// cost, for readers who read many.
    ///
    /// # Errors
    /// [`DecodeError`], where [`EventView::parse`] has one.
    pub fn stored(xdr: &'a [u8]) -> Result<Self, DecodeError> {
        walk::event(xdr).map_or_else(|| Self::parse(xdr), Ok)
    }

    /// The XDR of the `ContractEvent` that has these parts, each the XDR of one `ScVal` as it was published; none where
    /// a part is not. Its extension is the only one that the protocol has (`ext` 0, `Stellar-ledger.x`).
    #[must_use]
    pub fn assemble(
        contract_id: Option<ContractId>,
        kind: EventKind,
        topics: &[Vec<u8>],
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let kind = match kind {
            EventKind::System => ContractEventType::System,
            EventKind::Contract => ContractEventType::Contract,
        };
        let mut xdr = [0; 4].to_vec();
        match contract_id {
            Some(ContractId(id)) => xdr.extend([[0, 0, 0, 1].as_slice(), &id].concat()),
            None => xdr.extend([0; 4]),
        }
        xdr.extend((kind as i32).to_be_bytes());
        xdr.extend([0; 4]);
        xdr.extend(u32::try_from(topics.len()).ok()?.to_be_bytes());
        topics.iter().for_each(|topic| xdr.extend(topic));
        xdr.extend(data);
        // Parts that run into each other would be read as others.
        let view = EventView::parse(&xdr).ok()?;
        (view.topics == topics && view.data == data).then_some(xdr)
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = reader.offset();
        reader.skip::<ExtensionPoint>("ContractEvent.ext")?;
        let (contract, _) = reader.read::<Option<XdrContractId>>("ContractEvent.contractID")?;
        let (kind, _) = reader.read::<ContractEventType>("ContractEvent.type")?;
        let body = reader.offset();
        let version = reader.discriminant("ContractEvent.body")?;
        if version != 0 {
            return reader.unknown(body, "ContractEvent.body", version);
        }
        let topics = reader.array("ContractEvent.topics", |reader| reader.skip::<ScVal>("ContractEvent.topics"))?;
        let data = reader.skip::<ScVal>("ContractEvent.data")?;
        let kind = match kind {
            ContractEventType::Contract => Some(EventKind::Contract),
            ContractEventType::System => Some(EventKind::System),
            ContractEventType::Diagnostic => None,
        };
        Ok(Self {
            xdr: reader.since(start),
            contract_id: contract.map(|contract| ContractId(contract.0.0)),
            kind,
            topics,
            data,
        })
    }

    /// The XDR that [`EventView::parse`] takes apart into these, of a contract's or a system event. Whether topics and
    /// data are values is left to it.
    #[must_use]
    pub fn join(contract_id: Option<ContractId>, kind: EventKind, topics: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
        let word = |number: u32| number.to_be_bytes();
        let mut xdr = word(0).to_vec();
        xdr.extend(word(u32::from(contract_id.is_some())));
        xdr.extend(contract_id.iter().flat_map(|contract| contract.0));
        let kind = match kind {
            EventKind::System => ContractEventType::System,
            EventKind::Contract => ContractEventType::Contract,
        };
        xdr.extend((kind as i32).to_be_bytes());
        xdr.extend(word(0));
        xdr.extend(word(u32::try_from(topics.len()).unwrap_or(u32::MAX)));
        xdr.extend(topics.iter().flatten());
        xdr.extend(data);
        xdr
    }

    /// The symbol of topic 0; none where topic 0 is missing, of another type, or not ASCII.
    #[must_use]
    pub fn event_type(&self) -> Option<String> {
        self.symbol().and_then(|symbol| symbol.is_ascii().then(|| String::from_utf8_lossy(symbol).into_owned()))
    }

    /// The bytes of topic 0's symbol.
    #[must_use]
    pub fn symbol(&self) -> Option<&'a [u8]> {
        let (length, padded) = self.topics.first()?.strip_prefix(&SCV_SYMBOL)?.split_first_chunk::<4>()?;
        padded.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
    }

    /// XDR of the `ScVal` that holds `symbol`, as topic 0 would.
    #[must_use]
    pub fn symbol_xdr(symbol: &str) -> Vec<u8> {
        let length = u32::try_from(symbol.len()).unwrap_or(u32::MAX);
        let mut xdr = [SCV_SYMBOL, length.to_be_bytes()].concat();
        xdr.extend_from_slice(symbol.as_bytes());
        xdr.resize(xdr.len().next_multiple_of(4), 0);
        xdr
    }

    /// The data as an i128, where it is one.
    #[must_use]
    pub fn amount(&self) -> Option<i128> {
        let number = self.data.strip_prefix(&SCV_I128)?;
        number.try_into().ok().map(i128::from_be_bytes)
    }
}
