//! What the file system says of the place where an archive lies.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};

/// How many bytes are left free for what is not the archive: below, the disk counts as nearly full.
pub const RESERVE_BYTES: u64 = 512 << 20;

/// How many bytes a program without privileges may still write to the file system that `path` lies on.
///
/// # Errors
/// Those of the system: there is nothing at `path`, or it may not be looked at.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let system = statvfs(path)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

/// Whether this process may write what lies at `path`: neither its mode nor a file system mounted for reading alone
/// forbids it. Opens nothing: closing a database's file would let go of the locks that SQLite holds on it.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_room_and_what_is_not_there_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert!(may_write(folder.path()));
        let nowhere = folder.path().join("nowhere");
        assert_eq!(free_bytes(&nowhere).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!may_write(&nowhere));
    }
}
