//! Folders that cannot be written and disks that are full.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binary::{Ran, annals, report};
use crate::cli::fixture::{Fixture, PASSPHRASE, RANGE, lasting, names, write_lake};

/// The user and group `nobody`.
const NOBODY: &str = "65534";

/// The binary for an unprivileged user: root ignores modes. Who is not root is unprivileged already.
fn unprivileged(fixture: &Fixture, args: &[&str]) -> Command {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        return annals(args);
    }
    // The build folder may lie where `nobody` cannot go.
    let binary = fixture.path().join("annals-for-nobody");
    if !binary.exists() {
        fs::copy(env!("CARGO_BIN_EXE_annals"), &binary).unwrap();
        fs::set_permissions(fixture.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(binary).args(args);
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn backfill_args<'a>(lake: &'a str, data_dir: &'a str) -> [&'a str; 9] {
    ["backfill", "--network-passphrase", PASSPHRASE, "--lake", lake, "--from", RANGE, "--data-dir", data_dir]
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_nothing_is_left_in_it() {
    let fixture = Fixture::lake();
    let parent = fixture.path().join("locked");
    fs::create_dir(&parent).unwrap();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
    let (lake, inside) = (text(&fixture.lake_path()), text(&parent.join("archive")));
    for data_dir in [inside, text(&parent)] {
        let ran = Ran::of(&mut unprivileged(&fixture, &backfill_args(&lake, &data_dir))).ends_with(1);
        assert!(ran.stderr.lines().last().unwrap().ends_with("[READ_ONLY]"), "{ran:?}");
        assert!(ran.stderr.contains(&text(&parent)), "{ran:?}");
        assert_eq!(names(&parent), Vec::<String>::new());
    }
}

#[test]
fn an_archive_that_cannot_be_written_is_read_and_refuses_to_be_filled() {
    let fixture = Fixture::archive();
    let data_dir = fixture.data_dir();
    for name in names(&data_dir) {
        fs::set_permissions(data_dir.join(name), fs::Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(&data_dir, fs::Permissions::from_mode(0o555)).unwrap();
    let before = lasting(report(&["status"], &data_dir).json());
    let data_dir = text(&data_dir);
    let status = Ran::of(&mut unprivileged(&fixture, &["status", "--json", "--data-dir", &data_dir])).ends_with(0);
    assert_eq!(lasting(status.json()), before);
    let lake = text(&fixture.lake_path());
    let ran = Ran::of(&mut unprivileged(&fixture, &backfill_args(&lake, &data_dir))).ends_with(1);
    assert!(ran.stderr.lines().last().unwrap().ends_with("[READ_ONLY]"), "{ran:?}");
    fs::set_permissions(fixture.data_dir(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_archive_that_cannot_be_read_is_named_and_what_would_help_is_said() {
    let fixture = Fixture::archive();
    let database = fixture.data_dir().join("annals.db");
    // Neither a file that may not be read, nor one beside which SQLite cannot work.
    for (file, folder) in [(0o000, 0o755), (0o444, 0o555)] {
        fs::set_permissions(&database, fs::Permissions::from_mode(file)).unwrap();
        fs::set_permissions(fixture.data_dir(), fs::Permissions::from_mode(folder)).unwrap();
        let data_dir = text(&fixture.data_dir());
        let ran = Ran::of(&mut unprivileged(&fixture, &["status", "--data-dir", &data_dir])).ends_with(1);
        assert!(ran.stderr.contains("annals.db cannot be read: "), "{ran:?}");
        assert!(ran.stderr.trim_end().ends_with("[UNREADABLE]"), "{ran:?}");
    }
    fs::set_permissions(fixture.data_dir(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Fills a small tmpfs in a mount namespace of its own, makes room, and goes on; prints what each step said.
const FULL_DISK: &str = r#"
set -u
mount -t tmpfs -o size=1m tmpfs "$DISK" || exit 77
dd if=/dev/zero of="$DISK/ballast" bs=1k count=500 2>/dev/null
"$ANNALS" backfill --json --network-passphrase "$PASSPHRASE" --lake "$LAKE" --from 1000:1299 --data-dir "$DISK/a"
echo "full=$?"
"$ANNALS" verify --json --data-dir "$DISK/a"
echo "verified=$?"
mount -o remount,size=64m "$DISK"
"$ANNALS" backfill --json --network-passphrase "$PASSPHRASE" --lake "$LAKE" --from 1000:1299 --data-dir "$DISK/a"
echo "again=$?"
"#;

#[test]
fn a_full_disk_loses_nothing_and_the_same_command_goes_on_once_there_is_room() {
    let fixture = Fixture::lake();
    write_lake(&fixture.lake_path(), 300);
    let disk = fixture.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", FULL_DISK]);
    command.env("DISK", &disk).env("LAKE", fixture.lake_path()).env("PASSPHRASE", PASSPHRASE);
    command.env("ANNALS", env!("CARGO_BIN_EXE_annals")).stdin(Stdio::null());
    let ran = Ran::of(&mut command);
    if ran.code == Some(77) || ran.stderr.starts_with("unshare: ") {
        eprintln!("skipped: no tmpfs can be mounted here: {}", ran.stderr.trim());
        return;
    }
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [full, full_code, verified, verified_code, again, again_code] = lines.as_slice() else { panic!("{ran:#?}") };
    assert_eq!((*full_code, *verified_code, *again_code), ("full=1", "verified=0", "again=0"), "{ran:#?}");
    assert!(full.contains("\"DISK_FULL\""), "{full}");
    let count = |line: &str, key: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()[key].as_u64().unwrap();
    assert_eq!(count(verified, "ledgers") + count(again, "fetched"), 300, "{ran:#?}");
    assert_eq!(count(again, "ledgers"), 300);
}
