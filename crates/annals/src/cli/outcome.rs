//! How the program ends.

use std::process::ExitCode;

/// How a verb ended; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All that was asked for is covered.
    Done = 0,
    /// Failed, or ledgers that were asked for are missing.
    Incomplete = 1,
    /// Wrong usage.
    Usage = 2,
    /// Something contradicts the chain.
    Contradicted = 3,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}
