//! A strict reader of zstd: whole frames, one after the other, and nothing else.

use std::io::BufRead;

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::ObjectFaultKind;

/// The largest window that a frame may ask for, as a power of two: 128 MiB, zstd's own limit for streams.
const WINDOW_LOG_MAX: u32 = 27;

/// Length of the word that every frame begins with, bytes (RFC 8878, section 3.1).
const MAGIC_LEN: usize = 4;

/// Whether `bytes` begin as a zstd frame or a skippable one does (RFC 8878, section 3.1). The formats from before
/// the standard, which the library would still take, are none.
pub(super) fn begins_frame(bytes: &[u8]) -> bool {
    matches!(bytes, [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..])
}

enum State {
    /// Between two frames, or before the first.
    Between,
    /// In a frame; the first `fed` bytes of its magic were handed to the decoder.
    Inside { magic: [u8; MAGIC_LEN], fed: usize },
    /// At the end, or after a fault.
    Ended,
}

/// Decompresses a stream of zstd frames.
pub(super) struct ZstdFrames<R> {
    reader: R,
    decoder: Decoder<'static>,
    state: State,
    frames: u64,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Reads frames from where `reader` stands.
    pub(super) fn new(reader: R) -> std::io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Self { reader, decoder, state: State::Between, frames: 0 })
    }

    /// Puts decompressed bytes at the front of `out`, which has room; says how many. 0 is the end.
    ///
    /// # Errors
    /// What is wrong with the compressed bytes; after it the stream is at its end.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<usize, ObjectFaultKind> {
        let filled = self.step(out);
        if filled.is_err() {
            self.state = State::Ended;
        }
        filled
    }

    fn step(&mut self, out: &mut [u8]) -> Result<usize, ObjectFaultKind> {
        loop {
            match self.state {
                State::Ended => return Ok(0),
                State::Between => self.begin_frame()?,
                State::Inside { magic, fed } => {
                    let produced = self.run(magic, fed, out)?;
                    if produced > 0 {
                        return Ok(produced);
                    }
                }
            }
        }
    }

    fn begin_frame(&mut self) -> Result<(), ObjectFaultKind> {
        let mut magic = [0; MAGIC_LEN];
        let read = read_up_to(&mut self.reader, &mut magic)?;
        self.state = match (read, self.frames) {
            (0, 0) => return Err(ObjectFaultKind::Empty),
            (0, _) => State::Ended,
            _ if begins_frame(&magic[..read]) => {
                self.decoder.reinit().map_err(ObjectFaultKind::Unreadable)?;
                State::Inside { magic, fed: 0 }
            }
            (1..MAGIC_LEN, 0) if [0x28, 0xB5, 0x2F, 0xFD].starts_with(&magic[..read]) => {
                return Err(ObjectFaultKind::Truncated);
            }
            (_, 0) => return Err(ObjectFaultKind::NotZstd),
            _ => return Err(ObjectFaultKind::TrailingBytes),
        };
        self.frames += 1;
        Ok(())
    }

    /// Runs the decoder once; says how many bytes it produced.
    fn run(&mut self, magic: [u8; MAGIC_LEN], fed: usize, out: &mut [u8]) -> Result<usize, ObjectFaultKind> {
        let from_reader = fed == MAGIC_LEN;
        let bytes = if from_reader { fill_buf(&mut self.reader)? } else { &magic[fed..] };
        let at_end = bytes.is_empty();
        let mut input = InBuffer::around(bytes);
        let mut output = OutBuffer::around(out);
        let hint = self.decoder.run(&mut input, &mut output).map_err(ObjectFaultKind::CorruptZstd)?;
        let (consumed, produced) = (input.pos(), output.pos());
        if from_reader {
            self.reader.consume(consumed);
        } else {
            self.state = State::Inside { magic, fed: fed + consumed };
        }
        if hint == 0 {
            self.state = State::Between;
        } else if at_end && produced == 0 {
            return Err(ObjectFaultKind::Truncated);
        }
        Ok(produced)
    }
}

/// The reader's next bytes; none at its end.
fn fill_buf<R: BufRead>(reader: &mut R) -> Result<&[u8], ObjectFaultKind> {
    // The buffer cannot be returned from inside the loop that retries, so it is asked for again afterwards.
    while let Err(cause) = reader.fill_buf() {
        if cause.kind() != std::io::ErrorKind::Interrupted {
            return Err(ObjectFaultKind::Unreadable(cause));
        }
    }
    reader.fill_buf().map_err(ObjectFaultKind::Unreadable)
}

/// Fills `out` as far as the reader has bytes; says how many.
pub(super) fn read_up_to<R: std::io::Read>(reader: &mut R, out: &mut [u8]) -> Result<usize, ObjectFaultKind> {
    let mut read = 0;
    while read < out.len() {
        match reader.read(&mut out[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(ObjectFaultKind::Unreadable(cause)),
        }
    }
    Ok(read)
}

/// Decompresses all of `compressed`.
///
/// # Errors
/// [`ObjectFaultKind::TooLarge`] when more than `bytes_max` bytes come out, and what [`ZstdFrames::fill`] says.
pub(super) fn decompress(compressed: &[u8], bytes_max: usize) -> Result<Vec<u8>, ObjectFaultKind> {
    /// Bytes that are made room for at a time.
    const STEP: usize = 1 << 18;
    let mut frames = ZstdFrames::new(compressed).map_err(ObjectFaultKind::Unreadable)?;
    let mut out = Vec::new();
    loop {
        let held = out.len();
        out.resize(held + STEP, 0);
        let filled = frames.fill(&mut out[held..])?;
        out.truncate(held + filled);
        if filled == 0 {
            return Ok(out);
        }
        if out.len() > bytes_max {
            return Err(ObjectFaultKind::TooLarge { bytes_max: bytes_max as u64 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(compressed: &[u8]) -> &'static str {
        decompress(compressed, 1 << 20).unwrap_err().code()
    }

    #[test]
    fn several_frames_and_a_skippable_one_are_read_as_one_stream() {
        let mut bytes = zstd::encode_all(&b"one"[..], 3).unwrap();
        bytes.extend([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]);
        bytes.extend(zstd::encode_all(&b"two"[..], 3).unwrap());
        assert_eq!(decompress(&bytes, 6).unwrap(), b"onetwo");
    }

    #[test]
    fn each_way_of_being_broken_has_its_own_code() {
        let whole = zstd::encode_all(&b"some bytes"[..], 3).unwrap();
        assert_eq!(code(b""), "EMPTY_OBJECT");
        assert_eq!(code(b"{}"), "NOT_ZSTD");
        assert_eq!(code(b"some text"), "NOT_ZSTD");
        // The format of zstd 0.7, which the library would still read.
        assert_eq!(code(&[0x27, 0xB5, 0x2F, 0xFD, 0, 0, 0]), "NOT_ZSTD");
        for cut in 1..whole.len() {
            assert_eq!(code(&whole[..cut]), "TRUNCATED_OBJECT", "cut at {cut}");
        }
        assert_eq!(code(&[&whole[..], b"x"].concat()), "TRAILING_BYTES");
        assert_eq!(code(&[&whole[..], &whole[..7]].concat()), "TRUNCATED_OBJECT");
    }

    #[test]
    fn a_bomb_is_a_fault_and_a_stream_of_exactly_the_bound_is_not() {
        let bomb = zstd::encode_all(&vec![0; 1 << 22][..], 19).unwrap();
        assert!(bomb.len() < 1024);
        assert_eq!(code(&bomb), "OBJECT_TOO_LARGE");
        assert_eq!(decompress(&bomb, 1 << 22).unwrap().len(), 1 << 22);
    }
}
