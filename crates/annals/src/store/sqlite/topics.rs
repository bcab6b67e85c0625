//! Finding events by their topics. A topic can be many kilobytes, so only a hash of it and of the contract is indexed,
//! and the bytes are compared.

use annals_core::decode::EventView;
use annals_core::hash::sha256;
use annals_core::{ContractId, Event};

use crate::store::EventFilter;

/// What stands for a contract's topic in the index: the first eight bytes of sha256 of the contract's id, which is
/// nothing where there is no contract, and the topic's XDR.
fn key(contract: Option<ContractId>, topic: &[u8]) -> i64 {
    let contract = contract.map(|contract| contract.0);
    let hash = sha256(&[contract.as_ref().map_or(&[], |id| id.as_slice()), topic]);
    i64::from_be_bytes(*hash.first_chunk().expect("a hash has more than eight bytes"))
}

/// The key of topic 0; none where there is no topic. An event whose bytes cannot be read is archived all the same,
/// and no topic finds it.
pub(super) fn first_key(event: &Event) -> Option<i64> {
    let view = EventView::parse(&event.xdr).ok()?;
    view.topics.first().map(|topic| key(event.contract_id, topic))
}

/// The keys of topic 0 under which all of the contract's matches stand; none where the filter leaves topic 0 open.
pub(super) fn first_keys(contract: ContractId, filter: &EventFilter) -> Option<Vec<i64>> {
    let [first, ..] = &filter.topics;
    if let Some(topic) = first {
        return Some(vec![key(Some(contract), topic)]);
    }
    if filter.types.is_empty() {
        return None;
    }
    let mut keys: Vec<i64> =
        filter.types.iter().map(|name| key(Some(contract), &EventView::symbol_xdr(name))).collect();
    keys.sort_unstable();
    keys.dedup();
    Some(keys)
}

/// Whether the filter takes an event, by the bytes themselves.
pub(super) fn takes(filter: &EventFilter, event: &Event) -> bool {
    if filter.tx_hash.is_some_and(|hash| hash != event.tx_hash) {
        return false;
    }
    if filter.types.is_empty() && filter.topics.iter().all(Option::is_none) {
        return true;
    }
    let Ok(view) = EventView::stored(&event.xdr) else { return false };
    let named = |symbol: &[u8]| filter.types.iter().any(|name| name.as_bytes() == symbol);
    let of_type = filter.types.is_empty() || view.symbol().is_some_and(named);
    let mut places = filter.topics.iter().enumerate();
    of_type
        && places.all(|(place, asked)| {
            asked.as_ref().is_none_or(|asked| view.topics.get(place).is_some_and(|topic| *topic == asked.as_slice()))
        })
}
