//! Checks of the house that neither the compiler nor clippy makes.

mod tidy;
mod wasm;

use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks of the house.
#[derive(Parser)]
#[command(name = "xtask")]
struct Arguments {
    #[command(subcommand)]
    check: Check,
}

#[derive(Subcommand)]
enum Check {
    /// Checks the limits of STYLE.md over the whole tree.
    Tidy,
    /// Checks that annals-core builds for wasm32-unknown-unknown, where that target can be had.
    Wasm,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut out = stdout().lock();
    match Arguments::parse().check {
        Check::Tidy => {
            let findings = tidy::check(&root())?;
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
            writeln!(out, "tidy: {} rules, {} findings", tidy::RULES.len(), findings.len())?;
            Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Check::Wasm => {
            let outcome = wasm::check(&root())?;
            writeln!(out, "wasm: {outcome}")?;
            Ok(if outcome.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace").to_path_buf()
}
