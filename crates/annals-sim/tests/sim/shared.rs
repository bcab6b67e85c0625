//! The real ledgers beside the project.

use std::path::{Path, PathBuf};

/// The folder of real ledgers; none where it is missing, which CI does not allow.
pub fn ledgers() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::var_os("ANNALS_SHARED").map(|shared| PathBuf::from(shared).join("ledgers"));
    let found = given
        .into_iter()
        .chain(root.ancestors().map(|folder| folder.join("shared/ledgers")))
        .find(|folder| folder.join("README.md").is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI needs the real ledgers in ../shared/ledgers");
        println!("skipped: there are no real ledgers in ../shared/ledgers");
    }
    found
}
