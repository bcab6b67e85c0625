//! One ledger's row.

use std::sync::Arc;

use annals_core::wire::rfc3339;
use annals_core::{Census, LedgerRange, LedgerSeq};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::answer::Answer;
use super::code::Code;
use super::error::ApiError;
use super::query::Query;
use super::reads::ReadError;
use super::route::LEDGER;
use super::{Api, segment, value};
use crate::anchor::HangsOn;
use crate::marks::covered_by_any;
use crate::store::{Status, Store, StoreError, StoredLedger};

#[derive(Debug, Serialize)]
struct Counted {
    committed: u64,
    rewritten: u64,
    uncommitted: u64,
    unverified: u64,
}

#[derive(Debug, Serialize)]
struct LedgerRow {
    ledger_seq: u32,
    hash: String,
    previous_hash: String,
    close_time: u64,
    closed_at: String,
    protocol: u32,
    classic_events: &'static str,
    census: Counted,
    digest: String,
    digest_version: u8,
    source: String,
    anchor: &'static str,
    header_xdr: String,
}

impl LedgerRow {
    fn of(ledger: &StoredLedger, status: &Status) -> Self {
        let Census { committed, rewritten, uncommitted, unverified } = ledger.census;
        Self {
            ledger_seq: ledger.seq.get(),
            hash: ledger.hash.to_string(),
            previous_hash: ledger.previous_hash.to_string(),
            close_time: ledger.close_time_ms / 1000,
            closed_at: rfc3339(ledger.close_time_ms),
            protocol: ledger.protocol,
            classic_events: ledger.classic_events.as_str(),
            census: Counted { committed, rewritten, uncommitted, unverified },
            digest: hex::encode(ledger.digest.0),
            digest_version: ledger.digest_version,
            source: source_kind(&ledger.source),
            anchor: HangsOn::of_range(LedgerRange::single(ledger.seq), status).as_str(),
            header_xdr: STANDARD.encode(&ledger.header_xdr),
        }
    }
}

/// The kind of a source without its address, which is the operator's own: a path of his machine, or a URL that may
/// hold a secret.
fn source_kind(source: &str) -> String {
    let kind = source.split_once(':').map_or("", |(kind, _)| kind);
    let is_word = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_word { kind.to_owned() } else { "other".to_owned() }
}

/// Answers one ledger's row.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    seq: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    let seq = value::ledger(&segment(seq)?)?;
    Query::read(&uri, &LEDGER)?;
    api.reads.run(move |store| answer(store, seq)).await
}

fn answer(store: &dyn Store, seq: LedgerSeq) -> Result<Answer, ReadError> {
    let status = store.status()?;
    let covered = covered_by_any(&status).contains(seq);
    // What was committed between the two reads is answered; coverage never comes before its row.
    match (row(store, seq)?, covered) {
        (Some(ledger), _) => Answer::new(&LedgerRow::of(&ledger, &status)),
        (None, true) => Err(Code::NoLedgerRow.into()),
        (None, false) => Err(Code::LedgerNotCovered.into()),
    }
}

/// The row of a ledger; none where it has none.
pub(super) fn row(store: &dyn Store, seq: LedgerSeq) -> Result<Option<StoredLedger>, StoreError> {
    Ok(store.ledgers(seq, 1)?.into_iter().find(|ledger| ledger.seq == seq))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_source_is_not_told() {
        for (source, kind) in [
            ("lake:/home/ann/lake", "lake"),
            ("ledgers:a:b", "ledgers"),
            ("https://user:secret@host/", "https"),
            ("/home/ann", "other"),
            ("C:\\lake", "other"),
            ("", "other"),
        ] {
            assert_eq!(source_kind(source), kind, "{source}");
        }
    }
}
