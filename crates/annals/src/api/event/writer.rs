//! An event as a JSON object, written straight into an answer.
//!
//! The object is that of [`ExportedEvent`](annals_core::wire::ExportedEvent), byte for byte: what an archive exports
//! and what it answers is the same. A page has hundreds of them, so that each text which cannot hold anything to be
//! escaped — numbers, hexadecimal, base64, strkeys, times, our own words — is written as it is, and what one event
//! shares with the event before it is made once. The type of an event is the one text that is somebody else's: it
//! goes through `serde_json`, as numbers do.

use annals_core::decode::EventView;
use annals_core::registry::Payload;
use annals_core::wire::rfc3339;
use annals_core::{ContractId, Position};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::ser::Error as _;

use crate::api::reads::ReadError;
use crate::store::PageEvent;

/// Bytes that an object has beside those of the event, about: names, hash, strkey and times.
const OBJECT_BYTES_USUAL: usize = 640;

/// The members of an event that has none beside its own.
#[derive(Debug, Serialize)]
pub(in crate::api) struct NoMore {}

/// Writes the events of one answer.
#[derive(Debug, Default)]
pub(in crate::api) struct EventWriter {
    contract: Option<ContractId>,
    contract_text: String,
    close_time_ms: Option<u64>,
    close_members: Vec<u8>,
}

impl EventWriter {
    /// Appends an event as one JSON object, with the members of `more` behind its own: a struct of named fields.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when the event's bytes are no `ContractEvent`, or `more` is no struct.
    pub fn write(&mut self, out: &mut Vec<u8>, shown: &PageEvent, more: &impl Serialize) -> Result<(), ReadError> {
        let PageEvent { event, payload, .. } = shown;
        let view = EventView::stored(&event.xdr).map_err(damaged)?;
        let rewritten = event.rewritten_xdr.as_deref().map(EventView::stored).transpose().map_err(damaged)?;
        out.reserve(OBJECT_BYTES_USUAL + 2 * (event.xdr.len() + payload.content().map_or(0, <[u8]>::len)));
        plain(out, b"{\"id\":\"");
        id(out, event.position);
        plain(out, b"\",\"contract_id\":");
        self.contract_id(out, event.contract_id);
        plain(out, b",\"kind\":\"");
        plain(out, event.kind.as_str().as_bytes());
        plain(out, b"\",\"ledger_seq\":");
        json(out, &event.position.ledger().get())?;
        self.close(out, event.close_time_ms)?;
        plain(out, b",\"tx_hash\":\"");
        hexadecimal(out, &event.tx_hash.0);
        plain(out, b"\",\"tx_application_order\":");
        json(out, &event.position.tx())?;
        plain(out, b",\"operation_index\":");
        json(out, &event.position.operation())?;
        plain(out, b",\"event_index\":");
        json(out, &event.position.index())?;
        plain(out, b",\"stage\":\"");
        plain(out, event.position.stage().as_str().as_bytes());
        plain(out, b"\",\"tx_order\":");
        json(out, &event.tx_order)?;
        plain(out, b",\"event_type\":");
        event_type(out, &view)?;
        plain(out, b",");
        values(out, &view);
        payload_of(out, payload);
        plain(out, if event.successful { b",\"successful\":true" } else { b",\"successful\":false" });
        plain(out, b",\"proof\":\"");
        plain(out, event.proof.as_str().as_bytes());
        plain(out, b"\",\"rewritten\":");
        match &rewritten {
            None => plain(out, b"null"),
            Some(form) => {
                plain(out, b"{");
                values(out, form);
                plain(out, b"}");
            }
        }
        members(out, more)
    }

    /// The strkey, or null; on most pages every event has the same.
    fn contract_id(&mut self, out: &mut Vec<u8>, contract: Option<ContractId>) {
        let Some(contract) = contract else { return plain(out, b"null") };
        if self.contract != Some(contract) {
            self.contract = Some(contract);
            self.contract_text = format!("\"{contract}\"");
        }
        plain(out, self.contract_text.as_bytes());
    }

    /// Both members of a close time; the events of a ledger share them.
    fn close(&mut self, out: &mut Vec<u8>, close_time_ms: u64) -> Result<(), ReadError> {
        if self.close_time_ms != Some(close_time_ms) {
            self.close_time_ms = None;
            let text = &mut self.close_members;
            text.clear();
            plain(text, b",\"close_time\":");
            json(text, &(close_time_ms / 1000))?;
            plain(text, b",\"closed_at\":\"");
            plain(text, rfc3339(close_time_ms).as_bytes());
            plain(text, b"\"");
            self.close_time_ms = Some(close_time_ms);
        }
        plain(out, &self.close_members);
        Ok(())
    }
}

fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> ReadError {
    ReadError::Damaged(Box::new(error))
}

/// Writes what is JSON already.
fn plain(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
}

/// Writes a value by the library.
fn json(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), ReadError> {
    serde_json::to_writer(out, value).map_err(damaged)
}

/// The position as text, `%019d-%010d`.
fn id(out: &mut Vec<u8>, position: Position) {
    digits::<19>(out, position.toid());
    plain(out, b"-");
    digits::<10>(out, u64::from(position.index()));
}

/// A number with zeros in front; no position has more digits than its id has room for.
fn digits<const WIDTH: usize>(out: &mut Vec<u8>, mut number: u64) {
    let mut text = [b'0'; WIDTH];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    plain(out, &text);
}

fn hexadecimal(out: &mut Vec<u8>, bytes: &[u8; 32]) {
    let mut text = [0; 64];
    hex::encode_to_slice(bytes, &mut text).expect("two digits a byte fit twice as many bytes");
    plain(out, &text);
}

fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let begin = out.len();
    let length = base64::encoded_len(bytes.len(), true).expect("what is in memory is shorter than any limit");
    out.resize(begin + length, 0);
    STANDARD.encode_slice(bytes, &mut out[begin..]).expect("the room is what the library said");
}

/// The symbol of topic 0, which may hold any ASCII; null where topic 0 is none.
fn event_type(out: &mut Vec<u8>, view: &EventView<'_>) -> Result<(), ReadError> {
    let symbol = view.symbol().filter(|symbol| symbol.is_ascii()).and_then(|symbol| std::str::from_utf8(symbol).ok());
    json(out, &symbol)
}

/// Topics and data.
fn values(out: &mut Vec<u8>, view: &EventView<'_>) {
    plain(out, b"\"topics_xdr\":[");
    for (place, topic) in view.topics.iter().enumerate() {
        plain(out, if place == 0 { b"\"" } else { b",\"" });
        base64(out, topic);
        plain(out, b"\"");
    }
    plain(out, b"],\"data_xdr\":\"");
    base64(out, view.data);
    plain(out, b"\"");
}

/// What the event leaves out.
fn payload_of(out: &mut Vec<u8>, payload: &Payload) {
    match payload.content() {
        None => plain(out, b",\"payload_xdr\":null"),
        Some(content) => {
            plain(out, b",\"payload_xdr\":\"");
            base64(out, content);
            plain(out, b"\"");
        }
    }
    plain(out, b",\"payload_state\":\"");
    plain(out, payload.state().as_bytes());
    plain(out, b"\"");
}

/// The members of `more`, and the end of the object that they are in.
fn members(out: &mut Vec<u8>, more: &impl Serialize) -> Result<(), ReadError> {
    let begin = out.len();
    json(out, more)?;
    match out[begin..] {
        [b'{', b'}'] => {
            out.remove(begin);
        }
        [b'{', ..] => out[begin] = b',',
        _ => {
            return Err(damaged(serde_json::Error::custom("members of an event that are no struct")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
