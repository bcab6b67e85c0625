//! Proof material, compressed.

use std::io::Read;

use annals_core::{Invocation, LedgerSeq, ProofMaterial, TxHash};
use rusqlite::{Connection, OptionalExtension, params};
use zstd::bulk::Compressor;

use super::failure::damaged;
use crate::store::StoreError;

pub(super) const ZSTD_LEVEL: i32 = 3;
/// No part of a ledger's material is larger than this; a stored one that is was not written by a commit.
const PART_BYTES_MAX: u64 = 256 << 20;

/// Stores the material of `seq` in place of what is there.
pub(super) fn put(connection: &Connection, seq: LedgerSeq, proof: &ProofMaterial) -> Result<(), StoreError> {
    // Setting a compressor up costs more than most of what it compresses.
    let mut zstd = Compressor::new(ZSTD_LEVEL).map_err(failed)?;
    let clear = "/* proofs::put */ DELETE FROM proof_invocations WHERE seq = ?1";
    connection.prepare_cached(clear)?.execute([seq.get()])?;
    let results = "/* proofs::put */ INSERT INTO proofs VALUES (?1, ?2) \
                   ON CONFLICT (seq) DO UPDATE SET results_zstd = excluded.results_zstd";
    connection.prepare_cached(results)?.execute(params![seq.get(), compress(&mut zstd, &proof.results_xdr)?])?;
    let insert = "/* proofs::put */ INSERT INTO proof_invocations VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = connection.prepare_cached(insert)?;
    for invocation in &proof.invocations {
        insert.execute(params![
            seq.get(),
            invocation.tx_order,
            invocation.tx_hash.0,
            compress(&mut zstd, &invocation.pre_image_xdr)?,
            invocation.uncommitted_prefix,
            compress(&mut zstd, &invocation.envelope_xdr)?,
        ])?;
    }
    Ok(())
}

/// Whether the material of `seq` is stored.
pub(super) fn exists(connection: &Connection, seq: LedgerSeq) -> Result<bool, StoreError> {
    let sql = "/* proofs::exists */ SELECT 1 FROM proofs WHERE seq = ?1";
    Ok(connection.prepare_cached(sql)?.exists([seq.get()])?)
}

/// The material of `seq`.
pub(super) fn get(connection: &Connection, seq: LedgerSeq) -> Result<Option<ProofMaterial>, StoreError> {
    let results = "/* proofs::get */ SELECT results_zstd FROM proofs WHERE seq = ?1";
    let results = connection.prepare_cached(results)?.query_row([seq.get()], |row| row.get::<_, Vec<u8>>(0));
    let Some(results) = results.optional()? else { return Ok(None) };
    let sql = "/* proofs::get */ SELECT tx_order, tx_hash, pre_image_zstd, uncommitted_prefix, envelope_zstd \
               FROM proof_invocations WHERE seq = ?1 ORDER BY tx_order";
    let mut statement = connection.prepare_cached(sql)?;
    let mut invocations = Vec::new();
    let mut rows = statement.query([seq.get()])?;
    while let Some(row) = rows.next()? {
        invocations.push(Invocation {
            tx_order: row.get(0)?,
            tx_hash: TxHash(row.get(1)?),
            pre_image_xdr: expand(seq, &row.get::<_, Vec<u8>>(2)?)?,
            uncommitted_prefix: row.get(3)?,
            envelope_xdr: expand(seq, &row.get::<_, Vec<u8>>(4)?)?,
        });
    }
    Ok(Some(ProofMaterial { results_xdr: expand(seq, &results)?, invocations }))
}

/// The envelope of one transaction that emitted committed events.
pub(super) fn envelope(connection: &Connection, seq: LedgerSeq, tx_order: u32) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "/* proofs::envelope */ SELECT envelope_zstd FROM proof_invocations WHERE seq = ?1 AND tx_order = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let compressed: Option<Vec<u8>> = statement.query_row(params![seq.get(), tx_order], |row| row.get(0)).optional()?;
    compressed.map(|compressed| expand(seq, &compressed)).transpose()
}

pub(super) fn compress(zstd: &mut Compressor<'_>, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    zstd.compress(bytes).map_err(failed)
}

pub(super) fn failed(error: std::io::Error) -> StoreError {
    StoreError::Database(Box::new(error))
}

pub(super) fn expand(seq: LedgerSeq, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let unreadable = |_| damaged(format!("the proof material of ledger {seq} does not decompress"));
    let mut expanded = Vec::new();
    let decoder = zstd::Decoder::with_buffer(bytes).map_err(unreadable)?;
    decoder.take(PART_BYTES_MAX + 1).read_to_end(&mut expanded).map_err(unreadable)?;
    if expanded.len() as u64 > PART_BYTES_MAX {
        return Err(damaged(format!("the proof material of ledger {seq} is larger than any ledger's")));
    }
    Ok(expanded)
}
