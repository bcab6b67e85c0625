//! Ledger sequences and ranges as people write them: `63092982`, `63M`, `1.5M`, `100k`, `A:B`, `A:+N`.

use annals_core::ledger_seq::LedgerSeqError;
use annals_core::{LedgerRange, LedgerSeq};

/// Why a text names no ledger or no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// No whole number from 1 to 2³¹−1.
    #[error("a ledger sequence from 1 to 2147483647, also as 63M, 1.5M or 100k")]
    NotASequence,
    /// The count after `:+` is none.
    #[error("a range as A:B or A:+N, where N is at least one ledger")]
    NotACount,
    /// The last ledger would lie above 2³¹−1.
    #[error("a range that ends at 2147483647 or below")]
    BeyondTheLast,
    /// The first ledger lies above the last.
    #[error("a range whose first ledger lies at or below its last")]
    Inverted,
}

/// What one argument says of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// One end.
    One(LedgerSeq),
    /// Both ends.
    Both(LedgerRange),
}

/// Reads a ledger sequence; `k` and `M` are decimal multiples.
///
/// # Errors
/// [`WindowError::NotASequence`].
pub fn parse_seq(text: &str) -> Result<LedgerSeq, WindowError> {
    let number = parse_number(text).ok_or(WindowError::NotASequence)?;
    LedgerSeq::new(number).map_err(|_| WindowError::NotASequence)
}

/// Reads one end or a whole range.
///
/// # Errors
/// [`WindowError`].
pub fn parse_ends(text: &str) -> Result<Ends, WindowError> {
    let Some((first, last)) = text.split_once(':') else { return parse_seq(text).map(Ends::One) };
    let first = parse_seq(first)?;
    let last = match last.strip_prefix('+') {
        Some(count) => {
            let count = parse_number(count).filter(|count| *count > 0).ok_or(WindowError::NotACount)?;
            let last = first.get().checked_add(count - 1).ok_or(WindowError::BeyondTheLast)?;
            LedgerSeq::new(last).map_err(|_| WindowError::BeyondTheLast)?
        }
        None => parse_seq(last)?,
    };
    make_range(first, last).map(Ends::Both)
}

/// Makes a range of two ends.
///
/// # Errors
/// [`WindowError::Inverted`].
pub fn make_range(first: LedgerSeq, last: LedgerSeq) -> Result<LedgerRange, WindowError> {
    LedgerRange::new(first, last).map_err(|error| match error {
        LedgerSeqError::Inverted { .. } => WindowError::Inverted,
        LedgerSeqError::OutOfRange => WindowError::NotASequence,
    })
}

/// Reads digits with an optional suffix; a fraction only where the suffix makes it whole again.
fn parse_number(text: &str) -> Option<u32> {
    let (digits, places) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 3),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 6)),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let fraction = match fraction {
        Some("") => return None,
        Some(fraction) => fraction,
        None => "",
    };
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > places {
        return None;
    }
    format!("{whole}{fraction:0<places$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str) -> (u32, u32) {
        match parse_ends(text).unwrap() {
            Ends::Both(range) => (range.from_inclusive().get(), range.to_inclusive().get()),
            Ends::One(seq) => (seq.get(), seq.get()),
        }
    }

    #[test]
    fn a_sequence_is_read_as_people_write_it() {
        for (text, number) in [
            ("1", 1),
            ("63092982", 63_092_982),
            ("63M", 63_000_000),
            ("100k", 100_000),
            ("100K", 100_000),
            ("1.5M", 1_500_000),
            ("63.092982M", 63_092_982),
            ("0.5k", 500),
            ("2147483647", 2_147_483_647),
        ] {
            assert_eq!(parse_seq(text).map(LedgerSeq::get), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_sequence_is_refused() {
        for text in [
            "",
            "0",
            "0k",
            "-1",
            "+1",
            "abc",
            "1.5",
            "1.",
            ".5M",
            "1.5",
            "1.2345k",
            "1.0000001M",
            "2147483648",
            "2148M",
            "99999999999999999999",
            "1m",
            "1G",
            "1 000",
            " 1",
            "1_000",
            "k",
            "0x10",
            "1e6",
            "٣",
        ] {
            assert_eq!(parse_seq(text), Err(WindowError::NotASequence), "{text}");
        }
    }

    #[test]
    fn a_range_is_read_from_one_argument() {
        assert_eq!(both("10:20"), (10, 20));
        assert_eq!(both("63M:63.1M"), (63_000_000, 63_100_000));
        assert_eq!(both("10:+1"), (10, 10));
        assert_eq!(both("63M:+100k"), (63_000_000, 63_099_999));
        assert_eq!(both("2147483647:+1"), (2_147_483_647, 2_147_483_647));
        assert_eq!(parse_ends("7"), Ok(Ends::One(LedgerSeq::new(7).unwrap())));
    }

    #[test]
    fn what_is_no_range_is_refused_with_its_reason() {
        for (text, reason) in [
            ("20:10", WindowError::Inverted),
            ("10:+0", WindowError::NotACount),
            ("10:+", WindowError::NotACount),
            ("10:+-1", WindowError::NotACount),
            ("2147483647:+2", WindowError::BeyondTheLast),
            ("2:+2147483647", WindowError::BeyondTheLast),
            ("2:+4294967295", WindowError::BeyondTheLast),
            ("10:", WindowError::NotASequence),
            (":10", WindowError::NotASequence),
            ("1:2:3", WindowError::NotASequence),
            ("10:2147483648", WindowError::NotASequence),
        ] {
            assert_eq!(parse_ends(text), Err(reason), "{text}");
        }
    }
}
