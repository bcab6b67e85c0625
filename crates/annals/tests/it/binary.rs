//! The built binary, run as a user runs it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A command of the binary with an environment that configures nothing.
pub fn annals<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(std::env::temp_dir()).stdin(Stdio::null());
    command
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Runs the command to its end.
    pub fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) };
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        ran
    }

    /// The last line of standard output, as JSON.
    pub fn json(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_else(|| panic!("nothing was printed: {self:?}"));
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Requires an exit code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// Backfills a lake into a data folder.
pub fn backfill(lake: &Path, data_dir: &Path, passphrase: &str, range: &str) -> Command {
    let mut command = annals(["backfill", "--json", "--network-passphrase", passphrase, "--from", range]);
    command.arg("--lake").arg(lake).arg("--data-dir").arg(data_dir);
    command
}

/// Runs a verb over a data folder with `--json`.
pub fn report(verb: &[&str], data_dir: &Path) -> Ran {
    Ran::of(annals(verb).arg("--json").arg("--data-dir").arg(data_dir))
}

/// Exports everything and returns the lines.
pub fn export(data_dir: &Path) -> Ran {
    Ran::of(annals(["export", "--format", "jsonl"]).arg("--data-dir").arg(data_dir))
}
