//! Why a verb failed, as one line.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::outcome::Outcome;
use crate::anchor::AnchorError;
use crate::backfill::{BackfillError, whole_chain};
use crate::compare::CompareError;
use crate::config::ConfigError;
use crate::export::ExportError;
use crate::follow::FollowError;
use crate::prove::ProveError;
use crate::reattribute::ReattributeError;
use crate::source::{OtherNetwork, SourceError};
use crate::store::StoreError;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The backfill stopped.
    #[error(transparent)]
    Backfill(#[from] BackfillError),
    /// A network cannot be followed, or no longer.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// What the chain hangs on was not confirmed.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// The export stopped.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Events could not be read again.
    #[error(transparent)]
    Reattribute(#[from] ReattributeError),
    /// An event cannot be proved.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// Two archives cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Signals cannot be waited for.
    #[error("signals cannot be waited for")]
    Signals(#[source] io::Error),
    /// The system gives no thread.
    #[error("no thread could be started")]
    Thread(#[source] io::Error),
    /// The report could not be written.
    #[error("the report could not be written")]
    Output(#[source] io::Error),
    /// The server could not begin.
    #[error("{address} cannot be listened on: give another address with --listen, or end what listens there")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A folder that is to hold a new archive holds something.
    #[error("{} is not empty, and a demonstration begins anew: name another folder with --data-dir", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("{} could not be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{} could not be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl From<clap::Error> for CliError {
    /// Keeps what clap says of the mistake and how to right it, without the synopsis.
    fn from(error: clap::Error) -> Self {
        use clap::error::ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingSubcommand};
        if matches!(error.kind(), DisplayHelpOnMissingArgumentOrSubcommand | MissingSubcommand) {
            return Self::Usage("a verb is missing: see `annals --help`".to_owned());
        }
        let text = error.render().to_string();
        let in_one_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut paragraphs = text.split("\n\n").map(in_one_line);
        let mistake = paragraphs.next().unwrap_or_default();
        let mistake = mistake.strip_prefix("error: ").unwrap_or(&mistake);
        let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
        Self::Usage(format!("{mistake}: {}", tip.unwrap_or_else(|| "see `annals --help`".to_owned())))
    }
}

impl CliError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "USAGE",
            Self::Config(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Source(error) => error.code(),
            Self::Backfill(error) => backfill_code(error),
            Self::Follow(error) => error.code(),
            Self::Anchor(error) => error.code(),
            Self::Export(ExportError::Store(error)) => error.code(),
            Self::Export(ExportError::Event { .. } | ExportError::Json { .. }) => "DAMAGED",
            Self::Reattribute(ReattributeError::Store(error)) => error.code(),
            Self::Reattribute(ReattributeError::UnknownContract(_)) => "UNKNOWN_CONTRACT",
            Self::Prove(error) => error.code(),
            Self::Compare(error) => error.code(),
            Self::Unreadable { .. } => "NOT_READ",
            Self::Signals(_) => "NO_SIGNALS",
            Self::Thread(_) => "NO_THREAD",
            Self::NotEmpty { .. } => "NOT_EMPTY",
            Self::Listen { .. } => "NOT_LISTENING",
            Self::Export(ExportError::Write(_)) | Self::Output(_) | Self::File { .. } => "NOT_WRITTEN",
        }
    }

    /// How the program ends with it.
    pub fn outcome(&self) -> Outcome {
        let of_store = |error: &StoreError| match error.contradicts_chain() {
            true => Outcome::Contradicted,
            false => Outcome::Incomplete,
        };
        match self {
            Self::Usage(_) | Self::Config(_) => Outcome::Usage,
            Self::Store(error)
            | Self::Reattribute(ReattributeError::Store(error))
            | Self::Prove(ProveError::Store(error))
            | Self::Backfill(BackfillError::Store(error))
            | Self::Follow(FollowError::Store(error))
            | Self::Export(ExportError::Store(error)) => of_store(error),
            Self::Anchor(error) if error.contradicts_chain() => Outcome::Contradicted,
            Self::Anchor(_) | Self::Backfill(BackfillError::Source(_)) | Self::Source(_) => Outcome::Incomplete,
            Self::Follow(FollowError::SourceNetwork(_) | FollowError::AheadOfNetwork { .. }) => Outcome::Contradicted,
            Self::Follow(_) | Self::Thread(_) | Self::NotEmpty { .. } => Outcome::Incomplete,
            Self::Backfill(_) | Self::Export(ExportError::Event { .. }) => Outcome::Contradicted,
            Self::Prove(ProveError::Damaged(_)) => Outcome::Contradicted,
            Self::Export(ExportError::Json { .. } | ExportError::Write(_)) => Outcome::Incomplete,
            Self::Reattribute(ReattributeError::UnknownContract(_)) | Self::Signals(_) => Outcome::Incomplete,
            Self::Prove(_) | Self::Compare(_) | Self::Unreadable { .. } => Outcome::Incomplete,
            Self::Output(_) | Self::File { .. } | Self::Listen { .. } => Outcome::Incomplete,
        }
    }

    /// The whole chain of causes in one line.
    pub fn sentence(&self) -> String {
        whole_chain(self).replace('\n', " ")
    }

    /// Whether the reader of stdout went away, which is his to decide.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Output(error) | Self::Export(ExportError::Write(error))) = self else { return false };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}

fn backfill_code(error: &BackfillError) -> &'static str {
    match error {
        BackfillError::SourceNetwork(_) => OtherNetwork::CODE,
        BackfillError::PinContradicted { .. } => "PIN_CONTRADICTED",
        BackfillError::Source(error) => error.code(),
        BackfillError::Store(error) => error.code(),
        BackfillError::Stopped => "STOPPED",
        BackfillError::Batch(_) => "BAD_BATCH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_causes_is_one_line_and_names_each_cause_once() {
        let cause = io::Error::other("first line\nsecond line");
        let error = CliError::from(BackfillError::Store(StoreError::Database(Box::new(cause))));
        assert_eq!(
            error.sentence(),
            "the archive did not take the ledgers: the database failed: first line second line"
        );
        assert_eq!((error.code(), error.outcome()), ("DATABASE", Outcome::Incomplete));
    }

    #[test]
    fn what_contradicts_the_chain_ends_with_3() {
        let incident = StoreError::IncidentOpen { id: 1 };
        assert_eq!(CliError::from(BackfillError::Store(incident)).outcome(), Outcome::Contradicted);
        let (stored, asked) = ("a".to_owned(), "b".to_owned());
        assert_eq!(CliError::from(StoreError::NetworkMismatch { stored, asked }).outcome(), Outcome::Contradicted);
        assert_eq!(CliError::from(StoreError::WriterBusy).outcome(), Outcome::Incomplete);
    }
}
