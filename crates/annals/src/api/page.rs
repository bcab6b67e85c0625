//! A page of events as an answer: what is said of it, and its events in between.

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::error::Error;

use super::answer::Answer;
use super::event::EventWriter;
use super::reads::ReadError;
use crate::store::PageEvent;

/// What the place of the events looks like in a frame without them.
const PLACE: &[u8] = br#""events":[]"#;
/// Bytes that an event mostly takes at most, so that a page is not copied as it grows.
const EVENT_BYTES_USUAL: usize = 1024;

/// The events' place in the struct that says what a page is: its member of the name `events`, before all members that
/// hold others.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct EventsPlace([(); 0]);

/// Writes `frame` with the events in their place, each with its further members behind its own.
///
/// # Errors
/// [`ReadError::Damaged`] when an event's bytes are no `ContractEvent`, or the frame has no place for events.
pub(super) fn answer<'a, M: Serialize>(
    frame: &impl Serialize,
    events: impl IntoIterator<Item = (&'a PageEvent, M)>,
) -> Result<Answer, ReadError> {
    let frame = serde_json::to_vec(frame).map_err(damaged)?;
    let place = frame.windows(PLACE.len()).position(|window| window == PLACE);
    let place = place.ok_or_else(|| damaged(Error::custom("a page without a place for its events")))?;
    // Behind the opening bracket; what follows is the closing one.
    let (head, tail) = frame.split_at(place + PLACE.len() - 1);
    let events = events.into_iter();
    let mut json = Vec::with_capacity(frame.len() + events.size_hint().0 * EVENT_BYTES_USUAL);
    json.extend_from_slice(head);
    let mut writer = EventWriter::default();
    for (number, (event, more)) in events.enumerate() {
        if number > 0 {
            json.push(b',');
        }
        writer.write(&mut json, event, &more)?;
    }
    json.extend_from_slice(tail);
    Ok(Answer::of_json(json))
}

fn damaged(error: Error) -> ReadError {
    ReadError::Damaged(Box::new(error))
}

#[cfg(test)]
mod tests {
    use annals_core::Event;
    use annals_core::registry::Payload;
    use axum::body::to_bytes;
    use axum::response::IntoResponse as _;

    use super::*;
    use crate::api::event::NoMore;

    #[derive(Serialize)]
    struct Frame {
        before: &'static str,
        events: EventsPlace,
        after: [u8; 2],
    }

    fn text(events: &[PageEvent]) -> String {
        let frame = Frame { before: r#""events":[]"#, events: EventsPlace::default(), after: [1, 2] };
        let answer = answer(&frame, events.iter().map(|event| (event, NoMore {})));
        let body = answer.ok().unwrap().into_response().into_body();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = runtime.block_on(to_bytes(body, usize::MAX)).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    fn event(index: u32) -> PageEvent {
        let event = Event {
            position: annals_core::Position::first_of(annals_core::LedgerSeq::new(7 + index).unwrap()),
            tx_hash: annals_core::TxHash([9; 32]),
            tx_order: 1,
            successful: true,
            close_time_ms: 5000,
            contract_id: None,
            kind: annals_core::EventKind::System,
            xdr: annals_sim::EventPlan::transfer(
                annals_sim::value::contract(1),
                annals_sim::value::account(1),
                annals_sim::value::account(2),
                i128::from(index),
            )
            .xdr(),
            proof: annals_core::ProofClass::Uncommitted,
            rewritten_xdr: None,
        };
        PageEvent { event, roles: Vec::new(), payload: Payload::Present(vec![7; 5]) }
    }

    #[test]
    fn the_events_stand_in_their_place_whatever_other_members_say() {
        use annals_core::wire::ExportedEvent;
        for count in 0..4 {
            let events: Vec<PageEvent> = (0..count).map(event).collect();
            let export = |shown: &PageEvent| ExportedEvent::new(&shown.event, &shown.payload).unwrap();
            let exported: Vec<_> = events.iter().map(export).collect();
            let exported = serde_json::to_string(&exported).unwrap();
            let expected = format!(r#"{{"before":"\"events\":[]","events":{exported},"after":[1,2]}}"#);
            assert_eq!(text(&events), expected);
        }
    }

    #[test]
    fn a_frame_without_a_place_for_events_is_an_error() {
        let written = answer::<NoMore>(&["no place"], []);
        assert!(matches!(written, Err(ReadError::Damaged(_))));
    }
}
