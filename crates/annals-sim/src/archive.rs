//! History archives: the headers of checkpoints, as stellar-core publishes them (its `docs/history.md`).

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use annals_core::{LedgerSeq, Network};
use flate2::Compression;
use flate2::write::GzEncoder;
use stellar_xdr::{LedgerCloseMeta, Limits, ReadXdr as _};

use crate::chain::BuiltLedger;
use crate::fault::header_entry;
use crate::framed::FramedWriter;
use crate::xdr::encode;

/// Ledgers between two checkpoints.
const CHECKPOINT_LEDGERS: u32 = 64;

/// The checkpoint whose file holds `seq`.
#[must_use]
pub fn checkpoint_of(seq: LedgerSeq) -> LedgerSeq {
    LedgerSeq::new(seq.get() | (CHECKPOINT_LEDGERS - 1)).expect("the last ledger of all is a checkpoint")
}

/// The file of a checkpoint's headers, relative to the archive's folder.
#[must_use]
pub fn checkpoint_path(checkpoint: LedgerSeq) -> PathBuf {
    let name = format!("{:08x}", checkpoint.get());
    format!("ledger/{}/{}/{}/ledger-{name}.xdr.gz", &name[..2], &name[2..4], &name[4..6]).into()
}

/// XDR of the `LedgerHeaderHistoryEntry` in that of a `LedgerCloseMeta`.
///
/// # Panics
/// When `xdr` is no `LedgerCloseMeta`.
#[must_use]
pub fn header_entry_xdr(xdr: &[u8]) -> Vec<u8> {
    let mut meta = LedgerCloseMeta::from_xdr(xdr, Limits::none()).expect("a built ledger decodes");
    encode(header_entry(&mut meta))
}

/// Writes the file of one checkpoint out of these entries, whatever they are.
///
/// # Errors
/// What the file system reports.
pub fn write_checkpoint(folder: &Path, checkpoint: LedgerSeq, entries: &[Vec<u8>]) -> io::Result<()> {
    let mut frames = FramedWriter::new(GzEncoder::new(Vec::new(), Compression::fast()));
    entries.iter().try_for_each(|entry| frames.push_xdr(entry))?;
    let path = folder.join(checkpoint_path(checkpoint));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, frames.finish()?.finish()?)
}

/// Writes what a history archive holds of these consecutive ledgers: every checkpoint that they come to, and its state
/// where there is one. A chain that begins inside a checkpoint leaves its file without what was before.
///
/// # Errors
/// What the file system reports.
pub fn write_history_archive<'a>(
    folder: &Path,
    network: &Network,
    ledgers: impl IntoIterator<Item = &'a BuiltLedger>,
) -> io::Result<()> {
    let (mut entries, mut last) = (Vec::new(), None);
    for ledger in ledgers {
        entries.push(header_entry_xdr(&ledger.xdr));
        if checkpoint_of(ledger.seq) == ledger.seq {
            write_checkpoint(folder, ledger.seq, &std::mem::take(&mut entries))?;
            last = Some(ledger.seq);
        }
    }
    let Some(last) = last else { return Ok(()) };
    let state = serde_json::json!({
        "version": 1,
        "server": "annals-sim",
        "currentLedger": last.get(),
        "networkPassphrase": network.passphrase(),
    });
    let folder = folder.join(".well-known");
    fs::create_dir_all(&folder)?;
    fs::File::create(folder.join("stellar-history.json"))?.write_all(state.to_string().as_bytes())
}
