//! Envelopes of transactions that are known by their events alone, as of each feed position.

use std::collections::{BTreeSet, HashMap};

use annals_core::{
    CheckedEnvelope, ContractId, Event, LedgerRange, Network, Position, Registry, SchemaChoice, Scope, TransactionKey,
    TxHash,
};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use zstd::bulk::Compressor;

use super::events::{COLUMNS, stored_event};
use super::pages::payloads::Payloads;
use super::proofs::{self, ZSTD_LEVEL};
use super::{ranges, state};
use crate::store::{AuditedEnvelopes, FeedPosition, StoreError, Wanted, WantedQuery};

/// Stores envelopes that are not stored yet, of transactions with a stored event that nothing vouches for, and counts
/// them. They are seen from `feed_position` on.
pub(super) fn put(
    connection: &Connection,
    envelopes: &[CheckedEnvelope],
    feed_position: u64,
) -> Result<u64, StoreError> {
    let mut zstd = Compressor::new(ZSTD_LEVEL).map_err(proofs::failed)?;
    // A hash covers no signature of an envelope's own; this finds what is damaged there, too.
    zstd.include_checksum(true).map_err(proofs::failed)?;
    let sql = "/* envelopes::put */ INSERT INTO envelopes SELECT :seq, :hash, :feed, :zstd WHERE EXISTS \
               (SELECT 1 FROM events WHERE toid BETWEEN :first AND :last AND tx_hash = :hash AND proof = 0) \
               ON CONFLICT (ledger_seq, tx_hash) DO NOTHING";
    let mut insert = connection.prepare_cached(sql)?;
    let mut added = 0;
    for envelope in envelopes {
        let TransactionKey { ledger, hash } = envelope.transaction();
        added += insert.execute(named_params! {
            ":seq": ledger.get(),
            ":hash": hash.0,
            ":feed": feed_position,
            ":zstd": proofs::compress(&mut zstd, envelope.xdr())?,
            ":first": Position::first_of(ledger).toid(),
            ":last": Position::last_of(ledger).toid(),
        })? as u64;
    }
    Ok(added)
}

/// Stores envelopes outside of a commit, from a feed position of their own on.
pub(super) fn add(connection: &Connection, envelopes: &[CheckedEnvelope]) -> Result<u64, StoreError> {
    state::check_incidents(connection)?;
    let added = put(connection, envelopes, state::indexer_state(connection)?.feed_position + 1)?;
    if added > 0 {
        state::act_position(connection)?;
    }
    Ok(added)
}

/// Whether the envelope of a transaction is stored.
pub(super) fn exists(connection: &Connection, transaction: TransactionKey) -> Result<bool, StoreError> {
    let sql = "/* envelopes::exists */ SELECT 1 FROM envelopes WHERE ledger_seq = ?1 AND tx_hash = ?2";
    Ok(connection.prepare_cached(sql)?.exists(params![transaction.ledger.get(), transaction.hash.0])?)
}

/// The envelope of a transaction that was stored by the feed position `as_of`.
pub(super) fn get(
    connection: &Connection,
    transaction: TransactionKey,
    as_of: FeedPosition,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "/* envelopes::get */ SELECT envelope_zstd FROM envelopes \
               WHERE ledger_seq = ?1 AND tx_hash = ?2 AND feed_position <= ?3";
    let values = params![transaction.ledger.get(), transaction.hash.0, as_of.0];
    let mut statement = connection.prepare_cached(sql)?;
    let compressed: Option<Vec<u8>> = statement.query_row(values, |row| row.get(0)).optional()?;
    compressed.map(|compressed| proofs::expand(transaction.ledger, &compressed)).transpose()
}

/// The transactions of `events`, stored or not, whose envelopes would tell what the events leave out.
pub(super) fn wanted_by(
    connection: &Connection,
    registry: &Registry,
    events: &[Event],
) -> Result<Vec<TransactionKey>, StoreError> {
    let mut payloads = Payloads::new(connection, registry, present(connection)?);
    let mut wanted = BTreeSet::new();
    for event in events {
        let transaction = event.transaction();
        let ledger = LedgerRange::single(transaction.ledger);
        if !wanted.contains(&transaction)
            && payloads.waits(event)?
            && ranges::within(connection, ranges::VERIFIED, ledger)?.is_empty()
        {
            wanted.insert(transaction);
        }
    }
    Ok(wanted.into_iter().collect())
}

/// The transactions of stored events whose envelopes would tell what the events leave out, contract by contract.
pub(super) fn wanted(
    connection: &Connection,
    registry: &Registry,
    query: &WantedQuery<'_>,
) -> Result<Wanted, StoreError> {
    let sql = format!(
        "/* envelopes::wanted */ SELECT {COLUMNS} FROM events INDEXED BY events_by_contract WHERE contract_id = ?1 \
         AND (toid, event_index) > (?2, ?3) AND toid BETWEEN ?4 AND ?5 AND proof = 0 ORDER BY toid, event_index"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let first = Position::first_of(query.range.from_inclusive()).toid();
    let last = Position::last_of(query.range.to_inclusive()).toid();
    let mut payloads = Payloads::new(connection, registry, present(connection)?);
    let mut wanted = BTreeSet::new();
    for contract in with_payloads(connection, registry, query)? {
        let after = query.after.filter(|(of, _)| *of == contract).map(|(_, position)| position);
        let (toid, index) = after.map_or((0, 0), |after| (after.toid(), after.index()));
        let mut rows = statement.query(params![contract.0, toid, index, first, last])?;
        while let Some(row) = rows.next()? {
            let event = stored_event(row)?.event;
            if !wanted.contains(&event.transaction()) && payloads.waits(&event)? {
                wanted.insert(event.transaction());
                if wanted.len() >= query.limit.max(1) as usize {
                    let next = Some((contract, event.position));
                    return Ok(Wanted { transactions: wanted.into_iter().collect(), next });
                }
            }
        }
    }
    Ok(Wanted { transactions: wanted.into_iter().collect(), next: None })
}

/// The contracts that a page looks at: those of its scope whose schema knows payloads.
fn with_payloads(
    connection: &Connection,
    registry: &Registry,
    query: &WantedQuery<'_>,
) -> Result<Vec<ContractId>, StoreError> {
    let sql = "/* envelopes::with_payloads */ SELECT contract_id, schema FROM contract_schemas \
               WHERE contract_id >= ?1 AND until IS NULL ORDER BY contract_id";
    let from = query.after.map_or([0; 32], |(contract, _)| contract.0);
    let mut known = HashMap::new();
    let mut contracts = Vec::new();
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([from])?;
    while let Some(row) = rows.next()? {
        let contract = ContractId(row.get(0)?);
        let in_scope = match query.scope {
            Scope::All => true,
            Scope::Contracts(contracts) => contracts.contains(&contract),
        };
        let has_payloads = known.entry(row.get::<_, String>(1)?).or_insert_with_key(|name| {
            let schema = name.parse::<SchemaChoice>().ok().and_then(|choice| registry.schema(&choice).ok());
            schema.is_some_and(|schema| schema.has_payloads())
        });
        if in_scope && *has_payloads {
            contracts.push(contract);
        }
    }
    Ok(contracts)
}

/// Compares stored envelopes with the transactions that they are stored for.
pub(super) fn audit(
    connection: &Connection,
    after: Option<TransactionKey>,
    limit: u32,
) -> Result<AuditedEnvelopes, StoreError> {
    let network = Network::new(state::meta(connection)?.passphrase.unwrap_or_default()).id();
    let sql = "/* envelopes::audit */ SELECT ledger_seq, tx_hash, envelope_zstd, EXISTS (SELECT 1 FROM events \
               WHERE toid BETWEEN ledger_seq << 32 AND (ledger_seq << 32) | 0xFFFFFFFF \
               AND events.tx_hash = envelopes.tx_hash) \
               FROM envelopes WHERE (ledger_seq, tx_hash) > (?1, ?2) ORDER BY ledger_seq, tx_hash LIMIT ?3";
    let (seq, hash) = after.map_or((0, [0; 32]), |after| (after.ledger.get(), after.hash.0));
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![seq, hash, limit.max(1)])?;
    let mut audited = AuditedEnvelopes { next: None, wrong: Vec::new() };
    let mut compared = 0;
    while let Some(row) = rows.next()? {
        let transaction = key(row)?;
        let has_event: bool = row.get(3)?;
        let expanded = proofs::expand(transaction.ledger, &row.get::<_, Vec<u8>>(2)?);
        let is_own = expanded.is_ok_and(|xdr| CheckedEnvelope::check(network, transaction, xdr).is_ok());
        if !is_own || !has_event {
            audited.wrong.push(transaction);
        }
        compared += 1;
        audited.next = (compared == limit.max(1)).then_some(transaction);
    }
    Ok(audited)
}

fn key(row: &Row<'_>) -> Result<TransactionKey, StoreError> {
    Ok(TransactionKey { ledger: state::ledger_seq(row.get(0)?)?, hash: TxHash(row.get(1)?) })
}

fn present(connection: &Connection) -> Result<FeedPosition, StoreError> {
    Ok(FeedPosition(state::indexer_state(connection)?.feed_position))
}
