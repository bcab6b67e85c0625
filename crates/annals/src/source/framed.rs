//! Ledgers in a file: each `LedgerCloseMeta` in a frame of its own, as a core writes its metadata stream.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use annals_core::LedgerRange;

use super::object::header_seq_of;
use super::zstd_frames::{ZstdFrames, begins_frame, read_up_to};
use super::{LedgerObject, LedgerSource, ObjectEncoding, ObjectFault, ObjectFaultKind, ObjectStream, SourceError};

/// The most that one frame may hold, bytes: 256 MiB, some two hundred times a full ledger of today.
const FRAME_BYTES_MAX: u32 = 256 << 20;

/// The bit of a frame's length word that marks the last fragment of a record (RFC 5531, section 11). A core writes
/// each ledger in one fragment.
const LAST_FRAGMENT: u32 = 1 << 31;

/// A file of framed ledgers, plain or compressed with zstd.
#[derive(Debug)]
pub struct FramedSource {
    path: PathBuf,
}

impl FramedSource {
    /// Takes the file at `path`, of which no more is read yet than tells that it is one: a pipe is not read at all.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::NotASource`] for a folder and for a file that begins with no frame,
    /// [`SourceError::Transient`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SourceError> {
        let path = path.into();
        let place = || path.display().to_string();
        let not_a_source = |reason: &str| SourceError::NotASource {
            place: place(),
            expected: "a file of framed ledgers (RFC 5531 record marking, plain or zstd)",
            reason: reason.to_owned(),
        };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(not_a_source("it is a folder")),
            Ok(found) if found.is_file() => match front_of(&path).map(|(front, _)| front) {
                Ok(front) if front.is_empty() || begins_frame(&front) || front[0] & 0x80 != 0 => Ok(Self { path }),
                Ok(_) => Err(not_a_source("it begins with no frame")),
                Err(source) => Err(SourceError::Transient { place: place(), source }),
            },
            Ok(_) => Ok(Self { path }),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(SourceError::NotFound { place: place() }),
            Err(source) => Err(SourceError::Transient { place: place(), source }),
        }
    }
}

impl LedgerSource for FramedSource {
    fn name(&self) -> String {
        format!("ledgers:{}", self.path.display())
    }

    fn claimed_passphrase(&self) -> Option<&str> {
        None
    }

    /// The frames come in the order of the file, whatever that is, and as often as the file has them; the caller
    /// drops what it does not expect. The whole file is gone through, one frame in memory at a time.
    fn open(&self, range: LedgerRange) -> Result<ObjectStream, SourceError> {
        match Bytes::open(&self.path) {
            Ok(bytes) => {
                let file = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned();
                Ok(Box::new(Frames { file, range, bytes, number: 0, ended: false }))
            }
            Err(source) => Err(SourceError::Transient { place: self.path.display().to_string(), source }),
        }
    }

    fn reads_whole(&self) -> bool {
        true
    }
}

/// The file's first bytes, as many as tell what it is, and the file after them.
fn front_of(path: &Path) -> io::Result<(Vec<u8>, File)> {
    let mut file = File::open(path)?;
    let mut front = Vec::new();
    file.by_ref().take(4).read_to_end(&mut front)?;
    Ok((front, file))
}

/// The file, after the bytes that were read to see what it is.
type Input = BufReader<Chain<Cursor<Vec<u8>>, File>>;

enum Bytes {
    Plain(Input),
    Zstd(Box<ZstdFrames<Input>>),
}

impl Bytes {
    fn open(path: &Path) -> io::Result<Self> {
        let (front, file) = front_of(path)?;
        // No length word of a last fragment begins like zstd: both kinds of magic leave its highest bit unset.
        let compressed = begins_frame(&front);
        let input = BufReader::new(Cursor::new(front).chain(file));
        Ok(if compressed { Self::Zstd(Box::new(ZstdFrames::new(input)?)) } else { Self::Plain(input) })
    }

    /// Appends up to `len` bytes to `out`: fewer only at the end of the file.
    fn append(&mut self, out: &mut Vec<u8>, len: usize) -> Result<(), ObjectFaultKind> {
        /// Bytes that are made room for at a time, so that a lying length costs no memory.
        const STEP: usize = 1 << 18;
        let end = out.len() + len;
        while out.len() < end {
            let held = out.len();
            out.resize(end.min(held + STEP), 0);
            let filled = match self {
                Self::Plain(input) => read_up_to(input, &mut out[held..]),
                Self::Zstd(frames) => frames.fill(&mut out[held..]),
            };
            out.truncate(held + *filled.as_ref().unwrap_or(&0));
            if filled? == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// The frames of one file.
struct Frames {
    file: String,
    range: LedgerRange,
    bytes: Bytes,
    /// Frames begun so far.
    number: u64,
    ended: bool,
}

impl Frames {
    /// Reads the next frame into `ledger`; false at the end of the file.
    ///
    /// # Errors
    /// What is wrong; where the next frame begins is then not known.
    fn read(&mut self, ledger: &mut Vec<u8>) -> Result<bool, ObjectFaultKind> {
        let mut word = Vec::with_capacity(4);
        self.number += 1;
        self.bytes.append(&mut word, 4)?;
        let word = match *word {
            [] if self.number == 1 => return Err(ObjectFaultKind::Empty),
            [] => return Ok(false),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => return Err(ObjectFaultKind::Truncated),
        };
        if word & LAST_FRAGMENT == 0 {
            return Err(ObjectFaultKind::NotAFrame);
        }
        let len = word & !LAST_FRAGMENT;
        if len > FRAME_BYTES_MAX {
            return Err(ObjectFaultKind::TooLarge { bytes_max: u64::from(FRAME_BYTES_MAX) });
        }
        let len = usize::try_from(len).map_err(|_| ObjectFaultKind::TooLarge { bytes_max: usize::MAX as u64 })?;
        self.bytes.append(ledger, len)?;
        if ledger.len() < len { Err(ObjectFaultKind::Truncated) } else { Ok(true) }
    }

    /// The next frame, whatever ledger it is of.
    fn frame(&mut self) -> Option<Result<LedgerObject, ObjectFault>> {
        if self.ended {
            return None;
        }
        let mut bytes = Vec::new();
        let read = self.read(&mut bytes);
        self.ended = !matches!(read, Ok(true));
        let name = || format!("{}#frame {}", self.file, self.number);
        let seq = header_seq_of(&bytes);
        let named = seq.as_ref().ok().map(|seq| LedgerRange::single(*seq));
        let fault = match read {
            Ok(false) => return None,
            Ok(true) => seq.err(),
            Err(kind) => Some(kind),
        };
        Some(match fault {
            Some(kind) => Err(ObjectFault { object: name(), range: named, kind }),
            None => Ok(LedgerObject { name: name(), named, encoding: ObjectEncoding::Ledger, bytes }),
        })
    }
}

impl Iterator for Frames {
    type Item = Result<LedgerObject, ObjectFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let frame = self.frame()?;
            let ledgers = match &frame {
                Ok(object) => object.named,
                Err(fault) => fault.range,
            };
            if ledgers.is_none_or(|ledgers| ledgers.intersection(self.range).is_some()) {
                return Some(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests;
