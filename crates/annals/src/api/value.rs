//! What single values of a request mean.

use annals_core::decode::check_value;
use annals_core::{Address, AddressParseError, ContractId, LedgerSeq, Position, TxHash};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::code::Code;
use super::error::ApiError;
use super::limits::{PAGE_EVENTS_MAX, TYPE_BYTES_MAX, TYPES_MAX};
use crate::store::Order;

/// A contract's strkey.
pub(super) fn contract(text: &str) -> Result<ContractId, ApiError> {
    text.parse().map_err(|_| Code::BadContract.into())
}

/// The strkey of whom events can belong to. A muxed one is refused with the one to ask for.
pub(super) fn account(text: &str) -> Result<Address, ApiError> {
    text.parse().map_err(|error| match error {
        muxed @ AddressParseError::Muxed(_) => ApiError::new(Code::BadAccount, muxed.to_string()),
        AddressParseError::NotAddress => Code::BadAccount.into(),
    })
}

/// A ledger's sequence number.
pub(super) fn ledger(text: &str) -> Result<LedgerSeq, ApiError> {
    text.parse().map_err(|_| Code::BadLedger.into())
}

/// An event's id.
pub(super) fn event_id(text: &str) -> Result<Position, ApiError> {
    text.parse().map_err(|_| Code::BadEventId.into())
}

/// A place in the order of events to go on from.
pub(super) fn after_id(text: &str) -> Result<Position, ApiError> {
    Position::bound_from_text(text).map_err(|_| Code::BadEventId.into())
}

/// A transaction's hash.
pub(super) fn tx_hash(text: &str) -> Result<TxHash, ApiError> {
    text.parse().map_err(|_| Code::BadTxHash.into())
}

/// How many events a page holds at most: digits, however many, brought between 1 and [`PAGE_EVENTS_MAX`].
pub(super) fn limit(text: &str) -> Result<u32, ApiError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Code::BadLimit.into());
    }
    // Digits that do not fit are a number beyond the greatest limit.
    let number = text.parse().unwrap_or(PAGE_EVENTS_MAX);
    Ok(number.clamp(1, PAGE_EVENTS_MAX))
}

/// A direction.
pub(super) fn order(text: &str) -> Result<Order, ApiError> {
    match text {
        "asc" => Ok(Order::Ascending),
        "desc" => Ok(Order::Descending),
        _ => Err(Code::BadOrder.into()),
    }
}

/// Symbols with commas between them, sorted and each once.
pub(super) fn types(text: &str) -> Result<Vec<String>, ApiError> {
    let is_symbol = |name: &str| {
        (1..=TYPE_BYTES_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let mut types: Vec<String> = Vec::new();
    for name in text.split(',') {
        if !is_symbol(name) {
            return Err(Code::BadTypes.into());
        }
        if types.len() == TYPES_MAX {
            return Err(ApiError::new(Code::BadTypes, format!("at most {TYPES_MAX} types can be asked for at once")));
        }
        types.push(name.to_owned());
    }
    types.sort_unstable();
    types.dedup();
    Ok(types)
}

/// Base64 of the XDR of one `ScVal`, in the one encoding that it has.
pub(super) fn topic(text: &str) -> Result<Vec<u8>, ApiError> {
    let xdr = STANDARD.decode(text).map_err(|_| Code::BadTopic)?;
    check_value(&xdr).map_err(|_| Code::BadTopic)?;
    Ok(xdr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_digits_however_many_and_ends_between_1_and_1000() {
        let read = |text: &str| limit(text).map_err(|error| error.code());
        for (text, number) in [("0", 1), ("1", 1), ("007", 7), ("1000", 1000), ("1001", 1000), ("4294967296", 1000)] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        assert_eq!(read(&"9".repeat(500)), Ok(1000));
        assert_eq!(read(&format!("{}5", "0".repeat(500))), Ok(5));
        for text in ["", "-1", "+1", "1e3", "1.5", "ten", " 1", "٣", "0x10"] {
            assert_eq!(read(text), Err(Code::BadLimit), "{text}");
        }
    }

    #[test]
    fn types_are_symbols_in_any_order_and_each_counts_once() {
        assert_eq!(types("transfer,mint,transfer"), Ok(vec!["mint".to_owned(), "transfer".to_owned()]));
        for text in ["", ",", "a,", "a b", "a-b", "é", "a,,b", &"a".repeat(33)] {
            assert_eq!(types(text).map_err(|error| error.code()), Err(Code::BadTypes), "{text}");
        }
        let many: Vec<String> = (0..=TYPES_MAX).map(|number| format!("t{number}")).collect();
        assert!(types(&many.join(",")).is_err());
        assert!(types(&many[1..].join(",")).is_ok());
    }

    #[test]
    fn a_topic_is_the_one_encoding_of_one_value() {
        assert_eq!(topic("AAAAAQ=="), Ok(vec![0, 0, 0, 1]));
        let whole = STANDARD.encode([0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(topic(&whole).is_ok());
        let bool_of_two = STANDARD.encode([0, 0, 0, 0, 0, 0, 0, 2]);
        let followed = STANDARD.encode([0, 0, 0, 1, 0]);
        for text in ["", "AAAAAQ", "AAAAAR==", "AAAA AQ==", "AAAAA_==", "!", &bool_of_two, &followed] {
            assert_eq!(topic(text).map_err(|error| error.code()), Err(Code::BadTopic), "{text}");
        }
    }
}
