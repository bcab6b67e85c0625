//! Cursors: where a page ended and what the first page fixed, signed by the archive that issued them.

use annals_core::{Address, ContractId, LedgerSeq, Position, TxHash, Window};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::value;
use crate::store::{Bound, EventFilter, FeedPosition, Order};

const VERSION: u8 = 1;
const TAG_BYTES: usize = 32;

/// Everything that the next page needs; as text opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// What the first page fixed.
    pub bound: Bound,
    /// The epoch of the archive at the first page.
    pub epoch: u64,
    /// Which events.
    pub filter: EventFilter,
    /// In which direction.
    pub order: Order,
    /// Only positions above this one.
    pub above: Option<Position>,
    /// Where the page before ended.
    pub behind: Position,
}

/// Whose events a cursor walks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    /// The contract.
    pub contract: ContractId,
    /// The account whose events alone are shown; none for all of the contract's.
    pub account: Option<Address>,
}

/// The signed part of a cursor's text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u8,
    as_of: u64,
    epoch: u64,
    from: Option<u32>,
    to: Option<u32>,
    types: Vec<String>,
    topics: [Option<String>; 4],
    tx: Option<String>,
    descending: bool,
    above: Option<String>,
    behind: String,
}

/// Signs cursors and reads those that it signed.
pub(super) struct CursorKey([u8; 32]);

impl CursorKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Signs what belongs to a subject: a cursor of another one is none.
    fn mac(&self, subject: Subject, content: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(b"annals cursor\0");
        mac.update(&subject.contract.0);
        // An address begins with the number of its arm, and the content with a brace.
        if let Some(account) = subject.account {
            mac.update(&account.to_bytes());
        }
        mac.update(content);
        mac
    }

    /// The cursor's text.
    pub fn write(&self, subject: Subject, cursor: &Cursor) -> String {
        let mut bytes = serde_json::to_vec(&Content::of(cursor)).expect("numbers and texts are always JSON");
        let tag = self.mac(subject, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that this archive issued for `subject`; none for every other text.
    pub fn read(&self, subject: Subject, text: &str) -> Option<Cursor> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, tag) = bytes.split_last_chunk::<TAG_BYTES>()?;
        self.mac(subject, content).verify_slice(tag).ok()?;
        serde_json::from_slice::<Content>(content).ok()?.into_cursor()
    }
}

impl Content {
    fn of(cursor: &Cursor) -> Self {
        let window = cursor.bound.window;
        Self {
            version: VERSION,
            as_of: cursor.bound.as_of.0,
            epoch: cursor.epoch,
            from: window.from_inclusive.map(LedgerSeq::get),
            to: window.to_inclusive.map(LedgerSeq::get),
            types: cursor.filter.types.clone(),
            topics: cursor.filter.topics.each_ref().map(|topic| topic.as_ref().map(|xdr| STANDARD.encode(xdr))),
            tx: cursor.filter.tx_hash.map(|hash| hash.to_string()),
            descending: cursor.order == Order::Descending,
            above: cursor.above.map(|position| position.to_string()),
            behind: cursor.behind.to_string(),
        }
    }

    /// None where the content is of another version of this program.
    fn into_cursor(self) -> Option<Cursor> {
        if self.version != VERSION {
            return None;
        }
        let ledger = |seq: Option<u32>| seq.map(LedgerSeq::new).transpose().ok();
        let window = Window { from_inclusive: ledger(self.from)?, to_inclusive: ledger(self.to)? };
        let mut topics: [Option<Vec<u8>>; 4] = [const { None }; 4];
        for (topic, text) in topics.iter_mut().zip(&self.topics) {
            *topic = text.as_deref().map(value::topic).transpose().ok()?;
        }
        let tx_hash: Option<TxHash> = self.tx.map(|text| text.parse()).transpose().ok()?;
        Some(Cursor {
            bound: Bound { as_of: FeedPosition(self.as_of), window },
            epoch: self.epoch,
            filter: EventFilter { types: self.types, topics, tx_hash },
            order: if self.descending { Order::Descending } else { Order::Ascending },
            above: self.above.as_deref().map(Position::bound_from_text).transpose().ok()?,
            behind: self.behind.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        let seq = |number| Some(LedgerSeq::new(number).unwrap());
        Cursor {
            bound: Bound {
                as_of: FeedPosition(u64::MAX),
                window: Window { from_inclusive: seq(1), to_inclusive: seq(2_147_483_647) },
            },
            epoch: 3,
            filter: EventFilter {
                types: vec!["mint".to_owned(), "transfer".to_owned()],
                topics: [None, Some(vec![0, 0, 0, 1]), None, None],
                tx_hash: Some(TxHash([7; 32])),
            },
            order: Order::Descending,
            above: Some(Position::last_of(LedgerSeq::MIN)),
            behind: Position::after_all_txs(LedgerSeq::MAX, u32::MAX),
        }
    }

    const OF_CONTRACT: Subject = Subject { contract: ContractId([1; 32]), account: None };
    const OF_ACCOUNT: Subject = Subject { account: Some(Address::Account([2; 32])), ..OF_CONTRACT };

    #[test]
    fn inv_9_a_cursor_is_read_by_the_archive_and_for_the_subject_it_was_issued_for() {
        let key = CursorKey::new([9; 32]);
        let contract = |byte| Subject { contract: ContractId([byte; 32]), account: None };
        let subjects = [
            contract(1),
            contract(2),
            OF_ACCOUNT,
            Subject { account: OF_ACCOUNT.account, ..contract(2) },
            Subject { account: Some(Address::Account([3; 32])), ..contract(1) },
            Subject { account: Some(Address::LiquidityPool([2; 32])), ..contract(1) },
        ];
        for own in subjects {
            let text = key.write(own, &cursor());
            for subject in subjects {
                assert_eq!(key.read(subject, &text), (subject == own).then(cursor), "{own:?} {subject:?}");
            }
            assert_eq!(CursorKey::new([8; 32]).read(own, &text), None);
        }
    }

    #[test]
    fn inv_9_a_cursor_with_any_character_changed_added_or_gone_is_none() {
        let key = CursorKey::new([9; 32]);
        let text = key.write(OF_ACCOUNT, &cursor());
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ";
        for place in 0..text.len() {
            for byte in alphabet.iter().filter(|byte| **byte != text.as_bytes()[place]) {
                let mut changed = text.clone().into_bytes();
                changed[place] = *byte;
                let changed = String::from_utf8(changed).unwrap();
                assert_eq!(key.read(OF_ACCOUNT, &changed), None, "{changed}");
            }
            assert_eq!(key.read(OF_ACCOUNT, &text[..place]), None);
        }
        for changed in [format!("{text}A"), format!("{text}="), format!(" {text}"), String::new()] {
            assert_eq!(key.read(OF_ACCOUNT, &changed), None, "{changed}");
        }
    }
}
