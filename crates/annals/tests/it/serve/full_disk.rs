//! A disk that is really full, below a server that follows.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use super::process::{PASSPHRASE, Process, wait_for, wait_for_ledger};
use crate::api::client::{Reply, get};
use crate::rpc::bench::{network, node};

/// Becomes a server whose archive lies on a small tmpfs in a mount namespace of its own, most of it taken.
const SERVE: &str = r#"
mount -t tmpfs -o size=40m tmpfs "$DISK" || { echo "no tmpfs"; exit 77; }
dd if=/dev/zero of="$DISK/ballast" bs=1k count=39000 2>/dev/null
exec "$ANNALS" serve --listen 127.0.0.1:0 --network-passphrase "$PASSPHRASE" --rpc "$RPC" --from 100 \
  --disk-reserve 0 --data-dir "$DISK/a"
"#;

/// The code of a part that is not well.
fn code(ready: &Reply, part: &str) -> Option<String> {
    let ready = ready.json();
    let part = ready["parts"].as_array().unwrap().iter().find(|other| other["name"] == part).unwrap();
    part["code"].as_str().map(str::to_owned)
}

#[test]
fn a_full_disk_is_told_for_as_long_as_it_is_full_and_with_room_it_goes_on_by_itself() {
    let (network, folder) = (network(1, 300), tempfile::tempdir().unwrap());
    let node = node(&network);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", SERVE]).stdin(Stdio::null());
    command.env("DISK", folder.path()).env("RPC", node.url()).env("PASSPHRASE", PASSPHRASE);
    command.env("ANNALS", env!("CARGO_BIN_EXE_annals"));
    let serving = Process::start(command);
    let Some(address) = serving.try_listens() else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let ballast = format!("/proc/{}/root{}/ballast", serving.id(), folder.path().display());
    assert_eq!(fs::metadata(&ballast).unwrap().size(), 39_000 << 10);
    let is_full = |reply: &Reply| reply.status == 503 && code(reply, "disk").as_deref() == Some("DISK_FULL");
    wait_for(address, "/readyz", is_full);
    // It tries again, and nobody is told that all is well meanwhile.
    for _ in 0..2 {
        let told = serving.says("(DISK_FULL)");
        assert!(told.contains("a server that follows goes on by itself"), "{told}");
        let ready = get(address, "/readyz");
        assert!(is_full(&ready), "{ready:?}");
        assert_eq!(code(&ready, "gaps").as_deref(), Some("GAPS_UNKNOWN"));
        assert_eq!((code(&ready, "writer"), code(&ready, "source")), (None, None), "{ready:?}");
    }
    fs::remove_file(ballast).unwrap();
    wait_for_ledger(address, 399);
    wait_for(address, "/readyz", |reply| reply.status == 200 && code(reply, "disk").is_none());
    assert_eq!(serving.ends_by("-TERM").code, Some(0));
}
