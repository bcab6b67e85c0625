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
