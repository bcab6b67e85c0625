//! Events of unusual shape, and events whose shape is not the one that their name promises.

use annals_core::ContractId;
use stellar_xdr::ScVal;

use crate::plan::EventPlan;
use crate::value::{bytes, symbol};
use crate::xdr::list;

/// An event without topics.
#[must_use]
pub fn without_topics(contract: ContractId) -> EventPlan {
    EventPlan::new(contract, Vec::new(), ScVal::Void)
}

/// An event of twelve topics, of which filters of the network's own servers see four.
#[must_use]
pub fn of_twelve_topics(contract: ContractId) -> EventPlan {
    let numbers = (1..12).map(ScVal::U32);
    EventPlan::new(contract, [symbol("many")].into_iter().chain(numbers).collect(), ScVal::Void)
}

/// An event with a topic of `length` bytes, far above what a database likes to index.
#[must_use]
pub fn of_long_topic(contract: ContractId, length: usize) -> EventPlan {
    EventPlan::new(contract, vec![symbol("long"), bytes(&vec![0xA5; length])], ScVal::Void)
}

/// A change of an event's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Misshape {
    /// An address topic more, at the end: an address that is nobody's role.
    TopicMore,
    /// The last topic is missing.
    TopicFewer,
    /// A topic that was an address is bytes.
    TopicOfOtherType,
    /// A name that nobody registered.
    UnknownName,
    /// A data field more.
    FieldMore,
    /// The last data field is missing.
    FieldFewer,
}

impl Misshape {
    /// Every change.
    pub const ALL: [Self; 6] = [
        Self::TopicMore,
        Self::TopicFewer,
        Self::TopicOfOtherType,
        Self::UnknownName,
        Self::FieldMore,
        Self::FieldFewer,
    ];

    /// Changes `event`.
    ///
    /// # Panics
    /// When the event has no topic or field to change.
    #[must_use]
    pub fn of(self, mut event: EventPlan) -> EventPlan {
        match self {
            Self::TopicMore => {
                let stranger = crate::value::account_address(crate::value::account(77_777));
                event.topics.push(stranger);
            }
            Self::TopicFewer => {
                event.topics.pop().expect("an event of a token has topics");
            }
            Self::TopicOfOtherType => {
                *event.topics.last_mut().expect("an event of a token has topics") = bytes(&[1; 32])
            }
            Self::UnknownName => event.topics[0] = symbol("unheard_of"),
            Self::FieldMore => {
                edit_fields(&mut event, |fields| {
                    let key = symbol("zz_more");
                    fields.push(stellar_xdr::ScMapEntry { key, val: ScVal::U32(1) });
                });
            }
            Self::FieldFewer => edit_fields(&mut event, |fields| {
                fields.pop().expect("the event has a field");
            }),
        }
        event
    }
}

fn edit_fields(event: &mut EventPlan, edit: impl FnOnce(&mut Vec<stellar_xdr::ScMapEntry>)) {
    let ScVal::Map(Some(map)) = &event.data else { panic!("the data of a token's event is a map") };
    let mut fields = map.0.to_vec();
    edit(&mut fields);
    event.data = ScVal::Map(Some(stellar_xdr::ScMap(list(fields))));
}
