//! Whether annals-core, and the module of its checker, build where there is no operating system.

use std::fmt;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::Context as _;

const TARGET: &str = "wasm32-unknown-unknown";

/// What became of the check.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It builds.
    Passed,
    /// It does not; the compiler's words.
    Failed(String),
    /// The target is not to be had here.
    Skipped(String),
}

impl Outcome {
    /// Whether the house is broken.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed: annals-core and annals-wasm build for {TARGET}"),
            Self::Failed(words) => write!(f, "failed: annals-core or annals-wasm does not build for {TARGET}\n{words}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// Checks both for the target, adding it where rustup can.
pub fn check(root: &Path) -> anyhow::Result<Outcome> {
    if !is_installed() {
        let added = Command::new("rustup").args(["target", "add", TARGET]).output();
        match added {
            Ok(output) if output.status.success() => {}
            Ok(output) => return Ok(Outcome::Skipped(format!("{TARGET} cannot be added: {}", last_line(&output)))),
            Err(error) => return Ok(Outcome::Skipped(format!("{TARGET} is not installed and rustup is not: {error}"))),
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--lib", "--package", "annals-core", "--package", "annals-wasm", "--target", TARGET])
        .current_dir(root)
        .output()
        .context("cargo could not be started")?;
    if built.status.success() {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Failed(String::from_utf8_lossy(&built.stderr).into_owned()))
}

/// Whether the compiler in use has the target's libraries, whoever installed them.
fn is_installed() -> bool {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    printed.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        output.status.success() && Path::new(folder.trim()).is_dir()
    })
}

fn last_line(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_build_that_fails_is_a_failure() {
        assert!(Outcome::Failed("error".into()).is_failure());
        assert!(!Outcome::Skipped("no network".into()).is_failure());
        assert!(Outcome::Skipped("no network".into()).to_string().starts_with("skipped: "));
        assert!(!Outcome::Passed.is_failure());
    }
}
