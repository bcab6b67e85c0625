//! Where a lake's objects lie, or an archive's files.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;

use crate::source::ObjectFaultKind;

/// The most that an object may hold as it lies in the lake, bytes.
pub(super) const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// What a lake's bytes are asked of, by exact name.
pub(in crate::source) trait Objects: Send + Sync {
    /// What stands under `path`, below the lake, as it may be shown.
    fn place_of(&self, path: &str) -> String;

    /// The bytes under `path`; none where nothing stands there.
    ///
    /// # Errors
    /// [`ObjectFaultKind::Unreadable`], [`ObjectFaultKind::TooLarge`].
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ObjectFaultKind>;
}

/// A local folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
}

impl Objects for Folder {
    fn place_of(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ObjectFaultKind> {
        let mut bytes = Vec::new();
        let file = File::open(self.root.join(path));
        match file.and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes)) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(ObjectFaultKind::Unreadable(cause)),
            Ok(read) if read as u64 > bytes_max => Err(ObjectFaultKind::TooLarge { bytes_max }),
            Ok(_) => Ok(Some(bytes)),
        }
    }
}
