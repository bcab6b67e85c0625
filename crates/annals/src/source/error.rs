//! What went wrong at a source, typed by what the caller does next.

use std::path::PathBuf;

use annals_core::LedgerRange;

/// Why a source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing is there.
    #[error("{} does not exist: check the path", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// What is there is no source of this kind.
    #[error("{} is not {expected}: {reason}", path.display())]
    NotASource {
        /// The path.
        path: PathBuf,
        /// What was expected there.
        expected: &'static str,
        /// What was found.
        reason: String,
    },
    /// The lake's objects hold different numbers of ledgers.
    #[error("{} mixes objects of {first} and of {second} ledgers: pass --mixed-layout if that is meant", path.display())]
    MixedLayout {
        /// The lake.
        path: PathBuf,
        /// Ledgers an object, as found first.
        first: u64,
        /// Ledgers an object, as found later.
        second: u64,
    },
    /// Reading failed; trying again may help.
    #[error("{} could not be read", path.display())]
    Transient {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// What is wrong with one object.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {kind}")]
pub struct ObjectFault {
    /// The object's name.
    pub object: String,
    /// The ledgers that are lost with it, as far as they are known.
    pub range: Option<LedgerRange>,
    /// What is wrong.
    pub kind: ObjectFaultKind,
}

/// The kinds of [`ObjectFault`].
#[derive(Debug, thiserror::Error)]
pub enum ObjectFaultKind {
    /// Reading failed; trying again may help.
    #[error("it could not be read")]
    Unreadable(#[source] std::io::Error),
}
