//! History archives: the headers of checkpoints, as validators publish them beside the network.
//!
//! An archive's files are nobody's word but the archive's own. Of a file that contradicts itself nothing is believed.
//! Layout and contents are those of stellar-core's `docs/history.md`: `.well-known/stellar-history.json` names the last
//! checkpoint, `ledger/ww/xx/yy/ledger-wwxxyyzz.xdr.gz` holds a checkpoint's `LedgerHeaderHistoryEntry` one after another
//! in frames (RFC 5531, section 11).

use std::io::{self, Read as _};
use std::sync::Arc;

use annals_core::decode::HeaderView;
use annals_core::hash::sha256;
use annals_core::{LedgerHash, LedgerRange, LedgerSeq};
use flate2::bufread::GzDecoder;
use serde::Deserialize;

use super::http::{Address, HttpClient, Jitter, Timeouts};
use super::lake::{Objects as _, Server};
use super::{ObjectFault, ObjectFaultKind, is_passphrase};
use crate::clock::Clock;

/// Ledgers between two checkpoints: a checkpoint is a ledger that is one less than a multiple of it.
const CHECKPOINT_LEDGERS: u32 = 64;
/// The most that the archive's own state may take, bytes; those of today take about ten thousand.
const STATE_BYTES_MAX: u64 = 1 << 20;
/// The most that a checkpoint's headers may take, compressed or not, bytes; those of today take about thirty thousand.
const HEADERS_BYTES_MAX: u64 = 1 << 20;
/// A file is asked for so often, over about two seconds: whoever needs it more comes again.
const TRIES_MAX: u32 = 3;
/// Where the archive's state lies.
const STATE_PATH: &str = ".well-known/stellar-history.json";
/// The bit of a frame's length word that marks the last fragment of a record.
const LAST_FRAGMENT: u32 = 1 << 31;
/// How gzip begins (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// A `LedgerHeaderHistoryEntry` begins with the hash that it claims, bytes, …
const CLAIM_LEN: usize = 32;
/// … and ends with an extension that has no arm but 0, bytes.
const EXT_LEN: usize = 4;

/// A history archive at an address.
pub struct HistoryArchive {
    server: Server,
}

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveState {
    /// The last checkpoint.
    pub latest: LedgerSeq,
    /// The network's passphrase; older archives do not say it.
    pub passphrase: Option<String>,
}

impl HistoryArchive {
    /// Takes the archive at `address`; nothing is asked yet. `seed` is what the jitter of waits grows from.
    #[must_use]
    pub fn new(address: Address, timeouts: Timeouts, seed: u64, clock: Arc<dyn Clock>) -> Self {
        let server = Server::new(HttpClient::new(timeouts), address, clock, Jitter::new(seed));
        Self { server: server.trying(TRIES_MAX) }
    }

    /// Its address, as it may be shown.
    #[must_use]
    pub fn name(&self) -> String {
        self.server.place_of("")
    }

    /// How far it reaches.
    ///
    /// # Errors
    /// [`ObjectFault`].
    pub fn state(&self) -> Result<ArchiveState, ObjectFault> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct State {
            current_ledger: u32,
            network_passphrase: Option<String>,
        }
        let read = || {
            let bytes = self.server.read(STATE_PATH, STATE_BYTES_MAX)?;
            let bytes = bytes.ok_or_else(|| unreadable(io::Error::from(io::ErrorKind::NotFound)))?;
            let state: State = serde_json::from_slice(&bytes).map_err(|cause| unreadable(cause.into()))?;
            let latest = LedgerSeq::new(state.current_ledger).map_err(|cause| unreadable(io::Error::other(cause)))?;
            if state.network_passphrase.as_deref().is_some_and(|text| !is_passphrase(text)) {
                return Err(unreadable(io::Error::other("what it calls its network can be none")));
            }
            Ok(ArchiveState { latest, passphrase: state.network_passphrase })
        };
        read().map_err(|kind| ObjectFault { object: self.server.place_of(STATE_PATH), range: None, kind })
    }

    /// The hash of ledger `seq`, which the header of its checkpoint vouches for; none where the archive does not have
    /// the file. The hash is that of the header's own bytes, and every header from it up to the checkpoint links.
    ///
    /// # Errors
    /// [`ObjectFault`], also where the file contradicts itself or its name.
    pub fn hash_of(&self, seq: LedgerSeq) -> Result<Option<LedgerHash>, ObjectFault> {
        let checkpoint = checkpoint_of(seq);
        let path = ledgers_path(checkpoint);
        let read = || {
            let Some(bytes) = self.server.read(&path, HEADERS_BYTES_MAX)? else { return Ok(None) };
            // Some servers take the compression of the file for one of the transfer's, which is undone already.
            let bytes = if bytes.starts_with(&GZIP_MAGIC) { decompressed(&bytes)? } else { bytes };
            hash_in(&bytes, seq, checkpoint).map(Some)
        };
        let range = Some(LedgerRange::single(seq));
        read().map_err(|kind| ObjectFault { object: self.server.place_of(&path), range, kind })
    }
}

impl std::fmt::Debug for HistoryArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HistoryArchive").field(&self.name()).finish()
    }
}

fn unreadable(cause: io::Error) -> ObjectFaultKind {
    ObjectFaultKind::Unreadable(cause)
}

/// The checkpoint whose file holds `seq`: every 64th ledger, the first of them 63.
fn checkpoint_of(seq: LedgerSeq) -> LedgerSeq {
    // The last ledger of all is a checkpoint itself.
    LedgerSeq::new(seq.get() | (CHECKPOINT_LEDGERS - 1)).unwrap_or(LedgerSeq::MAX)
}

fn ledgers_path(checkpoint: LedgerSeq) -> String {
    let name = format!("{:08x}", checkpoint.get());
    format!("ledger/{}/{}/{}/ledger-{name}.xdr.gz", &name[..2], &name[2..4], &name[4..6])
}

fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, ObjectFaultKind> {
    let mut plain = Vec::new();
    let mut decoder = GzDecoder::new(bytes);
    let read = decoder.by_ref().take(HEADERS_BYTES_MAX + 1).read_to_end(&mut plain);
    match read {
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Err(ObjectFaultKind::Truncated),
        Err(cause) => Err(ObjectFaultKind::CorruptGzip(cause)),
        Ok(len) if len as u64 > HEADERS_BYTES_MAX => Err(ObjectFaultKind::TooLarge { bytes_max: HEADERS_BYTES_MAX }),
        Ok(_) if !decoder.into_inner().is_empty() => Err(ObjectFaultKind::TrailingBytes),
        Ok(_) => Ok(plain),
    }
}

/// The hash of `seq` in the file of `checkpoint`, whose headers follow each other and end with the checkpoint's.
fn hash_in(bytes: &[u8], seq: LedgerSeq, checkpoint: LedgerSeq) -> Result<LedgerHash, ObjectFaultKind> {
    let (mut first, mut before, mut found) = (None, None::<(u32, [u8; 32])>, None);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (entry, behind) = frame(rest)?;
        let header = header_of(entry)?;
        let hash = sha256(&[header.xdr]);
        if entry.get(..CLAIM_LEN) != Some(hash.as_slice()) {
            return Err(ObjectFaultKind::HashContradicted { seq: header.seq });
        }
        if before.is_some_and(|(seq, hash)| seq.checked_add(1) != Some(header.seq) || hash != header.previous_hash) {
            return Err(ObjectFaultKind::Unlinked { seq: header.seq });
        }
        if header.seq == seq.get() {
            found = Some(LedgerHash(hash));
        }
        first = first.or(Some(header.seq));
        before = Some((header.seq, hash));
        rest = behind;
    }
    match (found, first, before) {
        (Some(hash), _, Some((last, _))) if last == checkpoint.get() => Ok(hash),
        (_, Some(start), Some((end, _))) => {
            let lowest = LedgerSeq::new(checkpoint.get() & !(CHECKPOINT_LEDGERS - 1)).unwrap_or(LedgerSeq::MIN);
            let named = LedgerRange::new(lowest, checkpoint).unwrap_or(LedgerRange::single(checkpoint));
            Err(ObjectFaultKind::NameContradicted { named, start, end })
        }
        _ => Err(ObjectFaultKind::Empty),
    }
}

/// The first frame of `bytes`, and what follows it.
fn frame(bytes: &[u8]) -> Result<(&[u8], &[u8]), ObjectFaultKind> {
    let (word, rest) = bytes.split_first_chunk().ok_or(ObjectFaultKind::Truncated)?;
    let word = u32::from_be_bytes(*word);
    if word & LAST_FRAGMENT == 0 {
        return Err(ObjectFaultKind::NotAFrame);
    }
    let len = usize::try_from(word & !LAST_FRAGMENT).unwrap_or(usize::MAX);
    rest.split_at_checked(len).ok_or(ObjectFaultKind::Truncated)
}

/// The header of a `LedgerHeaderHistoryEntry`, by its own bytes.
fn header_of(entry: &[u8]) -> Result<HeaderView<'_>, ObjectFaultKind> {
    let end = entry.len().checked_sub(EXT_LEN).filter(|end| *end >= CLAIM_LEN).ok_or(ObjectFaultKind::Truncated)?;
    if entry[end..] != [0; EXT_LEN] {
        return Err(ObjectFaultKind::TrailingBytes);
    }
    HeaderView::parse(&entry[CLAIM_LEN..end]).map_err(ObjectFaultKind::Undecodable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_lies_in_the_file_of_the_next_checkpoint() {
        for (seq, path) in [
            (1, "ledger/00/00/00/ledger-0000003f.xdr.gz"),
            (63, "ledger/00/00/00/ledger-0000003f.xdr.gz"),
            (64, "ledger/00/00/00/ledger-0000007f.xdr.gz"),
            (63_092_985, "ledger/03/c2/b8/ledger-03c2b8ff.xdr.gz"),
            (63_092_991, "ledger/03/c2/b8/ledger-03c2b8ff.xdr.gz"),
            (i32::MAX as u32, "ledger/7f/ff/ff/ledger-7fffffff.xdr.gz"),
        ] {
            assert_eq!(ledgers_path(checkpoint_of(LedgerSeq::new(seq).unwrap())), path, "{seq}");
        }
    }
}
