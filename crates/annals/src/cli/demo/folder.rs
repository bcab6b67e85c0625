//! The folder of a demonstration's archive.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;

/// So many names are tried for a folder that must not exist yet.
const NAMES_MAX: u32 = 1000;

/// A folder for an archive that begins empty, and that goes with it unless it is kept.
pub(super) struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    /// A folder that the user named. One in which something lies is refused: a simulated network begins anew.
    pub fn kept(path: &Path) -> Result<Self, CliError> {
        let unreadable = |source| CliError::Unreadable { path: path.to_path_buf(), source };
        let holds_something = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(unreadable(error)),
        };
        if holds_something {
            return Err(CliError::NotEmpty { path: path.to_path_buf() });
        }
        Ok(Self { path: path.to_path_buf(), is_kept: true })
    }

    /// A new folder among those for temporary files, for this user alone.
    pub fn temporary() -> Result<Self, CliError> {
        let parent = std::env::temp_dir();
        for number in 0..NAMES_MAX {
            let path = parent.join(format!("annals-demo-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, is_kept: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(CliError::File { path, source }),
            }
        }
        Err(CliError::NotEmpty { path: parent })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_kept(&self) -> bool {
        self.is_kept
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!("{} could not be removed: {error}", self.path.display());
        }
    }
}
