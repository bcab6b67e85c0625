//! A cursor over XDR that hands out slices beside typed values.

use std::io::{self, Cursor, ErrorKind, Write};

use stellar_xdr::{Error, Limited, Limits, ReadXdr, WriteXdr};

/// Nesting bound of the typed decoder, in levels of types: 249 vectors or 199 maps in one another.
///
/// Whatever a network can close lies below. The host reads and writes values to 500 such levels
/// (soroban-env-host, `DEFAULT_XDR_RW_LIMITS`), and entries and pre-images put about ten around them. The core takes
/// envelopes to 500 levels of structs, unions and containers (stellar-core, `check_xdr_depth`); three of those are at
/// most four or (claim predicates) two at most three here. The widest
/// types that nest (authorizations) take less than 512 KiB of stack for it.
pub(crate) const DEPTH_MAX: u32 = 1000;

/// What is wrong with bytes that are no XDR of the expected type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeFault {
    /// The bytes end too early, or a length points behind their end.
    #[error("the XDR is truncated")]
    Truncated,
    /// A union's discriminant that this version does not know.
    #[error("unknown discriminant {0}")]
    UnknownDiscriminant(i32),
    /// An enum's value, a union's discriminant or a text that the type does not have.
    #[error("a value that the type does not have")]
    InvalidValue,
    /// An array or opaque longer than its type allows.
    #[error("longer than the type allows")]
    TooLong,
    /// Nested too deeply.
    #[error("nested too deeply")]
    TooDeep,
    /// Another encoding of the same value exists and is the right one (padding, bool words).
    #[error("the XDR is not canonical")]
    NotCanonical,
    /// More bytes follow.
    #[error("bytes follow the end")]
    TrailingBytes,
}

/// Why bytes could not be decoded, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}: {fault}")]
pub struct DecodeError {
    /// Where the part begins that could not be read.
    pub offset: usize,
    /// The XDR type of that part.
    pub what: &'static str,
    /// What is wrong with it.
    pub fault: DecodeFault,
}

/// Reads typed values from the front of a slice and knows which bytes each of them took.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    typed: Limited<Cursor<&'a [u8]>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let limits = Limits { depth: DEPTH_MAX, len: bytes.len() };
        Self { bytes, typed: Limited::new(Cursor::new(bytes), limits) }
    }

    /// How many bytes were read.
    pub(crate) fn offset(&self) -> usize {
        usize::try_from(self.typed.inner.position()).unwrap_or(usize::MAX).min(self.bytes.len())
    }

    /// The bytes from `start` to the present offset.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.offset()).unwrap_or_default()
    }

    pub(crate) fn error(&self, offset: usize, what: &'static str, fault: DecodeFault) -> DecodeError {
        DecodeError { offset, what, fault }
    }

    /// Reads a value and the slice it was read from.
    pub(crate) fn read<T: ReadXdr + WriteXdr>(&mut self, what: &'static str) -> Result<(T, &'a [u8]), DecodeError> {
        let start = self.offset();
        let value = T::read_xdr(&mut self.typed).map_err(|error| self.error(start, what, fault_of(&error)))?;
        let slice = self.since(start);
        if !encodes_to(&value, slice) {
            return Err(self.error(start, what, DecodeFault::NotCanonical));
        }
        Ok((value, slice))
    }

    /// Reads a value for its slice alone.
    pub(crate) fn skip<T: ReadXdr + WriteXdr>(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        self.read::<T>(what).map(|(_, slice)| slice)
    }

    /// Reads an array's count, an enum or a discriminant word.
    pub(crate) fn word(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.read::<u32>(what).map(|(value, _)| value)
    }

    /// Reads a union's discriminant.
    pub(crate) fn discriminant(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.read::<i32>(what).map(|(value, _)| value)
    }

    /// Reads thirty-two bytes.
    pub(crate) fn hash(&mut self, what: &'static str) -> Result<[u8; 32], DecodeError> {
        self.read::<stellar_xdr::Hash>(what).map(|(hash, _)| hash.0)
    }

    /// Reads whether an optional value follows.
    pub(crate) fn present(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let start = self.offset();
        match self.word(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error(start, what, DecodeFault::NotCanonical)),
        }
    }

    /// Reads a counted array, element by element.
    pub(crate) fn array<T>(
        &mut self,
        what: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.word(what)?;
        // Grown as elements really come: the count is the source's word.
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Says that a discriminant which begins at `offset` is none of those known.
    pub(crate) fn unknown<T>(&self, offset: usize, what: &'static str, found: i32) -> Result<T, DecodeError> {
        Err(self.error(offset, what, DecodeFault::UnknownDiscriminant(found)))
    }

    /// Requires the end of the bytes.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        let offset = self.offset();
        if offset == self.bytes.len() {
            Ok(())
        } else {
            Err(self.error(offset, "end of the value", DecodeFault::TrailingBytes))
        }
    }
}

fn fault_of(error: &Error) -> DecodeFault {
    match error {
        Error::Io(cause) if cause.kind() == ErrorKind::UnexpectedEof => DecodeFault::Truncated,
        Error::LengthLimitExceeded => DecodeFault::Truncated,
        Error::DepthLimitExceeded => DecodeFault::TooDeep,
        Error::LengthExceedsMax => DecodeFault::TooLong,
        Error::NonZeroPadding => DecodeFault::NotCanonical,
        _ => DecodeFault::InvalidValue,
    }
}

/// Compares what is written to it with what was expected, without a copy.
struct Comparison<'a> {
    expected: &'a [u8],
}

impl Write for Comparison<'_> {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        let rest = self.expected.strip_prefix(written).ok_or(ErrorKind::InvalidData)?;
        self.expected = rest;
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn encodes_to<T: WriteXdr>(value: &T, slice: &[u8]) -> bool {
    let limits = Limits { depth: DEPTH_MAX, len: slice.len() };
    let mut comparison = Limited::new(Comparison { expected: slice }, limits);
    value.write_xdr(&mut comparison).is_ok() && comparison.inner.expected.is_empty()
}
