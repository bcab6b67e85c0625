//! One event: by its id, and as every answer writes it.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;

use super::answer::Answer;
use super::code::Code;
use super::error::ApiError;
use super::query::Query;
use super::route::EVENT;
use super::{Api, segment, value};
use crate::store::EventLookup;

mod writer;

pub(super) use writer::{EventWriter, NoMore};

/// What is said of an event that is not there, where its ledger may lack events or was scanned for some contracts.
const NOT_RULED_OUT: &str =
    "the ledger was not scanned for every event of every contract, so that this one is not ruled out";

/// Answers one event.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let position = value::event_id(&segment(id)?)?;
    Query::read(&uri, &EVENT)?;
    let read = api.reads.run(move |store| match store.event(position)? {
        EventLookup::Found(found) => {
            let mut json = Vec::new();
            EventWriter::default().write(&mut json, &found, &NoMore {})?;
            Ok(Answer::of_json(json))
        }
        EventLookup::Absent { covered: true } => Err(Code::EventNotFound.into()),
        EventLookup::Absent { covered: false } => Err(ApiError::new(Code::LedgerNotCovered, NOT_RULED_OUT).into()),
    });
    read.await
}
